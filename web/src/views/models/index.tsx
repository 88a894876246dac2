// All models: what they are called, which version is the newest, which one is in use.
import {Link} from "@tanstack/react-router";

import {type Listed, type Schemas, api, ask} from "../../api/client";
import {count} from "../../lib/format";
import type {Column} from "../../ui/table";
import {Time} from "../../ui/time";
import {Empty} from "../../ui/words";
import {NamedList} from "../named_list";
import {Aliases} from "./aliases";

export type Model = Schemas["Model"] & {id: string; name: string; project: string};

const kExamples = ["name ~ cnn", "project = default", "updated_at > 2026-01-01"];

function Name(props: {model: Model}) {
  const {model} = props;
  return (
    <Link
      to={`/models/${model.name}` as never}
      search={{project: model.project} as never}
      className="cut"
      title={model.name}
    >
      {model.name}
    </Link>
  );
}

const kColumns: Column<Model>[] = [
  {
    key: "name",
    head: "Name",
    width: "minmax(160px, 1.2fr)",
    sort: "name",
    cell: (model) => <Name model={model} />,
  },
  {
    key: "project",
    head: "Project",
    width: "minmax(90px, 0.6fr)",
    sort: "project",
    cell: (model) => model.project,
  },
  {
    key: "versions",
    head: "Newest version",
    width: "116px",
    number: true,
    cell: (model) => count(model.versions),
  },
  {
    key: "aliases",
    head: "Aliases",
    width: "minmax(140px, 1fr)",
    cell: (model) => <Aliases of={model.aliases} />,
  },
  {
    key: "description",
    head: "What it is",
    width: "minmax(140px, 2fr)",
    cell: (model) => <span title={model.description}>{model.description}</span>,
  },
  {
    key: "updated",
    head: "Changed",
    width: "112px",
    cell: (model) => <Time at={model.updated_at} />,
  },
  {
    key: "created",
    head: "Made",
    width: "112px",
    sort: "created_at",
    cell: (model) => <Time at={model.created_at} />,
  },
];

export function Models() {
  return (
    <NamedList<Model>
      title="Models"
      noun="models"
      one="model"
      order="created_at desc"
      examples={kExamples}
      columns={kColumns}
      ask={async (query, signal) =>
        (await ask(api.GET("/api/v1/models", {params: {query}, signal}))) as Listed<Model>
      }
      card={(model) => (
        <>
          <div className="row">
            <Name model={model} /> <span className="grow" /> <Aliases of={model.aliases} />
          </div>
          <div className="row muted">
            <span className="cut grow">
              {model.project}, version {model.versions}
            </span>
            <Time at={model.updated_at} />
          </div>
        </>
      )}
      empty={
        <Empty
          title="There is no model yet"
          command="outputs: {models: [{path: out/model.pt, name: my-model}]}"
        >
          A job whose file names a model under outputs makes a version of it when it has succeeded;
          so does hearth.register_model in a script, and MLflow&apos;s register_model.
        </Empty>
      }
    />
  );
}
