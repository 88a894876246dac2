// What waits, in the order in which the scheduler looks at it, and why.
import {queryOptions, useQuery} from "@tanstack/react-query";
import {Link} from "@tanstack/react-router";
import {useMemo} from "react";

import {type Job, type Listed, api, ask} from "../../api/client";
import {useProject} from "../../app/search";
import {count, plural, toNumber} from "../../lib/format";
import {type Column, Table} from "../../ui/table";
import {Elapsed} from "../../ui/time";
import {Empty, Loading, Notice, Trouble, WayOn} from "../../ui/words";
import {gpusOf} from "../job_facts";
import {JobName} from "../job_name";
import css from "./cluster.module.css";

const kPage = 500; // jobs of one answer
const kMost = 20_000; // that wait and are looked at
const kFirst = 3; // told beside the machines
const kFields = "id,name,project,owner,state,priority,reason,created_at,spec";
const kSoonMs = 15_000; // reasons change without an event
const kLaterMs = 60_000; // beyond the first page, which is long
const kRow = 68; // three lines of why
const kCard = 156; // five of them

async function page(signal: AbortSignal, cursor?: string): Promise<Listed<Job>> {
  const query = {
    filter: "state = queued",
    order_by: "created_at",
    limit: kPage,
    fields: kFields,
    cursor,
  };
  return (await ask(api.GET("/api/v1/jobs", {params: {query}, signal}))) as unknown as Listed<Job>;
}

// The first of all projects that one may see: the queue is one.
export const waiting = () =>
  queryOptions({
    queryKey: ["jobs", "queue"],
    refetchInterval: kSoonMs,
    queryFn: async ({signal}) => {
      const {items, next_cursor} = await page(signal);
      return {items: inOrder(items), next_cursor};
    },
  });

// Those beyond the first page, one page after another. Events do not ask for them anew: where so
// many wait, there is one each moment.
function useRest(cursor?: string) {
  return useQuery({
    queryKey: ["waiting", "rest"],
    enabled: Boolean(cursor),
    refetchInterval: kLaterMs,
    queryFn: async ({signal}) => {
      const items: Job[] = [];
      let next = cursor;
      while (next && items.length < kMost - kPage) {
        const answer = await page(signal, next);
        items.push(...answer.items);
        next = answer.next_cursor;
      }
      return {items, next_cursor: next};
    },
  });
}

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

const kColumns: Column<Job>[] = [
  {key: "place", head: "Place", width: "52px", number: true, cell: (job) => placeText(job)},
  {key: "job", head: "Job", width: "minmax(110px, 1fr)", cell: (job) => <JobName job={job} />},
  {
    key: "why",
    head: "Why it waits, and what would start it",
    width: "minmax(280px, 4fr)",
    cell: (job) => <Why job={job} />,
  },
  {key: "gpus", head: "GPUs", width: "48px", number: true, cell: (job) => gpusOf(job.spec)},
  {key: "priority", head: "Priority", width: "60px", number: true, cell: (job) => job.priority},
  {
    key: "project",
    head: "Project",
    width: "minmax(70px, 0.6fr)",
    cell: (job) => <span title={job.project}>{job.project}</span>,
  },
  {
    key: "owner",
    head: "Owner",
    width: "minmax(60px, 0.5fr)",
    cell: (job) => <span title={job.owner}>{job.owner}</span>,
  },
  {
    key: "waits",
    head: "Waits",
    width: "76px",
    number: true,
    cell: (job) => <Elapsed from={job.created_at} />,
  },
];

export default function Queue() {
  const query = useQuery(waiting());
  const first = query.data;
  const rest = useRest(first?.next_cursor);
  const project = useProject();
  const all = useMemo(() => {
    const more = first?.next_cursor ? (rest.data?.items ?? []) : [];
    const known = new Set(first?.items.map((job) => job.id));
    return inOrder([...(first?.items ?? []), ...more.filter((job) => !known.has(job.id))]);
  }, [first, rest.data]);
  const shown = useMemo(
    () => all.filter((job) => !project || job.project === project),
    [all, project],
  );
  if (query.error && !first)
    return <Trouble error={query.error} retry={() => void query.refetch()} />;
  if (!first) return <Loading what="the queue" />;
  const coming = first.next_cursor !== undefined && first.next_cursor !== "" && !rest.data;
  if (shown.length === 0 && !coming)
    return (
      <Empty
        title={all.length > 0 ? "Nothing of this project waits" : "Nothing waits"}
        action={<WayOn to="/jobs" name="All jobs" />}
      >
        {all.length > 0
          ? `${plural(all.length, "job")} of other projects wait.`
          : "Each job that was submitted has begun."}
      </Empty>
    );
  return (
    <>
      {rest.error && <Trouble error={rest.error} retry={() => void rest.refetch()} />}
      {coming && !rest.error && (
        <p className={`muted ${css.note}`} role="status">
          {`The ${count(first.items.length)} that wait longest; the others are on their way.`}
        </p>
      )}
      {rest.data?.next_cursor && (
        <Notice kind="warn">
          {`More than ${count(kMost)} jobs wait; the newest are not shown.`}
        </Notice>
      )}
      <Table
        label="Waiting"
        rows={shown}
        id={(job) => job.id}
        columns={kColumns}
        rowHeight={kRow}
        cardHeight={kCard}
        card={(job) => <Card job={job} />}
      />
    </>
  );
}

function placeText(job: Job): string {
  const place = placeOf(job);
  return Number.isFinite(place) ? count(place + 1) : "–";
}

function Why(props: {job: Job}) {
  const {job} = props;
  const {text = "", mend = ""} = job.reason ?? {};
  return (
    <span className={css.why} title={[text, mend].filter(Boolean).join(" ")}>
      {text}
      {mend && <span className="muted"> {mend}</span>}
    </span>
  );
}

function Card(props: {job: Job}) {
  const {job} = props;
  const gpus = gpusOf(job.spec);
  return (
    <>
      <div className="row">
        <span className="number muted">{placeText(job)}</span>
        <JobName job={job} />
        <span className="grow" />
        <Elapsed from={job.created_at} />
      </div>
      <Why job={job} />
      <div className="muted cut">
        {[gpus > 0 && plural(gpus, "GPU"), job.project, job.owner, `priority ${job.priority}`]
          .filter(Boolean)
          .join(" · ")}
      </div>
    </>
  );
}

// Beside the machines: the head of the queue.
export function FirstWaiting(props: {jobs: Job[]; total: number}) {
  return (
    <section className="card" aria-label="Waiting">
      <div className="row">
        <h2 className="grow">Waiting</h2>
        <Link to={"/cluster/queue" as never}>all {count(props.total)}</Link>
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
