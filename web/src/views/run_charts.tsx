// The charts of some runs: one for each metric, drawn when in sight, all asked for in one call.
import {keepPreviousData, useQuery} from "@tanstack/react-query";
import {useMemo, useState} from "react";

import {api, ask} from "../api/client";
import {type Search, useView} from "../app/search";
import {slots} from "../lib/colours";
import {inOrder} from "../lib/run_fields";
import {line} from "../lib/series";
import {Chart, type Mark, type XKind} from "../ui/chart";
import {InSight} from "../ui/in_sight";
import {Empty, Loading, Notice, Trouble} from "../ui/words";
import css from "./run_charts.module.css";

const kColumns = 600;
const kAtOnce = 24; // charts asked for in one call
const kAlone = {colour: 8, dash: 0}; // one run needs no colour of its own
const kLiveMs = 2000;
const kChartHigh = 214; // with its title; as .card in the style

export interface ChartedRun {
  id: string;
  label: string;
}

export function xKind(view: Search): XKind {
  return view.x === "time" || view.x === "relative" ? view.x : "step";
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

export function RunCharts(props: {
  runs: ChartedRun[];
  keys: string[];
  live?: boolean;
  marks?: Mark[];
  none?: string;
}) {
  const [view, change] = useView();
  const [find, setFind] = useState("");
  const [most, setMost] = useState(kAtOnce);
  const x = xKind(view);
  const smooth = Math.min(0.99, Math.max(0, Number(view.smooth ?? 0) || 0));
  const range = rangeOf(view);
  const keys = useMemo(
    () => inOrder(props.keys).filter((key) => key.toLowerCase().includes(find.toLowerCase())),
    [props.keys, find],
  );
  const shown = keys.slice(0, most);
  return (
    <div className="stack">
      <div className="row wrap" role="toolbar" aria-label="Charts">
        {props.keys.length > 4 && (
          <input
            type="search"
            data-filter
            aria-label="Find a metric"
            placeholder={`Find one of ${props.keys.length} metrics`}
            value={find}
            onChange={(event) => setFind(event.target.value)}
          />
        )}
        <label>
          x{" "}
          <select
            aria-label="x axis"
            value={x}
            onChange={(event) =>
              change(
                {
                  x: event.target.value === "step" ? undefined : event.target.value,
                  zoom: undefined,
                },
                "replace",
              )
            }
          >
            <option value="step">step</option>
            <option value="relative">time since its start</option>
            <option value="time">time of day</option>
          </select>
        </label>
        <label>
          smoothing{" "}
          <input
            type="range"
            min="0"
            max="0.99"
            step="0.01"
            value={smooth}
            aria-valuetext={String(smooth)}
            onChange={(event) =>
              change(
                {smooth: event.target.value === "0" ? undefined : event.target.value},
                "replace",
              )
            }
          />{" "}
          <span className="number">{smooth}</span>
        </label>
        <label>
          <input
            type="checkbox"
            checked={view.log === "y"}
            onChange={(event) => change({log: event.target.checked ? "y" : undefined}, "replace")}
          />{" "}
          log
        </label>
        {range && (
          <button type="button" onClick={() => change({zoom: undefined}, "replace")}>
            Show all (z)
          </button>
        )}
      </div>
      {props.keys.length === 0 && (
        <Empty title={props.none ?? "No metric yet"}>
          What the script logs by hearth.log, MLflow or TensorBoard, or prints as key=value, is
          drawn here as it comes.
        </Empty>
      )}
      {props.keys.length > 0 && keys.length === 0 && (
        <p className="muted">No metric is called so; there are {props.keys.length}.</p>
      )}
      <Grid
        {...props}
        keys={shown}
        x={x}
        smooth={smooth}
        log={view.log === "y"}
        range={range}
        zoom={(next) =>
          change({zoom: next ? `${round(next[0])}..${round(next[1])}` : undefined}, "replace")
        }
      />
      {keys.length > most && (
        <button type="button" onClick={() => setMost(most + kAtOnce)}>
          Show more: {keys.length - most} further metrics
        </button>
      )}
    </div>
  );
}

const round = (value: number) => Number(value.toPrecision(8));

function Grid(props: {
  runs: ChartedRun[];
  keys: string[];
  live?: boolean;
  marks?: Mark[];
  x: XKind;
  smooth: number;
  log: boolean;
  range: [number, number] | null;
  zoom: (range: [number, number] | null) => void;
}) {
  const {runs, keys, x, range} = props;
  const ids = runs.map((one) => one.id);
  const query = useQuery({
    queryKey: ["run", "charts", ids, keys, x, range],
    enabled: keys.length > 0 && ids.length > 0,
    placeholderData: keepPreviousData,
    refetchInterval: props.live ? kLiveMs : false,
    staleTime: 0,
    queryFn: ({signal}) =>
      ask(
        api.POST("/api/v1/metrics/query", {
          body: {
            runs: ids,
            keys,
            columns: kColumns,
            x: x === "relative" ? "relative" : x,
            ...(range ? {first: Math.floor(range[0]), last: Math.ceil(range[1])} : {}),
          } as never,
          signal,
        }),
      ),
  });
  const slot = useMemo(
    () => (ids.length === 1 ? new Map([[ids[0], kAlone]]) : slots(ids)),
    [ids.join()],
  );
  const series = useMemo(() => {
    const made = new Map<string, React.ComponentProps<typeof Chart>["series"]>();
    const labels = new Map(runs.map((one) => [one.id, one.label]));
    for (const one of query.data?.series ?? []) {
      const key = one.key ?? "";
      const list = made.get(key) ?? [];
      list.push({
        ...line(one),
        id: one.run ?? "",
        label: labels.get(one.run ?? "") ?? "",
        slot: slot.get(one.run ?? "") ?? {colour: 0, dash: 0},
      });
      made.set(key, list);
    }
    return made;
  }, [query.data, slot]);
  if (query.error && !query.data)
    return <Trouble error={query.error} retry={() => void query.refetch()} />;
  if (query.isPending && keys.length > 0) return <Loading what="charts" />;
  return (
    <>
      {(query.data?.damaged?.length ?? 0) > 0 && (
        <Notice kind="bad">
          Parts of these series are damaged on the server's disk and left out:{" "}
          {query.data?.damaged?.join(", ")}
        </Notice>
      )}
      <div className={css.grid}>
        {keys.map((key) => (
          <InSight key={key} className={css.card} height={kChartHigh}>
            <Chart
              title={key}
              series={series.get(key) ?? []}
              x={x}
              smooth={props.smooth}
              log={props.log}
              range={range}
              zoom={props.zoom}
              marks={props.marks}
            />
          </InSight>
        ))}
      </div>
    </>
  );
}
