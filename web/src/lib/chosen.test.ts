import {expect, test} from "vitest";

import {asSlot, changed, kMostPicked, picked, written} from "./chosen";
import {kSlots} from "./colours";

const many = (count: number) => Array.from({length: count}, (_, i) => `01RUN${i}`);

test("what is chosen goes into the address and comes back the same", () => {
  const chosen = changed([], many(40));
  expect(picked(written(chosen))).toEqual(chosen);
  expect(written([])).toBeUndefined();
  expect(picked("a,b, b.,").map((one) => one.id)).toEqual(["a", "b"]);
});

test("twelve runs have twelve colours, and keep them when others go", () => {
  const chosen = changed([], many(kSlots));
  expect(new Set(chosen.map((one) => asSlot(one.slot).colour)).size).toBe(kSlots);
  const fewer = changed(chosen, many(kSlots).slice(3));
  for (const one of fewer) expect(chosen).toContainEqual(one);
  expect(asSlot(changed(chosen, many(kSlots + 1)).at(-1)?.slot ?? 0).dash).toBe(1);
});

test("more than the API charts are not taken, nor slots that are none", () => {
  expect(changed([], many(kMostPicked + 5)).length).toBe(kMostPicked);
  expect(picked("a~99.b~x").every((one) => one.slot < kSlots)).toBe(true);
  const named = picked(many(kSlots).join());
  expect(new Set(named.map((one) => one.slot)).size).toBe(kSlots);
});
