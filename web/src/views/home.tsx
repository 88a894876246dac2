// What runs, what waits and why, what failed, and how full the machines are.
import {keepPreviousData, useQuery} from "@tanstack/react-query";
import {Link} from "@tanstack/react-router";
import {useEffect, useState} from "react";

import {type Job, type Listed, type Run, api, ask} from "../api/client";
import {cluster, quotas} from "../app/queries";
import {useProject} from "../app/search";
import {count, plural, short, toNumber} from "../lib/format";
import {inOrder} from "../lib/run_fields";
import {Meter} from "../ui/meter";
import {Page} from "../ui/page";
import {State} from "../ui/state";
import {Elapsed, Time} from "../ui/time";
import {Empty, Loading, Trouble} from "../ui/words";
import css from "./home.module.css";
import {JobName} from "./job_name";

const kMost = 8; // of each list
const kFields =
  "id,run_id,name,project,owner,state,reason,failure," +
  "created_at,started_at,finished_at,stop_asked_at";
const kSoonMs = 5000; // values of runs that go on
const kMostValues = 2; // of a run

function useJobs(filter: string, project: string | undefined) {
  return useQuery({
    queryKey: ["jobs", "home", filter, project],
    queryFn: async ({signal}) => {
      const query = {filter, project, limit: kMost, fields: kFields};
      const page = await ask(api.GET("/api/v1/jobs", {params: {query}, signal}));
      return page as unknown as Listed<Job>;
    },
  });
}

// What the runs of these jobs measured last, by run: "step 812 · loss 0.31".
function useLatest(jobs: readonly Job[]): ReadonlyMap<string, string> {
  const ids = jobs.map((job) => job.run_id ?? "").filter(Boolean);
  const {data} = useQuery({
    queryKey: ["runs", "home", ids],
    enabled: ids.length > 0,
    refetchInterval: kSoonMs,
    placeholderData: keepPreviousData,
    queryFn: async ({signal}) => {
      const query = {filter: `id in (${ids.join(", ")})`, fields: "id,metrics", limit: kMost};
      const page = await ask(api.GET("/api/v1/runs", {params: {query}, signal}));
      return (page as unknown as Listed<Run>).items;
    },
  });
  return new Map((data ?? []).map((run) => [run.id, latestOf(run)]));
}

function latestOf(run: Pick<Run, "metrics">): string {
  const all = run.metrics ?? {};
  const keys = inOrder(Object.keys(all)).slice(0, kMostValues);
  const step = Math.max(...keys.map((key) => all[key]?.step ?? 0));
  const values = keys.map((key) => `${key} ${short(all[key]?.value)}`);
  return keys.length === 0 ? "" : [`step ${count(step)}`, ...values].join(" · ");
}

export function Home() {
  const project = useProject();
  const seen = useLastLook();
  const running = useJobs("state in (preparing, running, saving)", project);
  const waiting = useJobs("state = queued", project);
  const failed = useJobs("state = failed", project);
  const done = useJobs("state in (succeeded, cancelled)", project);
  const lists = [running, waiting, failed, done];
  const error = lists.find((one) => one.error)?.error;
  const nothing = lists.every((one) => one.data && one.data.items.length === 0);
  return (
    <Page title="Home">
      <div className={css.columns}>
        <div className="stack grow">
          {error != null && <Trouble error={error} />}
          {nothing ? (
            <Empty
              title="Nothing has run here yet"
              command="hearth job submit examples/fashion-mnist/job.yaml --follow"
              action={
                <Link to={"/submit" as never} className="button primary">
                  New job
                </Link>
              }
            >
              A job is a command with what it needs. The first one takes a minute: choose a template
              here, or give a job file to the command line.
            </Empty>
          ) : (
            <>
              <Jobs
                title="Running"
                query={running}
                none="Nothing runs."
                all="state in (preparing, running, saving)"
              />
              <Jobs title="Waiting" query={waiting} none="Nothing waits." all="state = queued" />
              <Jobs
                title="Failed"
                seen={seen}
                query={failed}
                none="Nothing has failed."
                all="state = failed"
              />
              <Jobs
                title="Ended"
                query={done}
                none="Nothing has ended."
                all="state in (succeeded, cancelled)"
              />
            </>
          )}
        </div>
        <aside className={css.side}>
          <ClusterStrip />
          <QuotaStrip />
        </aside>
      </div>
    </Page>
  );
}

const kSeen = "hearth.home_seen";

// When this browser showed the home view the last time before this one.
function useLastLook(): string {
  const [before] = useState(() => {
    try {
      return localStorage.getItem(kSeen) ?? "";
    } catch {
      return "~"; // a browser that remembers nothing: then nothing is new
    }
  });
  useEffect(() => {
    const remember = () => {
      try {
        localStorage.setItem(kSeen, new Date().toISOString());
      } catch {
        // see above
      }
    };
    addEventListener("pagehide", remember);
    return () => {
      removeEventListener("pagehide", remember);
      remember();
    };
  }, []);
  return before;
}

function Jobs(props: {
  title: string;
  query: ReturnType<typeof useJobs>;
  none: string;
  all: string;
  seen?: string; // what ended after it is new to the reader
}) {
  const {data, isPending} = props.query;
  const latest = useLatest((data?.items ?? []).filter((job) => job.state === "running"));
  const fresh = (data?.items ?? []).filter((job) => (job.finished_at ?? "") > (props.seen ?? "~"));
  return (
    <section className="card" aria-label={props.title}>
      <div className="row">
        <h2 className="grow">
          {props.title}
          {fresh.length > 0 && <span className="bad"> {fresh.length} since you last looked</span>}
        </h2>
        {data && data.items.length > 0 && (
          <Link to="/jobs" search={(old) => ({...old, filter: props.all})}>
            {data.next_cursor ? "all" : plural(data.items.length, "job")}
          </Link>
        )}
      </div>
      {isPending && <Loading what="jobs" />}
      {data && data.items.length === 0 && <p className="muted">{props.none}</p>}
      <ul>
        {data?.items.map((job) => {
          const news = newsOf(job) || latest.get(job.run_id ?? "");
          return (
            <li key={job.id} className={css.job}>
              <span className={css.what}>
                <JobName job={job} /> <State state={job.state} />
              </span>
              {news && <span className={css.news}>{news}</span>}
              <span className={`muted nowrap ${css.when}`}>
                {job.finished_at ? (
                  <Time at={job.finished_at} />
                ) : (
                  <Elapsed from={job.started_at || job.created_at} />
                )}
              </span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

// What stands beside a job's name: why it waits, how it failed.
export function newsOf(job: Job): string {
  if (job.failure?.text) return [job.failure.text, job.failure.mend].filter(Boolean).join(" ");
  if (job.stop_asked_at && !job.finished_at) return "is being stopped";
  return job.reason?.text ?? "";
}

function ClusterStrip() {
  const {data, error} = useQuery(cluster());
  if (error) return <Trouble error={error} />;
  if (!data) return <Loading what="the machines" />;
  const nodes = data.items ?? [];
  const sum = (of: (n: (typeof nodes)[number]) => number) =>
    nodes.reduce((all, node) => all + of(node), 0);
  const gpus = sum((n) => n.node?.gpus?.length ?? 0);
  const cpus = sum((n) => toNumber(n.node?.cpus));
  const freeGpus = sum((n) => toNumber(n.free_gpus));
  const freeCpus = sum((n) => toNumber(n.free_cpus));
  const away = nodes.filter((n) => !n.node?.ready || n.node.cordoned || n.node.problem);
  const given = (all: number, free: number) => Math.round((all - free) * 100) / 100;
  return (
    <section className="card" aria-label="Cluster">
      <div className="row">
        <h2 className="grow">Cluster</h2>{" "}
        <Link to={"/cluster" as never}>{plural(nodes.length, "machine")}</Link>
      </div>
      <div className="stack">
        {gpus > 0 && (
          <div>
            <p className="row">
              <span className="grow">GPUs given</span>{" "}
              <span className="number">
                {given(gpus, freeGpus)} of {gpus}
              </span>
            </p>
            <Meter
              label={`${given(gpus, freeGpus)} of ${gpus} GPUs given`}
              whole={gpus}
              parts={[{value: gpus - freeGpus}]}
            />
          </div>
        )}
        <div>
          <p className="row">
            <span className="grow">CPUs given</span>{" "}
            <span className="number">
              {given(cpus, freeCpus)} of {cpus}
            </span>
          </p>
          <Meter
            label={`${given(cpus, freeCpus)} of ${cpus} CPUs given`}
            whole={cpus}
            parts={[{value: cpus - freeCpus}]}
          />
        </div>
        {away.map((one) => (
          <p key={one.node?.name} className="bad">
            {one.node?.name}:{" "}
            {one.node?.problem || (one.node?.cordoned ? "takes no new tasks" : "is away")}
          </p>
        ))}
      </div>
    </section>
  );
}

function QuotaStrip() {
  const project = useProject();
  const {data} = useQuery(quotas());
  const mine = (data?.items ?? [])
    .filter((one) => !project || one.quota?.project === project)
    .filter((one) => one.quota?.limit || one.quota?.guaranteed);
  if (!data || mine.length === 0) return null;
  return (
    <section className="card" aria-label="Quotas">
      <div className="row">
        <h2 className="grow">Quotas</h2> <Link to={"/quotas" as never}>all</Link>
      </div>
      <ul className="stack">
        {mine.slice(0, kMost).map((one) => {
          const used = one.used?.gpus ?? 0;
          const limit = one.quota?.limit?.gpus ?? one.quota?.guaranteed?.gpus ?? 0;
          return (
            <li key={one.quota?.project}>
              <p className="row">
                <span className="grow cut">{one.quota?.project}</span>{" "}
                <span className="number">
                  {used} of {limit} GPUs
                </span>
              </p>
              <Meter
                label={`${one.quota?.project}: ${used} of ${limit} GPUs`}
                whole={limit}
                parts={[{value: used}]}
              />
            </li>
          );
        })}
      </ul>
    </section>
  );
}
