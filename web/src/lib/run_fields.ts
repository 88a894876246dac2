// What a list of runs may have as a column: "params.lr", "metrics.val/acc.max", "tags.team", or a
// member of the run itself. The same names as in filters and orders. Pure.
import {short} from "./format";

export interface RunField {
  field: string;
  side: "metrics" | "params" | "tags" | "own";
  key: string; // without its side and which
  which?: "min" | "max"; // of a metric; else its last value
}

export const kMostColumns = 500; // what an address holds

export function runField(field: string): RunField {
  const dot = field.indexOf(".");
  const side = field.slice(0, Math.max(0, dot));
  const key = field.slice(dot + 1);
  if (side === "params" || side === "tags") return {field, side, key};
  if (side !== "metrics") return {field, side: "own", key: field};
  const which = /\.(min|max)$/.exec(key)?.[1] as "min" | "max" | undefined;
  return {field, side, key: which ? key.slice(0, -4) : key, which};
}

// In an address, columns stand with commas between them.
export const canBeColumn = (field: string): boolean => !field.includes(",");

// The columns that an address names, each once.
export function fieldsOf(text: string | undefined): RunField[] {
  const words = (text ?? "").split(",").map((word) => word.trim());
  return [...new Set(words)]
    .filter((word) => word !== "")
    .slice(0, kMostColumns)
    .map(runField);
}

export function titleOf({key, which}: RunField): string {
  return which ? `${key} ${which}` : key;
}

// What the API wrote as text: a number in short, else as it is.
export function shown(text: string | undefined): string {
  if (text === undefined) return "";
  return isNumber(text) ? short(Number(text)) : text;
}
export function isNumber(text: string): boolean {
  return text.trim() !== "" && (/^(NaN|-?Infinity)$/.test(text) || !Number.isNaN(Number(text)));
}

// A value as the filter language takes it; names of fields, too.
export function quoted(text: string): string {
  return /^[A-Za-z0-9_][A-Za-z0-9_.:/-]*$/.test(text) && !/^(and|or|not|in)$/i.test(text)
    ? text
    : `"${text.replace(/["\\]/g, "\\$&")}"`;
}

// Fields as order_by, group_by and fields list them.
export const listed = (fields: readonly string[]): string => fields.map(quoted).join();

// "field is this value", or that runs lack the field.
export function equals(field: string, value: string | undefined): string {
  return value === undefined
    ? `not (${quoted(field)} ~ ".*")`
    : `${quoted(field)} = ${quoted(value)}`;
}

export function both(a: string, b: string): string {
  if (a === "" || b === "") return a || b;
  return `${/\bor\b/i.test(a) ? `(${a})` : a} and ${b}`;
}

// What is most asked for first: loss, then accuracy, then the rest by name.
export function inOrder(keys: readonly string[]): string[] {
  const rank = (key: string) => (/loss/i.test(key) ? 0 : /acc/i.test(key) ? 1 : 2);
  return [...keys].sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
}

const kFirstMetrics = 3;
const kFirstParams = 3;

// The columns of a list of which nothing was chosen: some of what its first run has.
export function firstFields(run: {
  params?: Record<string, string>;
  metrics?: Record<string, unknown>;
}): string {
  const params = Object.keys(run.params ?? {}).filter(canBeColumn);
  const metrics = inOrder(Object.keys(run.metrics ?? {}).filter(canBeColumn));
  return [
    ...metrics.slice(0, kFirstMetrics).map((key) => `metrics.${key}`),
    ...params.slice(0, kFirstParams).map((key) => `params.${key}`),
  ].join();
}
