import {expect, test} from "vitest";

import {staleKeys} from "./live";

test("an event makes stale what shows its noun, and that alone", () => {
  const nouns = (kind: string) => staleKeys({kind, id: "1"}).map((key) => key[0]);
  expect(nouns("job.failed")).toContain("jobs");
  expect(nouns("job.failed")).not.toContain("models");
  expect(staleKeys({kind: "job.failed", id: "7"})).toContainEqual(["job", "7"]);
  expect(nouns("quota.set")).toContain("quotas");
  expect(nouns("node.cordoned")).toEqual(["cluster"]);
  expect(nouns("user.added")).toEqual(["admin"]);
});
