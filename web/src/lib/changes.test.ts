import {expect, test} from "vitest";

import {inWords} from "./changes";

test("changes are told in a line, the name first", () => {
  expect(inWords({id: "01", gpus: 4, state: "queued", name: "over-1"})).toBe(
    "name over-1 · state queued · gpus 4",
  );
  expect(inWords({nodes: ["a", "b"], until: null, why: "", limit: {gpus: 2, cpus: 1}})).toBe(
    "nodes a, b · limit {gpus 2, cpus 1}",
  );
  expect(inWords(undefined)).toBe("");
  expect(inWords([1, "two"])).toBe("1, two");
});
