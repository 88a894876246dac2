import {expect, test} from "vitest";

import {pathOfMlflowLink} from "./mlflow_link";

test("links of MLflow's client lead to what they name", () => {
  expect(pathOfMlflowLink("#/experiments/1/runs/01ABC")).toBe("/runs/01ABC");
  expect(pathOfMlflowLink("/experiments/1/runs/01ABC/artifacts?x=1")).toBe("/runs/01ABC");
  expect(pathOfMlflowLink("#/experiments/1")).toBe("/runs?filter=experiment_id+%3D+1");
  expect(pathOfMlflowLink("#/models/my%20net/versions/3")).toBe("/models/my%20net");
});

test("and nothing else is one", () => {
  for (const hash of ["", "#", "#/", "#/experiments", "#/prompts/x", "#code"])
    expect(pathOfMlflowLink(hash)).toBeUndefined();
});
