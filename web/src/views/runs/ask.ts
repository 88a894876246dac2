// What the views of runs ask of the API in common: rows with the values of their columns.
import {keepPreviousData, queryOptions} from "@tanstack/react-query";

import {type Listed, type Run, type Schemas, api, ask} from "../../api/client";
import {type RunField, canBeColumn, listed, quoted} from "../../lib/run_fields";

// A run as lists show it. Its metrics come by column, as text, so that a NaN is one.
export interface RunRow extends Omit<Run, "metrics"> {
  cells: Record<string, string>;
}

const kFields =
  "id,name,project,experiment,owner,status,created_at,started_at,finished_at,job_id,parent_id," +
  "params,tags";
export const kAtOnce = 19; // the API groups by 20 fields at most, one of which is the id
const kMostIds = 100; // in a filter: it is of 4096 bytes at most

// As the API has it: of a metric its newest point.
interface Told extends Listed<Omit<RunRow, "cells"> & {metrics?: Run["metrics"]}> {
  total: number;
  snapshot?: string;
}

const cellsOf = (metrics: Run["metrics"] = {}): Record<string, string> =>
  Object.fromEntries(
    Object.entries(metrics).map(([key, {value}]) => [`metrics.${key}`, String(value)]),
  );

export interface RunPage extends Listed<RunRow> {
  total: number;
  snapshot?: string;
}

export async function runPage(
  query: {
    project?: string;
    filter?: string;
    order_by?: string;
    snapshot?: string;
    skip?: number;
    limit: number;
  },
  fields: readonly RunField[],
  signal: AbortSignal,
  more = "", // further members of runs, with commas
): Promise<RunPage> {
  const wanted = fields.filter((one) => one.side === "metrics" && canBeColumn(one.field));
  const last = wanted.filter((one) => one.which === undefined);
  const asked = [kFields, listed(last.map((one) => one.field)), more].filter(Boolean).join();
  const page = (await ask(
    api.GET("/api/v1/runs", {params: {query: {...query, fields: asked}}, signal}),
  )) as unknown as Told;
  const rows = page.items.map(({metrics, ...run}): RunRow => ({...run, cells: cellsOf(metrics)}));
  const ends = wanted.filter((one) => one.which !== undefined).map((one) => one.field);
  return {...page, items: await withEnds(rows, ends, signal)};
}

// The runs of these ids, in their order; those that are no longer there are left out.
export async function runsOf(
  ids: readonly string[],
  signal: AbortSignal,
  more = "",
): Promise<RunRow[]> {
  const pages = await Promise.all(
    cut(ids, kMostIds).map((some) =>
      runPage({filter: idIn(some), limit: some.length}, [], signal, more),
    ),
  );
  const byId = new Map(pages.flatMap((page) => page.items).map((run) => [run.id, run]));
  return ids.map((id) => byId.get(id)).filter((run) => run !== undefined);
}

const idIn = (ids: readonly string[]) => `id in (${ids.map(quoted).join()})`;

function cut<T>(all: readonly T[], most: number): T[][] {
  const parts: T[][] = [];
  for (let at = 0; at < all.length; at += most) parts.push(all.slice(at, at + most));
  return parts;
}

// The least and greatest values of metrics come as groups of one run each: no list has them.
async function withEnds(
  rows: RunRow[],
  fields: readonly string[],
  signal: AbortSignal,
): Promise<RunRow[]> {
  const cells = new Map(rows.map((row) => [row.id, row.cells]));
  const calls = cut(
    rows.map((row) => row.id),
    kMostIds,
  ).flatMap((ids) => cut(fields, kAtOnce).map((some) => groupsById(ids, some, signal)));
  for (const groups of await Promise.all(calls))
    for (const {values = {}} of groups) Object.assign(cells.get(values.id ?? "") ?? {}, values);
  return rows;
}

export const kMostValues = 10_000; // runs of one answer
export const kMostFields = kAtOnce - 1; // beside id and name

export interface RunValues {
  id: string;
  name: string;
  values: Record<string, string>;
}

// These fields of these runs, or of all that match a filter.
export async function valuesOf(
  of: {ids?: readonly string[]; filter?: string; project?: string},
  fields: readonly string[],
  signal: AbortSignal,
): Promise<{runs: RunValues[]; total: number}> {
  const {ids, filter, project} = of;
  const group_by = listed(["id", "name", ...fields.filter((one) => one !== "name")]);
  const filters = ids ? cut(ids, kMostIds).map(idIn) : [filter || undefined];
  const answers = await Promise.all(
    filters.map((one) =>
      ask(
        api.GET("/api/v1/runs/groups", {
          params: {query: {project, filter: one, group_by, limit: kMostValues}},
          signal,
        }),
      ),
    ),
  );
  const runs = answers.flatMap((answer) =>
    (answer.items ?? []).map(({values = {}}) => ({
      id: values.id ?? "",
      name: values.name || (values.id ?? ""),
      values,
    })),
  );
  const place = new Map(ids?.map((id, i) => [id, i]));
  if (ids) runs.sort((a, b) => (place.get(a.id) ?? 0) - (place.get(b.id) ?? 0));
  return {runs, total: answers.reduce((sum, answer) => sum + answer.total, 0)};
}

export const keysQuery = (ids: readonly string[]) =>
  queryOptions({
    queryKey: ["runs", "keys", ids],
    enabled: ids.length > 0,
    placeholderData: keepPreviousData,
    queryFn: ({signal}) => keysOf(ids, signal),
  });

// All keys that these runs have.
export async function keysOf(ids: readonly string[], signal: AbortSignal): Promise<RunColumn[]> {
  const answers = await Promise.all(
    cut(ids, kMostIds).map((some) =>
      ask(
        api.GET("/api/v1/runs/columns", {
          params: {query: {filter: idIn(some), limit: kMostValues}},
          signal,
        }),
      ),
    ),
  );
  const all = new Map(
    answers.flatMap((one) => one.items ?? []).map((one) => [`${one.kind} ${one.key}`, one]),
  );
  return [...all.values()];
}

async function groupsById(ids: string[], fields: string[], signal: AbortSignal) {
  const query = {filter: idIn(ids), group_by: listed(["id", ...fields]), limit: ids.length};
  const answer = await ask(api.GET("/api/v1/runs/groups", {params: {query}, signal}));
  return answer.items ?? [];
}

// A value of a run by the name of a column.
export function valueOf(run: RunRow, of: RunField): string | undefined {
  if (of.side === "params") return run.params?.[of.key];
  if (of.side === "tags") return run.tags?.[of.key];
  if (of.side === "metrics") return run.cells[of.field];
  const value = (run as unknown as Record<string, unknown>)[of.key];
  return typeof value === "string" ? value : undefined;
}

export type RunColumn = Schemas["RunColumn"];
