// What an admin may order of a machine: close it, empty it, open it, put it elsewhere.
import {useQuery} from "@tanstack/react-query";
import {useState} from "react";

import {api, ask} from "../../api/client";
import {whoami} from "../../app/queries";
import {useWrite} from "../../app/write";
import {clock, plural} from "../../lib/format";
import {type Machine, nameOf} from "../../lib/machines";
import {secondsOf} from "../../lib/spans";
import {Ask} from "../../ui/ask";
import {ChoiceField, TextField} from "../../ui/inputs";
import {pools} from "./data";

type Order = "cordon" | "drain" | "uncordon" | "move";
const kStale = ["cluster", "jobs", "home"];

export function Orders(props: {machine: Machine}) {
  const {machine} = props;
  const me = useQuery(whoami());
  const [asked, setAsked] = useState<Order | "">("");
  if (!me.data?.admin) return null;
  const close = () => setAsked("");
  const closed =
    machine.node?.cordoned || /^(drained|cordoned) by /.test(machine.node?.closes_for ?? "");
  const given = {machine, close};
  return (
    <>
      {!closed && (
        <button type="button" onClick={() => setAsked("cordon")}>
          Cordon…
        </button>
      )}
      {closed && (
        <button type="button" className="primary" onClick={() => setAsked("uncordon")}>
          Open again…
        </button>
      )}
      <button type="button" onClick={() => setAsked("move")}>
        Move…
      </button>
      <button type="button" className="danger" onClick={() => setAsked("drain")}>
        Drain…
      </button>
      {asked === "cordon" && <Cordon {...given} />}
      {asked === "uncordon" && <Uncordon {...given} />}
      {asked === "drain" && <Drain {...given} />}
      {asked === "move" && <Move {...given} />}
    </>
  );
}

interface Given {
  machine: Machine;
  close: () => void;
}

const params = (machine: Machine) => ({path: {node: nameOf(machine)}});

function Cordon({machine, close}: Given) {
  const [reason, setReason] = useState("");
  const send = useWrite(
    () => ask(api.POST("/api/v1/nodes/{node}/cordon", {params: params(machine), body: {reason}})),
    kStale,
    close,
  );
  return (
    <Ask title={`Cordon ${nameOf(machine)}`} action="Cordon it" send={send} close={close}>
      <p>It takes nothing new; what runs goes on.</p>
      <Reason value={reason} set={setReason} />
    </Ask>
  );
}

function Uncordon({machine, close}: Given) {
  const send = useWrite(
    () => ask(api.POST("/api/v1/nodes/{node}/uncordon", {params: params(machine)})),
    kStale,
    close,
  );
  return (
    <Ask title={`Open ${nameOf(machine)}`} action="Open it" send={send} close={close}>
      <p>It takes tasks again. {machine.node?.closes_for && `Now: ${machine.node.closes_for}.`}</p>
    </Ask>
  );
}

function Drain({machine, close}: Given) {
  const [reason, setReason] = useState("");
  const [deadline, setDeadline] = useState("");
  const seconds = deadline.trim() === "" ? 0 : secondsOf(deadline);
  const send = useWrite(
    () =>
      ask(
        api.POST("/api/v1/nodes/{node}/drain", {
          params: params(machine),
          body: {reason, deadline_seconds: seconds},
        }),
      ),
    kStale,
    close,
  );
  const jobs = new Set((machine.tasks ?? []).map((task) => task.job ?? "")).size;
  const wrong = Number.isNaN(seconds) ? "A time such as 30m, 2h or 1d, or nothing." : undefined;
  return (
    <Ask
      title={`Drain ${nameOf(machine)}`}
      action="Drain it"
      danger
      send={send}
      close={close}
      wrong={wrong !== undefined}
    >
      <p>It takes nothing new. {whatHappens(jobs, seconds)}</p>
      <TextField
        label="What runs may go on for"
        value={deadline}
        set={setDeadline}
        placeholder="not at all"
        wrong={wrong}
        help="2h, 30m; nothing: it is stopped at once"
      />
      <Reason value={reason} set={setReason} />
    </Ask>
  );
}

function whatHappens(jobs: number, seconds: number): string {
  if (jobs === 0) return "Nothing runs there.";
  const until = `may go on until ${clock(Date.now() + seconds * 1000)}`;
  const then =
    "then stop and go on elsewhere from their last checkpoint. That counts as no failure.";
  const who = `${plural(jobs, "job")} that ${jobs === 1 ? "runs" : "run"} there`;
  return `${who} ${seconds > 0 ? until : "save now"}, ${then}`;
}

function Move({machine, close}: Given) {
  const all = useQuery(pools());
  const [pool, setPool] = useState(machine.node?.pool ?? "");
  const send = useWrite(
    () => ask(api.POST("/api/v1/nodes/{node}/move", {params: params(machine), body: {pool}})),
    kStale,
    close,
  );
  const names = (all.data?.items ?? []).map((one) => one.pool?.name ?? "");
  return (
    <Ask title={`Move ${nameOf(machine)}`} action="Move it" send={send} close={close}>
      <p>A machine moves only while nothing runs there: drain it first.</p>
      <ChoiceField
        label="Pool"
        value={pool}
        set={setPool}
        choices={[...names.map((name) => [name, name] as const), ["", "as its executor says"]]}
      />
    </Ask>
  );
}

function Reason(props: {value: string; set: (text: string) => void}) {
  return <TextField label="Why" help="Whoever waits for this machine reads it" {...props} />;
}
