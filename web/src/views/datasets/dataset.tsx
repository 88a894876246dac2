// One dataset: its versions, the files of each, what came of it, and how to use it.
import {useQuery} from "@tanstack/react-query";
import {Link, useParams} from "@tanstack/react-router";
import {Suspense, lazy} from "react";

import {type Schemas, api, ask} from "../../api/client";
import {useGrades} from "../../app/grades";
import {type Search, useView} from "../../app/search";
import {useDelete} from "../../app/write";
import {DeleteButton} from "../../ui/delete_button";
import {Page, Tabs} from "../../ui/page";
import {Empty, Loading, NoPart, Notice, Trouble} from "../../ui/words";
import {PickVersion} from "../pick_version";
import {StoredFiles} from "../stored_files";
import {Versions} from "./versions";

const kAll = {to: "/datasets", name: "All datasets"};

const LineageView = lazy(async () => ({default: (await import("../lineage")).LineageView}));

export type Dataset = Schemas["Dataset"];
export type DatasetVersion = Schemas["DatasetVersion"];

const kDefault = "default"; // project of an address that names none
const kTabs = {versions: "Versions", files: "Files", lineage: "Lineage"};

function useDataset(name: string, project: string) {
  const params = {path: {dataset: name}, query: {project}};
  const dataset = useQuery({
    queryKey: ["datasets", "one", project, name],
    queryFn: ({signal}) => ask(api.GET("/api/v1/datasets/{dataset}", {params, signal})),
  });
  const versions = useQuery({
    queryKey: ["datasets", "versions", project, name],
    queryFn: ({signal}) => ask(api.GET("/api/v1/datasets/{dataset}/versions", {params, signal})),
  });
  const all = [...((versions.data?.items ?? []) as DatasetVersion[])];
  return {dataset, versions, all: all.sort((a, b) => b.number - a.number)};
}

// The one that the address names by number or tag; else the newest.
function versionOf(view: Search, dataset: Dataset, all: DatasetVersion[]) {
  const wanted = view.version ?? "";
  const number = Number(dataset.tags?.[wanted] ?? wanted);
  return all.find((one) => one.number === number) ?? all[0];
}

function Unknown(props: {name: string}) {
  const params = {dataset: props.name};
  return <NoPart of="a dataset" way={{to: "/datasets/$dataset", params, name: "Its versions"}} />;
}

export function DatasetPage() {
  const {dataset: name = "", tab = "versions"} = useParams({strict: false}) as {
    dataset?: string;
    tab?: string;
  };
  const [view, change] = useView();
  const project = view.project ?? kDefault;
  const {dataset, versions, all} = useDataset(name, project);
  const error = dataset.error ?? versions.error;
  const version = dataset.data && versionOf(view, dataset.data, all);
  const heading = (
    <>
      <Link to={"/datasets" as never} className="muted">
        Datasets
      </Link>{" "}
      <span className="muted">/</span> <span className="cut">{name}</span>{" "}
      <small className="muted">{project}</small>
    </>
  );
  const pick = tab !== "versions" && version && (
    <PickVersion
      all={all}
      at={version}
      set={(next) => change({version: next, open: undefined, file: undefined})}
    />
  );
  return (
    <Page
      title={name}
      heading={heading}
      actions={
        <>
          {pick}
          {dataset.data && tab === "versions" && <Delete dataset={dataset.data} />}
        </>
      }
      tabs={
        <Tabs
          label="Parts of the dataset"
          tabs={Object.entries(kTabs).map(([key, title]) => ({
            to: key === "versions" ? "/datasets/$dataset" : `/datasets/$dataset/${key}`,
            params: {dataset: name},
            name: title,
          }))}
        />
      }
    >
      {error && !dataset.data && (
        <Trouble error={error} retry={() => void dataset.refetch()} instead={kAll} />
      )}
      {(dataset.isPending || versions.isPending) && !error && <Loading what="the dataset" />}
      {dataset.data && versions.data && all.length === 0 && <Empty title="It has no version" />}
      {dataset.data && version && (
        <Suspense fallback={<Loading what={tab} />}>
          {!(tab in kTabs) && <Unknown name={name} />}
          {tab === "versions" && <Versions dataset={dataset.data} all={all} project={project} />}
          {tab === "files" && <Files version={version} />}
          {tab === "lineage" && (
            <LineageView thing={`dataset:${name}@${version.number}`} project={project} />
          )}
        </Suspense>
      )}
    </Page>
  );
}

function Files(props: {version: DatasetVersion}) {
  const {version} = props;
  return (
    <div className="stack">
      {version.in_place && (
        <Notice>
          Its files stay on the machine, in <code>{version.in_place}</code>; their digests are here.
        </Notice>
      )}
      <StoredFiles
        key={version.number}
        manifest={version.manifest_digest ?? ""}
        count={version.file_count}
        inPlace={version.in_place}
      />
    </div>
  );
}

function Delete(props: {dataset: Dataset}) {
  const {dataset} = props;
  const {may} = useGrades();
  const send = useDelete(
    () =>
      ask(
        api.DELETE("/api/v1/datasets/{dataset}", {
          params: {path: {dataset: dataset.name ?? ""}, query: {project: dataset.project}},
        }),
      ),
    ["datasets"],
    "/datasets",
  );
  if (!may(dataset.project ?? "", "maintainer")) return null;
  return (
    <DeleteButton of={dataset.name ?? ""} action="Delete it with its versions" send={send}>
      All its versions go, with the files that nothing else keeps. What was made with it stays and
      says what it read. This cannot be taken back.
    </DeleteButton>
  );
}
