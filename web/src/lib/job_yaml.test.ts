import {expect, test} from "vitest";

import {parts, scalar, valueAt, withValue, yamlOf} from "./job_yaml";

const kFile = `hearth: 1
name: cnn   # of my own
params:
  epochs: 3
  lr: {value: 0.01, live: true, min: 1.0e-6, max: 1}   # the rate
resources: {cpus: 1}
`;

test("paths", () => {
  expect(parts("datasets[0].name")).toEqual(["datasets", 0, "name"]);
  expect(parts("params.lr")).toEqual(["params", "lr"]);
});

test("a parameter is read and set by its value, whichever way it is written", () => {
  expect(valueAt(kFile, "params.lr")).toBe(0.01);
  expect(valueAt(kFile, "params.epochs")).toBe(3);
  const changed = withValue(withValue(kFile, "params.lr", 0.5), "params.epochs", 9);
  expect(valueAt(changed, "params.lr")).toBe(0.5);
  expect(changed).toContain("live: true");
  expect(changed).toContain("# the rate");
  expect(changed).toContain("# of my own");
  expect(changed).toContain("epochs: 9");
});

test("a field that is not there is made, and taken away again", () => {
  const made = withValue(kFile, "resources.gpus", 2);
  expect(valueAt(made, "resources.gpus")).toBe(2);
  expect(valueAt(withValue(made, "resources.gpus", undefined), "resources.gpus")).toBeUndefined();
});

test("text that is no document is left alone", () => {
  expect(withValue("- a\n", "name", "x")).toBe("- a\n");
});

test("values as YAML reads them", () => {
  expect([scalar("0.1"), scalar("true"), scalar("4GiB"), scalar("{a: 1}")]).toEqual([
    0.1,
    true,
    "4GiB",
    "{a: 1}",
  ]);
});

test("a job's spec is written without what is so by itself", () => {
  const text = yamlOf({
    hearth: 1,
    name: "cnn",
    experiment: "cnn",
    launch: "plain",
    priority: 50,
    params: {lr: {value: 0.1, live: true}},
    resources: {cpus: 1, gpus: 0, gpu_share: 1, cpu_limit: "weight", memory: "4GiB"},
  });
  const lines = [
    "hearth: 1",
    "name: cnn",
    "params:",
    "  lr: {value: 0.1, live: true}",
    "resources: {cpus: 1, memory: 4GiB}",
  ];
  expect(text).toBe(`${lines.join("\n")}\n`);
});
