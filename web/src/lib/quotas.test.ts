import {expect, test} from "vitest";

import type {QuotaStatus} from "../api/client";
import type {Machine} from "./machines";
import {barsOf, overPromised, promisedInAll, takesOf, treeOf} from "./quotas";

const status = (project: string, parent = "", more: object = {}): QuotaStatus =>
  ({
    quota: {project, weight: 1, version: 0},
    parent,
    share: 0,
    running: 0,
    queued: 0,
    ...more,
  }) as QuotaStatus;
const names = (all: ReturnType<typeof treeOf>) =>
  all.map((one) => `${"-".repeat(one.depth)}${one.thing.quota?.project}`);

test("projects stand behind the one above them", () => {
  const all = [status("trucks", "cars"), status("b"), status("cars", "a"), status("a")];
  expect(names(treeOf(all))).toEqual(["a", "-cars", "--trucks", "b"]);
  expect(names(treeOf(all, "cars"))).toEqual(["cars", "-trucks"]);
  // The one above may be out of one's sight.
  expect(names(treeOf([status("cars", "hidden")]))).toEqual(["cars"]);
});

test("bars end at the limit, else at what there is", () => {
  const one = status("p", "", {
    quota: {
      project: "p",
      weight: 1,
      version: 0,
      guaranteed: {gpus: 1, gpu_models: {H100: 1}},
      limit: {gpus: 4},
    },
    used: {gpus: 3.75, cpus: 2},
  });
  const bars = barsOf(one, {gpus: 18, cpus: 64, memory: 100, H100: 8});
  expect(bars.map((bar) => [bar.name, bar.used, bar.borrowed, bar.whole])).toEqual([
    ["GPUs", 3.75, 2.75, 4],
    ["CPUs", 2, 0, 64],
    ["Memory", 0, 0, 100],
    ["H100", 0, 0, 8],
  ]);
  expect(bars[0]?.words).toBe("3.75 used, 1 guaranteed, at most 4, 2.75 borrowed");
});

test("where there is no GPU none is told of", () => {
  expect(barsOf(status("p"), {gpus: 0, cpus: 4, memory: 1}).map((bar) => bar.what)).toEqual([
    "cpus",
    "memory",
  ]);
});

test("a job takes of its project, and of all above it that have a limit", () => {
  const has = (project: string, parent: string, limit: object, used: object) =>
    status(project, parent, {quota: {project, weight: 1, version: 0, limit}, used});
  const all = [
    has("vision", "lab", {gpus: 12}, {gpus: 10, cpus: 4}),
    has("cars", "vision", {}, {gpus: 2}),
    has("lab", "", {cpus: 64}, {gpus: 11, cpus: 8}),
  ];
  const check = {
    project: "cars",
    asks: {gpus: 3, cpus: 2, gpu_models: {H100: 3}},
    used: {gpus: 2},
    guaranteed: {gpus: 2},
    limit: {memory_bytes: 1024},
  };
  const said = takesOf(check, all).map((one) => [
    one.project,
    ...one.rows.map((row) => `${row.name}: ${row.words}`),
  ]);
  expect(said).toEqual([
    [
      "cars",
      "GPUs: 3 beside 2 of 2 guaranteed",
      "CPUs: 2; no limit",
      "Memory: 0 B beside 0 B of 1 KiB",
      "H100: 3; no limit",
    ],
    ["vision", "GPUs: 3 beside 10 of 12"],
    ["lab", "CPUs: 2 beside 8 of 64"],
  ]);
  // One may not see the projects above.
  expect(takesOf(check, all.slice(1, 2)).map((one) => one.project)).toEqual(["cars"]);
});

test("a guarantee covers those below it, and what is not there is said", () => {
  const has = (project: string, parent: string, guaranteed: object) =>
    status(project, parent, {quota: {project, weight: 1, version: 0, guaranteed}});
  const all = [
    has("lab", "", {gpus: 4}),
    has("vision", "lab", {gpus: 2, cpus: 8}),
    has("speech", "lab", {gpus: 3}),
    has("trucks", "vision", {gpus: 1, gpu_models: {H100: 1}}),
    has("other", "", {gpus: 1}),
  ];
  expect(promisedInAll(all)).toEqual({gpus: 6, cpus: 8, H100: 1});
  const gpu = (model: string, healthy = true) => ({model, healthy});
  const machines = [
    {node: {ready: true, cpus: 8, memory_bytes: 1024, gpus: [gpu("NVIDIA H100"), gpu("A100")]}},
    {node: {ready: true, cpus: 8, memory_bytes: 0, gpus: [gpu("A100"), gpu("A100", false)]}},
    {node: {ready: false, cpus: 99, gpus: [gpu("A100")]}},
  ] as Machine[];
  expect(overPromised("other", {gpus: 1, cpus: 2}, all, machines)).toEqual([
    "6 GPUs, and the cluster has 3",
  ]);
  expect(overPromised("trucks", {gpu_models: {h100: 2}, cpus: 9}, all, machines)).toEqual([
    "2 h100, and the cluster has 1",
  ]);
  expect(overPromised("vision", {cpus: 16}, all, machines)).toEqual([]);
  expect(overPromised("vision", {memory_bytes: 2048}, all, machines)).toEqual([
    "2 KiB of memory, and the cluster has 1 KiB",
  ]);
  expect(overPromised("other", {}, all, machines)).toEqual([]);
});
