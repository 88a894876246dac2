// What its tasks use of the machine, against what was asked for.
import {useQuery} from "@tanstack/react-query";

import {type Job, type Listed, type Schemas, api, ask} from "../../api/client";
import {useProject} from "../../app/search";
import {kEnded} from "../../ui/state";
import {RunCharts} from "../run_charts";

export default function Resources(props: {job: Job}) {
  const {job} = props;
  const project = useProject();
  const keys = useQuery({
    queryKey: ["run", job.run_id, "system keys", project],
    enabled: Boolean(job.run_id),
    refetchInterval: kEnded.has(job.state) ? false : 10_000,
    queryFn: async ({signal}) => {
      const query = {filter: `id = "${job.run_id}"`, q: "system/", limit: 500};
      return (await ask(
        api.GET("/api/v1/runs/columns", {params: {query: query as never}, signal}),
      )) as unknown as Listed<Schemas["RunColumn"]>;
    },
  });
  const names = (keys.data?.items ?? [])
    .filter((one) => one.kind === "metric" && one.key?.startsWith("system/"))
    .map((one) => one.key ?? "");
  return (
    <RunCharts
      runs={[{id: job.run_id ?? "", label: job.name}]}
      keys={names}
      live={!kEnded.has(job.state)}
      none="No sample yet"
    />
  );
}
