// Tables as files hold them. Pure.

const kMostRows = 500; // read for a preview

export interface Tabular {
  columns: string[] | null;
  rows: unknown[][];
}

// Fields may be quoted, with doubled quotes inside.
export function fromCsv(text: string): Tabular {
  const lines = text.split(/\r?\n/).filter((line) => line !== "");
  const [columns, ...rows] = lines.slice(0, kMostRows + 1).map(fields);
  return {columns: columns ?? null, rows};
}

function fields(line: string): string[] {
  const made: string[] = [];
  const field = /"((?:[^"]|"")*)"|[^,]*/y;
  for (let at = 0; at <= line.length; at = field.lastIndex + 1) {
    field.lastIndex = at;
    const match = field.exec(line);
    made.push(match?.[1] === undefined ? (match?.[0] ?? "") : match[1].replace(/""/g, '"'));
  }
  return made;
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
