// Projects as a tree, and the bars of what each may have and has. Pure.
import type {QuotaStatus, Schemas} from "../api/client";
import {type Amounts, kPlain, nameOfAmount, sayAmount, valueOf} from "./amounts";
import type {Machine} from "./machines";
import {toNumber} from "./format";
import {type Leaf, inTree} from "./tree";

export const treeOf = (all: readonly QuotaStatus[], below?: string): Leaf<QuotaStatus>[] =>
  inTree(
    all,
    (one) => one.quota?.project ?? "",
    (one) => one.parent,
    below,
  );

export interface Bar {
  what: string;
  name: string;
  used: number;
  borrowed: number; // part of what is used
  guaranteed?: number;
  limit?: number;
  whole: number; // where the bar ends
  words: string;
}

// What the whole cluster has of each kind.
export function supplyOf(machines: readonly Machine[]): Record<string, number> {
  const made: Record<string, number> = {gpus: 0, cpus: 0, memory: 0};
  const add = (what: string, value: number) => (made[what] = (made[what] ?? 0) + value);
  for (const {node} of machines) {
    add("cpus", toNumber(node?.cpus) || 0);
    add("memory", node?.memory_bytes ?? 0);
    for (const gpu of node?.gpus ?? []) {
      add("gpus", 1);
      add(gpu.model ?? "", 1);
    }
  }
  return made;
}

// Of each kind that is promised, bounded or used. GPU models only where a quota names them.
export function barsOf(status: QuotaStatus, supply: Record<string, number>): Bar[] {
  const {guaranteed, limit} = status.quota ?? {};
  const models = [guaranteed, limit].flatMap((one) => Object.keys(one?.gpu_models ?? {}));
  return [...kPlain, ...new Set(models)]
    .filter((what) => what !== "gpus" || (supply.gpus ?? 0) > 0 || valueOf(limit, what) != null)
    .map((what) => barOf(what, status, supply[what] ?? 0));
}

function barOf(what: string, status: QuotaStatus, supply: number): Bar {
  const promised = valueOf(status.quota?.guaranteed, what);
  const limit = valueOf(status.quota?.limit, what);
  const used = valueOf(status.used, what) ?? 0;
  const borrowed = promised === undefined ? 0 : Math.max(0, used - promised);
  const say = (value: number) => sayAmount(what, value);
  const words = [
    `${say(used)} used`,
    promised !== undefined ? `${say(promised)} guaranteed` : "",
    limit !== undefined ? `at most ${say(limit)}` : "",
    borrowed > 0 ? `${say(borrowed)} borrowed` : "",
  ];
  return {
    what,
    name: nameOfAmount(what),
    used,
    borrowed,
    guaranteed: promised,
    limit,
    whole: Math.max(limit ?? supply, used, promised ?? 0),
    words: words.filter(Boolean).join(", "),
  };
}

type Sums = Record<string, number>;
const isPlain = (what: string): boolean => (kPlain as readonly string[]).includes(what);
const sumsOf = (amounts: Amounts | undefined): Sums =>
  Object.fromEntries(
    [...kPlain, ...Object.keys(amounts?.gpu_models ?? {})].flatMap((what) => {
      const value = valueOf(amounts, what);
      return value === undefined ? [] : [[what, value]];
    }),
  );

// What all projects are promised. A project's own guarantee covers those below it: of the two, the
// greater counts.
export function promisedInAll(all: readonly QuotaStatus[]): Sums {
  const known = new Set(all.map((one) => one.quota?.project));
  const below = (above: string): Sums => {
    const sums: Sums = {};
    for (const {quota, parent} of all) {
      // One whose parent may not be seen counts as one at the top.
      if (!quota?.project || (known.has(parent) ? parent : "") !== above) continue;
      const own = sumsOf(quota.guaranteed);
      for (const [what, value] of Object.entries(below(quota.project)))
        own[what] = Math.max(own[what] ?? 0, value);
      for (const [what, value] of Object.entries(own)) sums[what] = (sums[what] ?? 0) + value;
    }
    return sums;
  };
  return below("");
}

// A model is named by a part of its name.
const isOf = (what: string, model: string) => model.toLowerCase().includes(what.toLowerCase());

// What can be used now of one kind.
function thereNow(what: string, machines: readonly Machine[]): number {
  const ready = machines.flatMap((one) =>
    one.node?.ready
      ? [{...one, node: {...one.node, gpus: one.node.gpus?.filter((gpu) => gpu.healthy)}}]
      : [],
  );
  const supply = supplyOf(ready);
  if (isPlain(what)) return supply[what] ?? 0;
  return Object.entries(supply)
    .filter(([model]) => !isPlain(model) && isOf(what, model))
    .reduce((sum, [, value]) => sum + value, 0);
}

// What is promised in all and not there, if `project` is guaranteed this. Nodes may come later, so
// it may be set; but not without a word.
export function overPromised(
  project: string,
  guaranteed: Amounts,
  all: readonly QuotaStatus[],
  machines: readonly Machine[],
): string[] {
  const then = all.map((one) =>
    one.quota?.project === project ? {...one, quota: {...one.quota, guaranteed}} : one,
  );
  const sums = promisedInAll(then);
  return Object.keys(sumsOf(guaranteed)).flatMap((what) => {
    const promised = sums[what] ?? 0;
    const there = thereNow(what, machines);
    if (promised <= there + 1e-9) return [];
    const name = what === "memory" ? "of memory" : nameOfAmount(what);
    return [`${sayAmount(what, promised)} ${name}, and the cluster has ${sayAmount(what, there)}`];
  });
}

// What a job would take of its project's quota, and of those above it that have a limit.
export interface Take {
  project: string;
  rows: {what: string; name: string; asks: number; used: number; whole?: number; words: string}[];
}

function takeOf(
  project: string,
  asks: Amounts,
  has: {used?: Amounts; limit?: Amounts; guaranteed?: Amounts},
): Take {
  const models = [asks, has.limit].flatMap((one) => Object.keys(one?.gpu_models ?? {}));
  const rows = [...kPlain, ...new Set(models)].map((what) => {
    const mine = valueOf(asks, what) ?? 0;
    const used = valueOf(has.used, what) ?? 0;
    const limit = valueOf(has.limit, what);
    const whole = limit ?? valueOf(has.guaranteed, what);
    const say = (value: number) => sayAmount(what, value);
    const kind = limit === undefined ? " guaranteed" : "";
    const words =
      whole === undefined
        ? `${say(mine)}; no limit`
        : `${say(mine)} beside ${say(used)} of ${say(whole)}${kind}`;
    return {what, name: nameOfAmount(what), asks: mine, used, whole, words};
  });
  return {project, rows};
}

export function takesOf(check: Schemas["QuotaCheck"], all: readonly QuotaStatus[]): Take[] {
  const own = takeOf(check.project, check.asks, check);
  const takes = [{...own, rows: own.rows.filter((row) => row.asks > 0 || row.whole !== undefined)}];
  const by = new Map(all.map((one) => [one.quota?.project ?? "", one]));
  const seen = new Set<string>([check.project]); // a tree that is read while it changes has no end
  for (let at = by.get(check.project)?.parent; at && !seen.has(at); at = by.get(at)?.parent) {
    seen.add(at);
    const above = by.get(at);
    if (!above) break;
    const {rows} = takeOf(at, check.asks, {used: above.used, limit: above.quota?.limit});
    const bound = rows.filter((row) => row.asks > 0 && row.whole !== undefined);
    if (bound.length > 0) takes.push({project: at, rows: bound});
  }
  return takes;
}
