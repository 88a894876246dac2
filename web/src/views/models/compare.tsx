// Versions beside each other: what their runs measured, and which parameters differ.
import {useQueries} from "@tanstack/react-query";
import {Link} from "@tanstack/react-router";

import type {Run} from "../../api/client";
import {run as runQuery} from "../../app/queries";
import {useView} from "../../app/search";
import {short} from "../../lib/format";
import {Empty, Loading, Trouble} from "../../ui/words";
import {inOrder} from "../../lib/run_fields";
import {RunCharts} from "../run_charts";
import {Aliases} from "./aliases";
import {chosenOf} from "./choice";
import type {Model, ModelVersion} from "./model";
import css from "./models.module.css";

const kMost = 12; // beside each other
const kMostRows = 200;

interface Compared {
  version: ModelVersion;
  run: Run;
}

export default function Compare(props: {all: ModelVersion[]; model: Model}) {
  const [view] = useView();
  const chosen = chosenOf(view, props.all).slice(0, kMost);
  const versions = props.all.filter((one) => chosen.includes(one.number) && one.run_id);
  const runs = useQueries({queries: versions.map((one) => runQuery(one.run_id ?? ""))});
  const error = runs.find((one) => one.error)?.error;
  const compared = versions.flatMap((version, i) => {
    const run = runs[i]?.data;
    return run ? [{version, run}] : [];
  });
  if (versions.length === 0)
    return (
      <Empty title="Nothing to compare">
        Choose versions that came from a run, by the boxes before them.
      </Empty>
    );
  const keys = inOrder([...new Set(compared.flatMap((one) => Object.keys(one.run.metrics ?? {})))]);
  return (
    <div className="stack">
      {error && <Trouble error={error} />}
      {compared.length < versions.length && !error && <Loading what="runs" />}
      {compared.length > 0 && <Values compared={compared} keys={keys} model={props.model} />}
      {keys.length > 0 && (
        <RunCharts
          runs={compared.map(({version, run}) => ({
            id: run.id,
            label: `version ${version.number}`,
          }))}
          keys={keys}
        />
      )}
    </div>
  );
}

function Values(props: {compared: Compared[]; keys: string[]; model: Model}) {
  const {compared, keys} = props;
  const params = [...new Set(compared.flatMap((one) => Object.keys(one.run.params ?? {})))].sort();
  const differ = params.filter(
    (key) => new Set(compared.map((one) => one.run.params?.[key] ?? "")).size > 1,
  );
  const hidden = params.length - differ.length;
  return (
    <div className={css.scroll} tabIndex={0} role="region" aria-label="Versions beside each other">
      <table className={css.compare}>
        <thead>
          <tr>
            <th>Metric, last value</th>
            {compared.map(({version, run}) => (
              <th key={version.number} className="number" scope="col">
                <Link to={"/runs/$run" as never} params={{run: run.id} as never}>
                  version {version.number}
                </Link>{" "}
                <Aliases of={props.model.aliases} version={version.number} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {keys.slice(0, kMostRows).map((key) => (
            <tr key={key}>
              <th scope="row">{key}</th>
              {compared.map(({version, run}) => (
                <td key={version.number} className="number">
                  {run.metrics?.[key] ? short(run.metrics[key].value) : ""}
                </td>
              ))}
            </tr>
          ))}
          {differ.slice(0, kMostRows).map((key) => (
            <tr key={`param ${key}`}>
              <th scope="row">
                {key} <span className="muted">parameter</span>
              </th>
              {compared.map(({version, run}) => (
                <td key={version.number} className="number">
                  <code>{run.params?.[key] ?? ""}</code>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {hidden > 0 && <p className="muted">{hidden} further parameters are the same in all.</p>}
      {keys.length > kMostRows && <p className="muted">The first {kMostRows} metrics.</p>}
    </div>
  );
}
