// Tables as files hold them. Pure.

const kMostRows = 500; // read for a preview

export interface Tabular {
  columns: string[] | null;
  rows: unknown[][];
}

// Fields may be quoted, with doubled quotes inside.
export function fromCsv(text: string): Tabular {
  const rows = text
    .split(/\r?\n/)
    .filter((line) => line !== "")
    .slice(0, kMostRows + 1)
    .map((line) =>
      [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)]
        .slice(0, -1)
        .map((m) => (m[1] ?? "").replace(/^"|"$/g, "").replace(/""/g, '"')),
    );
  const [columns, ...rest] = rows;
  return {columns: columns ?? null, rows: rest};
}

// A square of numbers, perhaps with the names of its rows before them, is a confusion matrix.
export function asMatrix(of: Tabular): {names: string[] | null; rows: number[][]} | null {
  const {columns, rows} = of;
  if (rows.length < 2 || rows.length > 64) return null;
  const named = rows.every((row) => typeof row[0] === "string");
  const numbers = rows.map((row) => (named ? row.slice(1) : row));
  const square = numbers.every(
    (row) => row.length === rows.length && row.every((value) => typeof value === "number"),
  );
  if (!square) return null;
  const names = named ? rows.map((row) => String(row[0])) : columns;
  return {names, rows: numbers as number[][]};
}
