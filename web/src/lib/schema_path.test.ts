import {expect, test} from "vitest";

import {type Schema, flowKey, keysAt, pathAt, valuesAt} from "./schema_path";

const kRoot: Schema = {
  $ref: "#/$defs/Job",
  $defs: {
    Job: {
      oneOf: [{type: "object"}, {type: "object"}],
      properties: {
        name: {type: "string"},
        launch: {enum: ["plain", "mpi"]},
        roles: {additionalProperties: {$ref: "#/$defs/Role"}},
        resources: {$ref: "#/$defs/Resources", description: "what it needs"},
        datasets: {items: {properties: {path: {}, at: {}}}},
      },
    },
    Role: {properties: {replicas: {}, resources: {$ref: "#/$defs/Resources"}}},
    Resources: {properties: {cpus: {description: "cores"}, gpus: {}}},
  },
};

const kFile = [
  "name: x",
  "roles:",
  "  worker:",
  "    replicas: 2",
  "    resources:",
  "      ",
  "datasets:",
  "  - path: /a",
  "    ",
];

test("paths follow the indentation", () => {
  expect(pathAt(kFile, 5, 6)).toEqual(["roles", "worker", "resources"]);
  expect(pathAt(kFile, 4, 4)).toEqual(["roles", "worker"]);
  expect(pathAt(kFile, 8, 4)).toEqual(["datasets", "[]"]);
  expect(pathAt(kFile, 8, 0)).toEqual([]);
});

test("what may stand there comes from the schema, through references", () => {
  expect(keysAt(kRoot, ["roles", "worker", "resources"])).toEqual([
    {name: "cpus", doc: "cores"},
    {name: "gpus", doc: ""},
  ]);
  expect(keysAt(kRoot, ["datasets", "[]"]).map((one) => one.name)).toEqual(["path", "at"]);
  expect(keysAt(kRoot, []).find((one) => one.name === "resources")?.doc).toBe("what it needs");
  expect(valuesAt(kRoot, ["launch"])).toEqual(["plain", "mpi"]);
});

test("inside braces", () => {
  expect(flowKey("resources: {cpus: 1, g")).toBe("resources");
  expect(flowKey("resources: {cpus: 1}")).toBeNull();
});
