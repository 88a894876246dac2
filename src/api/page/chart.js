// A small line chart of one metric over steps.
import {short} from "/assets/format.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 320, HEIGHT = 130, LEFT = 44, RIGHT = 8, TOP = 8, BOTTOM = 18;

function shape(name, attributes, text) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

// Points are {step, value}, by step.
export function draw(figure, key, points) {
  const known = points.filter((p) => Number.isFinite(p.value));
  const caption = document.createElement("figcaption");
  const name = document.createElement("span");
  const last = document.createElement("strong");
  name.textContent = key;
  caption.append(name, last);
  const svg = shape("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img"});
  figure.replaceChildren(caption, svg);
  if (known.length === 0) {
    last.textContent = "no value yet";
    return;
  }
  const steps = known.map((p) => p.step), values = known.map((p) => p.value);
  const [x0, x1] = [steps[0], steps[steps.length - 1]];
  let [y0, y1] = [Math.min(...values), Math.max(...values)];
  if (y0 === y1) [y0, y1] = [y0 - (Math.abs(y0) || 1) / 2, y1 + (Math.abs(y1) || 1) / 2];
  const x = (step) => LEFT + (x1 === x0 ? 0.5 : (step - x0) / (x1 - x0)) * (WIDTH - LEFT - RIGHT);
  const y = (value) => TOP + (1 - (value - y0) / (y1 - y0)) * (HEIGHT - TOP - BOTTOM);
  for (const value of [y0, (y0 + y1) / 2, y1]) {
    const at = {y1: y(value), y2: y(value)};
    svg.append(shape("line", {class: "grid", x1: LEFT, x2: WIDTH - RIGHT, ...at}));
    svg.append(shape("text", {x: LEFT - 5, y: y(value) + 3, "text-anchor": "end"}, short(value, 3)));
  }
  svg.append(shape("text", {x: LEFT, y: HEIGHT - 4}, `step ${x0}`));
  if (x1 !== x0)
    svg.append(shape("text", {x: WIDTH - RIGHT, y: HEIGHT - 4, "text-anchor": "end"}, String(x1)));
  const line = known.map((p) => `${x(p.step).toFixed(1)},${y(p.value).toFixed(1)}`).join(" ");
  svg.append(shape("polyline", {class: "curve", points: line}));
  const dot = shape("circle", {class: "dot", r: 3});
  svg.append(dot);
  const ends = [values[0], values[values.length - 1]].map((value) => short(value));
  svg.setAttribute("aria-label", `${key}, from ${ends[0]} to ${ends[1]}`);
  const mark = (point, told) => {
    dot.setAttribute("cx", x(point.step));
    dot.setAttribute("cy", y(point.value));
    last.textContent = told ? `${short(point.value)} at ${point.step}` : short(point.value);
  };
  const newest = known[known.length - 1];
  mark(newest, false);
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * WIDTH;
    let best = newest;
    for (const p of known) if (Math.abs(x(p.step) - at) < Math.abs(x(best.step) - at)) best = p;
    mark(best, true);
  });
  svg.addEventListener("pointerleave", () => mark(newest, false));
}
