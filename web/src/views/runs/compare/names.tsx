// The runs compared: whose line is whose, in all charts at once. Pointing at one makes it
// stand out.
import {Link} from "@tanstack/react-router";

import {Swatch} from "../../../ui/chart";
import type {ComparedRun} from "./index";
import css from "./compare.module.css";

export function RunNames(props: {
  runs: readonly ComparedRun[];
  hidden: ReadonlySet<string>;
  setHidden: (hidden: ReadonlySet<string>) => void;
  focus: string | null;
  setFocus: (id: string | null) => void;
}) {
  const {runs, hidden, setHidden, setFocus} = props;
  const toggle = (id: string) => {
    const next = new Set(hidden);
    if (!next.delete(id)) next.add(id);
    setHidden(next);
  };
  return (
    <ul className={css.names} aria-label="Runs compared">
      {runs.map(({run, slot, label}) => (
        <li
          key={run.id}
          data-focus={props.focus === run.id || undefined}
          onMouseEnter={() => setFocus(run.id)}
          onMouseLeave={() => setFocus(null)}
          onFocus={() => setFocus(run.id)}
          onBlur={() => setFocus(null)}
        >
          <input
            type="checkbox"
            checked={!hidden.has(run.id)}
            aria-label={`Show ${label}`}
            onChange={() => toggle(run.id)}
          />
          <Swatch slot={slot} />
          <Link to={`/runs/${run.id}` as never} className="cut" title={label}>
            {label}
          </Link>
        </li>
      ))}
    </ul>
  );
}
