// What plots of values have in common: the values, the fields that are chosen for axes, the runs
// that were picked out.
import {keepPreviousData, useQuery} from "@tanstack/react-query";
import {Link} from "@tanstack/react-router";
import {X} from "lucide-react";
import {useId, useMemo, useState} from "react";

import {useView} from "../../../app/search";
import {changed, kMostPicked, written} from "../../../lib/chosen";
import {compared} from "../../../lib/differences";
import {count, plural} from "../../../lib/format";
import {canBeColumn, fieldsOf, inOrder} from "../../../lib/run_fields";
import {IconButton} from "../../../ui/icon_button";
import {type RunValues, keysOf, kMostFields, kMostValues, valuesOf} from "../ask";
import {RunName, useKeysOfRuns} from "../columns";
import type {ComparedRun} from "./index";
import css from "./compare.module.css";

export interface Of {
  ids?: readonly string[];
  filter?: string;
  project?: string;
}

const kFirstParams = 4;
const kFirstMetrics = 2;
const kListed = 60;
const kOwn = ["name", "status", "experiment", "owner", "created_at"];

export function useValues(of: Of, fields: readonly string[]) {
  return useQuery({
    queryKey: ["runs", "values", of, fields],
    enabled: fields.length > 0,
    placeholderData: keepPreviousData,
    queryFn: ({signal}) => valuesOf(of, fields, signal),
  });
}

// What the address names, else parameters that differ and the first metrics.
export function useAxes(runs: readonly ComparedRun[]): string[] {
  const [view] = useView();
  const first = runs[0]?.run.id ?? "";
  const keys = useQuery({
    queryKey: ["runs", "keys", [first]],
    enabled: view.axes === undefined && first !== "",
    queryFn: ({signal}) => keysOf([first], signal),
  });
  return useMemo(() => {
    if (view.axes !== undefined)
      return fieldsOf(view.axes)
        .map((one) => one.field)
        .slice(0, kMostFields);
    const params = compared(runs.map(({run}) => run.params))
      .filter((one) => one.differs && canBeColumn(one.key))
      .slice(0, kFirstParams);
    const metrics = (keys.data ?? []).filter((one) => one.kind === "metric");
    return [
      ...params.map((one) => `params.${one.key}`),
      ...inOrder(metrics.map((one) => one.key ?? ""))
        .filter(canBeColumn)
        .slice(0, kFirstMetrics)
        .map((key) => `metrics.${key}`),
    ];
  }, [view.axes, runs, keys.data]);
}

// A field by its name, with what there is offered while one types.
export function FieldInput(props: {
  label: string;
  value: string;
  set: (field: string) => void;
  unset?: string; // what an empty one says
}) {
  const id = useId();
  const [text, setText] = useState<string | null>(null);
  const find = (text ?? "").replace(/^(metrics|params|tags)\./, "");
  const keys = useKeysOfRuns({filter: "", q: find}, text !== null);
  const offered = [
    ...(keys.data?.items ?? [])
      .filter((one) => canBeColumn(one.key ?? ""))
      .map((one) => `${one.kind}s.${one.key}`),
    ...kOwn,
  ];
  const take = (value: string) => {
    setText(null);
    const field = value.trim();
    if (field !== props.value) props.set(field);
  };
  return (
    <label>
      {props.label}
      <input
        className={css.field}
        list={id}
        value={text ?? props.value}
        placeholder={props.unset ?? "metrics.loss"}
        spellCheck={false}
        onFocus={() => setText(props.value)}
        onChange={(event) => {
          setText(event.target.value);
          if (offered.includes(event.target.value)) take(event.target.value);
        }}
        onBlur={(event) => take(event.target.value)}
        onKeyDown={(event) => event.key === "Enter" && take(event.currentTarget.value)}
      />
      <datalist id={id}>
        {offered.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
    </label>
  );
}

export function AxesBar(props: {axes: readonly string[]; set: (axes: string[]) => void}) {
  const {axes, set} = props;
  return (
    <div className={css.axes}>
      {axes.map((one) => (
        <span key={one} className={css.axis}>
          <span className="cut">{one}</span>
          <IconButton
            icon={X}
            does={`Take the axis ${one} away`}
            run={() => set(axes.filter((other) => other !== one))}
          />
        </span>
      ))}
      {axes.length < kMostFields && (
        <FieldInput
          key={axes.join()}
          label="add an axis"
          value=""
          set={(field) => field && !axes.includes(field) && set([...axes, field])}
        />
      )}
    </div>
  );
}

// Of how many these are all that are drawn.
export function Shown(props: {runs: number; total: number; missing?: number}) {
  const words = [
    props.total > props.runs
      ? `the first ${count(kMostValues)} of ${plural(props.total, "run")}`
      : plural(props.runs, "run"),
    props.missing ? `${plural(props.missing, "run")} without a value on an axis` : "",
  ];
  return <span className="muted">{words.filter(Boolean).join(", ")}</span>;
}

// The runs that were picked out, to go on with.
export function Picks(props: {runs: readonly RunValues[]; of: number}) {
  const {runs} = props;
  const ids = runs.slice(0, kMostPicked).map((one) => one.id);
  return (
    <section className="stack" aria-label="Picked out">
      <div className="row wrap">
        <strong>
          {count(runs.length)} of {count(props.of)} picked out
        </strong>
        {runs.length > 0 && (
          <>
            <Link
              to={"/runs/compare" as never}
              search={{ids: written(changed([], ids))} as never}
              className="button"
            >
              Compare {ids.length < runs.length ? `the first ${ids.length}` : "these"}
            </Link>
            <Link
              to={"/runs" as never}
              search={{sel: written(changed([], ids))} as never}
              className="button"
            >
              Choose them in the list
            </Link>
          </>
        )}
      </div>
      <ul className={css.picks}>
        {runs.slice(0, kListed).map((one) => (
          <li key={one.id}>
            <RunName run={one} />
          </li>
        ))}
      </ul>
      {runs.length > kListed && <p className="muted">The first {kListed} are named here.</p>}
    </section>
  );
}
