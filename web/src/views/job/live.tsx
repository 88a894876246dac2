// Live parameters: asked for here, in force when the script says at which step it took them.
import {useMutation, useQuery, useQueryClient} from "@tanstack/react-query";
import {type FormEvent, useEffect, useState} from "react";

import {type Job, api, ask} from "../../api/client";
import {say} from "../../app/errors";
import {short, toNumber} from "../../lib/format";
import type {Mark} from "../../ui/chart";
import {PlainTable} from "../../ui/plain_table";
import {kEnded} from "../../ui/state";
import {Time} from "../../ui/time";
import {type Param, liveParams} from "../job_facts";
import css from "./job.module.css";

function useHistory(job: Job) {
  return useQuery({
    queryKey: ["run", job.run_id, "live"],
    enabled: Boolean(job.run_id) && liveParams(job.spec).length > 0,
    refetchInterval: kEnded.has(job.state) ? false : 1500,
    queryFn: ({signal}) =>
      ask(api.GET("/api/v1/runs/{run}/live", {params: {path: {run: job.run_id ?? ""}}, signal})),
  });
}

// Where on the charts a value changed.
export function useMarks(job: Job): Mark[] {
  const {data} = useHistory(job);
  return (data?.items ?? [])
    .filter((one) => one.step != null)
    .map((one) => ({x: one.step as number, text: `${one.name} ${text(one.value)}`}));
}

const text = (value: unknown) => (typeof value === "number" ? short(value) : String(value));

export function LiveParameters(props: {job: Job}) {
  const {job} = props;
  const history = useHistory(job);
  const items = history.data?.items ?? [];
  const live = liveParams(job.spec);
  return (
    <section className="card" aria-label="Live parameters">
      <h2>Live parameters</h2>
      <div className="stack">
        {live.map(([name, param]) => {
          const mine = items.filter((one) => one.name === name);
          return (
            <Slider
              key={name}
              job={job}
              name={name}
              param={param}
              asked={mine.at(-1)}
              over={kEnded.has(job.state)}
            />
          );
        })}
        {items.length > 0 && (
          <details>
            <summary>{items.length === 1 ? "1 change" : `${items.length} changes`}</summary>
            <PlainTable
              label="Changes, as a table"
              rows={items}
              id={(one) => `${one.name} ${one.asked_at}`}
              dense
              columns={[
                {name: "Parameter", is: "title", cell: (one) => one.name},
                {name: "From", number: true, cell: (one) => text(one.before)},
                {name: "To", number: true, cell: (one) => text(one.value)},
                {name: "Asked by", cell: (one) => one.asked_by},
                {name: "At", cell: (one) => <Time at={one.asked_at} />},
                {name: "In force from step", number: true, cell: (one) => one.step ?? "not yet"},
              ]}
            />
          </details>
        )}
      </div>
    </section>
  );
}

const kSteps = 1000;

// Positions of the slider: by ratio where the bounds lie two decades apart, else even.
export function scale(min: number, max: number) {
  const byRatio = min > 0 && max / min >= 100;
  return {
    at: (value: number) =>
      Math.round(
        kSteps *
          (byRatio ? Math.log(value / min) / Math.log(max / min) : (value - min) / (max - min)),
      ),
    value: (at: number) =>
      Number(
        (byRatio
          ? min * (max / min) ** (at / kSteps)
          : min + ((max - min) * at) / kSteps
        ).toPrecision(3),
      ),
  };
}

function Slider(props: {
  job: Job;
  name: string;
  param: Param;
  asked?: {value?: unknown; step?: number | null};
  over: boolean;
}) {
  const {job, name, param, asked} = props;
  const queries = useQueryClient();
  const current = asked?.value ?? param.value;
  const [draft, setDraft] = useState(String(current));
  useEffect(() => setDraft(String(current)), [current]);
  const change = useMutation({
    mutationFn: (value: unknown) =>
      ask(
        api.PATCH("/api/v1/runs/{run}/live", {
          params: {path: {run: job.run_id ?? ""}},
          body: {values: {[name]: value}} as never,
        }),
      ),
    onSettled: () => queries.invalidateQueries({queryKey: ["run", job.run_id, "live"]}),
  });
  const number = typeof param.value === "number";
  const bounded = number && param.min != null && param.max != null && param.max > param.min;
  const by = bounded ? scale(toNumber(param.min), toNumber(param.max)) : null;
  const set = (event?: FormEvent) => {
    event?.preventDefault();
    if (draft === String(current)) return;
    change.mutate(
      number ? Number(draft) : typeof param.value === "boolean" ? draft === "true" : draft,
    );
  };
  const value = Number(draft);
  return (
    <form className={css.live} onSubmit={set}>
      <label htmlFor={`live-${name}`} className="mono">
        {name}
      </label>
      {by && Number.isFinite(value) && (
        <input
          type="range"
          min={0}
          max={kSteps}
          value={Math.min(kSteps, Math.max(0, by.at(value)))}
          aria-label={`${name} slider`}
          aria-valuetext={draft}
          disabled={props.over}
          onChange={(event) => setDraft(String(by.value(Number(event.target.value))))}
          onPointerUp={() => set()}
          onKeyUp={(event) =>
            event.key.startsWith("Arrow") || event.key === "Enter" ? set() : undefined
          }
        />
      )}
      <input
        id={`live-${name}`}
        className="mono"
        inputMode={number ? "decimal" : "text"}
        value={draft}
        disabled={props.over}
        onChange={(event) => setDraft(event.target.value)}
        size={9}
      />
      <button type="submit" disabled={props.over || change.isPending || draft === String(current)}>
        Set
      </button>
      <span className="muted" role="status">
        {change.error ? (
          <span className="bad">{say(change.error).text}</span>
        ) : asked ? (
          asked.step == null ? (
            props.over ? (
              "asked for too late"
            ) : (
              `asked for ${text(asked.value)}; the script has not taken it yet`
            )
          ) : (
            `${text(asked.value)} from step ${asked.step} on`
          )
        ) : bounded ? (
          `between ${short(param.min)} and ${short(param.max)}`
        ) : (
          ""
        )}
      </span>
    </form>
  );
}
