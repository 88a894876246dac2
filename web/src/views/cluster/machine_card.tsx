// One machine, drawn: its NUMA cells with their GPUs, below them the links that join GPUs.
import {Link} from "@tanstack/react-router";

import {bytes, clock, percent, plural, short, toNumber} from "../../lib/format";
import {
  type GpuUse,
  type Machine,
  type Span,
  gpusOf,
  modelsOf,
  nameOf,
  rowsOf,
  spansOf,
  stateOf,
} from "../../lib/machines";
import {usePhone} from "../../ui/media";
import {State} from "../../ui/state";
import {AmountsOf} from "./amount";
import css from "./cluster.module.css";
import {type Use, gpuSample} from "./data";
import {MachineLink} from "./machine_link";

const kAcross = 8; // GPUs beside each other
const kAcrossPhone = 4;
const kMostHolders = 2; // of one GPU that are named in its picture
const kMostJobs = 4; // of a machine without GPUs

export function MachineCard(props: {machine: Machine; use: Use; now: number}) {
  const {machine, use, now} = props;
  const node = machine.node;
  const gpus = node?.gpus?.length ?? 0;
  const wide = gpus > kAcross / 2 ? "4" : gpus > 2 ? "2" : "1";
  return (
    <article className={css.machine} data-wide={wide} aria-label={nameOf(machine)}>
      <div className="row wrap">
        <h4 className={css.name}>
          <MachineLink name={nameOf(machine)} className="cut" />
        </h4>
        <State state={stateOf(machine, now)} />
        <span className="grow" />
        <small className="muted">{modelsOf(machine) || "no GPU"}</small>
      </div>
      <Closing machine={machine} now={now} />
      {gpus > 0 && <Gpus machine={machine} use={use} />}
      <Amounts machine={machine} use={use} />
      {gpus === 0 && <Jobs machine={machine} />}
    </article>
  );
}

// Why it is closed, or when it will be.
function Closing(props: {machine: Machine; now: number}) {
  const node = props.machine.node;
  if (!node) return null;
  const later = node.closes_at && Date.parse(node.closes_at) > props.now;
  const words = [
    node.problem,
    node.closes_for && later
      ? `from ${clock(node.closes_at ?? "")}: ${node.closes_for}`
      : node.closes_for,
  ].filter(Boolean);
  return words.length > 0 ? (
    <p className={node.ready ? "muted" : "bad"}>{words.join("; ")}</p>
  ) : null;
}

export function Amounts(props: {machine: Machine; use: Use}) {
  const {machine, use} = props;
  return (
    <div className={css.amounts}>
      <AmountsOf machines={[machine]} use={use} />
      {toNumber(machine.node?.network_bandwidth) > 0 && (
        <p className="muted">{short(machine.node?.network_bandwidth)} GB/s to its rack</p>
      )}
    </div>
  );
}

export function Gpus(props: {machine: Machine; use: Use}) {
  const {machine} = props;
  const across = usePhone() ? kAcrossPhone : kAcross;
  const all = gpusOf(machine);
  const rows = Array.from({length: Math.ceil(all.length / across)}, (_, i) =>
    all.slice(i * across, (i + 1) * across),
  );
  return rows.map((gpus, i) => {
    const links = spansOf(machine, gpus, "link");
    const places = rowsOf(links);
    return (
      <div
        key={i}
        className={css.gpus}
        style={{gridTemplateColumns: `repeat(${gpus.length}, minmax(0, 1fr))`}}
      >
        {spansOf(machine, gpus, "numa").map((span) => (
          <Cell key={span.name} span={span} machine={machine} />
        ))}
        {gpus.map((one, at) => (
          <Gpu key={one.gpu.uuid} one={one} at={at} use={props.use} />
        ))}
        {links.map((span, at) => (
          <Joint key={span.name} span={span} row={3 + (places[at] ?? 0)} />
        ))}
      </div>
    );
  });
}

const across = (span: Span) => `${span.from + 1} / ${span.to + 2}`;

function Cell(props: {span: Span; machine: Machine}) {
  const {span} = props;
  const cell = (props.machine.node?.numa ?? []).find((one) => one.name === span.name);
  return (
    <small className={css.numa} style={{gridColumn: across(span), gridRow: 1}}>
      {span.name}
      {cell && `: ${plural(toNumber(cell.cpus), "CPU")}, ${bytes(cell.memory_bytes)}`}
    </small>
  );
}

// GPUs of one link hang on one line.
function Joint(props: {span: Span; row: number}) {
  const {span, row} = props;
  const words = `${span.name}${span.bandwidth > 0 ? ` ${short(span.bandwidth)} GB/s` : ""}`;
  return (
    <>
      <small className={css.link} style={{gridColumn: across(span), gridRow: row}} title={words}>
        {words}
      </small>
      {span.members.map((at) => (
        <i key={at} className={css.tick} style={{gridColumn: at + 1, gridRow: row}} />
      ))}
    </>
  );
}

function Gpu(props: {one: GpuUse; at: number; use: Use}) {
  const {gpu, holders, given} = props.one;
  const [first] = holders;
  const sample = first && gpuSample(props.use.of(first), first, gpu.uuid);
  const facts = [
    given > 0 && given < 1 ? `${percent(given, 1)} given` : "",
    sample?.percent !== undefined ? `${Math.round(sample.percent)}% busy` : "",
    sample?.memory !== undefined ? bytes(sample.memory) : "",
    sample?.celsius !== undefined ? `${Math.round(sample.celsius)} °C` : "",
  ].filter(Boolean);
  const state = !gpu.healthy ? "bad" : given > 0 ? "given" : "free";
  return (
    <div
      className={css.gpu}
      data-is={state}
      style={{gridColumn: props.at + 1, gridRow: 2, backgroundSize: `100% ${100 * given}%`}}
      title={`${gpu.model} ${gpu.index}, ${bytes(gpu.memory_bytes)}, ${gpu.uuid}`}
    >
      <small className="muted">{gpu.index}</small>
      {!gpu.healthy && <span className="bad">{gpu.problem || "fails"}</span>}
      {gpu.healthy && holders.length === 0 && <span className="muted">free</span>}
      {holders.slice(0, kMostHolders).map((task) => (
        <JobOf key={`${task.task_id} ${task.rank}`} task={task} />
      ))}
      {holders.length > kMostHolders && <small>and {holders.length - kMostHolders} more</small>}
      {facts.map((fact) => (
        <small key={fact} className="cut">
          {fact}
        </small>
      ))}
    </div>
  );
}

// A task's job, as far as one may see it.
export function JobOf(props: {task: {job_id?: string; job?: string}}) {
  const {task} = props;
  if (!task.job_id) return <span className="muted cut">another's</span>;
  return (
    <Link to="/jobs/$job" params={{job: task.job_id}} className={`cut ${css.job}`} title={task.job}>
      {task.job}
    </Link>
  );
}

function Jobs(props: {machine: Machine}) {
  const tasks = props.machine.tasks ?? [];
  if (tasks.length === 0) return <p className="muted">nothing runs</p>;
  return (
    <p className="row wrap">
      {tasks.slice(0, kMostJobs).map((task) => (
        <JobOf key={`${task.task_id} ${task.rank}`} task={task} />
      ))}
      {tasks.length > kMostJobs && <small>and {tasks.length - kMostJobs} more</small>}
    </p>
  );
}
