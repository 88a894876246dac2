// One machine: drawn, with each GPU and each task, and what an admin may order of it.
import {useQuery} from "@tanstack/react-query";
import {Link, useParams} from "@tanstack/react-router";

import {cluster} from "../../app/queries";
import {bytes, percent, plural, short, toNumber} from "../../lib/format";
import {type Held, type Machine, gpusOf, modelsOf, nameOf, stateOf} from "../../lib/machines";
import {Fact, Facts, Page} from "../../ui/page";
import {State} from "../../ui/state";
import {Time, useNow} from "../../ui/time";
import {Empty, Loading, Notice, Trouble} from "../../ui/words";
import css from "./cluster.module.css";
import {type Use, gpuSample, useUse} from "./data";
import {Amounts, Gpus, JobOf} from "./machine_card";
import {Orders} from "./orders";

export function MachinePage() {
  const {node: name = ""} = useParams({strict: false}) as {node?: string};
  const query = useQuery(cluster());
  const now = useNow();
  const machine = query.data?.items?.find((one) => nameOf(one) === name);
  const heading = (
    <>
      <Link to={"/cluster" as never} className="muted">
        Cluster
      </Link>{" "}
      <span className="muted">/</span> <span className="cut">{name}</span>{" "}
      {machine && <State state={stateOf(machine, now)} />}
    </>
  );
  return (
    <Page title={name} heading={heading} actions={machine && <Orders machine={machine} />}>
      {query.error && !query.data && (
        <Trouble error={query.error} retry={() => void query.refetch()} />
      )}
      {query.isPending && !query.error && <Loading what="the machine" />}
      {query.data && !machine && (
        <Empty title={`There is no machine ${name}`}>
          It was renamed or taken away; what ran there says so.
        </Empty>
      )}
      {machine && <Inside machine={machine} />}
    </Page>
  );
}

function Inside(props: {machine: Machine}) {
  const {machine} = props;
  const node = machine.node;
  const use = useUse([machine]);
  return (
    <div className="stack">
      {node?.problem && <Notice kind="bad">{node.problem}</Notice>}
      {node?.closes_for && (
        <Notice kind="warn">
          {node.closes_for}
          {node.closes_at && ", from "}
          <Time at={node.closes_at} />
        </Notice>
      )}
      <div className={css.inside}>
        <section className={css.machine} aria-label="Drawn">
          {(node?.gpus?.length ?? 0) > 0 && <Gpus machine={machine} use={use} />}
          <Amounts machine={machine} use={use} />
        </section>
        <section className="card" aria-label="Facts">
          <Facts>
            <Fact name="Pool">{node?.pool}</Fact>
            <Fact name="GPUs">{modelsOf(machine) || "none"}</Fact>
            <Fact name="Rack">{node?.rack}</Fact>
            <Fact name="Spine">{node?.spine}</Fact>
            <Fact name="To its rack">
              {toNumber(node?.network_bandwidth) > 0 && `${short(node?.network_bandwidth)} GB/s`}
            </Fact>
            <Fact name="Labels">
              {Object.entries(node?.labels ?? {})
                .map(([key, value]) => `${key}=${value}`)
                .join(", ")}
            </Fact>
            <Fact name="Reservations">{machine.reservations?.join(", ")}</Fact>
            <Fact name="Kept for">{node?.kept_for?.join(", ")}</Fact>
            <Fact name="Ordered by">
              {machine.changed_by &&
                `${machine.changed_by}${machine.reason ? `: ${machine.reason}` : ""}`}
            </Fact>
            <Fact name="Real">{node?.lent && "no: lent by a topology file"}</Fact>
          </Facts>
        </section>
      </div>
      {(node?.gpus?.length ?? 0) > 0 && <GpuTable machine={machine} use={use} />}
      <Tasks machine={machine} use={use} />
      {(node?.gpu_bandwidth?.length ?? 0) > 1 && <Bandwidth machine={machine} />}
    </div>
  );
}

function GpuTable(props: {machine: Machine; use: Use}) {
  return (
    <section className="card" aria-label="GPUs">
      <h2>GPUs</h2>
      <div className={css.scroll} tabIndex={0} role="region" aria-label="GPUs, as a table">
        <table>
          <thead>
            <tr>
              <th className="number">GPU</th>
              <th>Model</th>
              <th>Held by</th>
              <th className="number">given</th>
              <th className="number">busy</th>
              <th className="number">memory</th>
              <th className="number">°C</th>
              <th>Cell, link</th>
              <th>UUID</th>
            </tr>
          </thead>
          <tbody>
            {gpusOf(props.machine).map(({gpu, holders, given}) => {
              const first = holders[0];
              const sample = first && gpuSample(props.use.of(first), first, gpu.uuid);
              return (
                <tr key={gpu.uuid}>
                  <td className="number">{gpu.index}</td>
                  <td>{gpu.model}</td>
                  <td>
                    {!gpu.healthy && <span className="bad">{gpu.problem || "fails"} </span>}
                    {gpu.healthy && holders.length === 0 && <span className="muted">free</span>}
                    {holders.map((task) => (
                      <span key={`${task.task_id} ${task.rank}`}>
                        <JobOf task={task} />{" "}
                      </span>
                    ))}
                  </td>
                  <td className="number">{percent(given, 1)}</td>
                  <td className="number">{rounded(sample?.percent, "%")}</td>
                  <td className="number nowrap">
                    {sample?.memory !== undefined && `${bytes(sample.memory)} of `}
                    {bytes(gpu.memory_bytes)}
                  </td>
                  <td className="number">{rounded(sample?.celsius)}</td>
                  <td>{[gpu.numa, gpu.link].filter(Boolean).join(", ")}</td>
                  <td>
                    <code>{gpu.uuid}</code>
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </section>
  );
}

const rounded = (value: number | undefined, unit = "") =>
  value === undefined ? "" : `${Math.round(value)}${unit}`;

function Tasks(props: {machine: Machine; use: Use}) {
  const tasks = props.machine.tasks ?? [];
  return (
    <section className="card" aria-label="Tasks">
      <h2>{tasks.length > 0 ? plural(tasks.length, "task") : "Nothing runs here"}</h2>
      {tasks.length > 0 && (
        <div className={css.scroll} tabIndex={0} role="region" aria-label="Tasks, as a table">
          <table>
            <thead>
              <tr>
                <th>Job</th>
                <th>Task</th>
                <th>Project</th>
                <th>Owner</th>
                <th className="number">GPUs</th>
                <th className="number">CPUs</th>
                <th className="number">used</th>
                <th className="number">Memory</th>
                <th className="number">used</th>
              </tr>
            </thead>
            <tbody>
              {tasks.map((task) => (
                <TaskRow key={`${task.task_id} ${task.role} ${task.rank}`} task={task} {...props} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function TaskRow(props: {task: Held; use: Use}) {
  const {task, use} = props;
  const used = use.of(task);
  return (
    <tr>
      <td>
        <JobOf task={task} />
      </td>
      <td>{task.job_id && `${task.role} ${task.rank}`}</td>
      <td>{task.project}</td>
      <td>{use.owner(task.job_id ?? "")}</td>
      <td className="number">{short(toNumber(task.gpu_share) * (task.gpus?.length ?? 0))}</td>
      <td className="number">{short(task.cpus)}</td>
      <td className="number">{used?.cpus === undefined ? "" : used.cpus.toFixed(2)}</td>
      <td className="number nowrap">{bytes(task.memory_bytes)}</td>
      <td className="number nowrap">{used?.memory === undefined ? "" : bytes(used.memory)}</td>
    </tr>
  );
}

// As measured or told; a number that is missing is unknown, not none.
function Bandwidth(props: {machine: Machine}) {
  const gpus = props.machine.node?.gpus ?? [];
  const between = props.machine.node?.gpu_bandwidth ?? [];
  return (
    <section className="card" aria-label="Between GPUs">
      <h2>GB/s between GPUs</h2>
      <div className={css.scroll} tabIndex={0} role="region" aria-label="GB/s between GPUs">
        <table className={css.between}>
          <thead>
            <tr>
              <td />
              {gpus.map((gpu) => (
                <th key={gpu.uuid} scope="col" className="number">
                  {gpu.index}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {gpus.map((gpu, row) => (
              <tr key={gpu.uuid}>
                <th scope="row" className="number">
                  {gpu.index}
                </th>
                {gpus.map((other, at) => (
                  <td key={other.uuid} className="number">
                    {at === row ? "" : short(between[row]?.[at] || NaN).replace("NaN", "?")}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
