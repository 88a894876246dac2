// Both ways beside each other.
import type {Schemas} from "../../api/client";
import {type ApiNumber, count, duration, percent, plural, toNumber} from "../../lib/format";
import {Time} from "../../ui/time";
import {Empty, Notice} from "../../ui/words";
import css from "./cluster.module.css";

type WhatIfAnswer = Schemas["WhatIfAnswer"];
type Outcome = Schemas["WhatIfOutcome"];
type Spread = Schemas["WaitSpread"];

export function Answer(props: {answer: WhatIfAnswer}) {
  const {answer} = props;
  const {now, then} = answer;
  if (answer.jobs === 0 || !now || !then)
    return (
      <Empty title="No job to replay">None began within these days; ask for more of them.</Empty>
    );
  const homeless = toNumber(answer.jobs) - toNumber(now.waits?.jobs);
  return (
    <>
      <p>
        {plural(answer.jobs, "job")} that came from <Time at={answer.first} /> to{" "}
        <Time at={answer.last} />, replayed in {duration(toNumber(answer.seconds))}.
      </p>
      {answer.left_out > 0 && (
        <Notice kind="warn">{`${plural(answer.left_out, "older job")} left out.`}</Notice>
      )}
      {homeless > 0 && (
        <Notice kind="warn">
          {`${plural(homeless, "job")} fit nowhere, now or with the change. `}
          The times are of those that ran both ways.
        </Notice>
      )}
      <Whole now={now} then={then} />
      <Parts title="Waits by project" now={now.by_project} then={then.by_project} name={(x) => x} />
      <Parts
        title="Waits by GPUs asked for"
        now={now.by_gpus}
        then={then.by_gpus}
        name={(gpus) => plural(Number(gpus), "GPU")}
      />
    </>
  );
}

const seconds = (value: ApiNumber | undefined) => duration(toNumber(value));

// Of no job there is no time.
const timeOf = (spread: Spread | undefined, which: "mean" | "p50" | "p99") =>
  spread?.jobs ? spread[which] : undefined;

const kRows: [string, (of: Outcome) => ApiNumber | undefined, (value: number) => string][] = [
  ["Wait, mean", (of) => timeOf(of.waits, "mean"), duration],
  ["Wait, half took no longer", (of) => timeOf(of.waits, "p50"), duration],
  ["Wait, 99% took no longer", (of) => timeOf(of.waits, "p99"), duration],
  ["From coming to the end, mean", (of) => timeOf(of.completion, "mean"), duration],
  ["From coming to the end, 99%", (of) => timeOf(of.completion, "p99"), duration],
  ["Stopped for others", (of) => of.evictions, count],
  ["Fit nowhere", (of) => of.never_started, count],
  ["GPUs", (of) => of.gpus, count],
  ["GPU time used", (of) => of.gpus_used, (value) => percent(value, 1)],
];

function Whole(props: {now: Outcome; then: Outcome}) {
  return (
    <table className={css.answer}>
      <thead>
        <tr>
          <td />
          <th className="number">As it is</th>
          <th className="number">With the change</th>
          <th className="number">Difference</th>
        </tr>
      </thead>
      <tbody>
        {kRows.map(([name, of, say]) => {
          const told = [of(props.now), of(props.then)];
          const [now, then] = [toNumber(told[0]), toNumber(told[1])];
          return (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td className="number">{told[0] === undefined ? "–" : say(now)}</td>
              <td className="number">{told[1] === undefined ? "–" : say(then)}</td>
              <td className="number">
                {told.includes(undefined) ? "–" : difference(now, then, say)}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function difference(now: number, then: number, say: (value: number) => string): string {
  const by = then - now;
  if (Math.abs(by) < 1e-9 || say(now) === say(then)) return "the same";
  return `${by > 0 ? "+" : "−"}${say(Math.abs(by))}`;
}

function Parts(props: {
  title: string;
  now?: Record<string, Spread>;
  then?: Record<string, Spread>;
  name: (key: string) => string;
}) {
  const {now = {}, then = {}} = props;
  const keys = [...new Set([...Object.keys(now), ...Object.keys(then)])].sort((a, b) =>
    a.localeCompare(b, "en-US", {numeric: true}),
  );
  const most = Math.max(1e-9, ...keys.flatMap((key) => [mean(now[key]), mean(then[key])]));
  return (
    <section className="card" aria-label={props.title}>
      <h2>{props.title}</h2>
      <table className={css.answer}>
        <thead>
          <tr>
            <td />
            <th className="number">Jobs</th>
            <th>Mean wait, as it is and with the change</th>
            <th className="number">99% as it is</th>
            <th className="number">99% then</th>
          </tr>
        </thead>
        <tbody>
          {keys.map((key) => (
            <tr key={key}>
              <th scope="row">{props.name(key)}</th>
              <td className="number">{count(then[key]?.jobs ?? now[key]?.jobs ?? 0)}</td>
              <td className={css.bars}>
                <Bar of={now[key]} most={most} />
                <Bar of={then[key]} most={most} then />
              </td>
              <td className="number">{seconds(now[key]?.p99)}</td>
              <td className="number">{seconds(then[key]?.p99)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const mean = (of: Spread | undefined) => toNumber(of?.mean ?? 0) || 0;

function Bar(props: {of?: Spread; most: number; then?: boolean}) {
  return (
    <span className="row">
      <i
        className={props.then ? `${css.bar} ${css.then}` : css.bar}
        style={{width: `${(70 * mean(props.of)) / props.most}%`}}
      />
      <small className="nowrap">{seconds(mean(props.of))}</small>
    </span>
  );
}
