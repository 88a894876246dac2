// Who may sign in. Nobody has a password: a link signs in once, and is shown once.
import {useQuery} from "@tanstack/react-query";
import {useState} from "react";

import {type Schemas, api, ask} from "../../api/client";
import {projects, whoami} from "../../app/queries";
import {useWrite} from "../../app/write";
import {Ask} from "../../ui/ask";
import {Confirm} from "../../ui/dialog";
import {ChoiceField, TextField, YesField} from "../../ui/inputs";
import {PlainTable} from "../../ui/plain_table";
import {State} from "../../ui/state";
import {Time} from "../../ui/time";
import {Loading, Notice, Trouble} from "../../ui/words";
import {Once} from "./once";
import {kRoles} from "./roles";

type User = Schemas["User"];
type Grade = Schemas["Grade"];
const kStale = ["admin"];

interface Link {
  user: string;
  link: string;
  life: string;
}

export default function Users() {
  const me = useQuery(whoami());
  const query = useQuery({
    queryKey: ["admin", "users"],
    queryFn: ({signal}) => ask(api.GET("/api/v1/users", {signal})),
  });
  const [adding, setAdding] = useState(false);
  const [link, setLink] = useState<Link | null>(null);
  const admin = me.data?.admin ?? false;
  if (query.error) return <Trouble error={query.error} retry={() => void query.refetch()} />;
  if (!query.data) return <Loading what="users" />;
  return (
    <div className="stack">
      {admin ? (
        <div className="row">
          <span className="grow" />
          <button type="button" className="primary" onClick={() => setAdding(true)}>
            Add a user…
          </button>
        </div>
      ) : (
        <Notice>Only admins of this server see and add other users.</Notice>
      )}
      <PlainTable
        label="Users"
        rows={query.data.items ?? []}
        id={(user) => user.id ?? ""}
        columns={[
          {name: "Name", is: "title", cell: (user) => user.name},
          {
            name: "State",
            is: "title",
            cell: (user) =>
              user.disabled ? (
                <State state="cancelled" word="disabled" />
              ) : (
                <State state="open" word="may sign in" />
              ),
          },
          {name: "Rights", cell: (user) => (user.admin ? "admin of everything" : "by project")},
          {name: "Since", cell: (user) => <Time at={user.created_at} />},
          {
            name: "Actions",
            is: "actions",
            cell: (user) => (
              <Actions
                user={user}
                admin={admin}
                mine={user.name === me.data?.user}
                show={setLink}
              />
            ),
          },
        ]}
      />
      {adding && <Add close={() => setAdding(false)} show={setLink} />}
      {link && (
        <Once title={`A link for ${link.user}`} secret={link.link} close={() => setLink(null)}>
          It signs {link.user} in, once, within {link.life}. Give it to nobody else; it is shown
          this once.
        </Once>
      )}
    </div>
  );
}

function Actions(props: {user: User; admin: boolean; mine: boolean; show: (link: Link) => void}) {
  const {user, admin, mine, show} = props;
  const [asked, setAsked] = useState(false);
  const link = useWrite(
    () => ask(api.POST("/api/v1/sign-in-codes", {body: {user: user.name}})),
    [],
    (made) => show({user: user.name, link: made.link ?? "", life: "15 minutes"}),
  );
  const change = useWrite(
    () =>
      ask(
        api.PATCH("/api/v1/users/{user}", {
          params: {path: {user: user.name}},
          body: {disabled: !user.disabled},
        }),
      ),
    kStale,
    () => setAsked(false),
  );
  return (
    <>
      {(admin || mine) && !user.disabled && (
        <button
          type="button"
          aria-label={`Sign-in link for ${user.name}`}
          disabled={link.isPending}
          onClick={() => link.mutate()}
        >
          Sign-in link
        </button>
      )}{" "}
      {admin && !user.disabled && (
        <button
          type="button"
          className="danger"
          aria-label={`Disable ${user.name}…`}
          onClick={() => setAsked(true)}
        >
          Disable…
        </button>
      )}
      {admin && user.disabled && (
        <button type="button" disabled={change.isPending} onClick={() => change.mutate()}>
          Enable {user.name}
        </button>
      )}
      {link.error && <Trouble error={link.error} />}
      {asked && (
        <Confirm
          title={`Disable ${user.name}`}
          action="Disable"
          busy={change.isPending}
          run={() => change.mutate()}
          close={() => setAsked(false)}
        >
          {user.name} is signed out, and every token of theirs is refused. Jobs go on; this can be
          taken back.
          {change.error && <Trouble error={change.error} />}
        </Confirm>
      )}
    </>
  );
}

function Add(props: {close: () => void; show: (link: Link) => void}) {
  const all = useQuery(projects());
  const [name, setName] = useState("");
  const [admin, setAdmin] = useState(false);
  const [project, setProject] = useState("");
  const [role, setRole] = useState<string>("member");
  const send = useWrite(
    () =>
      ask(
        api.POST("/api/v1/users", {
          body: {
            name: name.trim(),
            admin,
            project: admin ? "" : project,
            role: (project && !admin ? role : "none") as Grade,
          },
        }),
      ),
    kStale,
    (made) => {
      props.close();
      props.show({user: made.user?.name ?? "", link: made.link ?? "", life: "72 hours"});
    },
  );
  const names = (all.data?.items ?? []).map((one) => [one.name, one.name] as const);
  return (
    <Ask
      title="Add a user"
      action="Add, and show the link"
      send={send}
      close={props.close}
      wrong={name.trim() === ""}
    >
      <TextField
        label="Name"
        value={name}
        set={setName}
        autoFocus
        help="a-z, 0-9, '.', '_', '@', '-'"
      />
      <YesField label="Admin: may do everything everywhere" value={admin} set={setAdmin} />
      {!admin && (
        <ChoiceField
          label="Project"
          value={project}
          set={setProject}
          choices={[["", "none yet"], ...names]}
        />
      )}
      {!admin && project !== "" && (
        <ChoiceField label="Role there" value={role} set={setRole} choices={kRoles} />
      )}
    </Ask>
  );
}
