// Lines over steps or time, drawn by uPlot: what the server's columns hold (least, greatest, last
// of each), so that no spike is lost; values that are no numbers are counted and marked.
import {Ellipsis} from "lucide-react";
import {useCallback, useEffect, useMemo, useRef, useState} from "react";
import uPlot from "uplot";

import {useDark} from "../app/theme";
import {type Slot, colour_of, kDashes} from "../lib/colours";
import {count, short} from "../lib/format";
import {type Line, above, joined, smoothed} from "../lib/series";
import css from "./chart.module.css";
import {type Drawn, type Joined, dataOf, options} from "./chart_plot";
import {saveCsv, savePng, saveSvg} from "./chart_save";
import {Menu} from "./menu";

export type XKind = "step" | "time" | "relative" | "epoch";
export interface Series extends Line {
  id: string;
  label: string;
  slot: Slot;
}
export interface Mark {
  x: number;
  text: string;
}

const kHeight = 180;
const kMostBands = 12; // with more lines their bands would be mud: zooming in shows all there is

export interface ChartProps {
  title: string;
  series: Series[];
  x?: XKind;
  log?: boolean | {x: boolean; y: boolean};
  zero?: boolean; // y begins at 0
  smooth?: number; // 0 (none) to 0.99
  marks?: Mark[];
  range?: [number, number] | null; // of x, in its own unit; null: all, following what comes
  zoom?: (range: [number, number] | null) => void;
  height?: number;
  legend?: boolean;
  focus?: string | null; // the series that is meant: the others are drawn faint
  onFocus?: (id: string | null) => void;
  save?: boolean; // offers picture and numbers
}

// The series as they are drawn: smoothed, and without what a logarithm cannot have.
function useLines(props: ChartProps, log: {x: boolean; y: boolean}) {
  const {series, smooth = 0} = props;
  return useMemo(() => {
    const even = smooth > 0 ? series.map((one) => ({...one, ...smoothed(one, smooth)})) : series;
    const cut = log.x || log.y ? even.map((one) => ({...one, ...above(one, log)})) : even;
    const points = (all: Line[]) =>
      all.reduce((sum, one) => sum + one.last.filter((value) => value !== null).length, 0);
    return {lines: cut, data: joined(cut), clipped: cut === even ? 0 : points(even) - points(cut)};
  }, [series, smooth, log.x, log.y]);
}

// One point alone stands in the middle.
const around = (x: number, byRatio: boolean) =>
  byRatio ? {min: x / 2, max: x * 2} : {min: x - 1, max: x + 1};

function usePlot(
  of: Omit<Drawn, "width" | "marks" | "zoom" | "setAt" | "focused">,
  props: ChartProps,
  data: Joined,
) {
  const {range, focus, marks} = props;
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [at, setAt] = useState<number | null>(null);
  const zoom = useRef(props.zoom);
  zoom.current = props.zoom;
  const marksNow = useRef(marks);
  marksNow.current = marks;
  const focused = useRef(props.onFocus);
  focused.current = props.onFocus;
  const shape = JSON.stringify([
    of.series.map((one) => [one.id, one.slot]),
    of.x,
    of.log,
    of.zero,
    of.dark,
    of.height,
    of.edges,
  ]);
  useEffect(() => {
    const holder = box.current;
    if (!holder) return;
    const width = holder.clientWidth;
    const drawn = {...of, width, marks: marksNow, zoom, setAt, focused};
    const made = new uPlot(options(drawn), dataOf(data, of.edges), holder);
    plot.current = made;
    const watch = new ResizeObserver(() => {
      if (holder.clientWidth > 0 && holder.clientWidth !== made.width)
        made.setSize({width: holder.clientWidth, height: of.height});
    });
    watch.observe(holder);
    return () => {
      watch.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [shape]);
  useEffect(() => {
    const made = plot.current;
    if (!made) return;
    made.batch(() => {
      made.setData(dataOf(data, of.edges), false);
      const all = data.x;
      const [from, to] = range ?? [all[0] ?? 0, all.at(-1) ?? 1];
      made.setScale("x", from === to ? around(from, of.log.x) : {min: from, max: to});
    });
  }, [data, range, shape, marks]);
  useEffect(() => {
    const index = focus == null ? -1 : of.series.findIndex((one) => one.id === focus);
    plot.current?.setSeries(index < 0 ? null : index + 1, {focus: index >= 0}, false);
  }, [focus, shape]);
  return {box, plot, at};
}

export function Chart(props: ChartProps) {
  const {series, x = "step", range, height = kHeight, focus} = props;
  const log = typeof props.log === "object" ? props.log : {x: false, y: props.log ?? false};
  const dark = useDark();
  const {lines, data, clipped} = useLines(props, log);
  const edges = series.length <= kMostBands;
  const {box, plot, at} = usePlot(
    {series, x, log, zero: props.zero === true, dark, height, edges},
    props,
    data,
  );
  const reset = useCallback(() => props.zoom?.(null), [props.zoom]);
  const bad = series.reduce((sum, one) => sum + one.not_finite.reduce((a, b) => a + b, 0), 0);
  const meant = focus == null ? -1 : series.findIndex((one) => one.id === focus);
  return (
    <figure className={css.chart}>
      <figcaption className={css.caption}>
        <span className="cut" title={props.title}>
          {props.title}
        </span>
        {series.length === 1 && <strong>{valueAt(data, 0, at)}</strong>}
        {series.length > 1 && meant >= 0 && (
          <strong className="cut">
            {series[meant]?.label} {valueAt(data, meant, at)}
          </strong>
        )}
        {range && props.zoom && (
          <button type="button" className={css.reset} onClick={reset}>
            show all
          </button>
        )}
        {bad > 0 && <span className="bad nowrap">{bad} not a number</span>}
        {clipped > 0 && <span className="muted nowrap">{count(clipped)} not above 0 left out</span>}
        {props.save && (
          <Menu
            title={`Save ${props.title}`}
            className={`plain icon ${css.save}`}
            label={<Ellipsis size={14} aria-hidden />}
            items={[
              {
                name: "Save as PNG",
                run: () => plot.current && savePng(props.title, plot.current, lines, dark),
              },
              {
                name: "Save as SVG",
                run: () => plot.current && saveSvg(props.title, plot.current, lines, x, log, dark),
              },
              {name: "Save as CSV", run: () => saveCsv(props.title, x, series)},
            ]}
          />
        )}
      </figcaption>
      <div ref={box} className={css.plot} role="img" aria-label={summary(props.title, series)} />
      {series.length > 1 && props.legend !== false && (
        <ul className={css.legend}>
          {series.map((one, i) => (
            <li key={one.id}>
              <Swatch slot={one.slot} />{" "}
              <span className="cut" title={one.label}>
                {one.label}
              </span>{" "}
              <span className="number">{valueAt(data, i, at)}</span>
            </li>
          ))}
        </ul>
      )}
    </figure>
  );
}

export function Swatch(props: {slot: Slot}) {
  const dark = useDark();
  return (
    <svg width="16" height="8" aria-hidden className={css.swatch}>
      <line
        x1="0"
        x2="16"
        y1="4"
        y2="4"
        stroke={colour_of(props.slot, dark)}
        strokeWidth="3"
        strokeDasharray={kDashes[props.slot.dash]?.join(" ")}
      />
    </svg>
  );
}

// At the cursor, or the last there is.
function valueAt(data: Joined, series: number, at: number | null): string {
  const values = data.last[series] ?? [];
  if (at !== null) return values[at] == null ? "" : short(values[at]);
  for (let i = values.length - 1; i >= 0; i -= 1) if (values[i] != null) return short(values[i]);
  return "";
}

function summary(title: string, series: Series[]): string {
  const ends = series.slice(0, 5).map((one) => {
    const known = one.last.filter((value): value is number => value !== null);
    if (known.length === 0) return `${one.label}: no value yet`;
    const least = short(known.reduce((a, b) => Math.min(a, b)));
    return `${one.label}: from ${short(known[0])} to ${short(known.at(-1))}, least ${least}`;
  });
  const more = series.length > 5 ? `; and ${series.length - 5} more` : "";
  return `${title}. ${ends.join("; ")}${more}`;
}
