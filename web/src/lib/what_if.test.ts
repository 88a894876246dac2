import {expect, test} from "vitest";

import {bodyOf, changes, questionOf, searchOf} from "./what_if";

test("a question lives in the address", () => {
  const question = {
    days: "30",
    add: {"gpu-1": 2},
    without: ["a", "b"],
    quotas: {vision: {guaranteed: {gpus: "8"}, limit: {}, weight: ""}},
  };
  expect(questionOf(searchOf(question))).toEqual(question);
  expect(changes(question)).toBe(4);
});

test("what is sent leaves out what was not said", () => {
  const body = bodyOf(questionOf({add: "gpu-1=2", quotas: '{"vision":{"limit":{"gpus":"8"}}}'}));
  expect(body.days).toBe(14);
  expect(body.add).toEqual([{like: "gpu-1", count: 2}]);
  expect(body.quotas?.vision).toEqual({guaranteed: undefined, limit: {gpus: 8}, weight: 1});
});

test("an address that somebody bent is no error", () => {
  expect(questionOf({quotas: "{", add: "x=many"})).toEqual({
    days: "14",
    add: {x: 1},
    without: [],
    quotas: {},
  });
});
