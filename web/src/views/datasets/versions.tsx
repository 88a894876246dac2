// The versions of a dataset, the newest first, and how to use one.
import {Link} from "@tanstack/react-router";

import {useView} from "../../app/search";
import {bytes, count} from "../../lib/format";
import {Copy} from "../../ui/copy";
import {Fact, Facts} from "../../ui/page";
import {PlainTable} from "../../ui/plain_table";
import {Time} from "../../ui/time";
import {Command} from "../../ui/words";
import {Aliases} from "../models/aliases";
import css from "../models/models.module.css";
import type {Dataset, DatasetVersion} from "./dataset";

export function Versions(props: {dataset: Dataset; all: DatasetVersion[]; project: string}) {
  const {dataset, all} = props;
  return (
    <div className={css.columns}>
      <PlainTable
        label="Versions"
        rows={all}
        id={(version) => String(version.number)}
        columns={[
          {
            name: "Version",
            is: "title",
            cell: (version) => <FilesLink dataset={dataset} version={version} />,
          },
          {
            name: "Tags",
            is: "title",
            cell: (version) => <Aliases of={dataset.tags} version={version.number} />,
          },
          {name: "Files", number: true, cell: (version) => count(version.file_count)},
          {name: "Size", number: true, cell: (version) => bytes(version.size_bytes)},
          {
            name: "Where",
            cell: (version) => (version.in_place ? <code>{version.in_place}</code> : "stored here"),
          },
          {name: "By", cell: (version) => version.created_by},
          {name: "Made", cell: (version) => <Time at={version.created_at} />},
          {name: "Digest", cell: (version) => <Digest of={version.manifest_digest ?? ""} />},
        ]}
      />
      <aside className="stack">
        <Use {...props} />
        <section className="card" aria-label="About it">
          {dataset.description && <p>{dataset.description}</p>}
          <Facts>
            <Fact name="Made by">{dataset.created_by}</Fact>
            <Fact name="Made">
              <Time at={dataset.created_at} />
            </Fact>
            <Fact name="Versions">{count(dataset.versions)}</Fact>
          </Facts>
        </section>
      </aside>
    </div>
  );
}

function FilesLink(props: {dataset: Dataset; version: DatasetVersion}) {
  const {number} = props.version;
  return (
    <Link
      to={"/datasets/$dataset/files" as never}
      params={{dataset: props.dataset.name} as never}
      search={((old: object) => ({...old, version: String(number)})) as never}
      aria-label={`Files of version ${number}`}
    >
      {number}
    </Link>
  );
}

function Digest(props: {of: string}) {
  return (
    <span className={css.digest}>
      <code title={props.of}>{props.of.slice(0, 15)}</code>
      <Copy text={props.of} what="digest" />
    </span>
  );
}

function Use(props: {dataset: Dataset; all: DatasetVersion[]; project: string}) {
  const [view] = useView();
  const {dataset, project} = props;
  const newest = props.all[0]?.number ?? 1;
  const tag = Object.entries(dataset.tags ?? {}).find(([, n]) => Number(n) === newest)?.[0];
  const name = `${dataset.name}@${view.version ?? tag ?? newest}`;
  const option = project === "default" ? "" : ` --project ${project}`;
  return (
    <section className={`card ${css.use}`} aria-label="How to use it">
      <h2>How to use it</h2>
      <p>In a job file{project === "default" ? "" : ` of the project ${project}`}:</p>
      <Command text={`datasets: [{name: ${name}, at: data}]`} />
      <p>The command finds its files in the directory data. What is in it:</p>
      <Command text={`hearth dataset show ${name}${option}`} />
      <p>A further version, of a directory:</p>
      <Command text={`hearth dataset add DIR --name ${dataset.name}${option}`} />
    </section>
  );
}
