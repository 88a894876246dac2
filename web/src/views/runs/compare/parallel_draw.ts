// How parallel coordinates are drawn, and what lies under the cursor.
import {type Axis, type Brushes, density} from "../../../lib/axes";
import {type Slot, colour_of, kDashes} from "../../../lib/colours";
import {type Paint, fitted} from "../../../ui/canvas";

export interface Plot {
  axes: Axis[];
  titles: string[];
  places: (number | null)[][]; // of each run on each axis
  slots: (Slot | undefined)[]; // of few runs: each its colour
}

export const kPad = {top: 40, bottom: 16, side: 56};
const kMostLines = 5000; // above it: density
const kMostColours = 36;
const kParts = 48; // of an axis, for density
const kNear = 8; // pixels
const kBrush = 16;

export function xOf(axis: number, axes: number, width: number): number {
  return kPad.side + ((width - 2 * kPad.side) * axis) / Math.max(1, axes - 1);
}

export function atAxis(axes: number, width: number, x: number): number {
  const step = (width - 2 * kPad.side) / Math.max(1, axes - 1);
  return Math.min(axes - 1, Math.max(0, Math.round((x - kPad.side) / step)));
}

// The run whose line is nearest to the cursor, or -1.
export function nearest(
  plot: Plot,
  inside: readonly boolean[],
  width: number,
  x: number,
  at: number,
): number {
  if (plot.places.length > kMostLines) return -1;
  const axes = plot.axes.length;
  const step = (width - 2 * kPad.side) / Math.max(1, axes - 1);
  const along = Math.min(axes - 1.0001, Math.max(0, (x - kPad.side) / step));
  const left = Math.floor(along);
  let found = -1;
  let least = kNear / 380;
  plot.places.forEach((one, i) => {
    const [a, b] = [one[left], one[left + 1]];
    if (a == null || b == null || !inside[i]) return;
    const away = Math.abs(a + (b - a) * (along - left) - at);
    if (away < least) [found, least] = [i, away];
  });
  return found;
}

export function drawParallel(
  paint: Paint,
  plot: Plot,
  inside: readonly boolean[],
  brushes: Brushes,
  hover: number,
): void {
  const {ctx, width, height, colour} = paint;
  const y = (at: number) => kPad.top + (1 - at) * (height - kPad.top - kPad.bottom);
  const x = (axis: number) => xOf(axis, plot.axes.length, width);
  if (plot.places.length > kMostLines) drawDensity(paint, plot, inside, x, y);
  else drawLines(paint, plot, inside, x, y, hover);
  plot.axes.forEach((axis, i) => {
    ctx.strokeStyle = colour("--line-strong");
    ctx.setLineDash([]);
    ctx.lineWidth = 1;
    ctx.globalAlpha = 1;
    ctx.beginPath();
    ctx.moveTo(x(i), y(1));
    ctx.lineTo(x(i), y(0));
    ctx.stroke();
    const brush = brushes.get(i);
    if (brush) {
      ctx.fillStyle = colour("--accent");
      ctx.globalAlpha = 0.25;
      ctx.fillRect(x(i) - kBrush / 2, y(brush[1]), kBrush, y(brush[0]) - y(brush[1]));
      ctx.globalAlpha = 1;
    }
    drawWords(paint, axis, plot.titles[i] ?? "", x(i), (x(1) - x(0)) * 0.9, y);
  });
}

function drawWords(
  {ctx, colour}: Paint,
  axis: Axis,
  title: string,
  x: number,
  room: number,
  y: (at: number) => number,
): void {
  ctx.textAlign = "center";
  ctx.fillStyle = colour("--text");
  ctx.font = "600 12px system-ui, sans-serif";
  const words = axis.kind === "ratio" ? `${title} (log)` : title;
  ctx.fillText(fitted(ctx, words, Math.max(60, room)), x, 16);
  ctx.font = "11px system-ui, sans-serif";
  ctx.textAlign = "left";
  let last = -Infinity;
  for (const {at, text} of axis.ticks.toReversed()) {
    if (y(at) - last < 13) continue; // no room: its neighbours are named
    last = y(at);
    const shown = fitted(ctx, text, 96);
    const wide = ctx.measureText(shown).width;
    ctx.fillStyle = colour("--ground");
    ctx.globalAlpha = 0.8;
    ctx.fillRect(x + 4, y(at) - 7, wide + 4, 13);
    ctx.globalAlpha = 1;
    ctx.fillStyle = colour("--muted");
    ctx.fillText(shown, x + 6, y(at) + 4);
  }
}

function trace(
  ctx: CanvasRenderingContext2D,
  places: readonly (number | null)[],
  x: (axis: number) => number,
  y: (at: number) => number,
): void {
  let pen = false;
  places.forEach((at, axis) => {
    if (at === null) pen = false;
    else if (pen) ctx.lineTo(x(axis), y(at));
    else {
      ctx.moveTo(x(axis), y(at));
      pen = true;
    }
  });
}

function drawLines(
  {ctx, colour, dark}: Paint,
  plot: Plot,
  inside: readonly boolean[],
  x: (axis: number) => number,
  y: (at: number) => number,
  hover: number,
): void {
  ctx.lineWidth = 1;
  ctx.strokeStyle = colour("--line");
  ctx.beginPath();
  plot.places.forEach((one, i) => void (!inside[i] && trace(ctx, one, x, y)));
  ctx.stroke();
  const few = plot.slots.length > 0 && plot.places.length <= kMostColours;
  ctx.globalAlpha = few ? 0.9 : Math.max(0.12, Math.min(0.7, 60 / plot.places.length));
  ctx.strokeStyle = colour("--active");
  if (few) ctx.lineWidth = 1.5;
  plot.places.forEach((one, i) => {
    if (!inside[i]) return;
    const slot = plot.slots[i];
    if (few && slot) {
      ctx.strokeStyle = colour_of(slot, dark);
      ctx.setLineDash(kDashes[slot.dash] ?? []);
    }
    ctx.beginPath();
    trace(ctx, one, x, y);
    ctx.stroke();
  });
  ctx.setLineDash([]);
  ctx.globalAlpha = 1;
  const meant = plot.places[hover];
  if (!meant) return;
  ctx.strokeStyle = colour("--text");
  ctx.lineWidth = 2.5;
  ctx.beginPath();
  trace(ctx, meant, x, y);
  ctx.stroke();
}

// A band from part to part of neighbouring axes, the darker the more runs go there.
function drawDensity(
  {ctx, colour}: Paint,
  plot: Plot,
  inside: readonly boolean[],
  x: (axis: number) => number,
  y: (at: number) => number,
): void {
  const layers: [string, (number | null)[][]][] = [
    ["--line-strong", plot.places.filter((_, i) => !inside[i])],
    ["--active", plot.places.filter((_, i) => inside[i])],
  ];
  ctx.lineWidth = 2;
  for (const [token, places] of layers) {
    ctx.strokeStyle = colour(token);
    for (let left = 0; left + 1 < plot.axes.length; left += 1) {
      const counts = density(places, left, kParts);
      const most = Math.log1p(Math.max(1, ...counts.values()));
      for (const [key, count] of counts) {
        ctx.globalAlpha = (token === "--active" ? 0.75 : 0.2) * (Math.log1p(count) / most) ** 1.5;
        ctx.beginPath();
        ctx.moveTo(x(left), y((Math.floor(key / kParts) + 0.5) / kParts));
        ctx.lineTo(x(left + 1), y(((key % kParts) + 0.5) / kParts));
        ctx.stroke();
      }
    }
  }
  ctx.globalAlpha = 1;
}
