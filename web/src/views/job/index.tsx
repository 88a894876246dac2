// One job: what it does now, or why it does not.
import {useMutation, useQuery, useQueryClient} from "@tanstack/react-query";
import {Link, useNavigate, useParams} from "@tanstack/react-router";
import {Suspense, useEffect, useRef, useState} from "react";

import {type Job, api, ask} from "../../api/client";
import {useKeys} from "../../app/keys";
import {part} from "../../app/part";
import {job as jobQuery} from "../../app/queries";
import {Confirm} from "../../ui/dialog";
import {Page, Tabs} from "../../ui/page";
import {State, kEnded} from "../../ui/state";
import {Loading, NoPart, Trouble} from "../../ui/words";
import {Overview} from "./overview";

const Log = part(() => import("./log"));
const Metrics = part(() => import("./metrics"));
const Resources = part(() => import("./resources"));
const Files = part(() => import("./files"));
const LineageTab = part(() => import("./lineage"));
const kParts: Record<string, {ahead: () => void} | undefined> = {
  log: Log,
  metrics: Metrics,
  resources: Resources,
  files: Files,
  lineage: LineageTab,
};

const kTabs = {
  overview: "Overview",
  log: "Log",
  metrics: "Metrics",
  resources: "Resources",
  files: "Files",
  lineage: "Lineage",
} as const;

export function JobPage() {
  const {job: id = "", tab = "overview"} = useParams({strict: false}) as {
    job?: string;
    tab?: string;
  };
  const query = useQuery(jobQuery(id));
  const job = query.data;
  useLastLook(job);
  useEffect(() => kParts[tab]?.ahead(), [tab]);
  return (
    <Page
      title={job?.name ?? "Job"}
      whole={tab === "log"}
      heading={
        job ? (
          <>
            <Link to="/jobs" className="muted">
              Jobs
            </Link>{" "}
            <span className="muted">/</span> <span className="cut">{job.name}</span>{" "}
            <State state={job.state} />
          </>
        ) : (
          "Job"
        )
      }
      actions={job && <Actions job={job} />}
      tabs={
        <Tabs
          label="Parts of the job"
          tabs={Object.entries(kTabs).map(([key, name]) => ({
            to: key === "overview" ? "/jobs/$job" : `/jobs/$job/${key}`,
            params: {job: id},
            name,
          }))}
        />
      }
    >
      {query.error && !job && (
        <Trouble
          error={query.error}
          retry={() => void query.refetch()}
          instead={{to: "/jobs", name: "All jobs"}}
        />
      )}
      {query.isPending && !query.error && <Loading what="the job" />}
      {job && (
        <Suspense fallback={<Loading what={tab} />}>
          {!(tab in kTabs) && (
            <NoPart of="a job" way={{to: "/jobs/$job", params: {job: id}, name: "Its overview"}} />
          )}
          {tab === "overview" && <Overview job={job} />}
          {tab === "log" && <Log job={job} />}
          {tab === "metrics" && <Metrics job={job} />}
          {tab === "resources" && <Resources job={job} />}
          {tab === "files" && <Files job={job} />}
          {tab === "lineage" && <LineageTab thing={`job:${job.id}`} project={job.project} />}
        </Suspense>
      )}
    </Page>
  );
}

// What is asked for again and again while a job runs is asked for once more when it has ended.
function useLastLook(job: Job | undefined) {
  const queries = useQueryClient();
  const before = useRef<boolean | undefined>(undefined);
  const over = job ? kEnded.has(job.state) : undefined;
  useEffect(() => {
    if (over && before.current === false) {
      void queries.invalidateQueries({queryKey: ["run", job?.run_id]});
      void queries.invalidateQueries({queryKey: ["run", "charts"]});
    }
    before.current = over;
  }, [over, job?.run_id, queries]);
}

function Actions(props: {job: Job}) {
  const {job} = props;
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [asked, setAsked] = useState<"" | "stop" | "delete">("");
  const params = {path: {job: job.id}};
  const act = useMutation({
    mutationFn: async (what: "stop" | "retry" | "delete") => {
      if (what === "delete") await ask(api.DELETE("/api/v1/jobs/{job}", {params}));
      else
        await ask(
          api.POST(what === "stop" ? "/api/v1/jobs/{job}/cancel" : "/api/v1/jobs/{job}/retry", {
            params,
          }),
        );
    },
    onSuccess: (_, what) => {
      void queries.invalidateQueries({queryKey: ["jobs"]});
      if (what === "delete") void navigate({to: "/jobs"});
      else void queries.invalidateQueries({queryKey: ["job", job.id]});
    },
    onSettled: () => setAsked(""),
  });
  const again = () =>
    void navigate({
      to: "/submit" as never,
      search: ((old: object) => ({...old, from: job.id})) as never,
    });
  useKeys([{keys: "e", does: "again with changes", run: again}]);
  const ended = kEnded.has(job.state);
  const stopping = Boolean(job.stop_asked_at) && !ended;
  return (
    <>
      {act.error && (
        <span role="alert" className="bad">
          {act.error.message}
        </span>
      )}
      <button type="button" onClick={again} title="A new job from this one (e)">
        Again with changes
      </button>
      {ended && (
        <button type="button" disabled={act.isPending} onClick={() => act.mutate("retry")}>
          Try again
        </button>
      )}
      {!ended && (
        <button
          type="button"
          className="danger"
          disabled={stopping || act.isPending}
          onClick={() => setAsked("stop")}
        >
          {stopping ? "Stopping…" : "Stop"}
        </button>
      )}
      {ended && (
        <button type="button" className="danger" onClick={() => setAsked("delete")}>
          Delete
        </button>
      )}
      {asked === "stop" && (
        <Confirm
          title={`Stop ${job.name}`}
          action="Stop it"
          busy={act.isPending}
          run={() => act.mutate("stop")}
          close={() => setAsked("")}
        >
          It is asked to end, and what it saved stays. It can be tried again from its last
          checkpoint.
        </Confirm>
      )}
      {asked === "delete" && (
        <Confirm
          title={`Delete ${job.name}`}
          action="Delete it"
          busy={act.isPending}
          run={() => act.mutate("delete")}
          close={() => setAsked("")}
        >
          Its log and its files go; models and datasets stay. This cannot be taken back.
        </Confirm>
      )}
    </>
  );
}
