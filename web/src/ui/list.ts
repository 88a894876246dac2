// What lists have in common: pages that come as one scrolls, and walking through them by keys.
import {type InfiniteData, type UseInfiniteQueryResult} from "@tanstack/react-query";
import {useCallback, useMemo, useState} from "react";

import type {Listed} from "../api/client";
import {useKeys} from "../app/keys";
import type {Rows} from "./table";

// All rows that have come, and how to have more of them.
export function useRows<Row>(query: UseInfiniteQueryResult<InfiniteData<Listed<Row>>>) {
  const rows = useMemo(() => query.data?.pages.flatMap((page) => page.items) ?? [], [query.data]);
  const {hasNextPage, isFetchingNextPage, fetchNextPage} = query;
  const more = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  return {rows, more};
}

export function toggled(old: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(old);
  if (!next.delete(id)) next.add(id);
  return next;
}

// Keys that walk a list: the row one stands on.
export function useWalk<Row extends {id: string}>(
  rows: Rows<Row>,
  open: (row: Row) => void,
  setChosen: (change: (old: ReadonlySet<string>) => ReadonlySet<string>) => void,
): Row | undefined {
  return useWalkAt(rows, open, setChosen).current;
}

export function useWalkAt<Row extends {id: string}>(
  rows: Rows<Row>,
  open: (row: Row) => void,
  setChosen: (change: (old: ReadonlySet<string>) => ReadonlySet<string>) => void,
): {at: number; current: Row | undefined} {
  const [at, setAt] = useState(-1);
  const step = (by: number) => setAt((old) => Math.max(0, Math.min(rows.length - 1, old + by)));
  const current = at < 0 ? undefined : rows.at(at);
  useKeys([
    {keys: "j", does: "next in the list", run: () => step(1)},
    {keys: "k", does: "the one before", run: () => step(-1)},
    {keys: "Enter", does: "open it", run: () => current && open(current)},
    {
      keys: "x",
      does: "choose it",
      run: () => current && setChosen((old) => toggled(old, current.id)),
    },
    {keys: "Escape", does: "choose none", run: () => setChosen(() => new Set())},
  ]);
  return {at, current};
}
