// What a job keeps: its checkpoints, its models, its files.
import {useMutation, useQuery, useQueryClient} from "@tanstack/react-query";
import {Link} from "@tanstack/react-router";

import {type Job, api, ask} from "../../api/client";
import {run as runQuery} from "../../app/queries";
import {bytes, count} from "../../lib/format";
import {PlainTable} from "../../ui/plain_table";
import {kEnded} from "../../ui/state";
import {Time} from "../../ui/time";
import {Trouble} from "../../ui/words";
import {Artifacts} from "../artifacts";

const kDigest = "sha256:".length + 12; // letters that are shown

export default function Files(props: {job: Job}) {
  const {job} = props;
  const run = useQuery(runQuery(job.run_id ?? ""));
  return (
    <div className="stack">
      <Checkpoints job={job} />
      {(run.data?.models?.length ?? 0) > 0 && (
        <section className="card" aria-label="Models">
          <h2>Models</h2>
          <ul>
            {run.data?.models?.map((model) => (
              <li key={model}>
                <Link to={`/models/${model.split("@")[0]}` as never}>{model}</Link>
              </li>
            ))}
          </ul>
        </section>
      )}
      <Artifacts run={job.run_id ?? ""} live={!kEnded.has(job.state)} />
    </div>
  );
}

function Checkpoints(props: {job: Job}) {
  const {job} = props;
  const queries = useQueryClient();
  const over = kEnded.has(job.state);
  const restore = useMutation({
    mutationFn: (checkpoint: string) =>
      ask(
        api.POST("/api/v1/jobs/{job}/retry", {params: {path: {job: job.id}}, body: {checkpoint}}),
      ),
    onSuccess: () => queries.invalidateQueries({queryKey: ["job", job.id]}),
  });
  const query = useQuery({
    queryKey: ["job", job.id, "checkpoints"],
    queryFn: ({signal}) =>
      ask(api.GET("/api/v1/jobs/{job}/checkpoints", {params: {path: {job: job.id}}, signal})),
  });
  if (query.error) return <Trouble error={query.error} />;
  const all = query.data?.items ?? [];
  if (all.length === 0) return null;
  return (
    <section className="card" aria-label="Checkpoints">
      <h2>Checkpoints</h2>
      {restore.error && <Trouble error={restore.error} />}
      <PlainTable
        label="Checkpoints, as a table"
        rows={all}
        id={(one) => one.id ?? ""}
        columns={[
          {name: "Step", number: true, cell: (one) => count(one.step)},
          {name: "Size", number: true, cell: (one) => bytes(one.size_bytes)},
          {name: "Saved", is: "title", cell: (one) => <Time at={one.created_at} />},
          {
            name: "Digest",
            cell: (one) => (
              <code title={one.manifest_digest}>{one.manifest_digest?.slice(0, kDigest)}</code>
            ),
          },
          {
            name: "what can be done with it",
            is: "actions",
            cell: (one) => (
              <button
                type="button"
                disabled={!over || restore.isPending}
                title={over ? undefined : "once the job has ended"}
                onClick={() => restore.mutate(one.id ?? "")}
              >
                Go on from here
              </button>
            ),
          },
        ]}
      />
    </section>
  );
}
