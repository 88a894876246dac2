// Machines kept for projects, or for maintenance, for a time.
import {useQuery} from "@tanstack/react-query";
import {useState} from "react";

import {type Schemas, api, ask} from "../../api/client";
import {projects, whoami} from "../../app/queries";
import {useWrite} from "../../app/write";
import {duration, seconds_between} from "../../lib/format";
import {type Machine, nameOf} from "../../lib/machines";
import {fieldTime} from "../../lib/spans";
import {Ask} from "../../ui/ask";
import {Confirm} from "../../ui/dialog";
import {ChoiceField, TextField} from "../../ui/inputs";
import {Picks} from "../../ui/picks";
import {PlainTable} from "../../ui/plain_table";
import {State} from "../../ui/state";
import {Time, useNow} from "../../ui/time";
import {Empty, Loading, Trouble} from "../../ui/words";
import css from "./cluster.module.css";
import {pools, reservations} from "./data";

type Reservation = Schemas["Reservation"];
const kStale = ["cluster", "jobs"];
const kDefaultMs = 4 * 3600_000;

export default function Reservations(props: {machines: Machine[]}) {
  const query = useQuery(reservations());
  const me = useQuery(whoami());
  const [adding, setAdding] = useState(false);
  const [ending, setEnding] = useState<Reservation | null>(null);
  const admin = me.data?.admin ?? false;
  if (query.error && !query.data)
    return <Trouble error={query.error} retry={() => void query.refetch()} />;
  if (!query.data) return <Loading what="reservations" />;
  const all = query.data.items ?? [];
  const add = admin && (
    <button type="button" className="primary" onClick={() => setAdding(true)}>
      Keep machines…
    </button>
  );
  return (
    <div className="stack">
      {all.length > 0 && (
        <div className="row wrap">
          <p className="muted grow">
            Before one begins, only jobs start there that will have ended by then.
            {!admin && " Admins make them."}
          </p>
          {add}
        </div>
      )}
      {all.length === 0 && (
        <Empty
          title="Nothing is reserved"
          command="hearth reservation add fans --node NODE --maintenance --from +3d --for 6h"
          action={add}
        >
          Machines can be kept for projects, or emptied for maintenance, for a time.
        </Empty>
      )}
      {all.length > 0 && <List all={all} admin={admin} end={setEnding} />}
      {adding && <Add machines={props.machines} close={() => setAdding(false)} />}
      {ending && <End one={ending} close={() => setEnding(null)} />}
    </div>
  );
}

function List(props: {all: Reservation[]; admin: boolean; end: (one: Reservation) => void}) {
  const now = useNow();
  return (
    <PlainTable
      label="Reservations, as a table"
      rows={props.all}
      id={(one) => one.id ?? ""}
      columns={[
        {name: "Name", is: "title", cell: (one) => one.name},
        {
          name: "What for",
          is: "title",
          cell: (one) => (
            <span className="row wrap">
              <State
                state={one.maintenance ? "maintenance" : "reserved"}
                word={one.maintenance ? "maintenance" : `for ${one.projects?.join(", ")}`}
              />
              {one.reason && <span className="muted">{one.reason}</span>}
            </span>
          ),
        },
        {
          name: "Machines",
          cell: (one) => (one.pool ? `all of the pool ${one.pool}` : one.nodes?.join(", ")),
        },
        {name: "From", cell: (one) => <Time at={one.from} />},
        {name: "Until", cell: (one) => <Time at={one.until} />},
        {name: "Now", cell: (one) => phaseOf(one, now)},
        {name: "Made by", cell: (one) => one.created_by},
        props.admin && {
          name: "Actions",
          is: "actions",
          cell: (one) => (
            <button type="button" className="danger" onClick={() => props.end(one)}>
              End…
            </button>
          ),
        },
      ]}
    />
  );
}

function phaseOf(one: Reservation, now: number): string {
  const until = seconds_between(new Date(now).toISOString(), one.from);
  if (until > 0) return `begins in ${duration(until)}`;
  const left = seconds_between(new Date(now).toISOString(), one.until);
  return left > 0 ? `holds, ${duration(left)} left` : "over";
}

function End(props: {one: Reservation; close: () => void}) {
  const {one, close} = props;
  const send = useWrite(
    () =>
      ask(
        api.DELETE("/api/v1/reservations/{reservation}", {
          params: {path: {reservation: one.id ?? ""}},
        }),
      ),
    kStale,
    close,
  );
  return (
    <Confirm
      title={`End ${one.name}`}
      action="End it"
      busy={send.isPending}
      run={() => send.mutate()}
      close={close}
    >
      The machines are everybody's again. {send.error && <Trouble error={send.error} />}
    </Confirm>
  );
}

function Add(props: {machines: Machine[]; close: () => void}) {
  const {close} = props;
  const allPools = useQuery(pools());
  const allProjects = useQuery(projects());
  const [name, setName] = useState("");
  const [whole, setWhole] = useState("");
  const [nodes, setNodes] = useState<string[]>([]);
  const [kind, setKind] = useState("maintenance");
  const [kept, setKept] = useState<string[]>([]);
  const [from, setFrom] = useState(() => fieldTime(Date.now()));
  const [until, setUntil] = useState(() => fieldTime(Date.now() + kDefaultMs));
  const [reason, setReason] = useState("");
  const maintenance = kind === "maintenance";
  const send = useWrite(
    () =>
      ask(
        api.POST("/api/v1/reservations", {
          body: {
            name: name.trim(),
            ...(whole ? {pool: whole} : {nodes}),
            from: new Date(from).toISOString(),
            until: new Date(until).toISOString(),
            maintenance,
            projects: maintenance ? [] : kept,
            reason,
          },
        }),
      ),
    kStale,
    close,
  );
  const poolNames = (allPools.data?.items ?? []).map((one) => one.pool?.name ?? "");
  const projectNames = (allProjects.data?.items ?? []).map((one) => one.name);
  const wrong =
    name.trim() === "" ||
    (whole === "" && nodes.length === 0) ||
    (!maintenance && kept.length === 0) ||
    !from ||
    !until;
  return (
    <Ask
      title="Keep machines for a time"
      action="Keep them"
      send={send}
      close={close}
      wrong={wrong}
    >
      <TextField label="Name" value={name} set={setName} help="a-z, 0-9, '.', '_', '-'" autoFocus />
      <ChoiceField
        label="What for"
        value={kind}
        set={setKind}
        choices={[
          ["maintenance", "maintenance: no job runs there then"],
          ["projects", "projects: only their jobs run there then"],
        ]}
      />
      {!maintenance && <Picks label="Projects" names={projectNames} chosen={kept} set={setKept} />}
      <ChoiceField
        label="Machines"
        value={whole}
        set={setWhole}
        choices={[
          ["", "those chosen below"],
          ...poolNames.map((one) => [one, `all of the pool ${one}`] as const),
        ]}
      />
      {whole === "" && (
        <Picks
          label="Machines to keep"
          names={props.machines.map(nameOf)}
          chosen={nodes}
          set={setNodes}
        />
      )}
      <div className={css.pair}>
        <TextField type="datetime-local" label="From" value={from} set={setFrom} />
        <TextField type="datetime-local" label="Until" value={until} set={setUntil} />
      </div>
      <TextField label="Why" value={reason} set={setReason} />
    </Ask>
  );
}
