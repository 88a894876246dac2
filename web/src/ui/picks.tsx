// Some of many names, each with a box; a search where there are many.
import {useState} from "react";

import css from "./ui.module.css";

const kSearched = 12; // more than so many names have a search
const kMostShown = 100;

export function Picks(props: {
  label: string;
  names: string[];
  chosen: string[];
  set: (chosen: string[]) => void;
}) {
  const {names, chosen, set} = props;
  const [find, setFind] = useState("");
  const found = names.filter((name) => name.includes(find) || chosen.includes(name));
  const toggle = (name: string) =>
    set(chosen.includes(name) ? chosen.filter((one) => one !== name) : [...chosen, name]);
  return (
    <fieldset className={css.picks}>
      <legend>{props.label}</legend>
      {names.length > kSearched && (
        <input
          type="search"
          aria-label={`Find ${props.label.toLowerCase()}`}
          placeholder={`Find one of ${names.length}`}
          value={find}
          onChange={(event) => setFind(event.target.value)}
        />
      )}
      <div className={css.pickList}>
        {found.slice(0, kMostShown).map((name) => (
          <label key={name}>
            <input type="checkbox" checked={chosen.includes(name)} onChange={() => toggle(name)} />
            {name}
          </label>
        ))}
      </div>
      {found.length > kMostShown && (
        <small className="muted">
          The first {kMostShown} of {found.length}.
        </small>
      )}
      {names.length === 0 && <small className="muted">There is none.</small>}
    </fieldset>
  );
}
