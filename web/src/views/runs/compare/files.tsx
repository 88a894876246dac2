// Files of one name beside each other, by step: pictures, tables, confusion matrices; curves (ROC,
// precision and recall) of all runs on one chart.
import {useQueries} from "@tanstack/react-query";
import {useMemo} from "react";

import {api, ask, text} from "../../../api/client";
import {useView} from "../../../app/search";
import {grouped} from "../../../lib/file_steps";
import {plural} from "../../../lib/format";
import {Chart, Swatch} from "../../../ui/chart";
import {Empty, Loading, Notice, Trouble} from "../../../ui/words";
import {type Artifact, Preview, artifactUrl, kindOf} from "../../artifact";

import type {ComparedRun} from "./index";
import css from "./compare.module.css";

const kMostRuns = 24; // each is a picture of its own

type Groups = ReturnType<typeof grouped>;

function useFiles(runs: readonly ComparedRun[]) {
  return useQueries({
    queries: runs.map(({run}) => ({
      queryKey: ["run", run.id, "artifacts"],
      queryFn: ({signal}: {signal: AbortSignal}) =>
        ask(api.GET("/api/v1/runs/{run}/artifacts", {params: {path: {run: run.id}}, signal})),
    })),
    combine: (all) => ({
      pending: all.some((one) => one.isPending),
      error: all.find((one) => one.error)?.error,
      data: all.map((one) => grouped((one.data?.items ?? []) as Artifact[])),
    }),
  });
}

export default function Files(props: {runs: readonly ComparedRun[]}) {
  const runs = props.runs.slice(0, kMostRuns);
  const [view, change] = useView();
  const files = useFiles(runs);
  const names = useMemo(() => commonFirst(files.data), [files.data]);
  if (files.error) return <Trouble error={files.error} />;
  if (files.pending && names.length === 0) return <Loading what="files" />;
  if (names.length === 0)
    return (
      <Empty
        title="None of these runs kept a file"
        command='hearth.log_image("samples", array, step=epoch)'
      >
        Pictures, tables and curves of one name are shown beside each other.
      </Empty>
    );
  const name = names.find((one) => one.name === view.open)?.name ?? names[0]?.name ?? "";
  const mine = files.data.map((groups) => groups.find((one) => one.name === name));
  const steps = [...new Set(mine.flatMap((one) => one?.files.map((file) => file.step) ?? []))]
    .filter((step) => step !== null)
    .sort((a, b) => a - b);
  const step = steps.find((one) => String(one) === view.step) ?? steps.at(-1) ?? null;
  const shown = runs.map((one, i) => ({
    ...one,
    artifact: mine[i]?.files.find((file) => file.step === step)?.artifact,
  }));
  const curve = shown.some((one) => one.artifact && kindOf(one.artifact) === "curve");
  return (
    <div className={`stack ${css.below}`}>
      <div className="row wrap">
        <label>
          file
          <select
            value={name}
            onChange={(event) => change({open: event.target.value, step: undefined}, "replace")}
          >
            {names.map((one) => (
              <option key={one.name} value={one.name}>
                {one.name} ({plural(one.runs, "run")})
              </option>
            ))}
          </select>
        </label>
        {steps.length > 1 && (
          <label>
            step {step}
            <input
              type="range"
              min={0}
              max={steps.length - 1}
              value={steps.indexOf(step as number)}
              aria-valuetext={`step ${step}`}
              onChange={(event) =>
                change({step: String(steps[Number(event.target.value)])}, "replace")
              }
            />
          </label>
        )}
      </div>
      {props.runs.length > runs.length && (
        <Notice kind="warn">
          The first {runs.length} of {props.runs.length} runs: hide some to see others.
        </Notice>
      )}
      {curve && <Curves runs={shown} name={name} />}
      {!curve && (
        <div className={css.previews}>
          {shown.map(({run, label, slot, artifact}) => (
            <section key={run.id} className="card" aria-label={label}>
              <h2 className="row">
                <Swatch slot={slot} /> <span className="cut">{label}</span>
              </h2>
              {artifact ? (
                <Preview key={artifact.digest} run={run.id} artifact={artifact} />
              ) : (
                <p className="muted">{step === null ? "It has none." : `None at step ${step}.`}</p>
              )}
            </section>
          ))}
        </div>
      )}
    </div>
  );
}

// Names of files; what most runs have first.
function commonFirst(all: Groups[]): {name: string; runs: number}[] {
  const count = new Map<string, number>();
  for (const groups of all)
    for (const {name} of groups) count.set(name, (count.get(name) ?? 0) + 1);
  return [...count]
    .map(([name, runs]) => ({name, runs}))
    .sort((a, b) => b.runs - a.runs || a.name.localeCompare(b.name));
}

function Curves(props: {runs: (ComparedRun & {artifact?: Artifact})[]; name: string}) {
  const runs = props.runs.filter((one) => one.artifact);
  const curves = useQueries({
    queries: runs.map(({run, artifact}) => {
      const url = artifactUrl(run.id, artifact?.path ?? "");
      return {
        queryKey: ["artifact", url, artifact?.digest],
        queryFn: ({signal}: {signal: AbortSignal}) => text(url, signal),
      };
    }),
    combine: (all) => ({
      error: all.find((one) => one.error)?.error,
      data: all.map((one) => one.data),
    }),
  });
  const series = useMemo(
    () =>
      runs.flatMap(({run, label, slot}, i) => {
        const points = pointsOf(curves.data[i]);
        return points ? [{...points, id: run.id, label, slot}] : [];
      }),
    [curves.data, runs.map((one) => one.artifact?.digest).join()],
  );
  if (curves.error) return <Trouble error={curves.error} />;
  return (
    <div className="card">
      <Chart title={props.name} height={420} series={series} save />
    </div>
  );
}

function pointsOf(document: string | undefined) {
  if (document === undefined) return null;
  try {
    const {x, y} = JSON.parse(document) as {x?: unknown; y?: unknown};
    if (!Array.isArray(x) || !Array.isArray(y)) return null;
    const pairs = x
      .map((value, i): [number, number] => [Number(value), Number(y[i])])
      .filter((pair) => pair.every(Number.isFinite))
      .sort((a, b) => a[0] - b[0]);
    const last = pairs.map((pair) => pair[1]);
    return {
      x: pairs.map((pair) => pair[0]),
      last,
      min: last,
      max: last,
      not_finite: [x.length - pairs.length],
    };
  } catch {
    return null; // it is not what its name says
  }
}
