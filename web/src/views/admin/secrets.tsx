// Secrets of a project: names alone. A value is kept encrypted, given to jobs, and never shown.
import {useQuery} from "@tanstack/react-query";
import {useState} from "react";

import {type Schemas, api, ask} from "../../api/client";
import {useWrite} from "../../app/write";
import {Ask} from "../../ui/ask";
import {Confirm} from "../../ui/dialog";
import {TextField} from "../../ui/inputs";
import {PlainTable} from "../../ui/plain_table";
import {Time} from "../../ui/time";
import {Command, Trouble} from "../../ui/words";

type Secret = Schemas["Secret"];
const kStale = ["admin"];

export function Secrets(props: {project: string; reads: boolean; writes: boolean}) {
  const {project, reads, writes} = props;
  const query = useQuery({
    queryKey: ["admin", "secrets", project],
    enabled: reads,
    queryFn: ({signal}) =>
      ask(api.GET("/api/v1/projects/{project}/secrets", {params: {path: {project}}, signal})),
  });
  const [setting, setSetting] = useState<string | null>(null);
  const [deleting, setDeleting] = useState("");
  const all = (query.data?.items ?? []) as Secret[];
  return (
    <section className="card" aria-label="Secrets">
      <div className="row">
        <h2 className="grow">Secrets</h2>
        {writes && (
          <button type="button" onClick={() => setSetting("")}>
            Set a secret…
          </button>
        )}
      </div>
      {!reads && <p className="muted">Members of the project see their names.</p>}
      {query.error && <Trouble error={query.error} />}
      {query.data && all.length === 0 && (
        <>
          <p className="muted">
            None. A secret is a value that jobs get as a variable; the job file names it.
          </p>
          <div>
            <Command text="secrets: [NAME]" />
          </div>
        </>
      )}
      {all.length > 0 && (
        <PlainTable
          label="Secrets, as a table"
          rows={all}
          id={(secret) => secret.id ?? ""}
          columns={[
            {name: "Name", is: "title", cell: (secret) => <code>{secret.name}</code>},
            {name: "By", cell: (secret) => secret.created_by},
            {name: "Set", cell: (secret) => <Time at={secret.updated_at} />},
            writes && {
              name: "Actions",
              is: "actions",
              cell: (secret) => (
                <>
                  <button type="button" onClick={() => setSetting(secret.name)}>
                    Set again…
                  </button>{" "}
                  <button type="button" className="danger" onClick={() => setDeleting(secret.name)}>
                    Delete…
                  </button>
                </>
              ),
            },
          ]}
        />
      )}
      {setting !== null && (
        <SetSecret project={project} name={setting} close={() => setSetting(null)} />
      )}
      {deleting && <DeleteSecret project={project} name={deleting} close={() => setDeleting("")} />}
    </section>
  );
}

function SetSecret(props: {project: string; name: string; close: () => void}) {
  const [name, setName] = useState(props.name);
  const [value, setValue] = useState("");
  const send = useWrite(
    () =>
      ask(
        api.PUT("/api/v1/projects/{project}/secrets/{secret}", {
          params: {path: {project: props.project, secret: name.trim()}},
          body: {value},
        }),
      ),
    kStale,
    props.close,
  );
  return (
    <Ask
      title={props.name ? `Set ${props.name} again` : `A secret of ${props.project}`}
      action="Set it"
      send={send}
      close={props.close}
      wrong={name.trim() === "" || value === ""}
    >
      {!props.name && (
        <TextField
          label="Name"
          value={name}
          set={setName}
          autoFocus
          help="of the variable: letters, digits and '_', no digit first"
        />
      )}
      <TextField
        label="Value"
        type="password"
        value={value}
        set={setValue}
        help="kept encrypted; jobs that begin from now on get it; nobody is shown it again"
      />
    </Ask>
  );
}

function DeleteSecret(props: {project: string; name: string; close: () => void}) {
  const {project, name, close} = props;
  const send = useWrite(
    () =>
      ask(
        api.DELETE("/api/v1/projects/{project}/secrets/{secret}", {
          params: {path: {project, secret: name}},
        }),
      ),
    kStale,
    close,
  );
  return (
    <Confirm
      title={`Delete ${name}`}
      action="Delete it"
      busy={send.isPending}
      run={() => send.mutate()}
      close={close}
    >
      Jobs that name it do not begin any more. The value cannot be had back.
      {send.error && <Trouble error={send.error} />}
    </Confirm>
  );
}
