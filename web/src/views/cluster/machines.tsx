// All machines: in sums, then drawn by spine and rack, or told by the jobs that hold them.
import {useQuery} from "@tanstack/react-query";
import {useDeferredValue} from "react";

import {useView} from "../../app/search";
import {percent, plural, short} from "../../lib/format";
import {type Machine, matches, racksOf, stateOf, totalsOf} from "../../lib/machines";
import {InSight} from "../../ui/in_sight";
import {useNow} from "../../ui/time";
import {Empty, Notice} from "../../ui/words";
import css from "./cluster.module.css";
import {type Use, useUse} from "./data";
import {ByJob} from "./by_job";
import {MachineCard} from "./machine_card";
import {FirstWaiting, waiting} from "./queue";
import {AmountsOf} from "./amount";

const kRackHigh = 180; // of a rack that is not drawn yet, about
const kDrawn = 50; // machines that are drawn in sight or not

export function Machines(props: {machines: Machine[]; queued: number; lent?: string}) {
  const [view, change] = useView();
  const now = useNow();
  const use = useUse(props.machines);
  const find = useDeferredValue(view.find ?? "").trim();
  const queue = useQuery(waiting());
  const states = new Map(props.machines.map((one) => [one, stateOf(one, now)]));
  const shown = props.machines.filter((one) => matches(one, find, states.get(one) ?? "open"));
  if (props.machines.length === 0)
    return (
      <Empty title="There is no machine" command="hearth doctor">
        The server's own machine is one as soon as its executor has looked at it.
      </Empty>
    );
  return (
    <div className="stack">
      {props.lent && <Notice>{`${props.lent[0]?.toUpperCase()}${props.lent.slice(1)}.`}</Notice>}
      <section className={css.sums} aria-label="Sums">
        <AmountsOf machines={props.machines} use={use} />
      </section>
      {queue.data && queue.data.items.length > 0 && (
        <FirstWaiting
          jobs={queue.data.items}
          total={queue.data.next_cursor ? props.queued : queue.data.items.length}
        />
      )}
      <div className="row wrap" role="toolbar" aria-label="Machines">
        <input
          type="search"
          data-filter
          aria-label="Find machines"
          placeholder="Name, rack, pool, GPU model, job or project"
          className={css.find}
          value={view.find ?? ""}
          onChange={(event) => change({find: event.target.value || undefined}, "replace")}
        />
        <By by={view.by} set={(by) => change({by})} />
        <span className="muted" role="status">
          {find !== "" && `${shown.length} of ${plural(props.machines.length, "machine")}`}
        </span>
      </div>
      {shown.length === 0 && (
        <Empty
          title="No machine is like that"
          action={
            <button type="button" onClick={() => change({find: undefined})}>
              Show all
            </button>
          }
        />
      )}
      {view.by === "job" ? (
        <ByJob machines={shown} use={use} />
      ) : (
        <Racks machines={shown} use={use} now={now} />
      )}
    </div>
  );
}

function By(props: {by?: string; set: (by: string | undefined) => void}) {
  const button = (name: string, by: string | undefined) => (
    <button
      type="button"
      aria-pressed={props.by === by}
      className={props.by === by ? "primary" : ""}
      onClick={() => props.set(by)}
    >
      {name}
    </button>
  );
  return (
    <span className="row" role="group" aria-label="Shown">
      {button("by machine", undefined)}
      {button("by job", "job")}
    </span>
  );
}

// A line from the spine to each of its racks, from a rack to each of its machines.
function Racks(props: {machines: Machine[]; use: Use; now: number}) {
  const racks = racksOf(props.machines);
  const spines = [...new Set(racks.map((one) => one.spine))];
  return spines.map((spine) => (
    <section key={spine} aria-label={spine || "Machines below no spine"} className={css.spine}>
      <h2 className={spine ? css.cell : "unseen"}>
        {spine || "Machines below no spine"} <small className="muted">spine</small>
      </h2>
      {racks
        .filter((one) => one.spine === spine)
        .map((one) => (
          <section key={one.rack} aria-label={one.rack || "No rack"} className={css.rack}>
            <RackHead rack={one.rack} machines={one.machines} />
            <InSight
              className={css.machines}
              height={kRackHigh}
              always={props.machines.length <= kDrawn}
            >
              {one.machines.map((machine) => (
                <MachineCard key={machine.node?.name} machine={machine} {...props} />
              ))}
            </InSight>
          </section>
        ))}
    </section>
  ));
}

function RackHead(props: {rack: string; machines: Machine[]}) {
  const totals = totalsOf(props.machines);
  const [given, all, what] =
    totals.gpus > 0
      ? [totals.givenGpus, totals.gpus, "GPUs"]
      : [totals.givenCpus, totals.cpus, "CPUs"];
  return (
    <h3 className={css.cell}>
      {props.rack || "no rack known"}{" "}
      <small className="muted">
        {plural(props.machines.length, "machine")} · {short(given)} of {short(all)} {what} given (
        {percent(given, all)})
      </small>
    </h3>
  );
}
