import {expect, test} from "vitest";

import {chartSvg} from "./chart_svg";

const chart = (label: string) =>
  chartSvg({
    title: "loss & more",
    width: 300,
    height: 180,
    plot: {left: 50, top: 10, width: 240, height: 140},
    xTicks: [{at: 50, text: "0"}],
    yTicks: [{at: 150, text: "<1"}],
    colours: {ground: "#fff", text: "#000", grid: "#ccc"},
    lines: [
      {
        label,
        colour: "#123456",
        dash: [8, 4],
        points: [
          [50, 20.123],
          [60, 30],
        ],
      },
    ],
  });

test("lines, ticks and names are there", () => {
  const made = chart("run-1");
  expect(made).toContain('d="M50 20.12L60 30"');
  expect(made).toContain('stroke-dasharray="8 4"');
  expect(made).toContain("loss &amp; more");
  expect(made).toContain(">&lt;1<");
});

test("a name that is markup stays a name", () => {
  const made = chart('</text><script>alert("1")</script>\u0000');
  expect(made).not.toContain("<script");
  expect(made).toContain("&lt;script&gt;alert(&quot;1&quot;)");
  expect(made).not.toContain("\u0000");
});
