import {expect, test} from "vitest";

import {csv} from "./csv";

test("quotes what must be quoted, and no value becomes a formula", () => {
  expect(
    csv([
      ["name", "loss"],
      ['a,"b"', 0.5],
      ["=HYPERLINK(1)", -1],
      ["-1.5", null],
      ["-x", "line\nbreak"],
    ]),
  ).toBe('name,loss\r\n"a,""b""",0.5\r\n\'=HYPERLINK(1),-1\r\n-1.5,\r\n\'-x,"line\nbreak"\r\n');
});
