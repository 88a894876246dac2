// A chart as an SVG document: a file for papers, never part of the page. Pure.
export interface SvgLine {
  label: string;
  colour: string;
  dash: number[];
  points: [number, number][]; // in pixels
}

export interface SvgChart {
  title: string;
  width: number;
  height: number; // of the plot, axes included
  plot: {left: number; top: number; width: number; height: number};
  xTicks: {at: number; text: string}[];
  yTicks: {at: number; text: string}[];
  lines: SvgLine[];
  colours: {ground: string; text: string; grid: string};
}

const kTitle = 24;
const kLegendRow = 16;
const kMostLegend = 40;

export const escaped = (text: string): string =>
  text
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, " ") // no XML has them
    .replace(/&/g, "&amp;")
    .replace(/</g, "&lt;")
    .replace(/>/g, "&gt;")
    .replace(/"/g, "&quot;");

const round = (value: number) => Math.round(value * 100) / 100;

const path = ({points}: SvgLine): string =>
  points.map(([x, y], i) => `${i === 0 ? "M" : "L"}${round(x)} ${round(y)}`).join("");

export function chartSvg(of: SvgChart): string {
  const {plot, colours} = of;
  const legend = of.lines.slice(0, kMostLegend);
  const height = of.height + kTitle + legend.length * kLegendRow + 8;
  const text = (x: number, y: number, words: string, more = "") =>
    `<text x="${round(x)}" y="${round(y)}" fill="${colours.text}"${more}>${escaped(words)}</text>`;
  const grid = (x1: number, y1: number, x2: number, y2: number) =>
    `<path d="M${round(x1)} ${round(y1)}L${round(x2)} ${round(y2)}" stroke="${colours.grid}"/>`;
  const right = plot.left + plot.width;
  const bottom = plot.top + plot.height;
  const body = [
    `<rect width="100%" height="100%" fill="${colours.ground}"/>`,
    text(8, 16, of.title, ' font-size="13" font-weight="600"'),
    `<g transform="translate(0 ${kTitle})">`,
    ...of.yTicks.flatMap(({at, text: words}) => [
      grid(plot.left, at, right, at),
      text(plot.left - 6, at + 4, words, ' text-anchor="end"'),
    ]),
    ...of.xTicks.flatMap(({at, text: words}) => [
      grid(at, plot.top, at, bottom),
      text(at, bottom + 16, words, ' text-anchor="middle"'),
    ]),
    ...of.lines.map(
      (one) =>
        `<path d="${path(one)}" fill="none" stroke="${one.colour}" stroke-width="1.5"` +
        `${one.dash.length > 0 ? ` stroke-dasharray="${one.dash.join(" ")}"` : ""}>` +
        `<title>${escaped(one.label)}</title></path>`,
    ),
    "</g>",
    ...legend.flatMap((one, i) => {
      const y = of.height + kTitle + i * kLegendRow + 8;
      const dash = one.dash.length > 0 ? ` stroke-dasharray="${one.dash.join(" ")}"` : "";
      return [
        `<path d="M12 ${y}h20" stroke="${one.colour}" stroke-width="3"${dash}/>`,
        text(40, y + 4, one.label),
      ];
    }),
  ];
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${of.width}" height="${height}" ` +
    `viewBox="0 0 ${of.width} ${height}" font-family="system-ui, sans-serif" font-size="11">` +
    `${body.join("")}</svg>\n`
  );
}
