// One run: what it was told, what it measured, what it read and made.
import {useQuery} from "@tanstack/react-query";
import {Link, useParams} from "@tanstack/react-router";
import {Suspense, lazy} from "react";

import type {Run} from "../../api/client";
import {run as runQuery} from "../../app/queries";
import {Page, Tabs} from "../../ui/page";
import {State} from "../../ui/state";
import {Loading, NoPart, Trouble} from "../../ui/words";
import {RunCharts} from "../run_charts";
import {DeleteRun} from "./delete_run";
import {RunOverview} from "./run_overview";

const Artifacts = lazy(async () => ({default: (await import("../artifacts")).Artifacts}));
const LineageView = lazy(async () => ({default: (await import("../lineage")).LineageView}));

const kTabs = {overview: "Overview", metrics: "Metrics", files: "Files", lineage: "Lineage"};
const kLiveMs = 3000;

export function RunPage() {
  const {run: id = "", tab = "overview"} = useParams({strict: false}) as {
    run?: string;
    tab?: string;
  };
  const query = useQuery({
    ...runQuery(id),
    refetchInterval: (now) => (now.state.data?.status === "running" ? kLiveMs : false),
  });
  const run = query.data;
  return (
    <Page
      title={run?.name ?? "Run"}
      heading={
        run ? (
          <>
            <Link to={"/runs" as never} className="muted">
              Runs
            </Link>{" "}
            <span className="muted">/</span> <span className="cut">{run.name || run.id}</span>{" "}
            <State state={run.status} />
          </>
        ) : (
          "Run"
        )
      }
      actions={run && <Actions run={run} />}
      tabs={
        <Tabs
          label="Parts of the run"
          tabs={Object.entries(kTabs).map(([key, name]) => ({
            to: key === "overview" ? "/runs/$run" : `/runs/$run/${key}`,
            params: {run: id},
            name,
          }))}
        />
      }
    >
      {query.error && !run && (
        <Trouble
          error={query.error}
          retry={() => void query.refetch()}
          instead={{to: "/runs", name: "All runs"}}
        />
      )}
      {query.isPending && !query.error && <Loading what="the run" />}
      {run && (
        <Suspense fallback={<Loading what={tab} />}>
          {!(tab in kTabs) && (
            <NoPart of="a run" way={{to: "/runs/$run", params: {run: id}, name: "Its overview"}} />
          )}
          {tab === "overview" && <RunOverview run={run} />}
          {tab === "metrics" && (
            <RunCharts
              runs={[{id: run.id, label: run.name || run.id}]}
              keys={Object.keys(run.metrics ?? {})}
              live={run.status === "running"}
            />
          )}
          {tab === "files" && <Artifacts run={run.id} live={run.status === "running"} />}
          {tab === "lineage" && <LineageView thing={`run:${run.id}`} project={run.project} />}
        </Suspense>
      )}
    </Page>
  );
}

function Actions(props: {run: Run}) {
  const {run} = props;
  return (
    <>
      {run.job_id && (
        <Link to="/jobs/$job" params={{job: run.job_id}} className="button">
          Its job
        </Link>
      )}
      <Link to={"/runs" as never} search={{sel: run.id} as never} className="button">
        Compare with others
      </Link>
      <DeleteRun run={run} />
    </>
  );
}
