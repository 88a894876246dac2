// The rows of the list of runs, by blocks of an order that the server keeps (`snapshot`): so the
// scroll bar jumps anywhere, and what comes new moves nothing until it is asked for.
import {keepPreviousData, useQuery} from "@tanstack/react-query";
import {useCallback, useEffect, useMemo, useReducer, useRef, useState} from "react";

import {Refused, api, ask} from "../../api/client";
import {Blocks, kBlock} from "../../lib/blocks";
import type {RunField} from "../../lib/run_fields";
import {type RunRow, runPage} from "./ask";

const kSettleMs = 90; // while one scrolls fast, blocks are asked for so long after the last move
const kLiveMs = 5000; // running runs in sight are looked at again so often
const kGone = 410;

export interface Wanted {
  project?: string;
  filter: string;
  order: string;
}

export function useRunList(wanted: Wanted, fields: readonly RunField[]) {
  const {project, filter, order} = wanted;
  const columns = useRef(fields);
  columns.current = fields;
  // Not under "runs": events must not make a new order of it.
  const head = useQuery({
    queryKey: ["run-list", project, filter, order],
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    queryFn: async ({signal}) => {
      const asked = columns.current;
      const query = {project, filter: filter || undefined, order_by: order};
      const page = await runPage({...query, snapshot: "new", limit: kBlock}, asked, signal);
      return {...page, columns: metricsOf(asked)};
    },
  });
  const now = useTotal(wanted);
  const [error, setError] = useState<unknown>();
  const {rows, seen, snapshot} = useBlocks(head.data, fields, (problem) => {
    if (problem instanceof Refused && problem.status === kGone) void head.refetch();
    else setError(problem);
  });
  useRefresh(rows, now.dataUpdatedAt);
  return {
    rows,
    seen,
    snapshot,
    head,
    error,
    total: head.data?.total ?? 0,
    fresh: now.data === undefined || !head.data ? 0 : now.data - head.data.total,
    renew: () => void head.refetch(),
  };
}

// How many there are now, whatever the kept order holds.
function useTotal({project, filter}: Wanted) {
  return useQuery({
    queryKey: ["runs", "total", project, filter],
    queryFn: async ({signal}) => {
      const query = {project, filter: filter || undefined, limit: 1, fields: "id"};
      const page = await ask(api.GET("/api/v1/runs", {params: {query}, signal}));
      return (page as {total: number}).total;
    },
  });
}

const metricsOf = (fields: readonly RunField[]): string =>
  fields
    .filter((one) => one.side === "metrics")
    .map((one) => one.field)
    .join();

// The first page of an order, and which columns it came with.
type Head = (Awaited<ReturnType<typeof runPage>> & {columns: string}) | undefined;
const kNone = new Blocks<RunRow>(
  0,
  () => Promise.resolve([]),
  () => undefined,
);

// Columns out of sight keep the values they had: these are there at once when one comes back.
function keptCells(run: RunRow, before: RunRow | undefined): RunRow {
  return before?.id === run.id ? {...run, cells: {...before.cells, ...run.cells}} : run;
}

function useBlocks(
  head: Head,
  fields: readonly RunField[],
  failed: (error: unknown) => void,
): {rows: Blocks<RunRow>; seen: (first: number, last: number) => void; snapshot?: string} {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const before = useRef<{snapshot?: string; rows: Blocks<RunRow>}>({rows: kNone});
  const fail = useRef(failed);
  fail.current = failed;
  const snapshot = head?.snapshot;
  const rows = useMemo(() => {
    if (!head) return kNone;
    const made: Blocks<RunRow> = new Blocks(
      head.total,
      async (skip, limit, stop) => {
        const {items} = await runPage({snapshot, skip, limit}, fields, stop);
        return items.map((run, i) => keptCells(run, made.at(skip + i)));
      },
      (error) => {
        fail.current(error);
        redraw();
      },
    );
    if (before.current.snapshot === snapshot) made.putAll(before.current.rows);
    else made.put(0, head.items, head.columns === metricsOf(fields) ? "fresh" : "stale");
    before.current = {snapshot, rows: made};
    return made;
  }, [snapshot, head, fields]);
  const range = useRef<[number, number]>([0, 0]);
  const last = useRef(0);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const seen = useCallback(
    (first: number, end: number) => {
      range.current = [first, end];
      clearTimeout(timer.current);
      const since = Date.now() - last.current;
      last.current = Date.now();
      if (since > kSettleMs) rows.want(first, end);
      else timer.current = setTimeout(() => rows.want(first, end), kSettleMs);
    },
    [rows],
  );
  useEffect(() => {
    rows.want(...range.current);
    return () => {
      clearTimeout(timer.current);
      rows.rest();
    };
  }, [rows]);
  return {rows, seen, snapshot};
}

// Looks at what is in sight again after events, and while some of it runs.
function useRefresh(rows: Blocks<RunRow>, changedAt: number): void {
  const known = useRef(changedAt);
  useEffect(() => {
    if (known.current !== 0 && known.current !== changedAt) rows.refresh();
    known.current = changedAt;
  }, [rows, changedAt]);
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden && rows.some((row) => row.status === "running")) rows.refresh();
    }, kLiveMs);
    return () => clearInterval(timer);
  }, [rows]);
}
