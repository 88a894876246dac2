// Series as the API's columns give them, put together for drawing. Pure.
import type {Schemas} from "../api/client";
import {toNumber} from "./format";

export interface Line {
  x: number[];
  last: (number | null)[];
  min: (number | null)[];
  max: (number | null)[];
  not_finite: number[];
}

type ApiSeries = Schemas["ChartSeries"];
const finite = (value: Parameters<typeof toNumber>[0]) => {
  const number = toNumber(value);
  return Number.isFinite(number) ? number : null;
};

// A series of the API's answer. A column that holds one point alone is where that point is; a
// wider one begins at an edge that the series share.
// With `shared` it begins there as well, so that many series have few x among them.
export function line(series: ApiSeries, shared = false): Line {
  const edges = series.x ?? [];
  const counts = series.count ?? [];
  return {
    x: shared
      ? edges
      : edges.map((edge, i) => (counts[i] === 1 ? (series.last_x?.[i] ?? edge) : edge)),
    last: (series.last ?? []).map(finite),
    min: (series.min ?? []).map(finite),
    max: (series.max ?? []).map(finite),
    not_finite: series.not_finite ?? [],
  };
}

// All x of all lines, ascending; each line's values there, null where it has none.
export function joined(lines: readonly Line[]): {
  x: number[];
  last: (number | null)[][];
  min: (number | null)[][];
  max: (number | null)[][];
} {
  if (lines.length === 1) {
    const [one] = lines as [Line];
    return {x: one.x, last: [one.last], min: [one.min], max: [one.max]};
  }
  const x = [...new Set(lines.flatMap((one) => one.x))].sort((a, b) => a - b);
  const place = new Map(x.map((value, i) => [value, i]));
  const spread = (one: Line, values: (number | null)[]) => {
    const made = new Array<number | null>(x.length).fill(null);
    one.x.forEach((value, i) => (made[place.get(value) as number] = values[i] ?? null));
    return made;
  };
  return {
    x,
    last: lines.map((one) => spread(one, one.last)),
    min: lines.map((one) => spread(one, one.min)),
    max: lines.map((one) => spread(one, one.max)),
  };
}

// Exponential moving average with the bias of its start taken out (as Adam does); holes stay.
export function smoothed(of: Line, weight: number): Pick<Line, "last" | "min" | "max"> {
  let sum = 0;
  let mass = 0;
  const last = of.last.map((value) => {
    if (value === null) return null;
    sum = weight * sum + (1 - weight) * value;
    mass = weight * mass + (1 - weight);
    return sum / mass;
  });
  return {last, min: of.min, max: of.max};
}

// Without the points that an axis by ratio cannot show: those not above 0.
export function above(of: Line, log: {x: boolean; y: boolean}): Line {
  const positive = (value: number | null) => (value !== null && value <= 0 ? null : value);
  const y = log.y
    ? {last: of.last.map(positive), min: of.min.map(positive), max: of.max.map(positive)}
    : of;
  const first = log.x ? of.x.findIndex((x) => x > 0) : 0;
  const from = first < 0 ? of.x.length : first;
  return {
    x: of.x.slice(from),
    last: y.last.slice(from),
    min: y.min.slice(from),
    max: y.max.slice(from),
    not_finite: of.not_finite.slice(from),
  };
}

// The same points over epochs: at which epoch each step was, between two by their distance. Points
// before the first epoch that was logged are at it.
export function overEpochs(of: Line, epochs: Line): Line {
  let at = 0;
  const x = of.x.map((step) => {
    while (at + 1 < epochs.x.length && (epochs.x[at + 1] ?? 0) <= step) at += 1;
    const [from = 0, to] = [epochs.x[at], epochs.x[at + 1]];
    const [a, b] = [epochs.last[at] ?? 0, epochs.last[at + 1]];
    if (to === undefined || b == null || step <= from) return a;
    return a + ((b - a) * (step - from)) / (to - from);
  });
  // Several points of one epoch: the last of them stands there.
  const keep = x.map((value, i) => value !== x[i + 1]);
  const only = <T>(all: T[]) => all.filter((_, i) => keep[i]);
  return {
    x: only(x),
    last: only(of.last),
    min: only(of.min),
    max: only(of.max),
    not_finite: only(of.not_finite),
  };
}
