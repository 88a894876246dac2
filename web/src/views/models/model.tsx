// One model: its versions, which of them is in use, how they compare, and how to get one.
import {useQuery} from "@tanstack/react-query";
import {Link, useParams} from "@tanstack/react-router";
import {Suspense, lazy} from "react";

import {type Schemas, api, ask} from "../../api/client";
import {useView} from "../../app/search";
import {Page, Tabs} from "../../ui/page";
import {Empty, Loading, NoPart, Trouble} from "../../ui/words";
import {PickVersion} from "../pick_version";
import {versionOf} from "./choice";
import {ModelFiles} from "./files";
import {Versions} from "./versions";

const kAll = {to: "/models", name: "All models"};
const Compare = lazy(() => import("./compare"));
const LineageView = lazy(async () => ({default: (await import("../lineage")).LineageView}));

export type ModelVersion = Schemas["ModelVersion"];
export type Model = Schemas["Model"];

const kDefault = "default"; // project of an address that names none
const kTabs = {versions: "Versions", compare: "Compare", files: "Files", lineage: "Lineage"};

function useModel(name: string, project: string) {
  const params = {path: {model: name}, query: {project}};
  const model = useQuery({
    queryKey: ["models", "one", project, name],
    queryFn: ({signal}) => ask(api.GET("/api/v1/models/{model}", {params, signal})),
  });
  const versions = useQuery({
    queryKey: ["models", "versions", project, name],
    queryFn: ({signal}) => ask(api.GET("/api/v1/models/{model}/versions", {params, signal})),
  });
  return {model, versions, all: (versions.data?.items ?? []) as ModelVersion[]};
}

function Unknown(props: {name: string}) {
  const params = {model: props.name};
  return <NoPart of="a model" way={{to: "/models/$model", params, name: "Its versions"}} />;
}

export function ModelPage() {
  const {model: name = "", tab = "versions"} = useParams({strict: false}) as {
    model?: string;
    tab?: string;
  };
  const [view, change] = useView();
  const project = view.project ?? kDefault;
  const {model, versions, all} = useModel(name, project);
  const error = model.error ?? versions.error;
  const version = model.data && versionOf(view, model.data, all);
  const one = tab === "files" || tab === "lineage";
  const heading = (
    <>
      <Link to={"/models" as never} className="muted">
        Models
      </Link>{" "}
      <span className="muted">/</span> <span className="cut">{name}</span>{" "}
      <small className="muted">{project}</small>
    </>
  );
  return (
    <Page
      title={name}
      heading={heading}
      actions={
        one &&
        version && (
          <PickVersion
            all={all}
            at={version}
            set={(next) => change({version: next, open: undefined})}
          />
        )
      }
      tabs={
        <Tabs
          label="Parts of the model"
          tabs={Object.entries(kTabs).map(([key, title]) => ({
            to: key === "versions" ? "/models/$model" : `/models/$model/${key}`,
            params: {model: name},
            name: title,
          }))}
        />
      }
    >
      {error && !model.data && (
        <Trouble error={error} retry={() => void model.refetch()} instead={kAll} />
      )}
      {(model.isPending || versions.isPending) && !error && <Loading what="the model" />}
      {model.data && versions.data && all.length === 0 && (
        <Empty title="It has no version">All that it had were deleted.</Empty>
      )}
      {model.data && version && (
        <Suspense fallback={<Loading what={tab} />}>
          {!(tab in kTabs) && <Unknown name={name} />}
          {tab === "versions" && <Versions model={model.data} all={all} project={project} />}
          {tab === "compare" && <Compare all={all} model={model.data} />}
          {tab === "files" && <ModelFiles version={version} />}
          {tab === "lineage" && (
            <LineageView thing={`model:${name}@${version.number}`} project={project} />
          )}
        </Suspense>
      )}
    </Page>
  );
}
