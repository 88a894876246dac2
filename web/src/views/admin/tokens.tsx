// Keys to the API. A token's text is shown once, when it is made; the server keeps its hash alone.
import {useQuery} from "@tanstack/react-query";
import {useState} from "react";

import {type Schemas, api, ask} from "../../api/client";
import {projects, whoami} from "../../app/queries";
import {useView} from "../../app/search";
import {useWrite} from "../../app/write";
import {secondsOf} from "../../lib/spans";
import {Ask} from "../../ui/ask";
import {Confirm} from "../../ui/dialog";
import {ChoiceField, TextField} from "../../ui/inputs";
import {PlainTable} from "../../ui/plain_table";
import {Time, useNow} from "../../ui/time";
import {Empty, Loading, Notice, Trouble} from "../../ui/words";
import {Once} from "./once";
import {kRoles} from "./roles";

type Token = Schemas["Token"];
const kStale = ["admin"];
const kMostShown = 500;

export default function Tokens() {
  const [view, change] = useView();
  const me = useQuery(whoami());
  const query = useQuery({
    queryKey: ["admin", "tokens"],
    queryFn: ({signal}) => ask(api.GET("/api/v1/tokens", {signal})),
  });
  const [adding, setAdding] = useState(false);
  const [made, setMade] = useState<Schemas["NewToken"] | null>(null);
  if (query.error) return <Trouble error={query.error} retry={() => void query.refetch()} />;
  if (!query.data) return <Loading what="tokens" />;
  const sessions = view.sessions === "yes";
  const all = query.data.items ?? [];
  const shown = all.filter((one) => (one.kind === "session") === sessions);
  return (
    <div className="stack">
      <div className="row wrap">
        <label>
          <input
            type="checkbox"
            checked={sessions}
            onChange={(event) => change({sessions: event.target.checked ? "yes" : undefined})}
          />
          signed-in browsers instead ({all.filter((one) => one.kind === "session").length})
        </label>
        <span className="grow" />
        <button type="button" className="primary" onClick={() => setAdding(true)}>
          New token…
        </button>
      </div>
      {!me.data?.admin && <Notice>These are your own.</Notice>}
      {shown.length === 0 ? (
        <Empty title={sessions ? "No browser is signed in" : "There is no token"}>
          A program that speaks to this server shows a token: the command line on another machine,
          MLflow, continuous integration.
        </Empty>
      ) : (
        <List tokens={shown.slice(-kMostShown).reverse()} />
      )}
      {shown.length > kMostShown && <p className="muted">The newest {kMostShown}.</p>}
      {adding && <Add close={() => setAdding(false)} made={setMade} />}
      {made && (
        <Once
          title={`The token ${made.about?.name}`}
          secret={made.token ?? ""}
          close={() => setMade(null)}
        >
          It is shown this once. Programs find it in HEARTH_TOKEN, MLflow&apos;s client in
          MLFLOW_TRACKING_TOKEN.
        </Once>
      )}
    </div>
  );
}

function List(props: {tokens: Token[]}) {
  const [asked, setAsked] = useState<Token | null>(null);
  const now = useNow();
  return (
    <>
      <PlainTable
        label="Tokens"
        rows={props.tokens}
        id={(token) => token.id ?? ""}
        columns={[
          {name: "Name", is: "title", cell: (token) => token.name},
          {name: "User", cell: (token) => token.user},
          {
            name: "Project",
            cell: (token) => token.project || <span className="muted">all of the user&apos;s</span>,
          },
          {
            name: "At most",
            cell: (token) =>
              token.role === "none" ? <span className="muted">as its user</span> : token.role,
          },
          {name: "Made", cell: (token) => <Time at={token.created_at} />},
          {name: "Ends", cell: (token) => <Ends token={token} now={now} />},
          {
            name: "Actions",
            is: "actions",
            cell: (token) => (
              <button type="button" className="danger" onClick={() => setAsked(token)}>
                Revoke…
              </button>
            ),
          },
        ]}
      />
      {asked && <Revoke token={asked} close={() => setAsked(null)} />}
    </>
  );
}

function Ends(props: {token: Token; now: number}) {
  const ends = props.token.expires_at;
  if (!ends) return "never";
  return (
    <span>
      <Time at={ends} />
      {Date.parse(ends) < props.now && <span className="bad"> is over</span>}
    </span>
  );
}

function Revoke(props: {token: Token; close: () => void}) {
  const {token, close} = props;
  const send = useWrite(
    () => ask(api.DELETE("/api/v1/tokens/{token}", {params: {path: {token: token.id ?? ""}}})),
    kStale,
    close,
  );
  return (
    <Confirm
      title={`Revoke ${token.name}`}
      action="Revoke it"
      busy={send.isPending}
      run={() => send.mutate()}
      close={close}
    >
      {token.kind === "session"
        ? `The browser of ${token.user} is signed out.`
        : `Whoever uses it is refused from now on. It cannot be taken back.`}
      {send.error && <Trouble error={send.error} />}
    </Confirm>
  );
}

function Add(props: {close: () => void; made: (token: Schemas["NewToken"]) => void}) {
  const all = useQuery(projects());
  const [name, setName] = useState("");
  const [project, setProject] = useState("");
  const [role, setRole] = useState("none");
  const [life, setLife] = useState("90d");
  const seconds = life.trim() === "" ? 0 : secondsOf(life);
  const send = useWrite(
    () =>
      ask(
        api.POST("/api/v1/tokens", {
          body: {
            name: name.trim(),
            project,
            role: role as Schemas["Grade"],
            ...(seconds > 0
              ? {expires_at: new Date(Date.now() + seconds * 1000).toISOString()}
              : {}),
          },
        }),
      ),
    kStale,
    (token) => {
      props.close();
      props.made(token);
    },
  );
  const names = (all.data?.items ?? []).map((one) => [one.name, one.name] as const);
  return (
    <Ask
      title="New token"
      action="Make it, and show it"
      send={send}
      close={props.close}
      wrong={name.trim() === "" || Number.isNaN(seconds)}
    >
      <TextField label="Name" value={name} set={setName} autoFocus help="what it is for: laptop" />
      <ChoiceField
        label="Valid in"
        value={project}
        set={setProject}
        choices={[["", "all your projects"], ...names]}
      />
      <ChoiceField
        label="At most as"
        value={role}
        set={setRole}
        choices={[["none", "you"], ...kRoles]}
      />
      <TextField
        label="Good for"
        value={life}
        set={setLife}
        placeholder="for ever"
        help="30d, 12h; nothing: until it is revoked"
        wrong={Number.isNaN(seconds) ? "A time such as 12h or 30d, or nothing." : undefined}
      />
    </Ask>
  );
}
