// What an event says that has changed, in a line: "state running · gpus 4". Pure.
const kFirst = ["name", "state"]; // tell the most

function said(value: unknown): string {
  if (Array.isArray(value)) return value.map(said).join(", ");
  if (typeof value !== "object" || value === null) return String(value);
  return `{${Object.entries(value)
    .map(([key, one]) => `${key} ${said(one)}`)
    .join(", ")}}`;
}

export function inWords(changed: unknown): string {
  if (changed === undefined || changed === null) return "";
  if (typeof changed !== "object" || Array.isArray(changed)) return said(changed);
  const rank = (key: string) => (kFirst.includes(key) ? kFirst.indexOf(key) : kFirst.length);
  return Object.entries(changed)
    .filter(([key, value]) => key !== "id" && value !== "" && value !== null)
    .sort(([a], [b]) => rank(a) - rank(b))
    .map(([key, value]) => `${key} ${said(value)}`)
    .join(" · ");
}
