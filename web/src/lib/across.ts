// Where the columns of a wide table lie: each at its least width, the first one always in sight.
// Pure.

export const kGap = 12; // between columns, as in the style
export const kPad = 16; // before the first and behind the last

export interface Placed {
  widths: number[];
  width: number; // of a row
  // Of CSS grid: boxes, first column, what lies between it and `first`, columns up to `end`.
  grid: (first: number, end: number) => string;
}

// "120px" or "minmax(160px, 2fr)"
export const leastWidth = (width: string): number => Number(/(\d+)px/.exec(width)?.[1] ?? 0);

export function placed(texts: readonly string[], choosing: number): Placed {
  const widths = texts.map(leastWidth);
  const starts: number[] = [];
  let at = kPad + (choosing ? choosing + kGap : 0);
  for (const width of widths) {
    starts.push(at);
    at += width + kGap;
  }
  const grid = (first: number, end: number) => {
    const tracks = choosing ? [choosing] : [];
    tracks.push(widths[0] ?? 0);
    if (first > 1) tracks.push((starts[first] ?? 0) - (starts[1] ?? 0) - kGap);
    tracks.push(...widths.slice(Math.max(1, first), end));
    return tracks.map((track) => `${track}px`).join(" ");
  };
  return {widths, width: at - kGap + kPad, grid};
}

const kStep = 4; // columns come and go by so many, so that most scrolling makes none

// The columns from and to (without it) that exist: as far as is known which are in sight.
export function within(
  first: number | undefined,
  last: number | undefined,
  count: number,
): [number, number] {
  if (first === undefined || last === undefined) return [0, Math.min(count, 24)];
  return [
    Math.floor(first / kStep) * kStep,
    Math.min(count, Math.ceil((last + 1) / kStep) * kStep),
  ];
}

// Of `count` things that are fetched by parts: those in parts that [first, last] touches.
export function parts(first: number, last: number, count: number, size: number): [number, number] {
  const from = Math.max(0, Math.floor(Math.min(first, count - 1) / size) * size);
  const to = (Math.floor(Math.max(last, 0) / size) + 1) * size;
  return [from, Math.min(count, to)];
}
