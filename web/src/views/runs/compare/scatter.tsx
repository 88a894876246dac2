// Runs as points over two fields; a rectangle picks some out.
import {type PointerEvent, useCallback, useMemo, useState} from "react";

import {useView} from "../../../app/search";
import {type Axis, axisOf} from "../../../lib/axes";
import {type Slot, colour_of} from "../../../lib/colours";
import {runField, titleOf} from "../../../lib/run_fields";
import {type Paint, fitted, useCanvas} from "../../../ui/canvas";
import {Empty, Loading, Trouble} from "../../../ui/words";
import type {ComparedRun} from "./index";
import {FieldInput, type Of, Picks, Shown, useAxes, useValues} from "./values";
import css from "./compare.module.css";

const kHeight = 460;
const kInset = 12; // the outermost points do not lie on the frame
const kPad = {left: 76 + kInset, right: 20 + kInset, top: 16 + kInset, bottom: 44 + kInset};
const kNear = 10; // pixels
const kMostColours = 36;
const kClick = 4;

interface Rect {
  x: readonly [number, number]; // 0..1
  y: readonly [number, number];
}

interface Plot {
  x: Axis;
  y: Axis;
  titles: [string, string];
  points: ([number, number] | null)[];
  slots: (Slot | undefined)[];
}

function rectOf(text: string | undefined): Rect | null {
  const [a, b, c, d] = (text ?? "").split(",").map(Number);
  return a !== undefined && b !== undefined && c !== undefined && d !== undefined && a < b && c < d
    ? {x: [a, b], y: [c, d]}
    : null;
}

const contains = (rect: Rect | null, point: readonly [number, number] | null) =>
  point !== null &&
  (rect === null ||
    (point[0] >= rect.x[0] &&
      point[0] <= rect.x[1] &&
      point[1] >= rect.y[0] &&
      point[1] <= rect.y[1]));

export default function Scatter(props: {of: Of; runs: readonly ComparedRun[]}) {
  const [view, change] = useView();
  const axes = useAxes(props.runs);
  const xField = view.sx ?? axes.find((one) => one.startsWith("params.")) ?? axes[0] ?? "";
  const yField =
    view.sy ??
    axes.find((one) => one.startsWith("metrics.")) ??
    axes.find((a) => a !== xField) ??
    "";
  const fields = useMemo(
    () => [...new Set([xField, yField])].filter((one) => one !== ""),
    [xField, yField],
  );
  const query = useValues(props.of, fields);
  const rect = useMemo(() => rectOf(view.rect), [view.rect]);
  const plot = useMemo((): Plot | null => {
    if (!query.data || xField === "" || yField === "") return null;
    const {runs} = query.data;
    const x = axisOf(runs.map((one) => one.values[xField]));
    const y = axisOf(runs.map((one) => one.values[yField]));
    const slots = new Map(props.runs.map((one) => [one.run.id, one.slot]));
    return {
      x,
      y,
      titles: [titleOf(runField(xField)), titleOf(runField(yField))],
      points: runs.map((one) => {
        const [a, b] = [x.at(one.values[xField]), y.at(one.values[yField])];
        return a === null || b === null ? null : [a, b];
      }),
      slots: props.of.ids ? runs.map((one) => slots.get(one.id)) : [],
    };
  }, [query.data, xField, yField, props.runs, props.of]);
  const runs = query.data?.runs ?? [];
  const missing = plot?.points.filter((one) => one === null).length ?? 0;
  const set = (field: "sx" | "sy") => (value: string) =>
    change({[field]: value || undefined, rect: undefined}, "replace");
  return (
    <div className="stack">
      <div className="row wrap">
        <FieldInput key={`x${xField}`} label="x" value={xField} set={set("sx")} />
        <FieldInput key={`y${yField}`} label="y" value={yField} set={set("sy")} />
        {plot && <Shown runs={runs.length} total={query.data?.total ?? 0} missing={missing} />}
        {rect && (
          <button type="button" onClick={() => change({rect: undefined}, "replace")}>
            All again
          </button>
        )}
      </div>
      {query.error && <Trouble error={query.error} retry={() => void query.refetch()} />}
      {fields.length === 0 && <Empty title="Choose what goes on the axes" />}
      {!query.data && !query.error && fields.length > 0 && <Loading what="values" />}
      {plot && (
        <Canvas
          plot={plot}
          names={runs.map((one) => one.name)}
          rect={rect}
          set={(next) =>
            change(
              {
                rect: next
                  ? [...next.x, ...next.y].map((one) => Number(one.toFixed(4))).join()
                  : undefined,
              },
              "replace",
            )
          }
        />
      )}
      {plot && rect && (
        <Picks
          runs={runs.filter((_, i) => contains(rect, plot.points[i] ?? null))}
          of={runs.length}
        />
      )}
    </div>
  );
}

function Canvas(props: {
  plot: Plot;
  names: readonly string[];
  rect: Rect | null;
  set: (rect: Rect | null) => void;
}) {
  const {plot, names} = props;
  const [hover, setHover] = useState(-1);
  const [drag, setDrag] = useState<{from: [number, number]; to: [number, number]} | null>(null);
  const rect = useMemo((): Rect | null => {
    if (!drag) return props.rect;
    const sides = (i: 0 | 1) =>
      [Math.min(drag.from[i], drag.to[i]), Math.max(drag.from[i], drag.to[i])] as const;
    return {x: sides(0), y: sides(1)};
  }, [drag, props.rect]);
  const draw = useCallback(
    (paint: Paint) => drawScatter(paint, plot, rect, hover),
    [plot, rect, hover],
  );
  const {canvas, width} = useCanvas(kHeight, draw);
  const wide = width - kPad.left - kPad.right;
  const high = kHeight - kPad.top - kPad.bottom;
  const place = (event: PointerEvent): [number, number] => {
    const box = event.currentTarget.getBoundingClientRect();
    const clamp = (value: number) => Math.min(1, Math.max(0, value));
    return [
      clamp((event.clientX - box.left - kPad.left) / wide),
      clamp(1 - (event.clientY - box.top - kPad.top) / high),
    ];
  };
  const point = plot.points[hover];
  const words = point
    ? `${names[hover]}: ${plot.titles[0]} ${plot.x.value(point[0])}, ` +
      `${plot.titles[1]} ${plot.y.value(point[1])}`
    : "Drag a rectangle to pick runs out.";
  return (
    <div className={css.plot} tabIndex={0} role="group" aria-label="Plot">
      <canvas
        ref={canvas}
        className={css.canvas}
        role="img"
        aria-label={`${plot.points.length} runs: ${plot.titles[1]} over ${plot.titles[0]}`}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          setDrag({from: place(event), to: place(event)});
        }}
        onPointerMove={(event) => {
          const at = place(event);
          if (drag) setDrag({...drag, to: at});
          else setHover(nearest(plot.points, at, wide, high));
        }}
        onPointerUp={() => {
          const small = !rect || (rect.x[1] - rect.x[0]) * wide < kClick;
          setDrag(null);
          props.set(small ? null : rect);
        }}
        onPointerLeave={() => setHover(-1)}
      />
      <p className="cut" title={words}>
        &nbsp;{words}
      </p>
    </div>
  );
}

function nearest(
  points: Plot["points"],
  at: readonly [number, number],
  wide: number,
  high: number,
): number {
  let found = -1;
  let least = kNear * kNear;
  points.forEach((one, i) => {
    if (!one) return;
    const away = ((one[0] - at[0]) * wide) ** 2 + ((one[1] - at[1]) * high) ** 2;
    if (away < least) [found, least] = [i, away];
  });
  return found;
}

function drawScatter(paint: Paint, plot: Plot, rect: Rect | null, hover: number): void {
  const {ctx, width, height, colour, dark} = paint;
  const x = (at: number) => kPad.left + at * (width - kPad.left - kPad.right);
  const y = (at: number) => kPad.top + (1 - at) * (height - kPad.top - kPad.bottom);
  drawGrid(paint, plot, x, y);
  const many = plot.points.length > 500;
  const few = plot.slots.length > 0 && plot.points.length <= kMostColours;
  const size = many ? 2 : few ? 4 : 3;
  plot.points.forEach((one, i) => {
    if (!one) return;
    const slot = plot.slots[i];
    const inside = contains(rect, one);
    ctx.globalAlpha = inside ? (many ? 0.45 : 0.85) : 0.25;
    ctx.fillStyle = !inside
      ? colour("--line-strong")
      : few && slot
        ? colour_of(slot, dark)
        : colour("--active");
    ctx.beginPath();
    ctx.arc(x(one[0]), y(one[1]), size, 0, 2 * Math.PI);
    ctx.fill();
  });
  ctx.globalAlpha = 1;
  const meant = plot.points[hover];
  if (meant) {
    ctx.strokeStyle = colour("--text");
    ctx.lineWidth = 2;
    ctx.beginPath();
    ctx.arc(x(meant[0]), y(meant[1]), size + 3, 0, 2 * Math.PI);
    ctx.stroke();
  }
  if (rect) {
    ctx.strokeStyle = colour("--accent");
    ctx.lineWidth = 1;
    ctx.strokeRect(
      x(rect.x[0]),
      y(rect.y[1]),
      x(rect.x[1]) - x(rect.x[0]),
      y(rect.y[0]) - y(rect.y[1]),
    );
  }
}

function drawGrid(
  {ctx, width, height, colour}: Paint,
  plot: Plot,
  x: (at: number) => number,
  y: (at: number) => number,
): void {
  const line = (x1: number, y1: number, x2: number, y2: number) => {
    ctx.beginPath();
    ctx.moveTo(x1, y1);
    ctx.lineTo(x2, y2);
    ctx.stroke();
  };
  ctx.strokeStyle = colour("--line");
  ctx.fillStyle = colour("--muted");
  const [wide, high] = [x(1) - x(0) + 2 * kInset, y(0) - y(1) + 2 * kInset];
  ctx.strokeRect(x(0) - kInset, y(1) - kInset, wide, high);
  const roomX = (width - kPad.left - kPad.right) / Math.max(1, plot.x.ticks.length);
  let last = -Infinity;
  ctx.textAlign = "center";
  for (const {at, text} of plot.x.ticks) {
    line(x(at), y(0) + kInset, x(at), y(1) - kInset);
    if (x(at) - last < 36) continue;
    last = x(at);
    ctx.fillText(
      fitted(ctx, text, Math.max(36, roomX - 6)),
      x(at),
      height - kPad.bottom + kInset + 15,
    );
  }
  ctx.textAlign = "right";
  last = Infinity;
  for (const {at, text} of plot.y.ticks) {
    line(x(0) - kInset, y(at), x(1) + kInset, y(at));
    if (last - y(at) < 13) continue;
    last = y(at);
    ctx.fillText(fitted(ctx, text, kPad.left - kInset - 14), kPad.left - kInset - 6, y(at) + 4);
  }
  ctx.fillStyle = colour("--text");
  ctx.textAlign = "center";
  const name = (axis: Axis, title: string) => (axis.kind === "ratio" ? `${title} (log)` : title);
  ctx.fillText(name(plot.x, plot.titles[0]), x(0.5), height - 8);
  ctx.save();
  ctx.translate(12, y(0.5));
  ctx.rotate(-Math.PI / 2);
  ctx.fillText(name(plot.y, plot.titles[1]), 0, 0);
  ctx.restore();
  ctx.textAlign = "left";
}
