import {expect, test} from "vitest";

import {
  type Machine,
  gpusOf,
  jobsOf,
  matches,
  racksOf,
  rowsOf,
  spansOf,
  stateOf,
  totalsOf,
} from "./machines";

const kNow = Date.parse("2026-11-21T12:00:00Z");
const task = (job: string, gpus: string[], share = 1) => ({
  job_id: job,
  job,
  project: "p",
  role: "worker",
  rank: 0,
  gpus,
  gpu_share: share,
  cpus: 2,
  memory_bytes: 10,
});

function machine(name: string, node: object = {}, more: object = {}): Machine {
  return {
    node: {
      name,
      cpus: 8,
      memory_bytes: 100,
      network_bandwidth: 0,
      ready: true,
      cordoned: false,
      lent: false,
      ...node,
    },
    free_cpus: 8,
    free_gpus: 0,
    free_memory_bytes: 100,
    ...more,
  } as Machine;
}

const gpu = (uuid: string, index: number, numa: string, link: string) => ({
  uuid,
  index,
  numa,
  link,
  model: "A100",
  memory_bytes: 1,
  healthy: true,
});

test("a machine's state is what holds now", () => {
  const before = "2026-11-21T11:00:00Z";
  const after = "2026-11-21T13:00:00Z";
  const state = (node: object, more: object = {}) => stateOf(machine("n", node, more), kNow);
  expect(state({})).toBe("open");
  expect(state({cordoned: true, closes_for: "cordoned by root"})).toBe("cordoned");
  const drained = {cordoned: true, closes_for: "drained by root: disk", closes_at: after};
  expect(state(drained)).toBe("draining");
  expect(state({...drained, closes_at: before})).toBe("drained");
  expect(state({...drained, closes_at: before}, {tasks: [task("a", [])]})).toBe("draining");
  expect(state({closes_at: before, kept_for: ["p"], closes_for: "reserved for p"})).toBe(
    "reserved",
  );
  expect(state({closes_at: after, kept_for: ["p"]})).toBe("open");
  expect(state({closes_at: before, closes_for: "maintenance fans"})).toBe("maintenance");
  expect(state({ready: false, problem: "no word for 40 s"})).toBe("away");
});

test("racks come by spine, and machines by number", () => {
  const racks = racksOf([
    machine("n10", {rack: "a", spine: "s"}),
    machine("n9", {rack: "a", spine: "s"}),
    machine("lone"),
    machine("n1", {rack: "b", spine: "s"}),
  ]);
  expect(racks.map((one) => [one.rack, one.machines.map((m) => m.node?.name)])).toEqual([
    ["a", ["n9", "n10"]],
    ["b", ["n1"]],
    ["", ["lone"]],
  ]);
});

test("GPUs know their holders, their cells and their links", () => {
  const gpus = [gpu("c", 2, "n1", "l0"), gpu("a", 0, "n0", "l0"), gpu("b", 1, "n0", "l1")];
  const gpu_bandwidth = [
    [0, 300, 20],
    [300, 0, 30],
    [20, 30, 0],
  ];
  const one = machine(
    "n",
    {gpus, gpu_bandwidth},
    {tasks: [task("x", ["a"], 0.5), task("y", ["a"], 0.25)]},
  );
  const drawn = gpusOf(one);
  expect(drawn.map(({gpu}) => gpu.uuid)).toEqual(["a", "b", "c"]);
  expect(drawn.map(({given}) => given)).toEqual([0.75, 0, 0]);
  expect(spansOf(one, drawn, "numa").map((span) => [span.name, span.from, span.to])).toEqual([
    ["n0", 0, 1],
    ["n1", 2, 2],
  ]);
  expect(spansOf(one, drawn, "link")).toEqual([
    {name: "l0", from: 0, to: 2, members: [0, 2], bandwidth: 300},
    {name: "l1", from: 1, to: 1, members: [1], bandwidth: 0},
  ]);
});

test("what is given is summed by machine and by job", () => {
  const all = [
    machine("n1", {gpus: [gpu("a", 0, "", "")]}, {tasks: [task("x", ["a"], 0.5)]}),
    machine("n2", {}, {tasks: [task("x", []), task("y", [])]}),
  ];
  expect(totalsOf(all)).toMatchObject({
    machines: 2,
    gpus: 1,
    givenGpus: 0.5,
    cpus: 16,
    givenCpus: 6,
  });
  expect(jobsOf(all).map((one) => [one.name, one.gpus, one.machines])).toEqual([
    ["x", 0.5, ["n1", "n2"]],
    ["y", 0, ["n2"]],
  ]);
});

test("every word must be found", () => {
  const one = machine(
    "n1",
    {pool: "train", gpus: [gpu("a", 0, "", "")]},
    {tasks: [task("bert", ["a"])]},
  );
  expect(matches(one, "a100 bert", "open")).toBe(true);
  expect(matches(one, "a100 gan", "open")).toBe(false);
});

test("links share a row unless they overlap", () => {
  const span = (from: number, to: number) => ({name: "", from, to, members: [], bandwidth: 0});
  expect(rowsOf([span(0, 1), span(2, 3), span(1, 2), span(4, 4)])).toEqual([0, 0, 1, 0]);
});
