// What the cluster view draws, from what the API says of each machine. Pure.
import type {Schemas} from "../api/client";
import {toNumber} from "./format";

export type Machine = Schemas["NodeStatus"];
export type Held = Schemas["NodeTask"];
type Gpu = Schemas["Gpu"];

export const nameOf = (machine: Machine): string => machine.node?.name ?? "";

export type MachineState =
  "open" | "cordoned" | "draining" | "drained" | "maintenance" | "reserved" | "away";

// A reservation that is yet to come changes nothing now; a drain that is yet to come does.
export function stateOf(machine: Machine, now: number): MachineState {
  const node = machine.node;
  if (!node) return "away";
  const ordered = /^(drained|cordoned) by /.exec(node.closes_for ?? "")?.[1];
  const closed = node.closes_at !== undefined && Date.parse(node.closes_at) <= now;
  const empty = (machine.tasks?.length ?? 0) === 0;
  if (ordered === "drained") return closed && empty ? "drained" : "draining";
  if (!node.ready) return "away";
  if (node.cordoned) return "cordoned";
  if (closed) return (node.kept_for?.length ?? 0) > 0 ? "reserved" : "maintenance";
  return "open";
}

// Spans that lie beside each other share a row; those that overlap do not.
export function rowsOf(spans: readonly Span[]): number[] {
  const ends: number[] = [];
  return spans.map((span) => {
    const free = ends.findIndex((end) => end < span.from);
    const row = free < 0 ? ends.length : free;
    ends[row] = span.to;
    return row;
  });
}

export interface Rack {
  rack: string;
  spine: string;
  machines: Machine[];
}

// By spine and rack, as they are named; machines of no rack come last.
export function racksOf(machines: readonly Machine[]): Rack[] {
  const racks = new Map<string, Rack>();
  for (const machine of machines) {
    const {rack = "", spine = ""} = machine.node ?? {};
    const key = `${spine}\n${rack}`;
    const found = racks.get(key) ?? {rack, spine, machines: []};
    found.machines.push(machine);
    racks.set(key, found);
  }
  const last = (text: string) => (text === "" ? "\uffff" : text);
  const order = (a: string, b: string) => last(a).localeCompare(last(b), "en-US", {numeric: true});
  for (const one of racks.values()) one.machines.sort((a, b) => order(nameOf(a), nameOf(b)));
  return [...racks.values()].sort((a, b) => order(a.spine, b.spine) || order(a.rack, b.rack));
}

export interface GpuUse {
  gpu: Gpu;
  holders: Held[];
  given: number; // 0 to 1
}

// GPUs in the order of their cells and links, with who holds them.
export function gpusOf(machine: Machine): GpuUse[] {
  const gpus = [...(machine.node?.gpus ?? [])];
  gpus.sort(
    (a, b) =>
      (a.numa ?? "").localeCompare(b.numa ?? "") ||
      (a.link ?? "").localeCompare(b.link ?? "") ||
      a.index - b.index,
  );
  return gpus.map((gpu) => {
    const holders = (machine.tasks ?? []).filter((one) => one.gpus?.includes(gpu.uuid ?? ""));
    const given = holders.reduce((sum, one) => sum + toNumber(one.gpu_share), 0);
    return {gpu, holders, given: Math.min(1, given)};
  });
}

export interface Span {
  name: string;
  from: number; // of the GPUs as drawn
  to: number; // the last of them
  members: number[];
  bandwidth: number; // the greatest measured between two of it; 0: none was
}

// Neighbours that say the same word: cells above the GPUs, links below them.
export function spansOf(machine: Machine, gpus: GpuUse[], of: "numa" | "link"): Span[] {
  const made = new Map<string, Span>();
  gpus.forEach(({gpu}, at) => {
    const name = gpu[of] ?? "";
    if (name === "") return;
    const span = made.get(name) ?? {name, from: at, to: at, members: [], bandwidth: 0};
    span.to = at;
    span.members.push(at);
    made.set(name, span);
  });
  const between = machine.node?.gpu_bandwidth ?? [];
  const place = (at: number) => (machine.node?.gpus ?? []).indexOf(gpus[at]?.gpu as Gpu);
  for (const span of made.values()) {
    for (const a of span.members)
      for (const b of span.members)
        if (a !== b)
          span.bandwidth = Math.max(span.bandwidth, toNumber(between[place(a)]?.[place(b)] ?? 0));
  }
  return [...made.values()];
}

export interface Totals {
  machines: number;
  gpus: number;
  givenGpus: number;
  cpus: number;
  givenCpus: number;
  memory: number;
  givenMemory: number;
}

export function totalsOf(machines: readonly Machine[]): Totals {
  const sum = (of: (one: Machine) => number) =>
    machines.reduce((all, one) => all + (of(one) || 0), 0);
  const held = (of: (task: Held) => number) =>
    sum((one) => (one.tasks ?? []).reduce((all, task) => all + of(task), 0));
  const round = (value: number) => Math.round(value * 1000) / 1000;
  return {
    machines: machines.length,
    gpus: sum((one) => one.node?.gpus?.length ?? 0),
    givenGpus: round(held((task) => toNumber(task.gpu_share) * (task.gpus?.length ?? 0))),
    cpus: round(sum((one) => toNumber(one.node?.cpus))),
    givenCpus: round(held((task) => toNumber(task.cpus))),
    memory: sum((one) => one.node?.memory_bytes ?? 0),
    givenMemory: held((task) => task.memory_bytes),
  };
}

// "4 x A100, 2 x L4"
export function modelsOf(machine: Machine): string {
  const counts = new Map<string, number>();
  for (const gpu of machine.node?.gpus ?? [])
    counts.set(gpu.model ?? "GPU", (counts.get(gpu.model ?? "GPU") ?? 0) + 1);
  return [...counts].map(([model, count]) => `${count} × ${model}`).join(", ");
}

export interface JobUse {
  id: string;
  name: string;
  project: string;
  tasks: number;
  gpus: number;
  cpus: number;
  memory: number;
  machines: string[];
}

// What each job holds over all machines, the largest first. Jobs that one may not see are one row.
export function jobsOf(machines: readonly Machine[]): JobUse[] {
  const made = new Map<string, JobUse>();
  for (const machine of machines) {
    for (const task of machine.tasks ?? []) {
      const id = task.job_id ?? "";
      const one = made.get(id) ?? {
        id,
        name: task.job ?? "jobs of others",
        project: task.project ?? "",
        tasks: 0,
        gpus: 0,
        cpus: 0,
        memory: 0,
        machines: [],
      };
      one.tasks += 1;
      one.gpus += toNumber(task.gpu_share) * (task.gpus?.length ?? 0);
      one.cpus += toNumber(task.cpus);
      one.memory += task.memory_bytes;
      if (!one.machines.includes(nameOf(machine))) one.machines.push(nameOf(machine));
      made.set(id, one);
    }
  }
  return [...made.values()].sort((a, b) => b.gpus - a.gpus || b.cpus - a.cpus);
}

// Whether a word of the finder names it: its name, pool, rack, a GPU's model, a job or project.
export function matches(machine: Machine, text: string, state: MachineState): boolean {
  const node = machine.node;
  const words = [
    node?.name,
    node?.pool,
    node?.rack,
    node?.spine,
    state,
    ...(node?.gpus ?? []).map((gpu) => gpu.model),
    ...(machine.tasks ?? []).flatMap((task) => [task.job, task.project]),
  ].map((word) => (word ?? "").toLowerCase());
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((wanted) => words.some((word) => word.includes(wanted)));
}
