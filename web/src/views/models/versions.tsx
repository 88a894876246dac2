// The versions of a model, the newest first, with who points at which.
import {Link} from "@tanstack/react-router";
import {useState} from "react";

import {api, ask} from "../../api/client";
import {useGrades} from "../../app/grades";
import {useView} from "../../app/search";
import {useWrite} from "../../app/write";
import {bytes} from "../../lib/format";
import {Ask} from "../../ui/ask";
import {Copy} from "../../ui/copy";
import {Confirm} from "../../ui/dialog";
import {ChoiceField, TextField} from "../../ui/inputs";
import {Menu} from "../../ui/menu";
import {Fact, Facts} from "../../ui/page";
import {PlainTable} from "../../ui/plain_table";
import {Time} from "../../ui/time";
import {Command, Trouble} from "../../ui/words";
import {Aliases} from "./aliases";
import {chosenOf} from "./choice";
import type {Model, ModelVersion} from "./model";
import css from "./models.module.css";

interface Change {
  alias: string;
  number: number; // 0 takes it away
}

export function Versions(props: {model: Model; all: ModelVersion[]; project: string}) {
  const {model, all, project} = props;
  const [view, change] = useView();
  const {may} = useGrades();
  const [asked, setAsked] = useState<Change | null>(null);
  const chosen = chosenOf(view, all);
  const writes = may(project, "member");
  const choose = (number: number) => {
    const next = chosen.includes(number)
      ? chosen.filter((one) => one !== number)
      : [...chosen, number].sort((a, b) => b - a);
    change({with: next.join(",") || "none"}, "replace");
  };
  return (
    <div className={css.columns}>
      <div className="stack">
        <PlainTable
          label="Versions"
          rows={all}
          id={(version) => String(version.number)}
          columns={[
            {
              name: "compared",
              is: "title",
              hidden: true,
              cell: ({number}) => (
                <input
                  type="checkbox"
                  checked={chosen.includes(number)}
                  aria-label={`Compare version ${number}`}
                  onChange={() => choose(number)}
                />
              ),
            },
            {
              name: "Version",
              is: "title",
              cell: ({number}) => (
                <Link
                  to={"/models/$model/files" as never}
                  params={{model: model.name} as never}
                  search={((old: object) => ({...old, version: String(number)})) as never}
                >
                  {number}
                </Link>
              ),
            },
            {
              name: "Aliases, stage",
              is: "title",
              cell: (version) => (
                <PointedAt model={model} version={version} ask={writes ? setAsked : undefined} />
              ),
            },
            {name: "File", cell: (version) => <File version={version} />},
            {name: "Run", cell: (version) => <Origin version={version} />},
            {name: "By", cell: (version) => version.created_by},
            {name: "Made", cell: (version) => <Time at={version.created_at} />},
          ]}
        />
        <div>
          <Link
            to={"/models/$model/compare" as never}
            params={{model: model.name} as never}
            search={((old: object) => old) as never}
            className="button"
          >
            Compare {chosen.length}
          </Link>
        </div>
      </div>
      <aside className="stack">
        <Use model={model} project={project} />
        <About model={model} />
      </aside>
      {asked && asked.number > 0 && (
        <SetAlias model={model} all={all} first={asked} close={() => setAsked(null)} />
      )}
      {asked && asked.number === 0 && (
        <TakeAlias model={model} alias={asked.alias} close={() => setAsked(null)} />
      )}
    </div>
  );
}

function PointedAt(props: {model: Model; version: ModelVersion; ask?: (change: Change) => void}) {
  const {version, model, ask} = props;
  const mine = Object.entries(model.aliases ?? {}).filter(([, n]) => Number(n) === version.number);
  return (
    <span className="row">
      <Aliases of={model.aliases} version={version.number} /> {version.stage}
      {ask && (
        <Menu
          title={`Aliases of version ${version.number}`}
          label="Aliases"
          items={[
            {name: "Point an alias here…", run: () => ask({alias: "", number: version.number})},
            ...mine.map(([alias]) => ({
              name: `Take ${alias} away…`,
              run: () => ask({alias, number: 0}),
            })),
          ]}
        />
      )}
    </span>
  );
}

function File(props: {version: ModelVersion}) {
  const {version} = props;
  return (
    <span className={css.digest}>
      {version.file_name || (version.digest ? "directory" : "elsewhere")}
      <span className="muted">{version.digest && bytes(version.size_bytes)}</span>
      {version.digest && <Copy text={version.digest} what="digest" />}
    </span>
  );
}

function Origin(props: {version: ModelVersion}) {
  const {version} = props;
  if (!version.run_id && !version.job_id) return null;
  return (
    <span className="row">
      {version.run_id && (
        <Link to={"/runs/$run" as never} params={{run: version.run_id} as never}>
          run
        </Link>
      )}
      {version.job_id && (
        <Link to="/jobs/$job" params={{job: version.job_id}}>
          job
        </Link>
      )}
    </span>
  );
}

// A way to get it for each who reads it: a person, a script, another job.
function Use(props: {model: Model; project: string}) {
  const {model, project} = props;
  const alias = Object.keys(model.aliases ?? {}).sort()[0];
  const name = alias ? `${model.name}@${alias}` : (model.name ?? "");
  const option = project === "default" ? "" : ` --project ${project}`;
  const uri = `models:/${model.name}${alias ? `@${alias}` : `/${model.versions}`}`;
  return (
    <section className={`card ${css.use}`} aria-label="How to get it">
      <h2>How to get it</h2>
      <p>Its files, with their digests checked:</p>
      <Command text={`hearth model get ${name}${option}`} />
      <p>
        With MLflow{alias ? "" : ", by number"}
        {project === "default" ? "" : ", signed in by a token of the project"}:
      </p>
      <Command text={`mlflow.pyfunc.load_model("${uri}")`} />
    </section>
  );
}

function About(props: {model: Model}) {
  const {model} = props;
  const tags = Object.entries(model.tags ?? {});
  const aliases = Object.keys(model.aliases ?? {}).length > 0;
  if (!model.description && !aliases && tags.length === 0) return null;
  return (
    <section className="card" aria-label="About it">
      {model.description && <p>{model.description}</p>}
      <Facts>
        <Fact name="Aliases">{aliases && <Aliases of={model.aliases} />}</Fact>
        <Fact name="Tags">{tags.map(([key, value]) => `${key}=${value}`).join(", ")}</Fact>
        <Fact name="Made">
          <Time at={model.created_at} />
        </Fact>
        <Fact name="Changed">{model.updated_at && <Time at={model.updated_at} />}</Fact>
      </Facts>
    </section>
  );
}

function useAlias(model: Model, close: () => void) {
  return useWrite(
    ({alias, number}: Change) =>
      ask(
        api.PUT("/api/v1/models/{model}/aliases/{alias}", {
          params: {path: {model: model.name ?? "", alias}, query: {project: model.project}},
          body: {number},
        }),
      ),
    ["models"],
    close,
  );
}

function SetAlias(props: {model: Model; all: ModelVersion[]; first: Change; close: () => void}) {
  const {model, close} = props;
  const [alias, setAlias] = useState("");
  const [number, setNumber] = useState(String(props.first.number));
  const write = useAlias(model, close);
  const before = model.aliases?.[alias.trim()];
  const send = {
    ...write,
    mutate: () => write.mutate({alias: alias.trim(), number: Number(number)}),
  };
  return (
    <Ask
      title="Point an alias at a version"
      action="Point it there"
      send={send}
      close={close}
      wrong={alias.trim() === ""}
    >
      <TextField
        label="Alias"
        value={alias}
        set={setAlias}
        placeholder="prod"
        autoFocus
        list={Object.keys(model.aliases ?? {})}
        help={
          before
            ? `It points at version ${before} now; whoever asks for it gets the other from then on.`
            : "A name that people and programs ask for: prod, best"
        }
      />
      <ChoiceField
        label="Version"
        value={number}
        set={setNumber}
        choices={props.all.map((one) => [String(one.number), String(one.number)] as const)}
      />
    </Ask>
  );
}

function TakeAlias(props: {model: Model; alias: string; close: () => void}) {
  const {model, alias, close} = props;
  const write = useAlias(model, close);
  return (
    <Confirm
      title={`Take ${alias} away`}
      action="Take it away"
      busy={write.isPending}
      run={() => write.mutate({alias, number: 0})}
      close={close}
    >
      Whoever asks for {model.name}@{alias} is refused then. The version stays.
      {write.error && <Trouble error={write.error} />}
    </Confirm>
  );
}
