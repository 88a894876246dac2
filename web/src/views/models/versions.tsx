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
        <div className={css.scroll} tabIndex={0} role="region" aria-label="Versions">
          <table className={css.versions}>
            <thead>
              <tr>
                <th>
                  <span className="unseen">compared</span>
                </th>
                <th className="number">Version</th>
                <th>Aliases, stage</th>
                <th>File</th>
                <th>Run</th>
                <th>By</th>
                <th>Made</th>
              </tr>
            </thead>
            <tbody>
              {all.map((version) => (
                <Row
                  key={version.number}
                  version={version}
                  model={model}
                  chosen={chosen.includes(version.number)}
                  choose={() => choose(version.number)}
                  ask={writes ? setAsked : undefined}
                />
              ))}
            </tbody>
          </table>
        </div>
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

function Row(props: {
  version: ModelVersion;
  model: Model;
  chosen: boolean;
  choose: () => void;
  ask?: (change: Change) => void;
}) {
  const {version, model, ask} = props;
  const mine = Object.entries(model.aliases ?? {}).filter(([, n]) => Number(n) === version.number);
  return (
    <tr>
      <td>
        <input
          type="checkbox"
          checked={props.chosen}
          aria-label={`Compare version ${version.number}`}
          onChange={props.choose}
        />
      </td>
      <td className="number">
        <Link
          to={"/models/$model/files" as never}
          params={{model: model.name} as never}
          search={((old: object) => ({...old, version: String(version.number)})) as never}
        >
          {version.number}
        </Link>
      </td>
      <td>
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
      </td>
      <td className="nowrap">
        {version.file_name || (version.digest ? "directory" : "elsewhere")}{" "}
        <span className="muted">{version.digest && bytes(version.size_bytes)}</span>
        {version.digest && <Copy text={version.digest} what="digest" />}
      </td>
      <td>
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
      </td>
      <td>{version.created_by}</td>
      <td>
        <Time at={version.created_at} />
      </td>
    </tr>
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
  return (
    <section className="card" aria-label="About it">
      {model.description && <p>{model.description}</p>}
      <Facts>
        <Fact name="Aliases">
          {Object.keys(model.aliases ?? {}).length > 0 && <Aliases of={model.aliases} />}
        </Fact>
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
