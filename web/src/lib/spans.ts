// Spans of time as the command line takes them: "90s", "30m", "1h30m", "2d". Pure.

const kSeconds: Record<string, number> = {s: 1, m: 60, h: 3600, d: 86_400};

// NaN for what is none. A bare number is seconds.
export function secondsOf(text: string): number {
  const clean = text.replace(/\s+/g, "").toLowerCase();
  if (/^\d+(\.\d+)?$/.test(clean)) return Number(clean);
  if (!/^(\d+(\.\d+)?[smhd])+$/.test(clean)) return NaN;
  let sum = 0;
  for (const [, number, unit] of clean.matchAll(/(\d+(?:\.\d+)?)([smhd])/g))
    sum += Number(number) * (kSeconds[unit ?? "s"] ?? NaN);
  return sum;
}

// The shortest way to write it that secondsOf reads again: 5400 -> "1h30m".
export function spanOf(seconds: number): string {
  if (seconds <= 0) return "0s";
  let left = seconds;
  let text = "";
  for (const unit of ["d", "h", "m"] as const) {
    const whole = Math.floor(left / (kSeconds[unit] ?? 1));
    if (whole > 0) text += `${whole}${unit}`;
    left -= whole * (kSeconds[unit] ?? 1);
  }
  return left > 0 || text === "" ? `${text}${Number(left.toFixed(3))}s` : text;
}

// What a `datetime-local` field holds, in local time, and back.
export function fieldTime(time: number): string {
  const at = new Date(time - new Date(time).getTimezoneOffset() * 60_000);
  return at.toISOString().slice(0, 16);
}
