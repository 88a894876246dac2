// How uPlot draws a chart: its axes, lines, bands, marks, and what the hand does on it.
import uPlot from "uplot";

import {colour_of, kDashes} from "../lib/colours";
import {clock, duration, short} from "../lib/format";
import type {joined} from "../lib/series";
import type {Mark, Series, XKind} from "./chart";

// One crosshair for all charts of a view.
const sync = uPlot.sync("hearth");
const kNear = 24; // pixels: so near the cursor a line is the one that is meant
const kFaint = 0.12; // how the others are drawn then

export type Joined = ReturnType<typeof joined>;

// The lines, then the least and the greatest of their columns, where these are drawn.
export function dataOf(data: Joined, edges: boolean): uPlot.AlignedData {
  const bounds = edges ? [...data.min, ...data.max] : [];
  return [data.x, ...data.last, ...bounds] as uPlot.AlignedData;
}

export interface Drawn {
  series: Series[];
  x: XKind;
  log: {x: boolean; y: boolean};
  zero: boolean; // y begins at 0
  dark: boolean;
  height: number;
  width: number;
  edges: boolean; // the least and the greatest of each column as a band
  marks: {current: Mark[] | undefined};
  zoom: {current: ((range: [number, number] | null) => void) | undefined};
  setAt: (at: number | null) => void;
  focused: {current: ((id: string | null) => void) | undefined};
}

const kMany = 12; // of more lines only the one that is meant gets a point at the cursor

function seriesOf(of: Drawn): Pick<uPlot.Options, "series" | "bands"> {
  const count = of.series.length;
  const line = (one: Series): uPlot.Series => ({
    label: one.label,
    stroke: colour_of(one.slot, of.dark),
    width: count > kMany ? 1 : 1.5,
    dash: kDashes[one.slot.dash],
    points: {show: (plot, i) => lonely(plot, i), size: 6},
    spanGaps: true,
  });
  if (!of.edges) return {series: [{}, ...of.series.map(line)]};
  const edge: uPlot.Series = {
    stroke: "transparent",
    width: 0,
    points: {show: false},
    spanGaps: true,
  };
  return {
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
  };
}

function axesOf(of: Drawn, muted: string, lines: string): uPlot.Axis[] {
  const axis: uPlot.Axis = {
    stroke: muted,
    grid: {stroke: lines, width: 1},
    ticks: {show: false},
    font: "11px system-ui, sans-serif",
  };
  return [
    {
      ...axis,
      values: (_, splits) => splits.map((value) => (value == null ? "" : xText(value, of.x))),
      space: of.x === "time" ? 70 : 50,
      size: 28,
    },
    {
      ...axis,
      size: 52,
      values: (_, splits) => splits.map((value) => (value == null ? "" : short(value))),
    },
  ];
}

export function options(of: Drawn): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const muted = style.getPropertyValue("--muted");
  const several = of.series.length > 1;
  return {
    width: Math.max(of.width, 50),
    height: of.height,
    legend: {show: false},
    cursor: {
      sync: {key: sync.key, setSeries: false},
      drag: {x: true, y: false, setScale: false},
      y: false,
      points: of.series.length > kMany ? {show: false} : {size: 6},
      ...(several && !of.edges ? {focus: {prox: kNear}} : {}),
    },
    focus: {alpha: several ? kFaint : 1},
    scales: {
      x: {time: false, distr: of.log.x ? 3 : 1},
      y: {distr: of.log.y ? 3 : 1, range: of.zero && !of.log.y ? fromZero : undefined},
    },
    axes: axesOf(of, muted, style.getPropertyValue("--line")),
    ...seriesOf(of),
    hooks: {
      setCursor: [(plot) => of.setAt(plot.cursor.idx ?? null)],
      setSeries: [
        (_, index, set) => {
          if ((set as {focus?: boolean}).focus === undefined) return;
          of.focused.current?.(index ? (of.series[index - 1]?.id ?? null) : null);
        },
      ],
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

export function xText(value: number, kind: XKind): string {
  if (kind === "relative") return duration(value / 1e6);
  if (kind === "time") return clock(value / 1000, false);
  return short(value);
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
