import {useQuery} from "@tanstack/react-query";
import {Link} from "@tanstack/react-router";
import {useState} from "react";

import {type Run, api, ask} from "../../api/client";
import {run as runQuery} from "../../app/queries";
import {plural, short} from "../../lib/format";
import {equals, inOrder, quoted, shown} from "../../lib/run_fields";
import {Copy} from "../../ui/copy";
import {Fact, Facts} from "../../ui/page";
import {State} from "../../ui/state";
import {Elapsed, Time} from "../../ui/time";
import {RunName} from "./columns";
import {Tags} from "./run_tags";
import css from "./run.module.css";

const kManyRows = 12; // above it there is a search
const kMostRows = 500;
const kMostChildren = 50;

export function RunOverview(props: {run: Run}) {
  const {run} = props;
  return (
    <div className={css.grid}>
      <div className="stack">
        <section className="card" aria-label="About it">
          <h2>About it</h2>
          <About run={run} />
        </section>
        <Tags run={run} />
        <Surroundings run={run} />
        <Relatives run={run} />
      </div>
      <section className="card" aria-label="Metrics">
        <h2>Metrics</h2>
        <Values
          none="No metric yet."
          heads={["Metric", "Last", "Step"]}
          rows={inOrder(Object.keys(run.metrics ?? {})).map((key) => {
            const one = run.metrics?.[key];
            return [key, short(one?.value), one ? short(one.step) : ""];
          })}
        />
      </section>
      <section className="card" aria-label="Parameters">
        <h2>Parameters</h2>
        <Values
          none="No parameter was recorded."
          heads={["Parameter", "Value", ""]}
          rows={Object.entries(run.params ?? {}).map(([key, value]) => [key, shown(value), ""])}
          titles={run.params}
          like={(key) => equals(`params.${key}`, run.params?.[key])}
        />
      </section>
    </div>
  );
}

function About(props: {run: Run}) {
  const {run} = props;
  return (
    <Facts>
      <Fact name="Run">
        <span className="row">
          <code className="cut">{run.id}</code> <Copy text={run.id} what="the run's id" />
        </span>
      </Fact>
      <Fact name="Experiment">
        <Link
          to={"/runs" as never}
          search={{filter: `experiment = ${quoted(run.experiment ?? "")}`} as never}
        >
          {run.experiment}
        </Link>
      </Fact>
      <Fact name="Project">{run.project}</Fact>
      <Fact name="Owner">{run.owner}</Fact>
      <Fact name="Begun">{run.started_at && <Time at={run.started_at} />}</Fact>
      <Fact name="Ended">{run.finished_at && <Time at={run.finished_at} />}</Fact>
      <Fact name="Ran">
        {run.started_at && <Elapsed from={run.started_at} until={run.finished_at} />}
      </Fact>
      <Fact name="Job">
        {run.job_id && (
          <Link to="/jobs/$job" params={{job: run.job_id}}>
            {run.name}
          </Link>
        )}
      </Fact>
      <Fact name="Deleted">{run.deleted_at && <Time at={run.deleted_at} />}</Fact>
    </Facts>
  );
}

// Names and values, found by name where there are many.
function Values(props: {
  none: string;
  heads: [string, string, string];
  rows: string[][];
  titles?: Record<string, string>;
  like?: (key: string) => string; // a filter: others with the same value
}) {
  const [find, setFind] = useState("");
  const {rows, like, heads} = props;
  if (rows.length === 0) return <p className="muted">{props.none}</p>;
  const found = rows.filter(([key = ""]) => key.toLowerCase().includes(find.toLowerCase()));
  return (
    <>
      {rows.length > kManyRows && (
        <input
          type="search"
          aria-label={`Find a ${heads[0].toLowerCase()}`}
          placeholder={`Find one of ${rows.length}`}
          value={find}
          onChange={(event) => setFind(event.target.value)}
        />
      )}
      <div className={css.scroll}>
        <table>
          <thead>
            <tr>
              <th>{heads[0]}</th>
              <th className="number">{heads[1]}</th>
              {heads[2] !== "" && <th className="number">{heads[2]}</th>}
            </tr>
          </thead>
          <tbody>
            {found.slice(0, kMostRows).map(([key = "", value, more]) => (
              <tr key={key}>
                <td className={css.key}>{key}</td>
                <td className={`number ${css.value}`} title={props.titles?.[key]}>
                  {like ? (
                    <Link to={"/runs" as never} search={{filter: like(key)} as never}>
                      {value === "" ? "(empty)" : value}
                    </Link>
                  ) : (
                    value
                  )}
                </td>
                {heads[2] !== "" && <td className="number muted">{more}</td>}
              </tr>
            ))}
          </tbody>
        </table>
        {found.length === 0 && <p className="muted">None is called so.</p>}
        {found.length > kMostRows && (
          <p className="muted">
            The first {kMostRows} of {found.length}: search for the others.
          </p>
        )}
      </div>
    </>
  );
}

// The run above it, and those below.
function Relatives(props: {run: Run}) {
  const {run} = props;
  const filter = equals("parent_id", run.id);
  const parent = useQuery(runQuery(run.parent_id ?? ""));
  const children = useQuery({
    queryKey: ["runs", "children", run.id],
    queryFn: async ({signal}) => {
      const query = {filter, limit: kMostChildren, fields: "id,name,status"};
      const answer = await ask(api.GET("/api/v1/runs", {params: {query}, signal}));
      return answer as {items: Pick<Run, "id" | "name" | "status">[]; total: number};
    },
  });
  const below = children.data?.items ?? [];
  if (!run.parent_id && below.length === 0) return null;
  return (
    <section className="card" aria-label="Related runs">
      <h2>Related runs</h2>
      {run.parent_id && (
        <p className="row">
          <span className="muted">above it</span>
          <RunName run={parent.data ?? {id: run.parent_id, name: ""}} />
        </p>
      )}
      {below.length > 0 && (
        <>
          <p className="muted">below it</p>
          <ul>
            {below.map((one) => (
              <li key={one.id} className={css.tag}>
                <RunName run={one} /> <State state={one.status} />
              </li>
            ))}
          </ul>
          <Link to={"/runs" as never} search={{filter} as never} className={css.more}>
            {plural(children.data?.total ?? 0, "run")} below it, in the list
          </Link>
        </>
      )}
    </section>
  );
}

// Code, data and environment: what one needs to have it again.
function Surroundings(props: {run: Run}) {
  const {run} = props;
  const {git} = run;
  const environment = Object.entries(run.environment ?? {});
  const datasets = run.datasets ?? [];
  const models = run.models ?? [];
  if (!run.code_digest && !git && environment.length + datasets.length + models.length === 0)
    return null;
  return (
    <section className="card" aria-label="Code, data and environment">
      <h2>Code, data and environment</h2>
      <Facts>
        <Fact name="Code">
          {run.code_digest && <code title={run.code_digest}>{run.code_digest.slice(0, 19)}</code>}
        </Fact>
        <Fact name="Commit">
          {git?.commit && (
            <>
              <code title={git.commit}>{git.commit.slice(0, 12)}</code>
              {git.branch ? ` on ${git.branch}` : ""}
              {git.dirty ? ", with changes that were not committed" : ""}
            </>
          )}
        </Fact>
        <Fact name="Remote">{git?.remote}</Fact>
        <Fact name="Data">
          {datasets.length > 0 &&
            datasets.map((one, i) => (
              <div key={i}>
                {one.name ? (
                  <Link to={`/datasets/${encodeURIComponent(one.name)}` as never}>
                    {one.name}
                    {one.version ? `@${one.version}` : ""}
                  </Link>
                ) : (
                  one.path
                )}
              </div>
            ))}
        </Fact>
        <Fact name="Models">
          {models.length > 0 &&
            models.map((model) => (
              <div key={model}>
                <Link to={`/models/${encodeURIComponent(model.split("@")[0] ?? "")}` as never}>
                  {model}
                </Link>
              </div>
            ))}
        </Fact>
      </Facts>
      {environment.length > 0 && (
        <details>
          <summary>{plural(environment.length, "fact")} of its environment</summary>
          <Values
            none=""
            heads={["Name", "Value", ""]}
            rows={environment.map(([key, value]) => [key, value, ""])}
          />
        </details>
      )}
    </section>
  );
}
