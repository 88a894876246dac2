// All datasets: named data, each version of which stays as it was.
import {Link} from "@tanstack/react-router";

import {type Listed, type Schemas, api, ask} from "../../api/client";
import {count} from "../../lib/format";
import type {Column} from "../../ui/table";
import {Time} from "../../ui/time";
import {Empty} from "../../ui/words";
import {Aliases} from "../models/aliases";
import {NamedList} from "../named_list";

type Dataset = Schemas["Dataset"] & {id: string; name: string; project: string};

const kExamples = ["name ~ mnist", "project = default", "created_at > 2026-01-01"];

function Name(props: {dataset: Dataset}) {
  const {dataset} = props;
  return (
    <Link
      to={`/datasets/${dataset.name}` as never}
      search={{project: dataset.project} as never}
      className="cut"
      title={dataset.name}
    >
      {dataset.name}
    </Link>
  );
}

const kColumns: Column<Dataset>[] = [
  {
    key: "name",
    head: "Name",
    width: "minmax(160px, 1.2fr)",
    sort: "name",
    cell: (dataset) => <Name dataset={dataset} />,
  },
  {
    key: "project",
    head: "Project",
    width: "minmax(90px, 0.6fr)",
    sort: "project",
    cell: (dataset) => dataset.project,
  },
  {
    key: "versions",
    head: "Versions",
    width: "84px",
    number: true,
    cell: (dataset) => count(dataset.versions),
  },
  {
    key: "tags",
    head: "Tags",
    width: "minmax(140px, 1fr)",
    cell: (dataset) => <Aliases of={dataset.tags} />,
  },
  {
    key: "description",
    head: "What it is",
    width: "minmax(140px, 2fr)",
    cell: (dataset) => <span title={dataset.description}>{dataset.description}</span>,
  },
  {key: "owner", head: "By", width: "minmax(70px, 0.5fr)", cell: (dataset) => dataset.created_by},
  {
    key: "created",
    head: "Made",
    width: "112px",
    sort: "created_at",
    cell: (dataset) => <Time at={dataset.created_at} />,
  },
];

export function Datasets() {
  return (
    <NamedList<Dataset>
      title="Datasets"
      noun="datasets"
      one="dataset"
      order="created_at desc"
      examples={kExamples}
      columns={kColumns}
      ask={async (query, signal) =>
        (await ask(api.GET("/api/v1/datasets", {params: {query}, signal}))) as Listed<Dataset>
      }
      card={(dataset) => (
        <>
          <div className="row">
            <Name dataset={dataset} /> <span className="grow" /> <Aliases of={dataset.tags} />
          </div>
          <div className="row muted">
            <span className="cut grow">
              {dataset.project}, {count(dataset.versions)} versions
            </span>
            <Time at={dataset.created_at} />
          </div>
        </>
      )}
      empty={
        <Empty title="There is no dataset yet" command="hearth dataset add DIR --name NAME">
          The files of a directory become a version that never changes; jobs name it, and what they
          made says which version they read.
        </Empty>
      }
    />
  );
}
