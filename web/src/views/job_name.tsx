import {Link} from "@tanstack/react-router";

import type {Job} from "../api/client";

// A job by its name, as a link to its page.
export function JobName(props: {job: Pick<Job, "id" | "name" | "state">}) {
  return (
    <Link to="/jobs/$job" params={{job: props.job.id}} className="cut" title={props.job.name}>
      {props.job.name}
    </Link>
  );
}
