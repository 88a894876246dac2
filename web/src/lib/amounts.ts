// Amounts of GPUs, CPUs and memory as people write them, and as the API takes them. Pure.
import type {Schemas} from "../api/client";
import {bytes, short, toNumber} from "./format";
import {sizeOf} from "./rates";

export type Amounts = Schemas["Amounts"];

// One field of a form for each: "gpus", "cpus", "memory", or the model of a GPU.
export type Written = Record<string, string>;
export const kPlain = ["gpus", "cpus", "memory"] as const;
const kNames: Record<string, string> = {gpus: "GPUs", cpus: "CPUs", memory: "Memory"};

export const nameOfAmount = (what: string): string => kNames[what] ?? what;

export function valueOf(amounts: Amounts | undefined, what: string): number | undefined {
  if (!amounts) return undefined;
  const value =
    what === "memory"
      ? amounts.memory_bytes
      : what === "gpus" || what === "cpus"
        ? amounts[what]
        : amounts.gpu_models?.[what];
  return value === undefined ? undefined : toNumber(value);
}

export function sayAmount(what: string, value: number): string {
  return what === "memory" ? bytes(value) : short(Math.round(value * 1000) / 1000);
}

const kUnits = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

// The largest unit of which it is a whole number, so that nothing is lost.
function sizeText(value: number): string {
  let unit = 0;
  let left = value;
  while (left >= 1024 && left % 1024 === 0 && unit < kUnits.length - 1) {
    left /= 1024;
    unit += 1;
  }
  return `${left}${kUnits[unit]}`;
}

export function written(amounts: Amounts | undefined): Written {
  const made: Written = {};
  for (const what of [...kPlain, ...Object.keys(amounts?.gpu_models ?? {})]) {
    const value = valueOf(amounts, what);
    if (value !== undefined) made[what] = what === "memory" ? sizeText(value) : String(value);
  }
  return made;
}

// Why it is no amount, or nothing.
export function wrongAmount(what: string, text: string): string | undefined {
  if (text.trim() === "") return undefined;
  const value = what === "memory" ? sizeOf(text) : Number(text);
  if (Number.isFinite(value) && value >= 0) return undefined;
  return what === "memory" ? "A size such as 64GiB." : "A number from 0.";
}

// Fields that are empty say nothing of it.
export function amountsOf(fields: Written): Amounts {
  const made: Amounts = {};
  const models: Record<string, number> = {};
  for (const [what, text] of Object.entries(fields)) {
    if (text.trim() === "") continue;
    if (what === "memory") made.memory_bytes = sizeOf(text);
    else if (what === "gpus" || what === "cpus") made[what] = Number(text);
    else models[what] = Number(text);
  }
  if (Object.keys(models).length > 0) made.gpu_models = models;
  return made;
}
