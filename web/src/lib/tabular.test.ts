import {expect, test} from "vitest";

import {asMatrix, fromCsv} from "./tabular";

test("quoted fields of a CSV", () => {
  expect(fromCsv('a,b\n"1,5","say ""x"""\n3,\n')).toEqual({
    columns: ["a", "b"],
    rows: [
      ["1,5", 'say "x"'],
      ["3", ""],
    ],
  });
});

test("a square of numbers is a matrix, with names before its rows or without", () => {
  const named = {
    columns: ["", "cat", "dog"],
    rows: [
      ["cat", 9, 1],
      ["dog", 2, 8],
    ],
  };
  expect(asMatrix(named)).toEqual({
    names: ["cat", "dog"],
    rows: [
      [9, 1],
      [2, 8],
    ],
  });
  expect(
    asMatrix({
      columns: null,
      rows: [
        [1, 2],
        [3, 4],
      ],
    })?.names,
  ).toBeNull();
  expect(
    asMatrix({
      columns: null,
      rows: [
        [1, 2, 3],
        [3, 4, 5],
      ],
    }),
  ).toBeNull();
});
