// A view of the runs as it is saved under a name: what of the address makes it. Pure.

export const kParts = ["project", "filter", "cols", "order", "group"] as const;
export type Parts = Partial<Record<(typeof kParts)[number], string>>;

export function partsOf(search: Record<string, string | undefined>): Parts {
  return Object.fromEntries(kParts.flatMap((part) => (search[part] ? [[part, search[part]]] : [])));
}

export function queryOf(parts: Parts): string {
  const made = new URLSearchParams();
  for (const part of kParts) if (parts[part]) made.set(part, parts[part]);
  return made.toString();
}

// What a query says; whatever else is in it is of another time.
export const fromQuery = (query: string | undefined): Parts =>
  partsOf(Object.fromEntries(new URLSearchParams(query ?? "")));

// All parts, so that opening a view takes away what another one had.
export const asSearch = (parts: Parts): Record<string, string | undefined> =>
  Object.fromEntries(kParts.map((part) => [part, parts[part]]));

export const same = (a: Parts, b: Parts): boolean => queryOf(a) === queryOf(b);

// In words: what a view shows, for a list of them.
export function inWords(parts: Parts): string {
  const columns = parts.cols && parts.cols !== "none" ? parts.cols.split(",").length : 0;
  const words = [
    parts.filter,
    parts.group && `by ${parts.group.split(",").join(" and ")}`,
    parts.order && `ordered by ${parts.order}`,
    columns > 0 && `${columns} ${columns === 1 ? "column" : "columns"}`,
  ];
  return words.filter(Boolean).join(" · ") || "all runs";
}
