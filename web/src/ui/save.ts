// Gives a file to whoever sits before the page, from bytes that are here.
const kKeepMs = 10_000; // the browser has taken it by then

export function save(name: string, bytes: Blob | string, type = "text/csv;charset=utf-8"): void {
  const url = URL.createObjectURL(typeof bytes === "string" ? new Blob([bytes], {type}) : bytes);
  const link = document.createElement("a");
  link.href = url;
  link.download = name.replace(/[^A-Za-z0-9._-]+/g, "-");
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), kKeepMs);
}
