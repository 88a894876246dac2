import {expect, test} from "vitest";

import {clean, folded} from "./line_text";

test("a progress bar shows what a terminal would show last", () => {
  expect(folded("10%\r50%\r100%")).toBe("100%");
  expect(folded("done\r")).toBe("done");
});

test("links, titles and moves leave their text; colours stay for the renderer", () => {
  expect(clean("\u001b]8;;https://a.example\u0007click\u001b]8;;\u0007")).toBe("click");
  expect(clean("\u001b]0;title\u001b\\text\u001b[2K\u001b[1A")).toBe("text");
  expect(clean("\u001b[31mred\u001b[0m")).toBe("\u001b[31mred\u001b[0m");
  expect(clean("a\u0000b\u0007c")).toBe("abc");
});
