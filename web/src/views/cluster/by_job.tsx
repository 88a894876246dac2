// Who holds the machines: each job with what it was given and what it uses.
import {Link} from "@tanstack/react-router";

import {useView} from "../../app/search";
import {bytes, short} from "../../lib/format";
import {type JobUse, type Machine, jobsOf} from "../../lib/machines";
import {gpuPercent, sumOf} from "../../lib/used";
import {Empty} from "../../ui/words";
import css from "./cluster.module.css";
import type {Use} from "./data";
import {MachineLink} from "./machine_link";

const kMostNamed = 3; // machines of a job

export function ByJob(props: {machines: Machine[]; use: Use}) {
  const jobs = jobsOf(props.machines);
  if (jobs.length === 0) return <Empty title="Nothing runs">Every machine is idle.</Empty>;
  return (
    <div className={css.scroll} tabIndex={0} role="region" aria-label="Jobs that hold machines">
      <table>
        <thead>
          <tr>
            <th>Job</th>
            <th>Project</th>
            <th>Owner</th>
            <th className="number">GPUs</th>
            <th className="number">busy</th>
            <th className="number">CPUs</th>
            <th className="number">used</th>
            <th className="number">Memory</th>
            <th className="number">used</th>
            <th>Machines</th>
          </tr>
        </thead>
        <tbody>
          {jobs.map((job) => (
            <Row key={job.id} job={job} {...props} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row(props: {job: JobUse; machines: Machine[]; use: Use}) {
  const {job, use} = props;
  const [, change] = useView();
  const used = props.machines
    .flatMap((one) => one.tasks ?? [])
    .filter((task) => task.job_id === job.id)
    .map(use.of);
  const busy = gpuPercent(used);
  const cpus = sumOf(used, "cpus");
  const memory = sumOf(used, "memory");
  const more = job.machines.length - kMostNamed;
  return (
    <tr>
      <td>
        {job.id ? (
          <Link to="/jobs/$job" params={{job: job.id}}>
            {job.name}
          </Link>
        ) : (
          <span className="muted">{job.name}</span>
        )}
      </td>
      <td>{job.project}</td>
      <td>{use.owner(job.id)}</td>
      <td className="number">{short(job.gpus)}</td>
      <td className="number">{busy === undefined ? "" : `${Math.round(busy)}%`}</td>
      <td className="number">{short(job.cpus)}</td>
      <td className="number">{cpus === undefined ? "" : cpus.toFixed(1)}</td>
      <td className="number nowrap">{bytes(job.memory)}</td>
      <td className="number nowrap">{memory === undefined ? "" : bytes(memory)}</td>
      <td>
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
      </td>
    </tr>
  );
}
