// Fields of forms with what they hold: text, a choice, yes or no.
import type {ReactNode} from "react";

import {Field} from "./field";
import css from "./ui.module.css";

interface Props {
  label: string;
  value: string;
  set: (value: string) => void;
  help?: ReactNode;
  wrong?: string;
}

export function TextField(
  props: Props & {
    placeholder?: string;
    type?: "text" | "password" | "datetime-local" | "number";
    required?: boolean;
    list?: string[]; // that may be chosen from
    autoFocus?: boolean;
  },
) {
  return (
    <Field label={props.label} help={props.help} wrong={props.wrong}>
      {(ids) => (
        <>
          <input
            {...ids}
            type={props.type ?? "text"}
            value={props.value}
            placeholder={props.placeholder}
            required={props.required}
            autoFocus={props.autoFocus}
            autoComplete="off"
            spellCheck={false}
            list={props.list ? `${ids.id}-list` : undefined}
            onChange={(event) => props.set(event.target.value)}
          />
          {props.list && (
            <datalist id={`${ids.id}-list`}>
              {props.list.map((one) => (
                <option key={one} value={one} />
              ))}
            </datalist>
          )}
        </>
      )}
    </Field>
  );
}

export function ChoiceField(props: Props & {choices: readonly (readonly [string, string])[]}) {
  return (
    <Field label={props.label} help={props.help} wrong={props.wrong}>
      {(ids) => (
        <select {...ids} value={props.value} onChange={(event) => props.set(event.target.value)}>
          {props.choices.map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

export function YesField(props: {
  label: string;
  value: boolean;
  set: (value: boolean) => void;
  help?: string;
}) {
  return (
    <div className={css.yes}>
      <label>
        <input
          type="checkbox"
          checked={props.value}
          onChange={(event) => props.set(event.target.checked)}
        />
        {props.label}
      </label>
      {props.help && <small className="muted">{props.help}</small>}
    </div>
  );
}
