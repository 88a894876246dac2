import {expect, test} from "vitest";

import {asSearch, fromQuery, inWords, partsOf, queryOf, same} from "./saved_view";

const kAddress = {
  filter: "name ~ a&b",
  cols: "metrics.loss,params.lr",
  sel: "01A.01B",
  view: "01V",
};

test("a view keeps what makes it, not what was chosen in it", () => {
  const parts = partsOf(kAddress);
  expect(parts).toEqual({filter: "name ~ a&b", cols: "metrics.loss,params.lr"});
  expect(fromQuery(queryOf(parts))).toEqual(parts);
  expect(fromQuery("filter=x&script=1&cols=")).toEqual({filter: "x"});
  expect(fromQuery(undefined)).toEqual({});
});

test("opening one takes away what another had", () => {
  expect(asSearch({filter: "x"})).toEqual({
    project: undefined,
    filter: "x",
    cols: undefined,
    order: undefined,
    group: undefined,
  });
});

test("two are the same when they show the same, in whatever order it was said", () => {
  expect(same({order: "name", filter: "x"}, {filter: "x", order: "name"})).toBe(true);
  expect(same({filter: "x"}, {filter: "x", group: "status"})).toBe(false);
});

test("a view says in words what it shows", () => {
  expect(inWords({})).toBe("all runs");
  expect(inWords({cols: "none", project: "p"})).toBe("all runs");
  expect(inWords({filter: "x > 1", group: "a,b", order: "name desc", cols: "c"})).toBe(
    "x > 1 · by a and b · ordered by name desc · 1 column",
  );
});
