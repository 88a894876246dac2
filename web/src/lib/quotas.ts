// Projects as a tree, and the bars of what each may have and has. Pure.
import type {QuotaStatus} from "../api/client";
import {kPlain, nameOfAmount, sayAmount, valueOf} from "./amounts";
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
