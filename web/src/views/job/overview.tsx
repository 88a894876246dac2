// A job at a glance: the cause of a wait or a failure first, then phases, curves, live parameters.
import {useQuery} from "@tanstack/react-query";
import {Link} from "@tanstack/react-router";
import {useState} from "react";

import {type Job, api, ask} from "../../api/client";
import {run as runQuery} from "../../app/queries";
import {say} from "../../app/errors";
import {bytes, clock, duration, plural, seconds_between, short, toNumber} from "../../lib/format";
import {inOrder} from "../../lib/run_fields";
import {Fact, Facts} from "../../ui/page";
import {PlainTable} from "../../ui/plain_table";
import {State, kEnded} from "../../ui/state";
import {Time, useNow} from "../../ui/time";
import {Notice, Trouble} from "../../ui/words";
import {RunCharts} from "../run_charts";
import {gpusOf, liveParams} from "../job_facts";
import css from "./job.module.css";
import {LiveParameters, useMarks} from "./live";

const kCharts = 4;
const kLatest = 12; // values

export function Overview(props: {job: Job}) {
  const {job} = props;
  const over = kEnded.has(job.state);
  const run = useQuery({...runQuery(job.run_id ?? ""), refetchInterval: over ? false : 2000});
  const marks = useMarks(job);
  const keys = Object.keys(run.data?.metrics ?? {});
  return (
    <div className={css.overview}>
      <div className="stack grow">
        {job.failure && job.state === "failed" && <Cause job={job} />}
        {!over && job.reason?.text && <Waiting job={job} />}
        <Timeline job={job} />
        {liveParams(job.spec).length > 0 && <LiveParameters job={job} />}
        {keys.length > 0 && (
          <section aria-label="Metrics" className="stack">
            <RunCharts
              runs={[{id: job.run_id ?? "", label: job.name}]}
              keys={inOrder(keys).slice(0, kCharts)}
              live={!over}
              marks={marks}
            />
            {keys.length > kCharts && (
              <Link to={"/jobs/$job/metrics" as never} params={{job: job.id} as never}>
                All {keys.length} metrics
              </Link>
            )}
          </section>
        )}
        <Tasks job={job} />
        {!shownByCause(job) && <LastLines job={job} />}
      </div>
      <aside className={css.facts}>
        <section className="card">
          <Facts>
            <Fact name="Project">{job.project}</Fact>
            <Fact name="Owner">{job.owner}</Fact>
            <Fact name="Submitted">
              <Time at={job.created_at} />
            </Fact>
            <Fact name="Started">{job.started_at && <Time at={job.started_at} />}</Fact>
            <Fact name="Ended">{job.finished_at && <Time at={job.finished_at} />}</Fact>
            <Fact name="Tries">{(job.attempts ?? 0) > 1 && `${job.attempts}`}</Fact>
            <Fact name="Priority">{job.priority}</Fact>
            <Fact name="Asks for">{asks(job)}</Fact>
            <Fact name="Run">
              {job.run_id && (
                <Link to={"/runs/$run" as never} params={{run: job.run_id} as never}>
                  {run.data?.name ?? "its record"}
                </Link>
              )}
            </Fact>
            <Fact name="Command">
              <pre className={css.command} tabIndex={0}>
                {commandOf(job)}
              </pre>
            </Fact>
            <Fact name="Code">
              {job.code_digest && (
                <code title={job.code_digest}>
                  {job.code_digest.slice(0, 19)} ({bytes(job.code_size_bytes)})
                </code>
              )}
            </Fact>
          </Facts>
        </section>
        {run.data && Object.keys(run.data.params ?? {}).length > 0 && (
          <section className="card" aria-label="Parameters">
            <h2>Parameters</h2>
            <Facts>
              {Object.entries(run.data.params ?? {}).map(([name, value]) => (
                <Fact key={name} name={name}>
                  <code>{value}</code>
                </Fact>
              ))}
            </Facts>
          </section>
        )}
        {run.data && keys.length > 0 && (
          <section className="card" aria-label="Latest values">
            <h2>Latest values</h2>
            <PlainTable
              label="Latest values, as a table"
              rows={inOrder(keys).slice(0, kLatest)}
              id={(key) => key}
              dense
              columns={[
                {name: "Metric", is: "title", cell: (key) => key},
                {
                  name: "Last",
                  is: "title",
                  number: true,
                  cell: (key) => short(run.data?.metrics?.[key]?.value),
                },
                {name: "Step", number: true, cell: (key) => run.data?.metrics?.[key]?.step},
              ]}
            />
          </section>
        )}
      </aside>
    </div>
  );
}

function asks(job: Job): string {
  const gpus = gpusOf(job.spec);
  const roles = Object.entries(job.spec?.roles ?? {}).map(
    ([name, role]) => `${role.replicas ?? 1} ${name}`,
  );
  const one = job.spec?.resources;
  return [
    gpus ? plural(gpus, "GPU") : "",
    roles.length
      ? roles.join(" + ")
      : `${plural(toNumber(one?.cpus ?? 1), "CPU")}, ${one?.memory ?? "2GiB"}`,
  ]
    .filter(Boolean)
    .join("; ");
}

export function commandOf(job: Job): string {
  const command = job.spec?.command as unknown;
  return Array.isArray(command)
    ? command.join(" ")
    : typeof command === "string"
      ? command
      : Object.values(job.spec?.roles ?? {})
          .map((role) => String(role.command ?? ""))
          .join("\n");
}

// How it failed: in words, with the lines around it, and what mends it.
function Cause(props: {job: Job}) {
  const {failure} = props.job;
  if (!failure) return null;
  return (
    <section className={css.cause} aria-label="Why it failed">
      <h2 className="bad">{failure.text}</h2>
      {failure.mend && <p>{failure.mend}</p>}
      {(failure.lines?.length ?? 0) > 0 && (
        <pre className={css.lines}>{failure.lines?.join("\n")}</pre>
      )}
      <div className="row wrap">
        <Link
          to={"/jobs/$job/log" as never}
          params={{job: props.job.id} as never}
          className="button"
        >
          Whole log
        </Link>
        <Link
          to={"/submit" as never}
          search={((old: object) => ({...old, from: props.job.id})) as never}
          className="button primary"
        >
          Again with changes
        </Link>
        <span className="muted">
          kind of failure: {failure.class}
          {failure.rank > 0 ? `, rank ${failure.rank}` : ""}
        </span>
      </div>
    </section>
  );
}

// Why it waits, from the deciding code, and the smallest changes that would start it now.
function Waiting(props: {job: Job}) {
  const {job} = props;
  const why = useQuery({
    queryKey: ["job", job.id, "why"],
    queryFn: ({signal}) =>
      ask(api.GET("/api/v1/jobs/{job}/why", {params: {path: {job: job.id}}, signal})),
    enabled: job.state === "queued",
    refetchInterval: 15_000,
  });
  const reason = why.data ?? job.reason;
  return (
    <Notice
      kind="warn"
      action={
        <span className="row wrap">
          {(reason?.changes ?? [])
            .filter((one) => !one.field?.startsWith("limit."))
            .map((change, i) => (
              <Link
                key={i}
                to={"/submit" as never}
                className="button"
                search={
                  ((old: object) => ({
                    ...old,
                    from: job.id,
                    set: `${change.field}=${change.value}`,
                  })) as never
                }
              >
                Submit with {change.field} = {change.value}
              </Link>
            ))}
        </span>
      }
    >
      <strong>{reason?.text}</strong>
      {reason?.mend ? `\n${reason.mend}` : ""}
      {job.state === "queued" && job.failure?.text
        ? `\nAttempt ${job.attempts} ended: ${job.failure.text}`
        : ""}
      {(reason?.changes ?? [])
        .filter((one) => one.field?.startsWith("limit."))
        .map(
          (one) =>
            `\nWith ${one.field} = ${one.value} for ${one.project || job.project} it starts now.`,
        )
        .join("")}
    </Notice>
  );
}

const kPhases = ["queued", "preparing", "starting", "running", "saving", "stopping"];

function Timeline(props: {job: Job}) {
  const {job} = props;
  const over = kEnded.has(job.state);
  const now = useNow(!over);
  const phases = (job.phases ?? []).map((phase, i, all) => {
    const lasting = i === all.length - 1 && !over;
    return {
      ...phase,
      lasting,
      seconds: lasting
        ? Math.max(0, seconds_between(phase.started_at ?? "", now))
        : toNumber(phase.seconds),
    };
  });
  const total = phases.reduce((sum, phase) => sum + phase.seconds, 0) || 1;
  return (
    <section aria-label="Phases">
      <div className={css.strip} aria-hidden>
        {phases.map((phase, i) => (
          <span
            key={i}
            className={css.phase}
            data-phase={kPhases.indexOf(phase.name ?? "")}
            title={`${phase.name} ${duration(phase.seconds)}`}
            style={{flexGrow: Math.max(phase.seconds / total, 0.006)}}
          />
        ))}
      </div>
      <ol className={css.phases}>
        {phases.map((phase, i) => (
          <li key={i} title={phase.started_at ? clock(phase.started_at) : ""}>
            <i className={css.phase} data-phase={kPhases.indexOf(phase.name ?? "")} aria-hidden />
            {phase.name}
            {phase.attempt > 1 && ` (try ${phase.attempt})`}{" "}
            <b>
              {duration(phase.seconds)}
              {phase.lasting && "…"}
            </b>
          </li>
        ))}
      </ol>
    </section>
  );
}

// The tasks by rank, where there is more than one, of the last try unless another is asked for.
function Tasks(props: {job: Job}) {
  const {job} = props;
  const [all, setAll] = useState(false);
  const query = useQuery({
    queryKey: ["job", job.id, "tasks"],
    queryFn: ({signal}) =>
      ask(api.GET("/api/v1/jobs/{job}/tasks", {params: {path: {job: job.id}}, signal})),
  });
  if (query.error) return <Trouble error={query.error} />;
  const tasks = query.data?.items ?? [];
  const last = Math.max(0, ...tasks.map((task) => task.attempt_number));
  const shown = tasks.filter((task) => all || task.attempt_number === last);
  if (tasks.length < 2) return null;
  return (
    <section aria-label="Tasks" className="card">
      <div className="row">
        <h2 className="grow">Tasks</h2>
        {last > 1 && (
          <label>
            <input
              type="checkbox"
              checked={all}
              onChange={(event) => setAll(event.target.checked)}
            />{" "}
            all {last} tries
          </label>
        )}
      </div>
      <PlainTable
        label="Tasks, as a table"
        rows={shown}
        id={(task) => task.id ?? ""}
        columns={[
          {name: "Rank", is: "title", number: true, cell: (task) => task.rank},
          {name: "Role", is: "title", cell: (task) => task.role},
          {
            name: "State",
            is: "title",
            cell: (task) => (
              <span className="row wrap">
                <State state={task.state} /> {task.failure?.text}
              </span>
            ),
          },
          {name: "Machine", cell: (task) => task.node},
          {name: "GPUs", number: true, cell: (task) => task.gpus?.length || ""},
          {name: "Try", number: true, cell: (task) => task.attempt_number},
          {
            name: "Log",
            is: "actions",
            cell: (task) => (
              <Link
                to={"/jobs/$job/log" as never}
                params={{job: job.id} as never}
                search={
                  ((old: object) => ({
                    ...old,
                    rank: String(task.rank),
                    attempt: String(task.attempt_number),
                  })) as never
                }
              >
                log
              </Link>
            ),
          },
        ]}
      />
    </section>
  );
}

const kLastLines = 12;

// The cause of a failure shows the last lines itself.
const shownByCause = (job: Job) => job.state === "failed" && (job.failure?.lines?.length ?? 0) > 0;

function LastLines(props: {job: Job}) {
  const {job} = props;
  const over = kEnded.has(job.state);
  const query = useQuery({
    queryKey: ["job", job.id, "last lines"],
    enabled: Boolean(job.started_at),
    refetchInterval: over ? false : 2000,
    queryFn: async ({signal}) => {
      const {tail} = await import("./log_source");
      return tail(job.id, kLastLines, signal);
    },
  });
  if (!job.started_at) return null;
  return (
    <section aria-label="Last lines" className="card">
      <div className="row">
        <h2 className="grow">Log</h2>{" "}
        <Link to={"/jobs/$job/log" as never} params={{job: job.id} as never}>
          whole log
        </Link>
      </div>
      {query.error ? (
        <p className="muted">{say(query.error).text}</p>
      ) : (
        <pre className={css.lines} tabIndex={0}>
          {query.data?.map((one) => one.text).join("\n") || "It has written nothing yet."}
        </pre>
      )}
    </section>
  );
}
