// The filter of a list, in the language that the API and the command line share. It holds what was
// typed until Enter or a pause; a filter that is refused is said below it, and the list stays.
import {X} from "lucide-react";
import {useEffect, useRef, useState} from "react";

import {say} from "../app/errors";
import {IconButton} from "./icon_button";
import css from "./filter.module.css";

const kPauseMs = 450;

export function FilterBox(props: {
  value: string;
  set: (filter: string) => void;
  error?: unknown;
  examples: string[];
  label: string;
}) {
  const [text, setText] = useState(props.value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => setText(props.value), [props.value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const later = (value: string) => {
    setText(value);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => props.set(value.trim()), kPauseMs);
  };
  const now = (value: string) => {
    clearTimeout(timer.current);
    setText(value);
    props.set(value.trim());
  };
  const wrong = props.error ? say(props.error) : null;
  return (
    <div className={css.box}>
      <input
        type="search"
        data-filter
        aria-label={props.label}
        value={text}
        spellCheck={false}
        autoComplete="off"
        placeholder={props.examples[0]}
        list={`${props.label}-examples`}
        aria-invalid={wrong ? true : undefined}
        aria-describedby={wrong ? "filter-wrong" : undefined}
        onChange={(event) => later(event.target.value)}
        onKeyDown={(event) => event.key === "Enter" && now(text)}
      />
      <datalist id={`${props.label}-examples`}>
        {props.examples.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
      {text !== "" && <IconButton icon={X} does="Take the filter away" run={() => now("")} />}
      {wrong && (
        <small id="filter-wrong" role="alert" className={css.wrong}>
          {wrong.text} {wrong.mend}
        </small>
      )}
    </div>
  );
}
