// Who holds the machines: each job with what it was given and what it uses.
import {Link} from "@tanstack/react-router";

import {useView} from "../../app/search";
import {bytes, short} from "../../lib/format";
import {type JobUse, type Machine, jobsOf} from "../../lib/machines";
import {gpuPercent, sumOf} from "../../lib/used";
import {PlainTable} from "../../ui/plain_table";
import {Empty} from "../../ui/words";
import type {Use} from "./data";
import {MachineLink} from "./machine_link";

const kMostNamed = 3; // machines of a job

export function ByJob(props: {machines: Machine[]; use: Use}) {
  const jobs = jobsOf(props.machines);
  if (jobs.length === 0) return <Empty title="Nothing runs">Every machine is idle.</Empty>;
  const rows = jobs.map((job) => {
    const used = props.machines
      .flatMap((one) => one.tasks ?? [])
      .filter((task) => task.job_id === job.id)
      .map(props.use.of);
    return {job, busy: gpuPercent(used), cpus: sumOf(used, "cpus"), memory: sumOf(used, "memory")};
  });
  return (
    <PlainTable
      label="Jobs that hold machines"
      rows={rows}
      id={({job}) => job.id}
      columns={[
        {
          name: "Job",
          is: "title",
          cell: ({job}) =>
            job.id ? (
              <Link to="/jobs/$job" params={{job: job.id}}>
                {job.name}
              </Link>
            ) : (
              <span className="muted">{job.name}</span>
            ),
        },
        {name: "Project", cell: ({job}) => job.project},
        {name: "Owner", cell: ({job}) => props.use.owner(job.id)},
        {name: "GPUs", number: true, cell: ({job}) => short(job.gpus)},
        {
          name: "GPUs busy",
          number: true,
          cell: ({busy}) => (busy === undefined ? "" : `${Math.round(busy)}%`),
        },
        {name: "CPUs", number: true, cell: ({job}) => short(job.cpus)},
        {
          name: "CPUs used",
          number: true,
          cell: ({cpus}) => (cpus === undefined ? "" : cpus.toFixed(1)),
        },
        {name: "Memory", number: true, cell: ({job}) => bytes(job.memory)},
        {
          name: "Memory used",
          number: true,
          cell: ({memory}) => (memory === undefined ? "" : bytes(memory)),
        },
        {name: "Machines", cell: ({job}) => <MachinesOf job={job} />},
      ]}
    />
  );
}

function MachinesOf(props: {job: JobUse}) {
  const {job} = props;
  const [, change] = useView();
  const more = job.machines.length - kMostNamed;
  return (
    <span>
      {job.machines.slice(0, kMostNamed).map((name) => (
        <span key={name}>
          <MachineLink name={name} />{" "}
        </span>
      ))}
      {more > 0 && `and ${more} more `}
      {job.id && (
        <button
          type="button"
          className="plain"
          onClick={() => change({by: undefined, find: job.name})}
        >
          Show {job.machines.length === 1 ? "it" : `all ${job.machines.length}`} in the racks
        </button>
      )}
    </span>
  );
}
