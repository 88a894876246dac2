// All jobs, the newest first: filtered and ordered by the server, acted upon many at once.
import {keepPreviousData, useInfiniteQuery, useQueryClient} from "@tanstack/react-query";
import {Link, useNavigate} from "@tanstack/react-router";
import {useState} from "react";

import {type Job, type Listed, api, ask} from "../api/client";
import {say} from "../app/errors";
import {type Change, useProject, useView} from "../app/search";
import {plural} from "../lib/format";
import {Confirm} from "../ui/dialog";
import {FilterBox} from "../ui/filter";
import {useRows, useWalk} from "../ui/list";
import {Page} from "../ui/page";
import {State, kEnded} from "../ui/state";
import {type Column, Table} from "../ui/table";
import {Elapsed, Time} from "../ui/time";
import {Empty, Loading, Notice, Trouble} from "../ui/words";
import {newsOf} from "./home";
import {gpusOf} from "./job_facts";
import {JobName} from "./job_name";
import css from "./jobs.module.css";

const kPage = 100;
const kFields =
  "id,name,project,owner,state,reason,failure,created_at,started_at,finished_at,stop_asked_at,spec";
const kExamples = [
  "state = running",
  "state = failed and name ~ cnn",
  "owner = me",
  "state = queued and project = default",
  "created_at > 2026-01-01",
];
const kStates = ["queued", "running", "failed", "succeeded"];

const kColumns: Column<Job>[] = [
  {
    key: "name",
    head: "Name",
    width: "minmax(160px, 1.4fr)",
    sort: "name",
    cell: (job) => <JobName job={job} />,
  },
  {
    key: "state",
    head: "State",
    width: "104px",
    sort: "state",
    cell: (job) => <State state={job.state} />,
  },
  {
    key: "news",
    head: "Why",
    width: "minmax(160px, 3fr)",
    cell: (job) => <span title={newsOf(job)}>{newsOf(job)}</span>,
  },
  {
    key: "project",
    head: "Project",
    width: "minmax(80px, 0.6fr)",
    sort: "project",
    cell: (job) => job.project,
  },
  {
    key: "owner",
    head: "Owner",
    width: "minmax(70px, 0.5fr)",
    sort: "owner",
    cell: (job) => job.owner,
  },
  {key: "gpus", head: "GPUs", width: "48px", number: true, cell: (job) => gpusOf(job.spec)},
  {
    key: "lasted",
    head: "Ran",
    width: "76px",
    number: true,
    cell: (job) => job.started_at && <Elapsed from={job.started_at} until={job.finished_at} />,
  },
  {
    key: "created",
    head: "Submitted",
    width: "112px",
    sort: "created_at",
    cell: (job) => <Time at={job.created_at} />,
  },
];

function useJobs(filter: string, order: string, project: string | undefined) {
  return useInfiniteQuery({
    queryKey: ["jobs", "list", project, filter, order],
    initialPageParam: "",
    placeholderData: keepPreviousData,
    queryFn: async ({pageParam, signal}) => {
      const query = {
        project,
        filter: filter || undefined,
        order_by: order,
        limit: kPage,
        cursor: pageParam || undefined,
        fields: kFields,
      };
      return (await ask(
        api.GET("/api/v1/jobs", {params: {query}, signal}),
      )) as unknown as Listed<Job>;
    },
    getNextPageParam: (last) => last.next_cursor || undefined,
  });
}

export function Jobs() {
  const [view, change] = useView();
  const project = useProject();
  const filter = view.filter ?? "";
  const order = view.order ?? "created_at desc";
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const navigate = useNavigate();
  const query = useJobs(filter, order, project);
  const {rows, more} = useRows(query);
  const open = (job: Job) => void navigate({to: "/jobs/$job", params: {job: job.id}});
  const current = useWalk(rows, open, setChosen);
  return (
    <Page title="Jobs" whole actions={<States filter={filter} change={change} />}>
      <div className={css.filters}>
        <FilterBox
          label="Filter jobs"
          value={filter}
          set={(text) => change({filter: text || undefined})}
          error={filter !== "" ? query.error : undefined}
          examples={kExamples}
        />
        <span className="muted nowrap" role="status">
          {rows.length > 0 && plural(rows.length, "job")}
          {query.hasNextPage && " and more"}
        </span>
      </div>
      {chosen.size > 0 && <Bulk ids={chosen} rows={rows} done={() => setChosen(new Set())} />}
      {query.error && !query.data && filter === "" && (
        <Trouble
          error={query.error}
          retry={() => void query.refetch()}
          instead={{to: "/jobs", name: "Show all jobs"}}
        />
      )}
      {query.isPending && !query.error && <Loading what="jobs" />}
      {query.data && rows.length === 0 && (
        <NoJobs filter={filter} project={project} change={change} />
      )}
      {rows.length > 0 && (
        <Table
          label="Jobs"
          rows={rows}
          id={(job) => job.id}
          name={(job) => job.name}
          columns={kColumns}
          more={more}
          order={order}
          sort={(next) => change({order: next}, "replace")}
          chosen={{ids: chosen, set: setChosen}}
          current={current?.id}
          card={(job) => <Card job={job} />}
        />
      )}
    </Page>
  );
}

function Card(props: {job: Job}) {
  const {job} = props;
  return (
    <>
      <div className="row">
        <JobName job={job} /> <span className="grow" /> <State state={job.state} />
      </div>
      <div className="row muted">
        <span className="cut grow">{newsOf(job) || job.project}</span> <Time at={job.created_at} />
      </div>
    </>
  );
}

// One press shows what is in a state, another all again.
function States(props: {filter: string; change: Change}) {
  return kStates.map((state) => {
    const mine = `state = ${state}`;
    const on = props.filter === mine;
    return (
      <button
        key={state}
        type="button"
        aria-pressed={on}
        className={on ? "primary" : ""}
        onClick={() => props.change({filter: on ? undefined : mine})}
      >
        {state}
      </button>
    );
  });
}

function NoJobs(props: {filter: string; project?: string; change: Change}) {
  const {filter, project, change} = props;
  const all = () => change({filter: undefined, project: undefined});
  if (filter !== "" || project)
    return (
      <Empty
        title="No job is like that"
        action={
          <button type="button" onClick={all}>
            Show all jobs
          </button>
        }
      >
        {filter !== "" ? "The filter hides all there are. " : ""}
        {project ? `Only jobs of the project ${project} are looked at.` : ""}
      </Empty>
    );
  return (
    <Empty
      title="There is no job yet"
      command="hearth job submit -- python3 train.py"
      action={
        <Link to={"/submit" as never} className="button primary">
          New job
        </Link>
      }
    >
      A job is a command with what it needs; it waits until there is room for it, and says why.
    </Empty>
  );
}

const kAtOnce = 4;
type Act = "cancel" | "retry" | "delete";

function Bulk(props: {ids: ReadonlySet<string>; rows: Job[]; done: () => void}) {
  const queries = useQueryClient();
  const [busy, setBusy] = useState("");
  const [trouble, setTrouble] = useState<string[]>([]);
  const [asked, setAsked] = useState<Act | "">("");
  const jobs = props.rows.filter((job) => props.ids.has(job.id));
  const fits = {
    cancel: jobs.filter((job) => !kEnded.has(job.state)),
    retry: jobs.filter((job) => kEnded.has(job.state)),
    delete: jobs.filter((job) => kEnded.has(job.state)),
  };
  const run = async (act: Act) => {
    setAsked("");
    const left = [...fits[act]];
    const said: string[] = [];
    let did = 0;
    const worker = async () => {
      for (let job = left.shift(); job; job = left.shift()) {
        const params = {path: {job: job.id}};
        try {
          if (act === "delete") await ask(api.DELETE("/api/v1/jobs/{job}", {params}));
          else
            await ask(
              api.POST(
                act === "cancel" ? "/api/v1/jobs/{job}/cancel" : "/api/v1/jobs/{job}/retry",
                {params},
              ),
            );
        } catch (error) {
          said.push(`${job.name}: ${say(error).text}`);
        }
        did += 1;
        setBusy(`${act}: ${did} of ${fits[act].length}`);
      }
    };
    await Promise.all(Array.from({length: kAtOnce}, worker));
    setBusy("");
    setTrouble(said);
    await queries.invalidateQueries({queryKey: ["jobs"]});
    if (said.length === 0) props.done();
  };
  return (
    <div className={css.bulk}>
      <strong>{props.ids.size} chosen</strong>
      <button
        type="button"
        disabled={!fits.cancel.length || busy !== ""}
        onClick={() => setAsked("cancel")}
      >
        Stop {fits.cancel.length}
      </button>
      <button
        type="button"
        disabled={!fits.retry.length || busy !== ""}
        onClick={() => void run("retry")}
      >
        Try {fits.retry.length} again
      </button>
      <button
        type="button"
        className="danger"
        disabled={!fits.delete.length || busy !== ""}
        onClick={() => setAsked("delete")}
      >
        Delete {fits.delete.length}
      </button>
      <button type="button" className="plain" onClick={props.done}>
        Choose none
      </button>
      <span role="status">{busy}</span>
      {trouble.length > 0 && <Notice kind="bad">{trouble.join("\n")}</Notice>}
      {asked !== "" && (
        <Confirm
          title={asked === "delete" ? "Delete jobs" : "Stop jobs"}
          action={
            asked === "delete"
              ? `Delete ${plural(fits.delete.length, "job")}`
              : `Stop ${plural(fits.cancel.length, "job")}`
          }
          run={() => void run(asked)}
          close={() => setAsked("")}
        >
          {asked === "delete"
            ? "Their logs and files go; models and datasets stay. This cannot be taken back."
            : "They are asked to end; what they saved stays, and they can be tried again."}
        </Confirm>
      )}
    </div>
  );
}
