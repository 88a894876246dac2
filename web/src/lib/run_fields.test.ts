import {expect, test} from "vitest";

import {both, equals, fieldsOf, firstFields, listed, quoted, runField, shown} from "./run_fields";

test("a field says whose it is, its key and which value", () => {
  expect(runField("metrics.val/acc.max")).toEqual({
    field: "metrics.val/acc.max",
    side: "metrics",
    key: "val/acc",
    which: "max",
  });
  expect(runField("params.a.b")).toMatchObject({side: "params", key: "a.b"});
  expect(runField("status")).toMatchObject({side: "own", key: "status"});
  expect(fieldsOf("params.lr, metrics.loss,params.lr,").map((one) => one.key)).toEqual([
    "lr",
    "loss",
  ]);
});

test("fields with spaces or commas stand in quotes where they are listed", () => {
  expect(listed(["id", "metrics.val/acc", "metrics.val acc", "params.a,b"])).toBe(
    'id,metrics.val/acc,"metrics.val acc","params.a,b"',
  );
});

test("values go into a filter as they are, quoted where they must", () => {
  expect(quoted("resnet-18")).toBe("resnet-18");
  expect(quoted('a "b" \\')).toBe('"a \\"b\\" \\\\"');
  expect(quoted("and")).toBe('"and"');
  expect(equals("params.x y", "1")).toBe('"params.x y" = 1');
  expect(equals("params.x", undefined)).toBe('not (params.x ~ ".*")');
  expect(both("a = 1 or b = 2", "c = 3")).toBe("(a = 1 or b = 2) and c = 3");
  expect(both("", "c = 3")).toBe("c = 3");
});

test("numbers in short, all else as it is", () => {
  expect(shown("0.123456")).toBe("0.1235");
  expect(shown("NaN")).toBe("NaN");
  expect(shown("v1")).toBe("v1");
  expect(shown(undefined)).toBe("");
});

test("loss comes first", () => {
  expect(firstFields({params: {lr: "1"}, metrics: {b: 1, acc: 1, loss: 1, a: 1}})).toBe(
    "metrics.loss,metrics.acc,metrics.a,params.lr",
  );
});
