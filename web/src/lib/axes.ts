// Values of many runs along an axis: numbers evenly or by ratio, texts one beside the other. Pure.
import {short} from "./format";
import {isNumber} from "./run_fields";

export interface Axis {
  kind: "number" | "ratio" | "text";
  at: (value: string | undefined) => number | null; // 0..1; null: it has no place here
  value: (at: number) => string; // what is there, to be read
  ticks: {at: number; text: string}[];
  missing: number; // values without a place
}

const kByRatio = 100; // from so much between the least and the greatest on
const kTicks = 5;
const kMostNamed = 8; // so few different numbers are named as they are
const kMostTexts = 60; // more texts have no place
const kEdge = 0.03; // the outermost texts do not touch the ends

export function axisOf(values: readonly (string | undefined)[]): Axis {
  const known = values.filter((value) => value !== undefined && value !== "") as string[];
  return known.length > 0 && known.every(isNumber) ? numbers(values) : texts(values, known);
}

function numbers(values: readonly (string | undefined)[]): Axis {
  let min = Infinity;
  let max = -Infinity;
  let missing = 0;
  for (const value of values) {
    const number = value === undefined || value === "" ? NaN : Number(value);
    if (!Number.isFinite(number)) missing += 1;
    else {
      min = Math.min(min, number);
      max = Math.max(max, number);
    }
  }
  const ratio = min > 0 && max / min >= kByRatio;
  const wide = ratio ? Math.log(max / min) : max - min;
  const back = (at: number) => (ratio ? min * (max / min) ** at : min + (max - min) * at);
  const at = (value: string | undefined) => {
    const number = value === undefined || value === "" ? NaN : Number(value);
    if (!Number.isFinite(number)) return null;
    if (wide === 0) return 0.5;
    return ratio ? Math.log(number / min) / wide : (number - min) / wide;
  };
  return {
    kind: ratio ? "ratio" : "number",
    at,
    value: (at) => short(Number(back(at).toPrecision(4))),
    ticks: numberTicks(values, at, back),
    missing,
  };
}

// The numbers that there are, where they are few; else even steps.
function numberTicks(
  values: readonly (string | undefined)[],
  at: (value: string | undefined) => number | null,
  back: (at: number) => number,
): {at: number; text: string}[] {
  const different = new Map<number, string>();
  for (const value of values) {
    const place = at(value);
    if (place !== null) different.set(place, short(Number(value)));
    if (different.size > kMostNamed) break;
  }
  if (different.size <= kMostNamed)
    return [...different].sort((a, b) => a[0] - b[0]).map(([place, text]) => ({at: place, text}));
  return Array.from({length: kTicks}, (_, i) => i / (kTicks - 1)).map((place) => ({
    at: place,
    text: short(Number(back(place).toPrecision(3))),
  }));
}

function texts(values: readonly (string | undefined)[], known: readonly string[]): Axis {
  const all = [...new Set(known)]
    .sort((a, b) => a.localeCompare(b, "en", {numeric: true}))
    .slice(0, kMostTexts);
  const step = all.length > 1 ? (1 - 2 * kEdge) / (all.length - 1) : 0;
  const place = new Map(all.map((text, i) => [text, all.length > 1 ? kEdge + i * step : 0.5]));
  const at = (value: string | undefined) => place.get(value ?? "") ?? null;
  return {
    kind: "text",
    at,
    value: (where) => all[Math.max(0, Math.round((where - kEdge) / (step || 1)))] ?? all[0] ?? "",
    ticks: all.map((text) => ({at: at(text) as number, text})),
    missing: values.filter((value) => at(value) === null).length,
  };
}

// Parts of axes, by their number: "0:0.1..0.5,2:0..0.25".
export type Brushes = ReadonlyMap<number, readonly [number, number]>;

export function brushesOf(text: string | undefined): Brushes {
  const made = new Map<number, readonly [number, number]>();
  for (const word of (text ?? "").split(",")) {
    const [, axis, from, to] = /^(\d+):([\d.]+)\.\.([\d.]+)$/.exec(word) ?? [];
    const range = [Number(from), Number(to)] as const;
    if (axis !== undefined && range[0] < range[1]) made.set(Number(axis), range);
  }
  return made;
}

export function brushesText(brushes: Brushes): string | undefined {
  const round = (value: number) => Number(value.toFixed(4));
  const words = [...brushes].map(([axis, [a, b]]) => `${axis}:${round(a)}..${round(b)}`);
  return words.length > 0 ? words.join() : undefined;
}

// Whether a run, given its places on the axes, lies within all brushes.
export function within(places: readonly (number | null)[], brushes: Brushes): boolean {
  for (const [axis, [from, to]] of brushes) {
    const at = places[axis];
    if (at == null || at < from || at > to) return false;
  }
  return true;
}

// How many runs go from each part of one axis to each part of the next, for more runs than lines
// can tell apart.
export function density(
  places: readonly (readonly (number | null)[])[],
  left: number,
  parts: number,
): Map<number, number> {
  const counts = new Map<number, number>();
  const part = (at: number) => Math.min(parts - 1, Math.floor(at * parts));
  for (const one of places) {
    const [a, b] = [one[left], one[left + 1]];
    if (a == null || b == null) continue;
    const key = part(a) * parts + part(b);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}
