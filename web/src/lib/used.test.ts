import {expect, test} from "vitest";

import {gpuPercent, sampleKeys, sumOf, taskKey, usedOf} from "./used";

const series = (key: string, last: number[], last_x = last.map((_, i) => i * 2e6)) => ({
  run: "r",
  key,
  last,
  last_x,
  x: last_x,
});

test("samples are read by task; CPU seconds become cores", () => {
  const used = usedOf([
    series("system/worker-0/cpu_seconds", [10, 12, 16]),
    series("system/worker-0/memory_bytes", [5, 7]),
    series("system/worker-0/gpu.1.utilization_percent", [10, 80]),
    series("system/worker-0/gpu.1.temperature_celsius", [61]),
    series("system/worker-1/cpu_seconds", [10]),
    series("loss", [1]),
  ]);
  const first = used.get(taskKey("r", "worker", 0));
  expect(first?.cpus).toBe(1.5);
  expect(first?.memory).toBe(7);
  expect(first?.gpus[1]).toEqual({percent: 80, celsius: 61});
  // One sample says nothing of a rate.
  expect(used.get(taskKey("r", "worker", 1))?.cpus).toBeUndefined();
  expect(sumOf([...used.values()], "cpus")).toBe(1.5);
  expect(gpuPercent([...used.values()])).toBe(80);
});

test("a task that began again has no rate below nothing", () => {
  const used = usedOf([series("system/worker-0/cpu_seconds", [100, 1])]);
  expect(used.get("r/worker-0")?.cpus).toBeUndefined();
  expect(sumOf([undefined], "cpus")).toBeUndefined();
});

test("names are those of the sampler", () => {
  expect(sampleKeys("worker", 3, 1)).toContain("system/worker-3/gpu.0.temperature_celsius");
});
