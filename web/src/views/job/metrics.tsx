import {useQuery} from "@tanstack/react-query";

import type {Job} from "../../api/client";
import {run as runQuery} from "../../app/queries";
import {kEnded} from "../../ui/state";
import {RunCharts} from "../run_charts";
import {useMarks} from "./live";

export default function Metrics(props: {job: Job}) {
  const {job} = props;
  const over = kEnded.has(job.state);
  const run = useQuery({...runQuery(job.run_id ?? ""), refetchInterval: over ? false : 3000});
  const marks = useMarks(job);
  return (
    <RunCharts
      runs={[{id: job.run_id ?? "", label: job.name}]}
      keys={Object.keys(run.data?.metrics ?? {})}
      live={!over}
      marks={marks}
    />
  );
}
