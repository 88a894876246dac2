import {expect, test} from "vitest";

import {fieldTime, secondsOf, spanOf} from "./spans";

test("spans are read as the command line reads them", () => {
  expect([secondsOf("90"), secondsOf("30m"), secondsOf("1h 30m"), secondsOf("2d")]).toEqual([
    90, 1800, 5400, 172_800,
  ]);
  expect([secondsOf(""), secondsOf("soon"), secondsOf("-1h")].every(Number.isNaN)).toBe(true);
});

test("spans are written so that they can be read again", () => {
  expect([spanOf(0), spanOf(5400), spanOf(61.5), spanOf(86_400)]).toEqual([
    "0s",
    "1h30m",
    "1m1.5s",
    "1d",
  ]);
});

test("a field's time is local", () => {
  const time = Date.parse("2026-11-21T12:34:00Z");
  expect(new Date(fieldTime(time)).getTime()).toBe(time);
});
