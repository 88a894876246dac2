// The server: how it is, its backups, and what it takes away by itself.
import {useQuery} from "@tanstack/react-query";
import {Link} from "@tanstack/react-router";
import {useState} from "react";

import {type Schemas, api, ask} from "../../api/client";
import {status, whoami} from "../../app/queries";
import {useWrite} from "../../app/write";
import {bytes, count, duration, plural, toNumber} from "../../lib/format";
import {Ask} from "../../ui/ask";
import {TextField} from "../../ui/inputs";
import {Fact, Facts} from "../../ui/page";
import {State} from "../../ui/state";
import {Time} from "../../ui/time";
import {Command, Loading, Notice, Trouble} from "../../ui/words";
import css from "./admin.module.css";

type Status = Schemas["ServerStatus"];
const kClockApart = 1; // seconds that are worth a word

export default function Server() {
  const query = useQuery(status());
  const me = useQuery(whoami());
  if (query.error && !query.data)
    return <Trouble error={query.error} retry={() => void query.refetch()} />;
  if (!query.data) return <Loading what="the server's state" />;
  return (
    <div className={css.columns}>
      <About status={query.data} />
      {me.data?.admin ? (
        <Backup last={query.data.last_backup} />
      ) : (
        <section className="card" aria-label="Backup">
          <h2>Backup</h2>
          <p className="muted">Admins make backups and see when the last one was put away.</p>
        </section>
      )}
      {query.data.kept && <Kept of={query.data.kept} />}
    </div>
  );
}

function About(props: {status: Status}) {
  const {status: server} = props;
  const apart = toNumber(server.clock_ahead_seconds);
  return (
    <section className="card" aria-label="Server">
      <h2>Server</h2>
      {!server.ready && (
        <Notice kind="bad">
          {server.refusing} {server.mend}
        </Notice>
      )}
      <Facts>
        <Fact name="State">
          <State
            state={server.ready ? "open" : "failed"}
            word={server.ready ? "answers and writes" : "writes nothing"}
          />
        </Fact>
        <Fact name="Draining">
          {server.draining &&
            `no job starts; it ends when none runs (tasks now: ${count(server.waits_for_tasks)})`}
        </Fact>
        <Fact name="Version">{server.version}</Fact>
        <Fact name="Address">{server.url}</Fact>
        <Fact name="Id">
          <code>{server.server_id}</code>
        </Fact>
        <Fact name="Up for">{duration(toNumber(server.uptime_seconds))}</Fact>
        <Fact name="Clock">
          {Math.abs(apart) >= kClockApart &&
            `${duration(Math.abs(apart))} ${apart > 0 ? "ahead of" : "behind"} the machine's`}
        </Fact>
        <Fact name="Machines">{server.lent}</Fact>
        <Fact name="Jobs">
          <span className="row wrap">
            {Object.entries(server.jobs ?? {}).map(([state, number]) => (
              <Link
                key={state}
                to="/jobs"
                search={{filter: `state = ${state}`, project: undefined} as never}
              >
                {count(number)} {state}
              </Link>
            ))}
          </span>
        </Fact>
        <Fact name="Prometheus">
          <a href="/metrics">/metrics</a>
        </Fact>
        <Fact name="API">
          <a href="/api/openapi.json">/api/openapi.json</a>
        </Fact>
      </Facts>
    </section>
  );
}

// A browser cannot say where it put a file: whoever downloaded it does.
function Backup(props: {last?: Schemas["KeptBackup"]}) {
  const {last} = props;
  const [id, setId] = useState(() => newId());
  const [fetched, setFetched] = useState(false);
  const [saying, setSaying] = useState(false);
  return (
    <section className="card" aria-label="Backup">
      <h2>Backup</h2>
      <p>
        {last ? (
          <>
            The last one that was put away is of <Time at={last.created_at} />,{" "}
            {bytes(last.size_bytes)}, and lies at <code>{last.path}</code>
            {last.host && ` on ${last.host}`}.
          </>
        ) : (
          "None was put away yet."
        )}
      </p>
      <p className="muted">
        One file with the whole server while it runs. The key of the secrets is not in it: keep that
        apart.
      </p>
      <div className="row wrap">
        <a
          className="button primary"
          href={`/api/v1/backup?id=${id}`}
          download="hearth-backup.tar"
          onClick={() => setFetched(true)}
        >
          Download a backup
        </a>
        {fetched && (
          <button type="button" onClick={() => setSaying(true)}>
            Say where I put it…
          </button>
        )}
      </div>
      <p>Or from the command line, which says so itself:</p>
      <div>
        <Command text="hearth backup hearth-backup.tar" />
      </div>
      {saying && (
        <Put
          id={id}
          close={() => setSaying(false)}
          done={() => {
            setSaying(false);
            setFetched(false);
            setId(newId());
          }}
        />
      )}
    </section>
  );
}

// Plain HTTP has no crypto.randomUUID, but random values it has.
function newId(): string {
  const words = crypto.getRandomValues(new Uint32Array(4));
  return `page-${[...words].map((word) => word.toString(36)).join("")}`;
}

function Put(props: {id: string; close: () => void; done: () => void}) {
  const [path, setPath] = useState("");
  const [host, setHost] = useState("");
  const send = useWrite(
    () => ask(api.POST("/api/v1/backup", {body: {id: props.id, path, host, size_bytes: 0}})),
    ["status"],
    props.done,
  );
  return (
    <Ask
      title="Where the backup lies"
      action="Note it"
      send={send}
      close={props.close}
      wrong={path.trim() === ""}
    >
      <p>The server tells whoever meets damage where to look.</p>
      <TextField label="Path" value={path} set={setPath} autoFocus />
      <TextField label="Machine" value={host} set={setHost} />
    </Ask>
  );
}

function Kept(props: {of: Schemas["KeptFor"]}) {
  const {deleted_runs_seconds, events_seconds, logs_seconds} = props.of;
  return (
    <section className="card" aria-label="What goes by itself">
      <h2>What goes by itself</h2>
      <Facts>
        <Fact name="Deleted runs">can be restored for {long(deleted_runs_seconds)}</Fact>
        <Fact name="Events, audit trail">kept for {long(events_seconds)}</Fact>
        <Fact name="Logs of tasks">
          {toNumber(logs_seconds) > 0 ? `kept for ${long(logs_seconds)}` : "kept for ever"}
        </Fact>
        <Fact name="Checkpoints">
          the newest, as many as the job file says under <code>keep</code>
        </Fact>
        <Fact name="Files">two hours at most after nothing uses them any more</Fact>
      </Facts>
      <p className="muted">Other times are given to the server when it starts:</p>
      <div>
        <Command text="hearth up --keep-deleted 30d --keep-events 90d --keep-logs 365d" />
      </div>
    </section>
  );
}

function long(seconds?: Schemas["KeptFor"]["events_seconds"]): string {
  const days = toNumber(seconds) / 86_400;
  return Number.isInteger(days) ? plural(days, "day") : duration(toNumber(seconds));
}
