// What a job keeps: its checkpoints, its models, its files.
import {useMutation, useQuery, useQueryClient} from "@tanstack/react-query";
import {Link} from "@tanstack/react-router";

import {type Job, api, ask} from "../../api/client";
import {run as runQuery} from "../../app/queries";
import {bytes} from "../../lib/format";
import {kEnded} from "../../ui/state";
import {Time} from "../../ui/time";
import {Trouble} from "../../ui/words";
import {Artifacts} from "../artifacts";

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
      <table>
        <thead>
          <tr>
            <th className="number">Step</th>
            <th className="number">Size</th>
            <th>Saved</th>
            <th>Digest</th>
            <th>
              <span className="unseen">what can be done with it</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {all.map((one) => (
            <tr key={one.id}>
              <td className="number">{one.step}</td>
              <td className="number nowrap">{bytes(one.size_bytes)}</td>
              <td>
                <Time at={one.created_at} />
              </td>
              <td>
                <code>{one.manifest_digest?.slice(0, 19)}</code>
              </td>
              <td className="actions">
                <button
                  type="button"
                  disabled={!over || restore.isPending}
                  title={over ? undefined : "once the job has ended"}
                  onClick={() => restore.mutate(one.id ?? "")}
                >
                  Go on from here
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
