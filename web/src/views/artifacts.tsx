// The files of a run, with a preview. Files of one name are leafed through by step.
import {useQuery} from "@tanstack/react-query";
import {useMemo} from "react";

import {api, ask} from "../api/client";
import {useView} from "../app/search";
import {grouped} from "../lib/file_steps";
import {bytes, plural} from "../lib/format";
import {Time} from "../ui/time";
import {Empty, Loading, Trouble} from "../ui/words";
import {type Artifact, Preview, artifactUrl} from "./artifact";
import css from "./artifacts.module.css";

const kMostShown = 500;

export function Artifacts(props: {run: string; live?: boolean}) {
  const [view, change] = useView();
  const query = useQuery({
    queryKey: ["run", props.run, "artifacts"],
    enabled: props.run !== "",
    refetchInterval: props.live ? 5000 : false,
    queryFn: ({signal}) =>
      ask(api.GET("/api/v1/runs/{run}/artifacts", {params: {path: {run: props.run}}, signal})),
  });
  const groups = useMemo(() => grouped((query.data?.items ?? []) as Artifact[]), [query.data]);
  if (query.error) return <Trouble error={query.error} retry={() => void query.refetch()} />;
  if (!query.data) return <Loading what="files" />;
  if (groups.length === 0)
    return (
      <Empty title="No file yet" command='hearth.log_image("samples", array, step=epoch)'>
        What the script keeps by hearth.log_image, log_table, log_curve or MLflow, and what the job
        file names under outputs, lies here.
      </Empty>
    );
  const wanted = (view.file ?? "").toLowerCase();
  const group = groups.find((one) => one.name === view.open) ?? groups[0];
  const shown = groups.filter((one) => one.name.toLowerCase().includes(wanted));
  const at = group?.files.findIndex((one) => String(one.step) === view.step) ?? -1;
  const file = group?.files[at >= 0 ? at : group.files.length - 1];
  return (
    <div className={css.files}>
      <div className={css.list}>
        {groups.length > 8 && (
          <input
            type="search"
            data-filter
            aria-label="Find a file"
            placeholder={`Find one of ${groups.length}`}
            defaultValue={view.file ?? ""}
            onChange={(event) => change({file: event.target.value || undefined}, "replace")}
          />
        )}
        <ul>
          {shown.slice(0, kMostShown).map((one) => (
            <li key={one.name}>
              <button
                type="button"
                className={css.file}
                aria-pressed={one === group}
                onClick={() => change({open: one.name, step: undefined}, "replace")}
              >
                <span className="cut grow">{one.name}</span>
                <span className="muted">
                  {one.files.length > 1
                    ? plural(one.files.length, "step")
                    : bytes(one.files[0]?.artifact.size_bytes)}
                </span>
              </button>
            </li>
          ))}
        </ul>
        {shown.length > kMostShown && (
          <p className="muted">
            The first {kMostShown} of {shown.length}.
          </p>
        )}
      </div>
      {group && file && (
        <section className={css.preview} aria-label={group.name}>
          <div className="row wrap">
            <h2 className="cut">{file.artifact.path}</h2>
            <span className="muted">
              {bytes(file.artifact.size_bytes)} · <Time at={file.artifact.created_at} />
            </span>
            <span className="grow" />
            <a className="button" href={artifactUrl(props.run, file.artifact.path ?? "")} download>
              Download
            </a>
          </div>
          {group.files.length > 1 && (
            <label className={css.steps}>
              step {file.step}
              <input
                type="range"
                min={0}
                max={group.files.length - 1}
                value={at >= 0 ? at : group.files.length - 1}
                aria-valuetext={`step ${file.step}`}
                onChange={(event) =>
                  change({step: String(group.files[Number(event.target.value)]?.step)}, "replace")
                }
              />
            </label>
          )}
          <Preview key={file.artifact.path} run={props.run} artifact={file.artifact} />
        </section>
      )}
    </div>
  );
}
