// Spread of numbers as a box plot has it (Tukey's). Pure.
export interface Box {
  count: number;
  low: number; // the least within one and a half box lengths of the box
  first: number;
  median: number;
  third: number;
  high: number;
  outside: number[];
}

const kReach = 1.5;

// Between two values by their distance, as NumPy and R do it by default.
function quantile(sorted: readonly number[], part: number): number {
  const at = (sorted.length - 1) * part;
  const below = sorted[Math.floor(at)] ?? NaN;
  const above = sorted[Math.ceil(at)] ?? NaN;
  return below + (above - below) * (at - Math.floor(at));
}

export function boxOf(values: readonly number[]): Box | null {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
  if (sorted.length === 0) return null;
  const [first, median, third] = [0.25, 0.5, 0.75].map((part) => quantile(sorted, part)) as [
    number,
    number,
    number,
  ];
  const reach = kReach * (third - first);
  const inside = sorted.filter((value) => value >= first - reach && value <= third + reach);
  return {
    count: sorted.length,
    low: inside[0] ?? first,
    first,
    median,
    third,
    high: inside.at(-1) ?? third,
    outside: sorted.filter((value) => value < first - reach || value > third + reach),
  };
}
