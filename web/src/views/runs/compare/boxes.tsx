// The spread of a metric by the values of a parameter, as boxes.
import {useMemo} from "react";

import {useView} from "../../../app/search";
import {type Box, boxOf} from "../../../lib/boxes";
import {plural, short} from "../../../lib/format";
import {runField, shown, titleOf} from "../../../lib/run_fields";
import {PlainTable} from "../../../ui/plain_table";
import {Empty, Loading, Trouble} from "../../../ui/words";
import {FieldInput, type Of, Shown, useAxes, useValues} from "./values";
import type {ComparedRun} from "./index";
import css from "./compare.module.css";

const kMostBoxes = 24;
const kWide = 960;
const kHigh = 400;
const kPad = {left: 64, right: 16, top: 16, bottom: 56};
const kTicks = 5;
const kMostOutside = 50; // of one box
const kLetters = 14;

interface Group {
  name: string;
  box: Box;
}

export default function Boxes(props: {of: Of; runs: readonly ComparedRun[]}) {
  const [view, change] = useView();
  const axes = useAxes(props.runs);
  const by = view.by ?? axes.find((one) => one.startsWith("params.")) ?? "";
  const of = view.of ?? axes.find((one) => one.startsWith("metrics.")) ?? "";
  const fields = useMemo(() => [...new Set([by, of])].filter((one) => one !== ""), [by, of]);
  const query = useValues(props.of, fields);
  const groups = useMemo(() => {
    const values = new Map<string, number[]>();
    for (const {values: one} of query.data?.runs ?? []) {
      const text = one[of];
      if (text === undefined || text === "") continue;
      const name = one[by] ?? "(none)";
      const list = values.get(name) ?? [];
      list.push(Number(text));
      values.set(name, list);
    }
    return [...values]
      .sort((a, b) => a[0].localeCompare(b[0], "en", {numeric: true}))
      .flatMap(([name, list]): Group[] => {
        const box = boxOf(list);
        return box ? [{name, box}] : [];
      });
  }, [query.data, by, of]);
  const drawn = groups.slice(0, kMostBoxes);
  return (
    <div className="stack">
      <div className="row wrap">
        <FieldInput
          key={`of${of}`}
          label="of"
          value={of}
          set={(field) => change({of: field || undefined}, "replace")}
        />
        <FieldInput
          key={`by${by}`}
          label="by"
          value={by}
          set={(field) => change({by: field || undefined}, "replace")}
        />
        {query.data && <Shown runs={query.data.runs.length} total={query.data.total} />}
        {groups.length > drawn.length && (
          <span className="muted">
            the first {drawn.length} of {plural(groups.length, "value")}
          </span>
        )}
      </div>
      {query.error && <Trouble error={query.error} retry={() => void query.refetch()} />}
      {fields.length < 2 && <Empty title="Choose a metric, and by what it is put together" />}
      {!query.data && !query.error && fields.length > 1 && <Loading what="values" />}
      {query.data && fields.length > 1 && drawn.length === 0 && (
        <Empty title="None of these runs has a number there" />
      )}
      {drawn.length > 0 && (
        <div className={css.plot} tabIndex={0} role="group" aria-label="Plot">
          <Plot groups={drawn} title={`${titleOf(runField(of))} by ${titleOf(runField(by))}`} />
        </div>
      )}
      {drawn.length > 0 && <Numbers groups={drawn} by={titleOf(runField(by))} />}
    </div>
  );
}

function Plot(props: {groups: readonly Group[]; title: string}) {
  const {groups} = props;
  const least = Math.min(...groups.map(({box}) => Math.min(box.low, ...box.outside)));
  const most = Math.max(...groups.map(({box}) => Math.max(box.high, ...box.outside)));
  const wide = most - least || 1;
  const y = (value: number) =>
    kPad.top + (1 - (value - least) / wide) * (kHigh - kPad.top - kPad.bottom);
  const step = (kWide - kPad.left - kPad.right) / groups.length;
  const half = Math.min(36, step * 0.32);
  const ticks = Array.from({length: kTicks}, (_, i) => least + (wide * i) / (kTicks - 1));
  return (
    <svg
      viewBox={`0 0 ${kWide} ${kHigh}`}
      className={css.svg}
      role="img"
      aria-label={`Box plot: ${props.title}`}
    >
      {ticks.map((value) => (
        <g key={value}>
          <line
            x1={kPad.left}
            x2={kWide - kPad.right}
            y1={y(value)}
            y2={y(value)}
            className={css.grid}
          />
          <text x={kPad.left - 8} y={y(value) + 4} textAnchor="end">
            {short(Number(value.toPrecision(4)))}
          </text>
        </g>
      ))}
      {groups.map(({name, box}, i) => {
        const x = kPad.left + step * (i + 0.5);
        const text = shown(name);
        return (
          <g key={name}>
            <title>{`${name}: median ${short(box.median)} of ${plural(box.count, "run")}`}</title>
            <path
              d={`M${x} ${y(box.low)}V${y(box.first)}M${x} ${y(box.third)}V${y(box.high)}`}
              className={css.whisker}
            />
            <rect
              x={x - half}
              width={2 * half}
              y={y(box.third)}
              height={Math.max(1, y(box.first) - y(box.third))}
              className={css.box}
            />
            <line
              x1={x - half}
              x2={x + half}
              y1={y(box.median)}
              y2={y(box.median)}
              className={css.median}
            />
            {box.outside.slice(0, kMostOutside).map((value, j) => (
              <circle key={j} cx={x} cy={y(value)} r={3} className={css.outside} />
            ))}
            <text
              x={x}
              y={kHigh - kPad.bottom + 18 + (groups.length > 10 ? 14 * (i % 2) : 0)}
              textAnchor="middle"
            >
              {text.length > kLetters ? `${text.slice(0, kLetters)}…` : text}
            </text>
          </g>
        );
      })}
      <text x={kWide / 2} y={kHigh - 6} textAnchor="middle">
        {props.title}
      </text>
    </svg>
  );
}

const kNumbers: [string, (box: Box) => number][] = [
  ["runs", (box) => box.count],
  ["low", (box) => box.low],
  ["first quartile", (box) => box.first],
  ["median", (box) => box.median],
  ["third quartile", (box) => box.third],
  ["high", (box) => box.high],
  ["outside", (box) => box.outside.length],
];

function Numbers(props: {groups: readonly Group[]; by: string}) {
  return (
    <details>
      <summary>As numbers</summary>
      <PlainTable
        label="Boxes, as numbers"
        rows={props.groups}
        id={({name}) => name}
        dense
        columns={[
          {name: props.by, is: "title", cell: ({name}) => name},
          ...kNumbers.map(([name, of]) => ({
            name,
            number: true,
            cell: ({box}: Group) => short(of(box)),
          })),
        ]}
      />
    </details>
  );
}
