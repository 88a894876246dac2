// Some runs beside each other: their curves, what differs between them, where they lie on axes of
// parameters and metrics, their files. Which runs: `ids` of the address, or all that its filter
// matches.
import {useQuery} from "@tanstack/react-query";
import {Link, useParams} from "@tanstack/react-router";
import {Suspense, lazy, useMemo, useState} from "react";

import {useProject, useView} from "../../../app/search";
import {type Picked, asSlot, changed, picked, written} from "../../../lib/chosen";
import type {Slot} from "../../../lib/colours";
import {plural} from "../../../lib/format";
import {Page, Tabs} from "../../../ui/page";
import {Empty, Loading, NoPart, Trouble, WayOn} from "../../../ui/words";
import {type RunRow, keysQuery, runPage, runsOf} from "../ask";
import {Charts} from "./charts";
import {RunNames} from "./names";

const kAll = {to: "/runs", name: "All runs"};

// Not the charts, which most look at: React holds a lazy part back for 300 ms after its fallback.
const Differences = lazy(() => import("./differences"));
const Parallel = lazy(() => import("./parallel"));
const Scatter = lazy(() => import("./scatter"));
const Boxes = lazy(() => import("./boxes"));
const Files = lazy(() => import("./files"));

const kTabs = {
  charts: "Charts",
  differences: "Differences",
  parallel: "Parallel",
  scatter: "Scatter",
  box: "Box plot",
  files: "Files",
};
const kOfMany = 100; // of all that a filter matches, so many are drawn one by one
const kMore = "code_digest,git,environment,datasets,models";
// These show all that match at once, not one by one.
const kWhole = new Set(["parallel", "scatter", "box"]);

export interface ComparedRun {
  run: RunRow;
  slot: Slot;
  label: string;
}

// Two runs of one name are told apart by the end of their ids.
function labelled(runs: readonly RunRow[], chosen: readonly Picked[]): ComparedRun[] {
  const slots = new Map(chosen.map((one) => [one.id, asSlot(one.slot)]));
  const count = new Map<string, number>();
  for (const {name} of runs) count.set(name, (count.get(name) ?? 0) + 1);
  return runs.map((run) => ({
    run,
    slot: slots.get(run.id) ?? asSlot(0),
    label:
      run.name === "" || (count.get(run.name) ?? 0) > 1
        ? `${run.name} ${run.id.slice(-4)}`.trim()
        : run.name,
  }));
}

function useCompared() {
  const [view] = useView();
  const project = useProject();
  const whole = view.all === "yes";
  const named = useMemo(() => picked(view.ids), [view.ids]);
  const ids = named.map((one) => one.id);
  const query = useQuery({
    queryKey: ["runs", "compare", whole ? [project, view.filter, view.order] : ids],
    enabled: whole || ids.length > 0,
    queryFn: async ({signal}) => {
      if (!whole) return runsOf(ids, signal, kMore);
      const {filter, order: order_by} = view;
      return (await runPage({project, filter, order_by, limit: kOfMany}, [], signal, kMore)).items;
    },
  });
  const chosen = useMemo(
    () =>
      whole
        ? changed(
            [],
            (query.data ?? []).map((one) => one.id),
          )
        : named,
    [whole, named, query.data],
  );
  const runs = useMemo(() => labelled(query.data ?? [], chosen), [query.data, chosen]);
  return {whole, named, query, runs, filter: view.filter ?? "", project};
}

// The charts need these as well as the runs: they come beside them, not after them.
function useEarlyKeys(named: readonly Picked[], hidden: ReadonlySet<string>): void {
  const ids = named.map((one) => one.id).filter((id) => !hidden.has(id));
  useQuery(keysQuery(ids));
}

function Nothing() {
  return (
    <Empty title="There is nothing to compare" action={<WayOn to="/runs" name="Choose runs" />}>
      Choose runs in the list by their boxes, or take all that a filter matches.
    </Empty>
  );
}

function Heading(props: {search: object}) {
  return (
    <>
      <Link to={"/runs" as never} search={props.search as never} className="muted">
        Runs
      </Link>{" "}
      <span className="muted">/</span> Compare
    </>
  );
}

export function ComparePage() {
  const {tab = "charts"} = useParams({strict: false}) as {tab?: string};
  const [view, change] = useView();
  const {whole, named, query, runs, filter, project} = useCompared();
  const [focus, setFocus] = useState<string | null>(null);
  const hidden = useMemo(() => new Set((view.hide ?? "").split(".").filter(Boolean)), [view.hide]);
  const shown = useMemo(() => runs.filter((one) => !hidden.has(one.run.id)), [runs, hidden]);
  useEarlyKeys(whole || tab !== "charts" ? [] : named, hidden);
  const of = useMemo(
    () => (whole ? {filter, project} : {ids: named.map((one) => one.id)}),
    [whole, filter, project, named],
  );
  const search = whole ? {filter: filter || undefined} : {sel: written(named)};
  const missing = whole ? 0 : named.length - runs.length;
  return (
    <Page
      title="Compare runs"
      heading={<Heading search={search} />}
      actions={
        query.data && (
          <span className="muted">
            {whole && kWhole.has(tab)
              ? "all that match"
              : `${whole ? "the first " : ""}${plural(runs.length, "run")}`}
            {missing > 0 && `, ${missing} no longer there`}
          </span>
        )
      }
      tabs={
        <Tabs
          label="Ways to compare"
          keep
          tabs={Object.entries(kTabs).map(([key, name]) => ({
            to: key === "charts" ? "/runs/compare" : `/runs/compare/${key}`,
            name,
          }))}
        />
      }
    >
      {query.error && (
        <Trouble error={query.error} retry={() => void query.refetch()} instead={kAll} />
      )}
      {query.isPending && query.isEnabled && !query.error && <Loading what="the runs" />}
      {((!whole && named.length === 0) || query.data?.length === 0) && <Nothing />}
      {runs.length > 0 && (
        <Suspense fallback={<Loading what={tab} />}>
          {(tab === "charts" || tab === "files") && (
            <RunNames
              runs={runs}
              hidden={hidden}
              setHidden={(next) => change({hide: [...next].join(".") || undefined}, "replace")}
              focus={focus}
              setFocus={setFocus}
            />
          )}
          {!(tab in kTabs) && (
            <NoPart of="a comparison" way={{to: "/runs/compare", name: "Its charts"}} />
          )}
          {tab === "charts" && <Charts runs={shown} focus={focus} setFocus={setFocus} />}
          {tab === "differences" && <Differences runs={runs} />}
          {tab === "parallel" && <Parallel of={of} runs={runs} />}
          {tab === "scatter" && <Scatter of={of} runs={runs} />}
          {tab === "box" && <Boxes of={of} runs={runs} />}
          {tab === "files" && <Files runs={shown} />}
        </Suspense>
      )}
    </Page>
  );
}
