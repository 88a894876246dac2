import {expect, test} from "vitest";

import {freeColour, kSlots, slots} from "./colours";

const ids = (n: number) => Array.from({length: n}, (_, i) => `01HZZ${i}`);

test("up to twelve series never share a colour", () => {
  const made = [...slots(ids(kSlots)).values()];
  expect(new Set(made.map((s) => s.colour)).size).toBe(kSlots);
  expect(made.every((s) => s.dash === 0)).toBe(true);
});

test("further ones differ by their line", () => {
  const made = [...slots(ids(30)).values()];
  expect(new Set(made.map((s) => `${s.colour}/${s.dash}`)).size).toBe(30);
});

test("a run keeps its colour when others are chosen after it", () => {
  const all = ids(6);
  const few = slots(all.slice(0, 3));
  const more = slots(all);
  for (const id of all.slice(0, 3)) expect(more.get(id)).toEqual(few.get(id));
});

test("a colour that looks like one on the chart waits until there is no other", () => {
  expect(freeColour(0, new Set())).toBe(0);
  expect(freeColour(8, new Set([0]))).toBe(10); // 8 and 9 are near to 0
  expect(freeColour(3, new Set([3]))).toBe(5); // 4 is near to it
  const all = Array.from({length: kSlots}, (_, i) => i);
  expect(freeColour(8, new Set(all.filter((one) => one !== 8)))).toBe(8);
  expect(freeColour(8, new Set(all))).toBeUndefined();
});
