// Numbers, sizes and times as people read them. All are pure; `now` comes in where it counts.

const two = (n: number) => String(n).padStart(2, "0");
const kUnits = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

// The API writes what JSON has no number for as text.
export type ApiNumber = number | "NaN" | "Infinity" | "-Infinity";

export function toNumber(value: ApiNumber | null | undefined): number {
  return typeof value === "number" ? value : value == null ? NaN : Number(value);
}

// Four digits that count: 0.3104, 12.35, 1,204, 1.2e-7.
export function short(value: ApiNumber | null | undefined): string {
  const number = toNumber(value);
  if (Number.isNaN(number)) return "NaN";
  if (!Number.isFinite(number)) return number > 0 ? "∞" : "-∞";
  if (number === 0) return "0";
  const size = Math.abs(number);
  if (size >= 1e7 || size < 1e-4) return number.toExponential(2).replace("e+", "e");
  if (Number.isInteger(number)) return number.toLocaleString("en-US");
  if (size >= 1000) return number.toLocaleString("en-US", {maximumFractionDigits: 1});
  return String(Number(number.toPrecision(4)));
}

export function count(value: number): string {
  return value.toLocaleString("en-US");
}

export function bytes(value: number | null | undefined): string {
  if (value == null) return "";
  let unit = 0;
  let left = value;
  while (Math.abs(left) >= 1024 && unit < kUnits.length - 1) {
    left /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || left >= 100 ? Math.round(left) : Number(left.toPrecision(3));
  return `${digits} ${kUnits[unit]}`;
}

// 0.4 s, 12 s, 3m 12s, 2h 05m, 3d 4h
export function duration(seconds: number | null | undefined): string {
  if (seconds == null || Number.isNaN(seconds)) return "";
  const whole = Math.max(0, seconds);
  if (whole < 10) return `${(Math.round(whole * 10) / 10).toString()}s`;
  if (whole < 60) return `${Math.round(whole)}s`;
  const all = Math.round(whole);
  if (all < 3600) return `${Math.floor(all / 60)}m ${two(all % 60)}s`;
  if (all < 86400) return `${Math.floor(all / 3600)}h ${two(Math.floor((all % 3600) / 60))}m`;
  return `${Math.floor(all / 86400)}d ${Math.floor((all % 86400) / 3600)}h`;
}

export function seconds_between(from: string, until: string | number): number {
  return ((typeof until === "number" ? until : Date.parse(until)) - Date.parse(from)) / 1000;
}

// "11-20 05:31:07", local; with `date` false the clock alone.
export function clock(time: string | number, date = true): string {
  const at = new Date(time);
  if (Number.isNaN(at.getTime())) return "";
  const day = `${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const hour = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  return date ? `${day} ${hour}` : hour;
}

// "about 14:20", or with the day when it is not today
export function roughly(time: number, now: number): string {
  const at = new Date(time);
  const text = `${two(at.getHours())}:${two(at.getMinutes())}`;
  const today = new Date(now).toDateString() === at.toDateString();
  return today ? text : `${clock(time).slice(0, 5)} ${text}`;
}

export function percent(part: number, whole: number): string {
  return whole > 0 ? `${Math.round((100 * part) / whole)}%` : "0%";
}

export function plural(number: number, one: string, many = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : many}`;
}
