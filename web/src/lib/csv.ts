// Tables as CSV (RFC 4180). Pure.

// What a spreadsheet would take for a formula stays text there.
const kFormula = /^[=+@\t\r]|^-(?![\d.]|Infinity)/;

function cell(value: string | number | null | undefined): string {
  if (value == null) return "";
  const text = String(value);
  const safe = typeof value === "string" && kFormula.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}

export function csv(rows: readonly (readonly (string | number | null | undefined)[])[]): string {
  return rows.map((row) => row.map(cell).join() + "\r\n").join("");
}
