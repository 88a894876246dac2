// A labelled field of a form, with its help or what is wrong with it.
import {type ReactNode, useId} from "react";

import css from "./ui.module.css";

export function Field(props: {
  label: string;
  help?: ReactNode;
  wrong?: string;
  children: (ids: {id: string; "aria-describedby"?: string; "aria-invalid"?: boolean}) => ReactNode;
}) {
  const id = useId();
  const told = props.wrong ?? props.help;
  return (
    <div className={css.field}>
      <label htmlFor={id}>{props.label}</label>
      {props.children({
        id,
        "aria-describedby": told ? `${id}-help` : undefined,
        "aria-invalid": props.wrong ? true : undefined,
      })}
      {told && (
        <small id={`${id}-help`} className={props.wrong ? css.wrong : ""}>
          {told}
        </small>
      )}
    </div>
  );
}
