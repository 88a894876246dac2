// All runs: any of their metrics, parameters and tags as columns, ordered, filtered and put
// together by the server; some of them chosen, to be compared.
import {useQuery} from "@tanstack/react-query";
import {Link, useNavigate} from "@tanstack/react-router";
import {Columns3} from "lucide-react";
import {useCallback, useMemo, useState} from "react";

import {api, ask} from "../../api/client";
import {type Change, type Search, useProject, useView} from "../../app/search";
import {parts} from "../../lib/across";
import {type Picked, asSlot, changed, kMostPicked, picked, written} from "../../lib/chosen";
import {count, plural} from "../../lib/format";
import {type RunField, fieldsOf, firstFields, shown, titleOf} from "../../lib/run_fields";
import {Swatch} from "../../ui/chart";
import {FilterBox} from "../../ui/filter";
import {useWalkAt} from "../../ui/list";
import {Page} from "../../ui/page";
import {State} from "../../ui/state";
import {Table} from "../../ui/table";
import {Time} from "../../ui/time";
import {Empty, Loading, Trouble} from "../../ui/words";
import {type RunRow, kAtOnce, runPage, valueOf} from "./ask";
import {ChooseColumns, RunName, columnsOf, kOwnColumns} from "./columns";
import {ExportRuns} from "./export_runs";
import {GroupBy} from "./group_by";
import {Groups} from "./groups";
import {useRunList} from "./run_list";
import css from "./runs.module.css";
import {Views} from "./views";

const kOrder = "created_at desc";
const kExamples = [
  "metrics.loss < 0.3 and params.lr = 0.01",
  "status = running",
  "experiment = fashion",
  "name ~ cnn and metrics.acc.max > 0.9",
  "created_at > 2026-01-01 and not (tags.team = vision)",
];

export function Runs() {
  const [view, change] = useView();
  const project = useProject();
  const fields = useColumns(view, project);
  const by = useMemo(() => fieldsOf(view.group), [view.group]);
  const filter = view.filter ?? "";
  const [asked, seenAcross] = useInSight(fields);
  const list = useRunList({project, filter, order: view.order ?? kOrder}, asked);
  const chosen = useMemo(() => picked(view.sel), [view.sel]);
  return (
    <Page
      title="Runs"
      whole
      actions={
        <Actions
          view={view}
          fields={fields}
          by={by}
          list={list}
          project={project}
          change={change}
        />
      }
    >
      <div className={css.bar}>
        <FilterBox
          label="Filter runs"
          value={filter}
          set={(text) => change({filter: text || undefined})}
          error={filter !== "" ? list.head.error : undefined}
          examples={kExamples}
        />
        <span className="muted nowrap" role="status">
          {list.head.data && plural(list.total, "run")}
        </span>
        {list.fresh !== 0 && by.length === 0 && (
          <button type="button" className={css.pill} onClick={list.renew}>
            {list.fresh > 0 ? `${count(list.fresh)} new: show` : "Some are gone: show"}
          </button>
        )}
      </div>
      <ChosenBar
        chosen={chosen}
        filter={filter}
        order={view.order}
        fields={fields}
        total={list.total}
        change={change}
      />
      <Troubles list={list} filter={filter} />
      {list.head.data && list.total === 0 && (
        <NoRuns filter={filter} project={project} change={change} />
      )}
      {list.total > 0 &&
        (by.length > 0 ? (
          <Groups project={project} filter={filter} by={by} fields={fields} />
        ) : (
          <List
            list={list}
            fields={fields}
            seenAcross={seenAcross}
            chosen={chosen}
            view={view}
            change={change}
          />
        ))}
    </Page>
  );
}

function Actions(props: {
  view: Search;
  fields: readonly RunField[];
  by: readonly RunField[];
  list: ReturnType<typeof useRunList>;
  project?: string;
  change: Change;
}) {
  const {view, fields, project, change} = props;
  const [choosing, setChoosing] = useState(false);
  const filter = view.filter ?? "";
  return (
    <>
      <Views view={view} fields={fields} change={change} />
      <GroupBy by={props.by} fields={fields} project={project} filter={filter} change={change} />
      <button type="button" onClick={() => setChoosing(true)}>
        <Columns3 size={14} aria-hidden /> Columns
      </button>
      <ExportRuns list={props.list} fields={fields} />
      {choosing && (
        <ChooseColumns
          project={project}
          filter={filter}
          fields={fields}
          set={(next) => change({cols: next.join() || "none"}, "replace")}
          close={() => setChoosing(false)}
        />
      )}
    </>
  );
}

function Troubles(props: {list: ReturnType<typeof useRunList>; filter: string}) {
  const {list, filter} = props;
  return (
    <>
      {list.error != null && (
        <div className={css.notice}>
          <Trouble error={list.error} retry={() => list.rows.refresh()} />
        </div>
      )}
      {list.head.error && !list.head.data && filter === "" && (
        <Trouble error={list.head.error} retry={() => void list.head.refetch()} />
      )}
      {list.head.isPending && !list.head.error && <Loading what="runs" />}
    </>
  );
}

type Told = Parameters<typeof firstFields>[0];
const kLookedAt = 20; // of the newest runs, for one with metrics

// What the address says, else some keys of the newest run that it shows first. These stay while the
// list is looked at, whatever comes.
function useColumns(view: Search, project: string | undefined): RunField[] {
  const [filter] = useState(view.filter);
  const newest = useQuery({
    queryKey: ["run-first-columns", project, filter],
    enabled: view.cols === undefined,
    staleTime: Infinity,
    queryFn: async ({signal}) => {
      const runs = async (limit: number) => {
        const query = {project, filter, limit, fields: "params,metrics"};
        const page = await ask(api.GET("/api/v1/runs", {params: {query}, signal}));
        return ((page as {items?: Told[]}).items ?? []) as Told[];
      };
      const measured = (run: Told) => Object.keys(run.metrics ?? {}).length > 0;
      const [first = {}] = await runs(1);
      if (measured(first)) return firstFields(first);
      // It has only begun, or failed at once: one before it says more.
      return firstFields((await runs(kLookedAt)).find(measured) ?? first);
    },
  });
  const text = view.cols ?? newest.data ?? "";
  return useMemo(() => fieldsOf(text === "none" ? "" : text), [text]);
}

// Of many columns only those in sight are asked for, by parts of as many as the API takes at once.
function useInSight(fields: readonly RunField[]) {
  const [range, setRange] = useState<[number, number]>([0, 0]);
  const [from, to] = parts(range[0], range[1], fields.length, kAtOnce);
  const asked = useMemo(() => fields.slice(from, to), [fields, from, to]);
  const seenAcross = useCallback(
    (first: number, last: number) => setRange([first - kOwnColumns, last - kOwnColumns]),
    [],
  );
  return [asked, seenAcross] as const;
}

const idOf = (run: RunRow) => run.id;
const nameOf = (run: RunRow) => run.name || run.id;

function List(props: {
  list: ReturnType<typeof useRunList>;
  fields: readonly RunField[];
  seenAcross: (first: number, last: number) => void;
  chosen: readonly Picked[];
  view: Search;
  change: Change;
}) {
  const {list, fields, chosen, view, change} = props;
  const navigate = useNavigate();
  const columns = useMemo(() => columnsOf(fields), [fields]);
  const ids = useMemo(() => new Set(chosen.map((one) => one.id)), [chosen]);
  const set = (next: ReadonlySet<string>) =>
    change({sel: written(changed(chosen, next))}, "replace");
  const open = (run: RunRow) => void navigate({to: `/runs/${run.id}` as never});
  const walk = useWalkAt(list.rows, open, (how) => set(how(ids)));
  const {snapshot} = list;
  const between = async (from: number, to: number) => {
    const limit = Math.min(to - from + 1, kMostPicked);
    const page = await runPage({snapshot, skip: from, limit}, [], new AbortController().signal);
    return page.items.map(idOf);
  };
  const slots = useMemo(() => new Map(chosen.map((one) => [one.id, asSlot(one.slot)])), [chosen]);
  const mark = useCallback(
    (run: RunRow) => {
      const slot = slots.get(run.id);
      return slot && <Swatch slot={slot} />;
    },
    [slots],
  );
  const card = useCallback((run: RunRow) => <Card run={run} fields={fields} />, [fields]);
  return (
    <Table
      label="Runs"
      rows={list.rows}
      id={idOf}
      name={nameOf}
      columns={columns}
      total={list.total}
      seen={list.seen}
      seenAcross={props.seenAcross}
      top={snapshot}
      order={view.order ?? kOrder}
      sort={(next) => change({order: next === kOrder ? undefined : next}, "replace")}
      chosen={{ids, set, between}}
      mark={mark}
      current={walk.current?.id}
      cursor={walk.at}
      card={card}
    />
  );
}

function Card(props: {run: RunRow; fields: readonly RunField[]}) {
  const {run} = props;
  const values = props.fields
    .slice(0, 3)
    .map((of) => ({of, value: valueOf(run, of)}))
    .filter((one) => one.value !== undefined)
    .map((one) => `${titleOf(one.of)} ${shown(one.value)}`);
  return (
    <>
      <div className="row">
        <RunName run={run} /> <span className="grow" /> <State state={run.status} />
      </div>
      <div className="row muted">
        <span className="cut grow">{values.join(" · ") || run.experiment}</span>{" "}
        <Time at={run.created_at} />
      </div>
    </>
  );
}

const kTabs = {charts: "Compare", parallel: "Parallel", scatter: "Scatter"} as const;

function ChosenBar(props: {
  chosen: readonly Picked[];
  filter: string;
  order?: string;
  fields: readonly RunField[];
  total: number;
  change: Change;
}) {
  const {chosen, filter, total, change} = props;
  if (total === 0 && chosen.length === 0) return null;
  const ids = written(chosen);
  const axes = props.fields.map((one) => one.field).join() || undefined;
  const search = ids
    ? {ids, axes}
    : {filter: filter || undefined, order: props.order, all: "yes", axes};
  return (
    <div className={css.chosen}>
      <strong className={chosen.length > 0 ? "nowrap" : css.words}>
        {chosen.length > 0 ? `${chosen.length} chosen` : "All that are listed:"}
      </strong>
      {Object.entries(kTabs).map(([tab, name]) => (
        <Link
          key={tab}
          to={(tab === "charts" ? "/runs/compare" : `/runs/compare/${tab}`) as never}
          search={search as never}
          className={tab === "charts" && ids ? "button primary" : "button"}
        >
          {name}
        </Link>
      ))}
      {chosen.length > 0 && (
        <button type="button" className="plain" onClick={() => change({sel: undefined}, "replace")}>
          Choose none
        </button>
      )}
      {chosen.length === kMostPicked && (
        <span className="muted">{kMostPicked} are the most that are compared.</span>
      )}
    </div>
  );
}

function NoRuns(props: {filter: string; project?: string; change: Change}) {
  const {filter, project, change} = props;
  if (filter !== "" || project)
    return (
      <Empty
        title="No run is like that"
        action={
          <button
            type="button"
            onClick={() => change({filter: undefined, project: undefined, group: undefined})}
          >
            Show all runs
          </button>
        }
      >
        {filter !== "" ? "The filter hides all there are. " : ""}
        {project ? `Only runs of the project ${project} are looked at.` : ""}
      </Empty>
    );
  return (
    <Empty title="There is no run yet" command="hearth job submit -- python3 train.py">
      Each job makes a run, with its parameters, metrics and files; MLflow's client makes them, too.
    </Empty>
  );
}
