import {expect, test} from "vitest";

import {axisOf, brushesOf, brushesText, density, within} from "./axes";
import {boxOf} from "./boxes";
import {compared} from "./differences";

test("numbers lie evenly, or by ratio where they are decades apart", () => {
  const even = axisOf(["0", "5", "10", "NaN", undefined]);
  expect([even.kind, even.at("5"), even.at("NaN"), even.missing]).toEqual(["number", 0.5, null, 2]);
  const ratio = axisOf(["0.0001", "0.01", "1"]);
  expect(ratio.kind).toBe("ratio");
  expect(ratio.at("0.01")).toBeCloseTo(0.5);
  expect(ratio.value(0.5)).toBe("0.01");
  expect(axisOf(["3", "3"]).at("3")).toBe(0.5);
});

test("texts have places of their own, never merged by how they are cut", () => {
  const axis = axisOf(["resnet-18-with-a-long-name-a", "resnet-18-with-a-long-name-b", "1"]);
  expect(axis.kind).toBe("text");
  expect(new Set(axis.ticks.map((one) => one.at)).size).toBe(3);
  expect(axis.at(undefined)).toBeNull();
  expect(axis.value(axis.at("1") ?? 0)).toBe("1");
  expect(axisOf([]).ticks).toEqual([]);
});

test("brushes come back from the address, and hold those within all of them", () => {
  const brushes = brushesOf(
    brushesText(
      new Map([
        [0, [0.1, 0.5]],
        [2, [0, 1]],
      ]),
    ),
  );
  expect([...brushes.keys()]).toEqual([0, 2]);
  expect(within([0.2, null, 0.3], brushes)).toBe(true);
  expect(within([0.2, 0.5, null], brushes)).toBe(false);
  expect(within([0.6, 0.5, 0.3], brushes)).toBe(false);
  expect(brushesOf("x:1..2,0:3..1").size).toBe(0);
});

test("density counts each run once", () => {
  const counts = density(
    [
      [0, 1],
      [0.01, 0.99],
      [1, 0],
      [null, 1],
    ],
    0,
    10,
  );
  expect(counts.get(9)).toBe(2);
  expect(counts.get(90)).toBe(1);
  expect([...counts.values()].reduce((a, b) => a + b)).toBe(3);
});

test("a box has its quartiles, and what lies far outside by itself", () => {
  expect(boxOf([1, 2, 3, 4, 5])).toMatchObject({first: 2, median: 3, third: 4, low: 1, high: 5});
  expect(boxOf([1, 2, 3, 4, 100])?.outside).toEqual([100]);
  expect(boxOf([NaN])).toBeNull();
});

test("only what differs is said to differ", () => {
  const rows = compared([
    {lr: "1", seed: "1"},
    {lr: "2", seed: "1"},
    {lr: "2", seed: "1", x: ""},
  ]);
  expect(rows.map((row) => [row.key, row.differs])).toEqual([
    ["lr", true],
    ["seed", false],
    ["x", true],
  ]);
});
