// A chart as a file: as it is seen (PNG, SVG), or the numbers behind it (CSV).
import type uPlot from "uplot";

import {chartSvg} from "../lib/chart_svg";
import {colour_of, kDashes} from "../lib/colours";
import {csv} from "../lib/csv";
import {short} from "../lib/format";
import type {Series, XKind} from "./chart";
import {xText} from "./chart_plot";
import {save} from "./save";

const kTitle = 28;
const kLegendRow = 18;
const kMostLegend = 40;
const kSplits = 6;

function colours() {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string) => style.getPropertyValue(name).trim();
  return {ground: of("--ground"), text: of("--text"), grid: of("--line")};
}

// The canvas with its title above and whose line is whose below.
export function savePng(title: string, plot: uPlot, lines: Series[], dark: boolean): void {
  const scale = devicePixelRatio;
  const from = plot.ctx.canvas;
  const legend = lines.slice(0, kMostLegend);
  const canvas = document.createElement("canvas");
  canvas.width = from.width;
  canvas.height = from.height + (kTitle + legend.length * kLegendRow + 8) * scale;
  const to = canvas.getContext("2d");
  if (!to) return;
  const {ground, text} = colours();
  to.fillStyle = ground;
  to.fillRect(0, 0, canvas.width, canvas.height);
  to.drawImage(from, 0, kTitle * scale);
  to.scale(scale, scale);
  to.fillStyle = text;
  to.font = "600 13px system-ui, sans-serif";
  to.fillText(title, 8, 18);
  to.font = "11px system-ui, sans-serif";
  legend.forEach((one, i) => {
    const y = kTitle + from.height / scale + i * kLegendRow + 8;
    to.strokeStyle = colour_of(one.slot, dark);
    to.lineWidth = 3;
    to.setLineDash(kDashes[one.slot.dash] ?? []);
    to.beginPath();
    to.moveTo(12, y);
    to.lineTo(32, y);
    to.stroke();
    to.fillText(one.label, 40, y + 4);
  });
  canvas.toBlob((blob) => blob && save(`${title}.png`, blob), "image/png");
}

// Even steps of an axis, or of its logarithm.
function splits(min: number, max: number, log: boolean): number[] {
  const of = (part: number) =>
    log && min > 0 ? min * (max / min) ** part : min + (max - min) * part;
  return Array.from({length: kSplits + 1}, (_, i) => of(i / kSplits));
}

export function saveSvg(
  title: string,
  plot: uPlot,
  lines: Series[],
  x: XKind,
  log: {x: boolean; y: boolean},
  dark: boolean,
): void {
  const scale = devicePixelRatio;
  const box = {
    left: plot.bbox.left / scale,
    top: plot.bbox.top / scale,
    width: plot.bbox.width / scale,
    height: plot.bbox.height / scale,
  };
  const at = (value: number, axis: "x" | "y") =>
    plot.valToPos(value, axis) + (axis === "x" ? box.left : box.top);
  const ticks = (axis: "x" | "y", words: (value: number) => string) => {
    const {min, max} = plot.scales[axis] ?? {};
    if (min == null || max == null) return [];
    return splits(min, max, log[axis]).map((value) => ({at: at(value, axis), text: words(value)}));
  };
  const {min: first = -Infinity, max: last = Infinity} = plot.scales.x ?? {};
  const svg = chartSvg({
    title,
    width: plot.width,
    height: plot.height,
    plot: box,
    xTicks: ticks("x", (value) => xText(value, x)),
    yTicks: ticks("y", short),
    colours: colours(),
    lines: lines.map((one) => ({
      label: one.label,
      colour: colour_of(one.slot, dark),
      dash: kDashes[one.slot.dash] ?? [],
      points: one.x.flatMap((value, i): [number, number][] => {
        const y = one.last[i];
        const inside = value >= (first ?? -Infinity) && value <= (last ?? Infinity);
        return y == null || !inside ? [] : [[at(value, "x"), at(y, "y")]];
      }),
    })),
  });
  save(`${title}.svg`, svg, "image/svg+xml");
}

export function saveCsv(title: string, x: XKind, series: Series[]): void {
  const rows = series.flatMap((one) =>
    one.x.map((at, i) => [one.id, one.label, at, one.last[i], one.min[i], one.max[i]]),
  );
  save(`${title}.csv`, csv([["run", "name", x, "last", "min", "max"], ...rows]));
}
