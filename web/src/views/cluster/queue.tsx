// What waits, in the order in which the scheduler looks at it, and why.
import {queryOptions, useQuery} from "@tanstack/react-query";
import {Link} from "@tanstack/react-router";

import {type Job, type Listed, api, ask} from "../../api/client";
import {useProject} from "../../app/search";
import {duration, plural, toNumber} from "../../lib/format";
import {Elapsed} from "../../ui/time";
import {Empty, Loading, Notice, Trouble} from "../../ui/words";
import {gpusOf} from "../job_facts";
import {JobName} from "../job_name";
import css from "./cluster.module.css";

const kMost = 500; // that wait and are looked at
const kFirst = 3; // told beside the machines
const kFields = "id,name,project,owner,state,priority,reason,created_at,spec";

// All of the projects that one may see: the queue is one.
export const waiting = () =>
  queryOptions({
    queryKey: ["jobs", "queue"],
    refetchInterval: 15_000, // reasons change without an event
    queryFn: async ({signal}) => {
      const query = {
        filter: "state = queued",
        order_by: "created_at",
        limit: kMost,
        fields: kFields,
      };
      const page = await ask(api.GET("/api/v1/jobs", {params: {query}, signal}));
      const {items, next_cursor} = page as unknown as Listed<Job>;
      return {items: inOrder(items), next_cursor};
    },
  });

// Each reason says how many are before it. Those that cannot start by waiting have no place.
const placeOf = (job: Job): number => {
  const ahead = toNumber(job.reason?.numbers?.ahead);
  return Number.isNaN(ahead) ? Infinity : ahead;
};

export function inOrder(jobs: readonly Job[]): Job[] {
  return [...jobs].sort((a, b) => {
    const [first, second] = [placeOf(a), placeOf(b)];
    return first === second ? a.created_at.localeCompare(b.created_at) : first - second;
  });
}

export default function Queue() {
  const query = useQuery(waiting());
  const project = useProject();
  if (query.error && !query.data)
    return <Trouble error={query.error} retry={() => void query.refetch()} />;
  if (!query.data) return <Loading what="the queue" />;
  const shown = query.data.items.filter((job) => !project || job.project === project);
  if (shown.length === 0)
    return (
      <Empty
        title={query.data.items.length > 0 ? "Nothing of this project waits" : "Nothing waits"}
      >
        {query.data.items.length > 0
          ? `${plural(query.data.items.length, "job")} of other projects wait.`
          : "Each job that was submitted has begun."}
      </Empty>
    );
  return (
    <div className="stack">
      {query.data.next_cursor && (
        <Notice kind="warn">{`More than ${kMost} jobs wait; these came first.`}</Notice>
      )}
      <div className={css.scroll} tabIndex={0} role="region" aria-label="Waiting">
        <table className={css.queue}>
          <thead>
            <tr>
              <th className="number">Place</th>
              <th>Job</th>
              <th>Why it waits, and what would start it</th>
              <th className="number">GPUs</th>
              <th className="number">Priority</th>
              <th>Project</th>
              <th>Owner</th>
              <th className="number">Waits</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((job) => (
              <Row key={job.id} job={job} />
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

function Row(props: {job: Job}) {
  const {job} = props;
  const place = placeOf(job);
  return (
    <tr>
      <td className="number">{Number.isFinite(place) ? place + 1 : "–"}</td>
      <td className={css.who}>
        <JobName job={job} />
      </td>
      <td className={css.why}>
        {job.reason?.text}
        {job.reason?.mend && <span className="muted"> {job.reason.mend}</span>}
        <Starts job={job} />
      </td>
      <td className="number">{gpusOf(job.spec)}</td>
      <td className="number">{job.priority}</td>
      <td>{job.project}</td>
      <td>{job.owner}</td>
      <td className="number">
        <Elapsed from={job.created_at} />
      </td>
    </tr>
  );
}

function Starts(props: {job: Job}) {
  const seconds = toNumber(props.job.reason?.numbers?.starts_in_seconds);
  if (!Number.isFinite(seconds)) return null;
  return <strong> It would start in about {duration(seconds)}.</strong>;
}

// Beside the machines: the head of the queue.
export function FirstWaiting(props: {jobs: Job[]}) {
  return (
    <section className="card" aria-label="Waiting">
      <div className="row">
        <h2 className="grow">Waiting</h2>
        <Link to={"/cluster/queue" as never}>all {props.jobs.length}</Link>
      </div>
      <ol>
        {props.jobs.slice(0, kFirst).map((job, i) => (
          <li key={job.id} className={css.first}>
            <span className="number">{i + 1}</span>
            <JobName job={job} />
            <span>{job.reason?.text}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}
