// How much of something is given to jobs, and how much of that they use.
import {Meter} from "../../ui/meter";
import css from "./cluster.module.css";

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

// Bytes are whole; of cores two digits are enough.
const round = (value: number) => (value < 1000 ? Math.round(value * 100) / 100 : Math.round(value));
