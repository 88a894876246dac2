// Parallel coordinates: each run a line over the axes; part of an axis is brushed by dragging along
// it. More runs than lines can tell apart are drawn as density.
import {type PointerEvent, useCallback, useMemo, useRef, useState} from "react";

import {useView} from "../../../app/search";
import {axisOf, brushesOf, brushesText, within} from "../../../lib/axes";
import {runField, titleOf} from "../../../lib/run_fields";
import {type Paint, useCanvas} from "../../../ui/canvas";
import {Empty, Loading, Trouble} from "../../../ui/words";
import type {ComparedRun} from "./index";
import {type Plot, atAxis, drawParallel, kPad, nearest} from "./parallel_draw";
import {AxesBar, type Of, Picks, Shown, useAxes, useValues} from "./values";
import css from "./compare.module.css";

const kHeight = 440;
const kLeastStep = 110; // pixels between two axes: a narrow window scrolls
const kClick = 4; // pixels: a shorter drag is a click

export default function Parallel(props: {of: Of; runs: readonly ComparedRun[]}) {
  const [view, change] = useView();
  const fields = useAxes(props.runs);
  const query = useValues(props.of, fields);
  const setAxes = (axes: string[]) => change({axes: axes.join(), brush: undefined}, "replace");
  const brushes = useMemo(() => brushesOf(view.brush), [view.brush]);
  const plot = useMemo((): Plot | null => {
    if (!query.data) return null;
    const {runs} = query.data;
    const axes = fields.map((field) => axisOf(runs.map((one) => one.values[field])));
    const places = runs.map((one) => axes.map((axis, i) => axis.at(one.values[fields[i] ?? ""])));
    const slots = new Map(props.runs.map((one) => [one.run.id, one.slot]));
    return {
      axes,
      titles: fields.map((field) => titleOf(runField(field))),
      places,
      slots: props.of.ids ? runs.map((one) => slots.get(one.id)) : [],
    };
  }, [query.data, fields, props.runs, props.of]);
  const inside = useMemo(
    () => plot?.places.map((one) => within(one, brushes)) ?? [],
    [plot, brushes],
  );
  const runs = query.data?.runs ?? [];
  const missing = plot?.places.filter((one) => one.includes(null)).length ?? 0;
  return (
    <div className="stack">
      <AxesBar axes={fields} set={setAxes} />
      {query.error && <Trouble error={query.error} retry={() => void query.refetch()} />}
      {!query.data && !query.error && fields.length > 0 && <Loading what="values" />}
      {fields.length < 2 && (
        <Empty title="Two axes are the least">Add parameters and metrics as axes.</Empty>
      )}
      {plot && fields.length > 1 && (
        <>
          <div className="row wrap">
            <Shown runs={runs.length} total={query.data?.total ?? 0} missing={missing} />
            <span className="muted">Drag along an axis to pick out a part of it.</span>
            {brushes.size > 0 && (
              <button type="button" onClick={() => change({brush: undefined}, "replace")}>
                All again
              </button>
            )}
          </div>
          <Canvas
            plot={plot}
            inside={inside}
            names={runs.map((one) => one.name)}
            brush={(axis, range) => {
              const next = new Map(brushes);
              if (range) next.set(axis, range);
              else next.delete(axis);
              change({brush: brushesText(next)}, "replace");
            }}
            brushes={brushes}
          />
          {brushes.size > 0 && <Picks runs={runs.filter((_, i) => inside[i])} of={runs.length} />}
        </>
      )}
    </div>
  );
}

function Canvas(props: {
  plot: Plot;
  inside: readonly boolean[];
  names: readonly string[];
  brushes: ReturnType<typeof brushesOf>;
  brush: (axis: number, range: readonly [number, number] | null) => void;
}) {
  const {plot, inside, brushes} = props;
  const [hover, setHover] = useState(-1);
  const [dragged, setDragged] = useState<{axis: number; from: number; to: number} | null>(null);
  const shown = useMemo(() => {
    if (!dragged) return brushes;
    const range = [Math.min(dragged.from, dragged.to), Math.max(dragged.from, dragged.to)] as const;
    return new Map(brushes).set(dragged.axis, range);
  }, [brushes, dragged]);
  const draw = useCallback(
    (paint: Paint) => drawParallel(paint, plot, inside, shown, hover),
    [plot, inside, shown, hover],
  );
  const {canvas, width} = useCanvas(kHeight, draw, kLeastStep * plot.axes.length);
  const count = inside.filter(Boolean).length;
  const label = `${count} of ${inside.length} runs over ${plot.titles.join(", ")}`;
  const began = useRef(0);
  const place = (event: PointerEvent) => {
    const box = event.currentTarget.getBoundingClientRect();
    const along = 1 - (event.clientY - box.top - kPad.top) / (kHeight - kPad.top - kPad.bottom);
    return {x: event.clientX - box.left, at: Math.min(1, Math.max(0, along))};
  };
  const up = (event: PointerEvent) => {
    if (!dragged) return;
    const {axis, from, to} = dragged;
    setDragged(null);
    if (Math.abs(event.clientY - began.current) < kClick) props.brush(axis, null);
    else props.brush(axis, [Math.min(from, to), Math.max(from, to)]);
  };
  return (
    <div className={css.plot} tabIndex={0} role="group" aria-label="Plot">
      <canvas
        ref={canvas}
        className={css.canvas}
        role="img"
        aria-label={label}
        onPointerDown={(event) => {
          const {x, at} = place(event);
          event.currentTarget.setPointerCapture(event.pointerId);
          began.current = event.clientY;
          setHover(-1);
          setDragged({axis: atAxis(plot.axes.length, width, x), from: at, to: at});
        }}
        onPointerMove={(event) => {
          const {x, at} = place(event);
          if (dragged) setDragged({...dragged, to: at});
          else setHover(nearest(plot, inside, width, x, at));
        }}
        onPointerUp={up}
        onPointerLeave={() => setHover(-1)}
      />
      <Said plot={plot} hover={hover} names={props.names} brushes={shown} />
    </div>
  );
}

// In words what the hand is at: the run, or the parts of the axes.
function Said(props: {
  plot: Plot;
  hover: number;
  names: readonly string[];
  brushes: ReturnType<typeof brushesOf>;
}) {
  const {plot, hover} = props;
  const at = plot.places[hover];
  const words = at
    ? `${props.names[hover]}: ${plot.titles
        .map((title, i) => `${title} ${at[i] == null ? "-" : plot.axes[i]?.value(at[i] as number)}`)
        .join(", ")}`
    : [...props.brushes]
        .map(([axis, [from, to]]) => {
          const of = plot.axes[axis];
          return of ? `${plot.titles[axis]} from ${of.value(from)} to ${of.value(to)}` : "";
        })
        .join("; ");
  return (
    <p className="cut" title={words}>
      &nbsp;{words}
    </p>
  );
}
