// The versions of a dataset, the newest first, and how to use one.
import {Link} from "@tanstack/react-router";

import {useView} from "../../app/search";
import {bytes, count} from "../../lib/format";
import {Copy} from "../../ui/copy";
import {Fact, Facts} from "../../ui/page";
import {Time} from "../../ui/time";
import {Command} from "../../ui/words";
import {Aliases} from "../models/aliases";
import css from "../models/models.module.css";
import type {Dataset, DatasetVersion} from "./dataset";

export function Versions(props: {dataset: Dataset; all: DatasetVersion[]; project: string}) {
  const {dataset, all} = props;
  return (
    <div className={css.columns}>
      <div className={css.scroll} tabIndex={0} role="region" aria-label="Versions">
        <table className={css.versions}>
          <thead>
            <tr>
              <th className="number">Version</th>
              <th>Tags</th>
              <th className="number">Files</th>
              <th className="number">Size</th>
              <th>Where</th>
              <th>By</th>
              <th>Made</th>
              <th>Digest</th>
            </tr>
          </thead>
          <tbody>
            {all.map((version) => (
              <Row key={version.number} version={version} dataset={dataset} />
            ))}
          </tbody>
        </table>
      </div>
      <aside className="stack">
        <Use {...props} />
        <section className="card" aria-label="About it">
          {dataset.description && <p>{dataset.description}</p>}
          <Facts>
            <Fact name="Made by">{dataset.created_by}</Fact>
            <Fact name="Made">
              <Time at={dataset.created_at} />
            </Fact>
            <Fact name="Versions">{count(dataset.versions)}</Fact>
          </Facts>
        </section>
      </aside>
    </div>
  );
}

function Row(props: {version: DatasetVersion; dataset: Dataset}) {
  const {version, dataset} = props;
  const digest = version.manifest_digest ?? "";
  return (
    <tr>
      <td className="number">
        <Link
          to={"/datasets/$dataset/files" as never}
          params={{dataset: dataset.name} as never}
          search={((old: object) => ({...old, version: String(version.number)})) as never}
          aria-label={`Files of version ${version.number}`}
        >
          {version.number}
        </Link>
      </td>
      <td>
        <Aliases of={dataset.tags} version={version.number} />
      </td>
      <td className="number">{count(version.file_count)}</td>
      <td className="number nowrap">{bytes(version.size_bytes)}</td>
      <td>{version.in_place ? <code>{version.in_place}</code> : "stored here"}</td>
      <td>{version.created_by}</td>
      <td>
        <Time at={version.created_at} />
      </td>
      <td className="nowrap">
        <code title={digest}>{digest.slice(0, 15)}</code>
        <Copy text={digest} what="digest" />
      </td>
    </tr>
  );
}

function Use(props: {dataset: Dataset; all: DatasetVersion[]; project: string}) {
  const [view] = useView();
  const {dataset, project} = props;
  const newest = props.all[0]?.number ?? 1;
  const tag = Object.entries(dataset.tags ?? {}).find(([, n]) => Number(n) === newest)?.[0];
  const name = `${dataset.name}@${view.version ?? tag ?? newest}`;
  const option = project === "default" ? "" : ` --project ${project}`;
  return (
    <section className={`card ${css.use}`} aria-label="How to use it">
      <h2>How to use it</h2>
      <p>In a job file{project === "default" ? "" : ` of the project ${project}`}:</p>
      <Command text={`datasets: [{name: ${name}, at: data}]`} />
      <p>The command finds its files in the directory data. What is in it:</p>
      <Command text={`hearth dataset show ${name}${option}`} />
      <p>A further version, of a directory:</p>
      <Command text={`hearth dataset add DIR --name ${dataset.name}${option}`} />
    </section>
  );
}
