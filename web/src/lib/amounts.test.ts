import {expect, test} from "vitest";

import {amountsOf, valueOf, written, wrongAmount} from "./amounts";

test("what is written is read again", () => {
  const amounts = {gpus: 8, memory_bytes: 64 * 2 ** 30, gpu_models: {H100: 4}};
  expect(written(amounts)).toEqual({gpus: "8", memory: "64GiB", H100: "4"});
  expect(amountsOf(written(amounts))).toEqual(amounts);
  // No size is rounded by being shown in a form.
  expect(amountsOf(written({memory_bytes: 2 ** 30 + 1}))).toEqual({memory_bytes: 2 ** 30 + 1});
});

test("an empty field says nothing, nought says none", () => {
  expect(amountsOf({gpus: "", cpus: "0"})).toEqual({cpus: 0});
  expect(valueOf({cpus: 0}, "cpus")).toBe(0);
  expect(valueOf({cpus: 0}, "gpus")).toBeUndefined();
});

test("what is no amount is said", () => {
  expect(wrongAmount("gpus", "many")).toBeDefined();
  expect(wrongAmount("memory", "64")).toBeDefined();
  expect(wrongAmount("memory", "64GiB")).toBeUndefined();
  expect(wrongAmount("cpus", "-1")).toBeDefined();
});
