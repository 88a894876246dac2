// Tags of a run: what people write on it to find it again.
import {useMutation, useQueryClient} from "@tanstack/react-query";
import {Link} from "@tanstack/react-router";
import {Pencil, X} from "lucide-react";
import {useState} from "react";

import {type Run, api, ask} from "../../api/client";
import {say} from "../../app/errors";
import {equals} from "../../lib/run_fields";
import {Dialog} from "../../ui/dialog";
import {Field} from "../../ui/field";
import {IconButton} from "../../ui/icon_button";
import css from "./run.module.css";

// What clients write for themselves.
const kTheirs = /^(mlflow|hearth)\./;

export function Tags(props: {run: Run}) {
  const {run} = props;
  const queries = useQueryClient();
  const [edited, setEdited] = useState<{name: string; value: string} | null>(null);
  const all = Object.entries(run.tags ?? {});
  const mine = all.filter(([name]) => !kTheirs.test(name));
  const theirs = all.filter(([name]) => kTheirs.test(name));
  const change = useMutation({
    mutationFn: (tags: Record<string, string>) =>
      ask(api.PATCH("/api/v1/runs/{run}/tags", {params: {path: {run: run.id}}, body: {tags}})),
    onSuccess: (now) => {
      queries.setQueryData(["run", run.id, "itself"], now);
      void queries.invalidateQueries({queryKey: ["runs"]});
      void queries.invalidateQueries({queryKey: ["run-keys"]});
      setEdited(null);
    },
  });
  return (
    <section className="card" aria-label="Tags">
      <div className="row">
        <h2 className="grow">Tags</h2>
        <button type="button" onClick={() => setEdited({name: "", value: ""})}>
          Add a tag
        </button>
      </div>
      {mine.length === 0 && <p className="muted">None yet. Lists filter by them: tags.NAME = …</p>}
      <ul>
        {mine.map(([name, value]) => (
          <li key={name} className={css.tag}>
            <span className={`grow ${css.key}`}>
              {name}{" "}
              <Link to={"/runs" as never} search={{filter: equals(`tags.${name}`, value)} as never}>
                {value}
              </Link>
            </span>
            <IconButton
              icon={Pencil}
              does={`Change the tag ${name}`}
              run={() => setEdited({name, value})}
            />
            <IconButton
              icon={X}
              does={`Take the tag ${name} away`}
              disabled={change.isPending}
              run={() => change.mutate({[name]: ""})}
            />
          </li>
        ))}
      </ul>
      {theirs.length > 0 && (
        <details>
          <summary>{theirs.length} written by programs</summary>
          <ul>
            {theirs.map(([name, value]) => (
              <li key={name} className={css.key}>
                <span className="muted">{name}</span> {value}
              </li>
            ))}
          </ul>
        </details>
      )}
      {change.error && !edited && (
        <p className="bad" role="alert">
          {say(change.error).text}
        </p>
      )}
      {edited && (
        <EditTag
          tag={edited}
          taken={edited.name === "" ? (run.tags ?? {}) : {}}
          error={change.error}
          busy={change.isPending}
          save={(name, value) => change.mutate({[name]: value})}
          close={() => {
            change.reset();
            setEdited(null);
          }}
        />
      )}
    </section>
  );
}

function EditTag(props: {
  tag: {name: string; value: string};
  taken: Record<string, string>;
  error: unknown;
  busy: boolean;
  save: (name: string, value: string) => void;
  close: () => void;
}) {
  const [name, setName] = useState(props.tag.name);
  const [value, setValue] = useState(props.tag.value);
  const known = props.taken[name.trim()];
  const whole = name.trim() !== "" && value !== "";
  return (
    <Dialog
      title={props.tag.name === "" ? "Add a tag" : `Change the tag ${props.tag.name}`}
      close={props.close}
      submit={() => whole && props.save(name.trim(), value)}
      foot={
        <button type="submit" className="primary" disabled={!whole || props.busy}>
          Save
        </button>
      }
    >
      {props.tag.name === "" && (
        <Field
          label="Name"
          help={
            known === undefined ? undefined : `It is there, and says ${known}: this changes it.`
          }
        >
          {(ids) => (
            <input {...ids} autoFocus value={name} onChange={(e) => setName(e.target.value)} />
          )}
        </Field>
      )}
      <Field label="Value" wrong={props.error ? say(props.error).text : undefined}>
        {(ids) => (
          <input
            {...ids}
            autoFocus={props.tag.name !== ""}
            value={value}
            onChange={(e) => setValue(e.target.value)}
          />
        )}
      </Field>
    </Dialog>
  );
}
