import {expect, test} from "vitest";

import {grouped, stepOf} from "./file_steps";

test("files of one name and many steps are one", () => {
  expect(stepOf("plots/samples-0000000012.png")).toEqual({name: "plots/samples.png", step: 12});
  expect(stepOf("a-12.png").step).toBeNull();
  const files = ["s-0000000002.png", "s-0000000001.png", "other.txt"].map((path) => ({path}));
  const groups = grouped(files as never);
  expect(groups.map((one) => one.name)).toEqual(["other.txt", "s.png"]);
  expect(groups[1]?.files.map((one) => one.step)).toEqual([1, 2]);
});
