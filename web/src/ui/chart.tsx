// Lines over steps or time, drawn by uPlot: what the server's columns hold (least, greatest, last
// of each), so that no spike is lost; values that are no numbers are counted and marked.
import {useCallback, useEffect, useMemo, useRef, useState} from "react";
import uPlot from "uplot";

import {useDark} from "../app/theme";
import {type Slot, colour_of, kDashes} from "../lib/colours";
import {clock, duration, short} from "../lib/format";
import {type Line, joined, smoothed} from "../lib/series";
import css from "./chart.module.css";

export type XKind = "step" | "time" | "relative";
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
// One crosshair for all charts of a view.
const sync = uPlot.sync("hearth");

export function Chart(props: {
  title: string;
  series: Series[];
  x?: XKind;
  log?: boolean;
  zero?: boolean; // y begins at 0
  smooth?: number; // 0 (none) to 0.99
  marks?: Mark[];
  range?: [number, number] | null; // of x, in its own unit; null: all, following what comes
  zoom?: (range: [number, number] | null) => void;
  height?: number;
  legend?: boolean;
}) {
  const {series, x = "step", log = false, smooth = 0, marks, range, height = kHeight} = props;
  const dark = useDark();
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [at, setAt] = useState<number | null>(null);
  const zoom = useRef(props.zoom);
  zoom.current = props.zoom;
  const marksNow = useRef(marks);
  marksNow.current = marks;
  const lines = useMemo(
    () => (smooth > 0 ? series.map((one) => ({...one, ...smoothed(one, smooth)})) : series),
    [series, smooth],
  );
  const data = useMemo(() => joined(lines), [lines]);
  const shape =
    series.map((one) => `${one.id}${one.slot.colour}${one.slot.dash}`).join() +
    x +
    log +
    dark +
    height;

  useEffect(() => {
    const holder = box.current;
    if (!holder) return;
    const made = new uPlot(
      options({
        series,
        x,
        log,
        zero: props.zero === true,
        dark,
        height,
        width: holder.clientWidth,
        marks: marksNow,
        zoom,
        setAt,
      }),
      dataOf(data),
      holder,
    );
    plot.current = made;
    const watch = new ResizeObserver(() => {
      if (holder.clientWidth > 0 && holder.clientWidth !== made.width)
        made.setSize({width: holder.clientWidth, height});
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
      made.setData(dataOf(data), false);
      const all = data.x;
      const [from, to] = range ?? [all[0] ?? 0, all.at(-1) ?? 1];
      made.setScale("x", from === to ? {min: from - 1, max: to + 1} : {min: from, max: to});
    });
  }, [data, range, shape, marks]);
  const reset = useCallback(() => zoom.current?.(null), []);
  const bad = series.reduce((sum, one) => sum + one.not_finite.reduce((a, b) => a + b, 0), 0);
  return (
    <figure className={css.chart}>
      <figcaption className={css.caption}>
        <span className="cut" title={props.title}>
          {props.title}
        </span>
        {series.length === 1 && <strong>{valueAt(data, 0, at)}</strong>}
        {range && (
          <button type="button" className={css.reset} onClick={reset}>
            show all
          </button>
        )}
        {bad > 0 && <span className="bad nowrap">{bad} not a number</span>}
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

type Joined = ReturnType<typeof joined>;

function dataOf(data: Joined): uPlot.AlignedData {
  return [data.x, ...data.last, ...data.min, ...data.max] as uPlot.AlignedData;
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
  return `${title}. ${ends.join("; ")}`;
}

function options(of: {
  series: Series[];
  x: XKind;
  log: boolean;
  zero: boolean;
  dark: boolean;
  height: number;
  width: number;
  marks: {current: Mark[] | undefined};
  zoom: {current: ((range: [number, number] | null) => void) | undefined};
  setAt: (at: number | null) => void;
}): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const muted = style.getPropertyValue("--muted");
  const axis = {
    stroke: muted,
    grid: {stroke: style.getPropertyValue("--line"), width: 1},
    ticks: {show: false},
    font: "11px system-ui, sans-serif",
  };
  const count = of.series.length;
  const line = (one: Series): uPlot.Series => ({
    label: one.label,
    stroke: colour_of(one.slot, of.dark),
    width: 1.5,
    dash: kDashes[one.slot.dash],
    points: {show: (plot, i) => lonely(plot, i), size: 6},
    spanGaps: true,
  });
  const edge: uPlot.Series = {
    stroke: "transparent",
    width: 0,
    points: {show: false},
    spanGaps: true,
  };
  return {
    width: Math.max(of.width, 50),
    height: of.height,
    legend: {show: false},
    cursor: {
      sync: {key: sync.key, setSeries: false},
      drag: {x: true, y: false, setScale: false},
      y: false,
      points: {size: 6},
    },
    scales: {
      x: {time: false},
      y: {distr: of.log ? 3 : 1, range: of.zero && !of.log ? fromZero : undefined},
    },
    axes: [
      {
        ...axis,
        values: (_, splits) => splits.map((value) => xText(value, of.x)),
        space: of.x === "time" ? 70 : 50,
        size: 28,
      },
      {
        ...axis,
        size: 52,
        values: (_, splits) => splits.map((value) => (value == null ? "" : short(value))),
      },
    ],
    series: [
      {},
      ...of.series.map(line),
      ...of.series.map(() => edge),
      ...of.series.map(() => edge),
    ],
    bands: of.series.map((one, i) => ({
      series: [1 + 2 * count + i, 1 + count + i],
      fill: `${colour_of(one.slot, of.dark)}33`,
    })),
    hooks: {
      setCursor: [(plot) => of.setAt(plot.cursor.idx ?? null)],
      setSelect: [
        (plot) => {
          if (plot.select.width < 4) return;
          const from = plot.posToVal(plot.select.left, "x");
          const to = plot.posToVal(plot.select.left + plot.select.width, "x");
          plot.setSelect({left: 0, top: 0, width: 0, height: 0}, false);
          of.zoom.current?.([from, to]);
        },
      ],
      draw: [(plot) => drawMarks(plot, of.marks.current ?? [], muted)],
    },
  };
}

// Points are drawn where no line would show them.
function lonely(plot: uPlot, series: number): boolean {
  return (plot.data[series] ?? []).filter((value) => value != null).length < 3;
}

function fromZero(_: uPlot, __: number | null, most: number | null): uPlot.Range.MinMax {
  return [0, most && most > 0 ? most * 1.08 : 1];
}

function xText(value: number, kind: XKind): string {
  if (kind === "step") return short(value);
  if (kind === "relative") return duration(value / 1e6);
  return clock(value / 1000, false);
}

function drawMarks(plot: uPlot, marks: Mark[], colour: string): void {
  const {ctx} = plot;
  const {left, top, width, height} = plot.bbox;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = colour;
  ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.setLineDash([4, 4]);
  ctx.textAlign = "left";
  marks.forEach((mark, i) => {
    const x = Math.round(plot.valToPos(mark.x, "x", true));
    if (x < left || x > left + width) return;
    ctx.beginPath();
    ctx.moveTo(x, top);
    ctx.lineTo(x, top + height);
    ctx.stroke();
    const wide = ctx.measureText(mark.text).width;
    ctx.fillText(
      mark.text,
      x + wide + 6 > left + width ? x - wide - 4 : x + 4,
      top + (12 + 13 * (i % 3)) * devicePixelRatio,
    );
  });
  ctx.restore();
}
