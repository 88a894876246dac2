import {expect, test} from "vitest";

import {bytes, duration, plural, short} from "./format";

test("numbers keep four digits and say what is not a number", () => {
  expect([0, 0.31042, 1204, 1204.55, 1.234e-7, 4.2e9, -0.5].map(short)).toEqual([
    "0",
    "0.3104",
    "1,204",
    "1,204.6",
    "1.23e-7",
    "4.20e9",
    "-0.5",
  ]);
  expect([short("NaN"), short("Infinity"), short("-Infinity"), short(null)]).toEqual([
    "NaN",
    "∞",
    "-∞",
    "NaN",
  ]);
});

test("durations", () => {
  expect(
    [0, 0.44, 9.96, 12.4, 59.4, 192, 3600 * 2 + 300, 86400 * 3 + 4 * 3600].map(duration),
  ).toEqual(["0s", "0.4s", "10s", "12s", "59s", "3m 12s", "2h 05m", "3d 4h"]);
});

test("sizes", () => {
  expect([0, 1023, 1024, 1.5 * 1024 ** 2, 200 * 1024 ** 3].map(bytes)).toEqual([
    "0 B",
    "1023 B",
    "1 KiB",
    "1.5 MiB",
    "200 GiB",
  ]);
});

test("plurals", () => {
  expect([plural(1, "job"), plural(1200, "job")]).toEqual(["1 job", "1,200 jobs"]);
});
