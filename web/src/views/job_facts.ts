// What a job asks for, in sums over its tasks.
import type {Job} from "../api/client";
import {toNumber} from "../lib/format";

type Spec = Job["spec"];

export function gpusOf(spec: Spec | undefined): number {
  if (!spec) return 0;
  const roles = Object.values(spec.roles ?? {});
  if (roles.length === 0) return toNumber(spec.resources?.gpus ?? 0) || 0;
  return roles.reduce(
    (sum, role) => sum + (role.replicas ?? 1) * (toNumber(role.resources?.gpus ?? 0) || 0),
    0,
  );
}

// A parameter of a job file may be written as its bare value.
export interface Param {
  value: unknown;
  live: boolean;
  min?: number;
  max?: number;
}
type Written = NonNullable<NonNullable<Spec>["params"]>[string];

export function paramOf(written: Written): Param {
  if (typeof written !== "object" || written === null || Array.isArray(written))
    return {value: written, live: false};
  const bound = (value: Parameters<typeof toNumber>[0]) =>
    value == null ? undefined : toNumber(value);
  return {
    value: written.value,
    live: written.live,
    min: bound(written.min),
    max: bound(written.max),
  };
}

export function liveParams(spec: Spec | undefined): [string, Param][] {
  return Object.entries(spec?.params ?? {})
    .map(([name, written]): [string, Param] => [name, paramOf(written)])
    .filter(([, param]) => param.live);
}
