// What tasks use of their machines, from what their supervisors sample (src/hw/sampler.h). Pure.
import type {Schemas} from "../api/client";
import {toNumber} from "./format";

export interface GpuSample {
  percent?: number;
  memory?: number; // bytes
  celsius?: number;
}
export interface Used {
  cpus?: number;
  memory?: number; // bytes
  gpus: GpuSample[]; // in the order in which the task holds them
}
type Series = Schemas["ChartSeries"];

const kMicros = 1e6;
const kGpuKeys = {
  utilization_percent: "percent",
  memory_bytes: "memory",
  temperature_celsius: "celsius",
} as const;

export const taskKey = (run: string, role: string | undefined, rank: number): string =>
  `${run}/${role}-${rank}`;

// The names of what is sampled of a task with so many GPUs.
export function sampleKeys(role: string | undefined, rank: number, gpus: number): string[] {
  const of = (name: string) => `system/${role}-${rank}/${name}`;
  const each = Array.from({length: gpus}, (_, i) =>
    Object.keys(kGpuKeys).map((name) => of(`gpu.${i}.${name}`)),
  );
  return [of("cpu_seconds"), of("memory_bytes"), ...each.flat()];
}

function newest(series: Series): number | undefined {
  const value = toNumber(series.last?.at(-1));
  return Number.isFinite(value) ? value : undefined;
}

// CPU seconds grow for ever: what was used between the first and the last sample.
function rateOf(series: Series): number | undefined {
  const x = series.last_x ?? [];
  const value = (series.last ?? []).map(toNumber);
  const seconds = ((x.at(-1) ?? 0) - (x[0] ?? 0)) / kMicros;
  const grown = (value.at(-1) ?? NaN) - (value[0] ?? NaN);
  return seconds > 0 && grown >= 0 ? grown / seconds : undefined;
}

// By taskKey. What was not sampled is left out.
export function usedOf(all: readonly Series[]): Map<string, Used> {
  const made = new Map<string, Used>();
  for (const series of all) {
    const match = /^system\/(.+?-\d+)\/(.+)$/.exec(series.key ?? "");
    if (!match || !series.last?.length) continue;
    const key = `${series.run}/${match[1]}`;
    const used = made.get(key) ?? {gpus: []};
    made.set(key, used);
    const name = match[2] ?? "";
    const gpu = /^gpu\.(\d+)\.(.+)$/.exec(name);
    if (name === "cpu_seconds") used.cpus = rateOf(series);
    else if (name === "memory_bytes") used.memory = newest(series);
    else if (gpu) {
      const field = kGpuKeys[gpu[2] as keyof typeof kGpuKeys];
      const at = Number(gpu[1]);
      const sample = (used.gpus[at] ??= {});
      if (field) sample[field] = newest(series);
    }
  }
  return made;
}

// Sums over tasks; undefined where nothing was sampled at all.
export function sumOf(
  used: readonly (Used | undefined)[],
  of: "cpus" | "memory",
): number | undefined {
  const known = used.map((one) => one?.[of]).filter((value) => value !== undefined);
  return known.length > 0 ? known.reduce((a, b) => a + b, 0) : undefined;
}

// The mean use of the GPUs that were sampled, in percent.
export function gpuPercent(used: readonly (Used | undefined)[]): number | undefined {
  const known = used
    .flatMap((one) => one?.gpus ?? [])
    .map((one) => one?.percent)
    .filter((value) => value !== undefined);
  return known.length > 0 ? known.reduce((a, b) => a + b, 0) / known.length : undefined;
}
