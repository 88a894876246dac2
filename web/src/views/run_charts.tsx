// The charts of some runs: one for each metric, drawn and asked for when in sight; few runs' charts
// come many in one call, many runs' each by itself.
import {keepPreviousData, useQuery} from "@tanstack/react-query";
import {useCallback, useMemo, useState} from "react";

import {api, ask} from "../api/client";
import {useKeys} from "../app/keys";
import {type Search, useView} from "../app/search";
import type {Slot} from "../lib/colours";
import {slots} from "../lib/colours";
import {inOrder} from "../lib/run_fields";
import {type Line, line, overEpochs} from "../lib/series";
import {Chart, type Mark, type Series, type XKind} from "../ui/chart";
import {InSight} from "../ui/in_sight";
import {Empty, Loading, Notice, Trouble} from "../ui/words";
import {ChartTools} from "./chart_tools";
import css from "./run_charts.module.css";

const kMostColumns = 600;
const kLeastColumns = 120;
const kPoints = 24_000; // of one chart: shared by its runs
const kSeriesAtOnce = 24; // asked for in one call, but a chart is never cut
const kMoreCharts = 24;
const kAlone = {colour: 8, dash: 0}; // one run needs no colour of its own
const kLiveMs = 2000;
const kChartHigh = 214; // with its title; as .card in the style
const kMostNamed = 12; // runs in the legend of each chart
const kMany = 12; // more runs than these share the edges of their columns
const kEpoch = "epoch";

export interface ChartedRun {
  id: string;
  label: string;
  slot?: Slot;
}

export function xKind(view: Search): XKind {
  return view.x === "time" || view.x === "relative" || view.x === kEpoch ? view.x : "step";
}

export function rangeOf(view: Search): [number, number] | null {
  const [from, to] = (view.zoom ?? "").split("..").map(Number);
  return from !== undefined &&
    to !== undefined &&
    Number.isFinite(from) &&
    Number.isFinite(to) &&
    to > from
    ? [from, to]
    : null;
}

const round = (value: number) => Number(value.toPrecision(8));

export function RunCharts(props: {
  runs: ChartedRun[];
  keys: string[];
  live?: boolean;
  marks?: Mark[];
  none?: string;
  focus?: string | null;
  onFocus?: (id: string | null) => void; // the runs are named beside all charts
}) {
  const [view, change] = useView();
  const [find, setFind] = useState("");
  const [most, setMost] = useState(kMoreCharts);
  const keys = useMemo(
    () => inOrder(props.keys).filter((key) => key.toLowerCase().includes(find.toLowerCase())),
    [props.keys, find],
  );
  const zoom = useCallback(
    (next: [number, number] | null) =>
      change({zoom: next ? `${round(next[0])}..${round(next[1])}` : undefined}, "replace"),
    [change],
  );
  useKeys([{keys: "z", does: "show all of the charts again", run: () => zoom(null)}]);
  const x = xKind(view) === kEpoch && !props.keys.includes(kEpoch) ? "step" : xKind(view);
  const range = useMemo(() => rangeOf(view), [view.zoom]);
  const shown = keys.slice(0, most);
  const atOnce = Math.max(1, Math.floor(kSeriesAtOnce / Math.max(1, props.runs.length)));
  const parts: string[][] = [];
  for (let at = 0; at < shown.length; at += atOnce) parts.push(shown.slice(at, at + atOnce));
  return (
    <div className="stack">
      <ChartTools keys={props.keys} find={find} setFind={setFind} x={x} zoom={zoom} />
      {props.keys.length === 0 && (
        <Empty title={props.none ?? "No metric yet"}>
          What the script logs by hearth.log, MLflow or TensorBoard, or prints as key=value, is
          drawn here as it comes.
        </Empty>
      )}
      {props.keys.length > 0 && keys.length === 0 && (
        <p className="muted">No metric is called so; there are {props.keys.length}.</p>
      )}
      <div className={css.grid}>
        {parts.map((part) => (
          <Part key={part.join("\n")} {...props} keys={part} x={x} range={range} zoom={zoom} />
        ))}
      </div>
      {keys.length > most && (
        <button type="button" onClick={() => setMost(most + kMoreCharts)}>
          Show more: {keys.length - most} further metrics
        </button>
      )}
    </div>
  );
}

interface PartProps {
  runs: ChartedRun[];
  keys: string[];
  live?: boolean;
  marks?: Mark[];
  x: XKind;
  range: [number, number] | null;
  zoom: (range: [number, number] | null) => void;
  focus?: string | null;
  onFocus?: (id: string | null) => void;
}

type Answer = Awaited<ReturnType<typeof asked>>;

function asked(of: PartProps, signal: AbortSignal) {
  const {runs, keys, x, range} = of;
  const columns = Math.floor(kPoints / runs.length);
  const wanted = x === kEpoch && !keys.includes(kEpoch) ? [...keys, kEpoch] : keys;
  return ask(
    api.POST("/api/v1/metrics/query", {
      body: {
        runs: runs.map((one) => one.id),
        keys: wanted,
        columns: Math.min(kMostColumns, Math.max(kLeastColumns, columns)),
        x: x === kEpoch ? "step" : x,
        // Where the epochs lie is known here alone: of them all is asked for.
        ...(range && x !== kEpoch ? {first: Math.floor(range[0]), last: Math.ceil(range[1])} : {}),
      } as never,
      signal,
    }),
  );
}

// By key, in the order of the runs.
function seriesOf(answer: Answer, runs: ChartedRun[], x: XKind): Map<string, Series[]> {
  const slot = slots(runs.map((one) => one.id));
  const place = new Map(runs.map((one, i) => [one.id, i]));
  const shared = runs.length > kMany && x !== "step";
  const epochs = new Map<string, Line>();
  if (x === kEpoch)
    for (const one of answer.series) if (one.key === kEpoch) epochs.set(one.run ?? "", line(one));
  const made = new Map<string, Series[]>();
  for (const one of answer.series) {
    const run = runs[place.get(one.run ?? "") ?? -1];
    if (!run || one.key === undefined) continue;
    const epoch = epochs.get(run.id);
    if (x === kEpoch && !epoch) continue;
    const points = line(one, shared);
    const list = made.get(one.key) ?? [];
    list.push({
      ...(epoch ? overEpochs(points, epoch) : points),
      id: run.id,
      label: run.label,
      slot: run.slot ?? (runs.length === 1 ? kAlone : (slot.get(run.id) ?? kAlone)),
    });
    made.set(one.key, list);
  }
  for (const list of made.values())
    list.sort((a, b) => (place.get(a.id) ?? 0) - (place.get(b.id) ?? 0));
  return made;
}

// Charts that come in one call, once the first of them is in sight.
function Part(props: PartProps) {
  const {runs, keys, x, range} = props;
  const [view] = useView();
  const [seen, setSeen] = useState(false);
  const see = useCallback(() => setSeen(true), []);
  const ids = runs.map((one) => one.id);
  const query = useQuery({
    queryKey: ["run", "charts", ids, keys, x, x === kEpoch ? null : range],
    enabled: seen && keys.length > 0 && ids.length > 0,
    placeholderData: keepPreviousData,
    refetchInterval: props.live ? kLiveMs : false,
    staleTime: 0,
    queryFn: ({signal}) => asked(props, signal),
  });
  const series = useMemo(
    () => (query.data ? seriesOf(query.data, runs, x) : null),
    [query.data, runs],
  );
  const smooth = Math.min(0.99, Math.max(0, Number(view.smooth ?? 0) || 0));
  const logs = view.log ?? "";
  const log = useMemo(() => ({x: logs.includes("x"), y: logs.includes("y")}), [logs]);
  const damaged = query.data?.damaged ?? [];
  return (
    <>
      {damaged.length > 0 && (
        <Notice kind="bad">
          {`Damaged on the server's disk and left out: ${damaged.join(", ")}`}
        </Notice>
      )}
      {keys.map((key, i) => (
        <InSight key={key} className={css.card} height={kChartHigh} see={see}>
          {query.error && !query.data && i === 0 && (
            <Trouble error={query.error} retry={() => void query.refetch()} />
          )}
          {!series && !query.error && <Loading what={key} />}
          {series && (
            <Chart
              title={key}
              series={series.get(key) ?? []}
              x={x}
              smooth={smooth}
              log={log}
              range={range}
              zoom={props.zoom}
              marks={props.marks}
              legend={!props.onFocus && runs.length <= kMostNamed}
              focus={props.focus}
              onFocus={props.onFocus}
              save
            />
          )}
        </InSight>
      ))}
    </>
  );
}
