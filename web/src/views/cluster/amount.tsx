// How much of something is given to jobs, and how much of that they use.
import {bytes, short} from "../../lib/format";
import {type Machine, totalsOf} from "../../lib/machines";
import {gpuPercent, sumOf} from "../../lib/used";
import {Meter} from "../../ui/meter";
import css from "./cluster.module.css";
import {type Use} from "./data";

export function Amount(props: {
  name: string;
  whole: number;
  given: number;
  used?: number;
  say: (value: number) => string;
  saying?: string; // in place of how much is used
}) {
  const {name, whole, given, used, say} = props;
  const words = `${say(given)} of ${say(whole)} given`;
  const more = props.saying ?? (used === undefined ? "" : `${say(round(used))} used`);
  return (
    <div className={css.amount}>
      <p className={css.words}>
        <span className="grow">{name}</span>
        <span className="number nowrap">{words}</span>
        {more && <span className="number nowrap muted">{more}</span>}
      </p>
      <Meter
        label={`${name}: ${words}${more ? `, ${more}` : ""}`}
        whole={whole}
        parts={[{value: given}]}
        used={used}
      />
    </div>
  );
}

// What these machines have together.
export function AmountsOf(props: {machines: readonly Machine[]; use: Use}) {
  const totals = totalsOf(props.machines);
  const used = props.machines.flatMap((one) => (one.tasks ?? []).map(props.use.of));
  const busy = gpuPercent(used);
  const sampled = used.reduce((sum, one) => sum + (one?.gpus.length ?? 0), 0);
  return (
    <>
      {totals.gpus > 0 && (
        <Amount
          name="GPUs"
          whole={totals.gpus}
          given={totals.givenGpus}
          used={busy === undefined ? undefined : (busy / 100) * sampled}
          say={short}
          saying={busy === undefined ? undefined : `${Math.round(busy)}% busy`}
        />
      )}
      <Amount
        name="CPUs"
        whole={totals.cpus}
        given={totals.givenCpus}
        used={sumOf(used, "cpus")}
        say={short}
      />
      <Amount
        name="Memory"
        whole={totals.memory}
        given={totals.givenMemory}
        used={sumOf(used, "memory")}
        say={bytes}
      />
    </>
  );
}

// Bytes are whole; of cores two digits are enough.
const round = (value: number) => (value < 1000 ? Math.round(value * 100) / 100 : Math.round(value));
