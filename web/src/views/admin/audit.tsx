// Who did what, the newest first: of all that one may see.
import {keepPreviousData, useInfiniteQuery} from "@tanstack/react-query";
import {Link} from "@tanstack/react-router";

import {type Listed, type Schemas, api, ask} from "../../api/client";
import {type Search, useProject, useView} from "../../app/search";
import {inWords} from "../../lib/changes";
import {useRows} from "../../ui/list";
import {useSettled} from "../../ui/settled";
import {type Column, Table} from "../../ui/table";
import {Time} from "../../ui/time";
import {Empty, Loading, Trouble} from "../../ui/words";
import css from "./admin.module.css";

type Event = Schemas["Event"];
const kPage = 200;
const kPauseMs = 300;
const kCard = 80; // three lines
const kSince = [
  ["", "ever"],
  ["1h", "the last hour"],
  ["1d", "the last day"],
  ["7d", "the last week"],
  ["30d", "the last 30 days"],
] as const;
const kKinds = [
  ...["job", "run", "model", "dataset", "user", "token", "project", "secret"],
  ...["quota", "pool", "node", "reservation", "webhook", "server"],
];

const noun = (event: Event) => (event.kind ?? "").split(".")[0] ?? "";

function Thing(props: {event: Event}) {
  const {event} = props;
  const id = event.id ?? "";
  const to = noun(event) === "job" ? `/jobs/${id}` : noun(event) === "run" ? `/runs/${id}` : "";
  return to ? (
    <Link to={to as never} title={id}>
      <code>{id}</code>
    </Link>
  ) : (
    <code title={id}>{id}</code>
  );
}

// A person's name tells enough; a job or a task is first of all one.
function Who(props: {event: Event}) {
  const {kind, name, address} = props.event.actor ?? {};
  return (
    <span className="cut" title={[name, address && `from ${address}`].filter(Boolean).join(", ")}>
      {kind && kind !== "user" && <span className="muted">{kind} </span>}
      {name !== kind && name}
    </span>
  );
}

const changed = (event: Event): string => inWords(event.changed);

const kColumns: Column<Event>[] = [
  {key: "time", head: "When", width: "118px", cell: (event) => <Time at={event.time} />},
  {key: "who", head: "Who", width: "minmax(90px, 0.6fr)", cell: (event) => <Who event={event} />},
  {key: "kind", head: "What", width: "minmax(140px, 0.8fr)", cell: (event) => event.kind},
  {key: "thing", head: "Of", width: "216px", cell: (event) => <Thing event={event} />},
  {key: "project", head: "Project", width: "minmax(80px, 0.5fr)", cell: (event) => event.project},
  {
    key: "changed",
    head: "Changed",
    width: "minmax(160px, 2fr)",
    cell: (event) => <span title={changed(event)}>{changed(event)}</span>,
  },
];

function useEvents(view: Search, project: string | undefined) {
  const wanted = useSettled(
    JSON.stringify({
      project,
      actor: view.actor || undefined,
      kind: view.kind || undefined,
      thing: view.thing || undefined,
      since: view.since || undefined,
    }),
    kPauseMs,
  );
  return useInfiniteQuery({
    queryKey: ["admin", "audit", wanted],
    initialPageParam: "",
    placeholderData: keepPreviousData,
    queryFn: async ({pageParam, signal}) => {
      const query = {...JSON.parse(wanted), limit: kPage, cursor: pageParam || undefined};
      return (await ask(api.GET("/api/v1/audit", {params: {query}, signal}))) as Listed<Event>;
    },
    getNextPageParam: (last) => last.next_cursor || undefined,
  });
}

export default function Audit() {
  const [view, change] = useView();
  const project = useProject();
  const query = useEvents(view, project);
  const {rows, more} = useRows(query);
  const filtered = Boolean(view.actor || view.kind || view.thing || view.since || project);
  const none = {actor: undefined, kind: undefined, thing: undefined, since: undefined};
  return (
    <>
      <Finders view={view} change={(some) => change(some, "replace")} />
      {query.error && <Trouble error={query.error} retry={() => void query.refetch()} />}
      {query.isPending && !query.error && <Loading what="what was done" />}
      {query.data && rows.length === 0 && (
        <Empty
          title={filtered ? "Nothing like that was done" : "Nothing was done yet"}
          action={
            filtered && (
              <button type="button" onClick={() => change({...none, project: undefined})}>
                Show all
              </button>
            )
          }
        />
      )}
      {rows.length > 0 && (
        <Table
          label="What was done"
          rows={rows}
          id={(event) => String(event.seq)}
          columns={kColumns}
          more={more}
          cardHeight={kCard}
          card={(event) => (
            <>
              <div className="row">
                <span className="cut grow">{event.kind}</span> <Time at={event.time} />
              </div>
              <div className="row muted">
                <Who event={event} /> <span className="cut grow">{event.project}</span>
                <Thing event={event} />
              </div>
              <div className="muted cut">{changed(event)}</div>
            </>
          )}
        />
      )}
    </>
  );
}

function Finders(props: {view: Search; change: (some: Search) => void}) {
  const {view, change} = props;
  const text = (key: "actor" | "kind" | "thing", label: string, hint: string, list?: string) => (
    <input
      type="search"
      aria-label={label}
      placeholder={hint}
      spellCheck={false}
      value={view[key] ?? ""}
      list={list}
      data-filter={key === "actor" ? true : undefined}
      onChange={(event) => change({[key]: event.target.value.trim() || undefined})}
    />
  );
  return (
    <div className={css.finders} role="toolbar" aria-label="Find what was done">
      {text("actor", "Who", "who: a user, server")}
      {text("kind", "What", "what: job, quota.set", "audit-kinds")}
      {text("thing", "Of what", "id of what")}
      <datalist id="audit-kinds">
        {kKinds.map((kind) => (
          <option key={kind} value={kind} />
        ))}
      </datalist>
      <select
        aria-label="Since"
        value={view.since ?? ""}
        onChange={(event) => change({since: event.target.value || undefined})}
      >
        {kSince.map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
    </div>
  );
}
