import {expect, test} from "vitest";

import {leastWidth, parts, placed, within} from "./across";

test("a column's least width is the first that is said", () => {
  expect(leastWidth("104px")).toBe(104);
  expect(leastWidth("minmax(72px, 110px)")).toBe(72);
  expect(leastWidth("1fr")).toBe(0);
});

test("what lies between the first column and those in sight is one track, gaps counted", () => {
  const at = placed(["150px", "100px", "100px", "100px", "100px"], 48);
  expect(at.width).toBe(16 + 48 + 12 + 150 + 4 * 112 + 16);
  expect(at.grid(0, 3)).toBe("48px 150px 100px 100px");
  expect(at.grid(1, 3)).toBe("48px 150px 100px 100px");
  // Columns 1 and 2 and the gap between them, as one.
  expect(at.grid(3, 5)).toBe("48px 150px 212px 100px 100px");
  expect(placed(["10px", "20px"], 0).grid(0, 2)).toBe("10px 20px");
});

test("before the browser has said what is in sight some columns exist", () => {
  expect(within(undefined, undefined, 500)).toEqual([0, 24]);
  expect(within(undefined, undefined, 3)).toEqual([0, 3]);
  expect(within(7, 12, 13)).toEqual([4, 13]);
  expect(within(8, 15, 99)).toEqual([8, 16]);
});

test("what is in sight is fetched by whole parts", () => {
  expect(parts(0, 5, 100, 19)).toEqual([0, 19]);
  expect(parts(18, 19, 100, 19)).toEqual([0, 38]);
  expect(parts(95, 120, 100, 19)).toEqual([95, 100]);
  expect(parts(-2, 3, 10, 19)).toEqual([0, 10]);
  expect(parts(0, 0, 0, 19)).toEqual([0, 0]);
});
