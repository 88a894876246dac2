// One machine: drawn, with each GPU and each task, and what an admin may order of it.
import {useQuery} from "@tanstack/react-query";
import {Link, useParams} from "@tanstack/react-router";

import {cluster} from "../../app/queries";
import {bytes, percent, plural, short, toNumber} from "../../lib/format";
import {type Machine, gpusOf, modelsOf, nameOf, stateOf} from "../../lib/machines";
import {Fact, Facts, Page} from "../../ui/page";
import {PlainTable} from "../../ui/plain_table";
import {State} from "../../ui/state";
import {Time, useNow} from "../../ui/time";
import {Empty, Loading, Notice, Trouble, WayOn} from "../../ui/words";
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
        <Empty
          title={`There is no machine ${name}`}
          action={<WayOn to="/cluster" name="All machines" />}
        >
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
          {node.opens_at && " to "}
          <Time at={node.opens_at} />
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
  const rows = gpusOf(props.machine).map(({gpu, holders, given}) => {
    const first = holders[0];
    const sample = first && gpuSample(props.use.of(first), first, gpu.uuid);
    return {gpu, holders, given, sample};
  });
  return (
    <section className="card" aria-label="GPUs">
      <h2>GPUs</h2>
      <PlainTable
        label="GPUs, as a table"
        rows={rows}
        id={({gpu}) => gpu.uuid ?? ""}
        columns={[
          {name: "GPU", is: "title", cell: ({gpu}) => gpu.index},
          {name: "Model", is: "title", cell: ({gpu}) => gpu.model},
          {
            name: "Held by",
            cell: ({gpu, holders}) => (
              <span>
                {!gpu.healthy && <span className="bad">{gpu.problem || "fails"} </span>}
                {gpu.healthy && holders.length === 0 && <span className="muted">free</span>}
                {holders.map((task) => (
                  <span key={`${task.task_id} ${task.rank}`}>
                    <JobOf task={task} />{" "}
                  </span>
                ))}
              </span>
            ),
          },
          {name: "Given", number: true, cell: ({given}) => percent(given, 1)},
          {name: "Busy", number: true, cell: ({sample}) => rounded(sample?.percent, "%")},
          {
            name: "Memory",
            number: true,
            cell: ({gpu, sample}) =>
              (sample?.memory === undefined ? "" : `${bytes(sample.memory)} of `) +
              bytes(gpu.memory_bytes),
          },
          {name: "°C", number: true, cell: ({sample}) => rounded(sample?.celsius)},
          {name: "Cell, link", cell: ({gpu}) => [gpu.numa, gpu.link].filter(Boolean).join(", ")},
          {name: "UUID", cell: ({gpu}) => <code>{gpu.uuid}</code>},
        ]}
      />
    </section>
  );
}

const rounded = (value: number | undefined, unit = "") =>
  value === undefined ? "" : `${Math.round(value)}${unit}`;

function Tasks(props: {machine: Machine; use: Use}) {
  const {use} = props;
  const rows = (props.machine.tasks ?? []).map((task) => ({task, used: use.of(task)}));
  return (
    <section className="card" aria-label="Tasks">
      <h2>{rows.length > 0 ? plural(rows.length, "task") : "Nothing runs here"}</h2>
      {rows.length > 0 && (
        <PlainTable
          label="Tasks, as a table"
          rows={rows}
          id={({task}) => `${task.task_id} ${task.role} ${task.rank}`}
          columns={[
            {name: "Job", is: "title", cell: ({task}) => <JobOf task={task} />},
            {
              name: "Task",
              is: "title",
              cell: ({task}) => task.job_id && `${task.role} ${task.rank}`,
            },
            {name: "Project", cell: ({task}) => task.project},
            {name: "Owner", cell: ({task}) => use.owner(task.job_id ?? "")},
            {
              name: "GPUs",
              number: true,
              cell: ({task}) => short(toNumber(task.gpu_share) * (task.gpus?.length ?? 0)),
            },
            {name: "CPUs", number: true, cell: ({task}) => short(task.cpus)},
            {name: "CPUs used", number: true, cell: ({used}) => used?.cpus?.toFixed(2)},
            {name: "Memory", number: true, cell: ({task}) => bytes(task.memory_bytes)},
            {
              name: "Memory used",
              number: true,
              cell: ({used}) => (used?.memory === undefined ? "" : bytes(used.memory)),
            },
          ]}
        />
      )}
    </section>
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
