import {expect, test} from "vitest";

import {rate, sizeOf} from "./rates";

test("a counter as a rate, and no rate below nothing when it begins anew", () => {
  const last = [0, 2, 6, 1, null, 5];
  const of = {x: [0, 1e6, 3e6, 4e6, 5e6, 6e6], last, min: last, max: last, not_finite: []};
  expect(rate(of, 1e6).last).toEqual([null, 2, 2, 0, null, null]);
});

test("sizes", () => {
  expect([sizeOf("4GiB"), sizeOf("512 MiB"), sizeOf("2GB")]).toEqual([2 ** 32, 2 ** 29, 2e9]);
  expect(sizeOf("much")).toBeNaN();
});
