import {expect, test} from "vitest";

import {type Line, above, joined, line, overEpochs, smoothed} from "./series";

const flat = (x: number[], y: (number | null)[]): Line => ({
  x,
  last: y,
  min: y,
  max: y,
  not_finite: x.map(() => 0),
});

test("lines of different steps share one axis, with holes where one has no value", () => {
  const made = joined([flat([1, 3], [10, 30]), flat([2, 3], [20, 33])]);
  expect(made.x).toEqual([1, 2, 3]);
  expect(made.last).toEqual([
    [10, null, 30],
    [null, 20, 33],
  ]);
});

test("what is no number is a hole, and counted", () => {
  const made = line({
    x: [0, 8],
    last_x: [3, 15],
    count: [1, 8],
    last: [1, "NaN"],
    min: [1, 0.5],
    max: [1, "Infinity"],
    not_finite: [0, 2],
  });
  expect(made).toEqual({
    x: [3, 8],
    last: [1, null],
    min: [1, 0.5],
    max: [1, null],
    not_finite: [0, 2],
  });
});

test("smoothing a constant changes nothing, from the first point on", () => {
  expect(smoothed(flat([1, 2, 3], [5, 5, 5]), 0.9).last.map((v) => Number(v?.toFixed(9)))).toEqual([
    5, 5, 5,
  ]);
  expect(smoothed(flat([1, 2, 3], [5, null, 5]), 0.9).last[1]).toBeNull();
});

test("an axis by ratio leaves out what it cannot show", () => {
  const of = flat([0, 1, 2], [5, 0, 3]);
  expect(above(of, {x: true, y: false}).x).toEqual([1, 2]);
  expect(above(of, {x: false, y: true}).last).toEqual([5, null, 3]);
});

test("steps become epochs, between two of them by their distance", () => {
  const epochs = flat([0, 10, 20], [0, 1, 2]);
  const made = overEpochs(flat([0, 5, 10, 20, 30], [9, 8, 7, 6, 5]), epochs);
  expect(made.x).toEqual([0, 0.5, 1, 2]);
  expect(made.last).toEqual([9, 8, 7, 5]); // of the last epoch its last value
});

test("many series share the edges of their columns", () => {
  const of = {x: [0, 4], last_x: [3, 7], count: [1, 2], last: [1, 2], min: [1, 2], max: [1, 2]};
  expect(line(of).x).toEqual([3, 4]);
  expect(line(of, true).x).toEqual([0, 4]);
});
