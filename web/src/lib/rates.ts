// What grows for ever (CPU seconds, bytes read), as a rate. Pure.
import type {Line} from "./series";

// Per unit of x, times `scale`: x in microseconds and scale 1e6 give per-second rates.
export function rate(of: Line, scale: number): Line {
  const value = of.last.map((now, i) => {
    const before = of.last[i - 1];
    const seconds = ((of.x[i] ?? 0) - (of.x[i - 1] ?? 0)) / scale;
    if (now == null || before == null || seconds <= 0) return null;
    return Math.max(0, (now - before) / seconds); // it begins at 0 again with a new try
  });
  return {x: of.x, last: value, min: value, max: value, not_finite: of.not_finite};
}

const kUnits: Record<string, number> = {
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
};

// "4GiB" -> bytes; NaN for what is no size.
export function sizeOf(text: string): number {
  const match = /^\s*([\d.]+)\s*([KMGT]?i?B)\s*$/.exec(text);
  return match ? Number(match[1]) * (kUnits[match[2] ?? ""] ?? NaN) : NaN;
}
