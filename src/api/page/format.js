// Numbers and durations as people read them.
export function short(value, digits = 4) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "not a number";
  const size = Math.abs(value);
  if (value !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(digits - 2);
  return String(Number(value.toPrecision(size >= 1000 ? 6 : digits)));
}

export function span(seconds) {
  const s = Math.max(0, seconds);
  if (s < 10) return s.toFixed(1) + " s";
  if (s < 120) return Math.round(s) + " s";
  if (s < 7200) return Math.floor(s / 60) + " min " + Math.round(s % 60) + " s";
  return Math.floor(s / 3600) + " h " + Math.round((s % 3600) / 60) + " min";
}
