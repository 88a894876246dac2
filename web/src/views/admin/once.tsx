// What is shown this once and never again: a token, a sign-in link.
import type {ReactNode} from "react";

import {Dialog} from "../../ui/dialog";
import {Command} from "../../ui/words";
import css from "./admin.module.css";

export function Once(props: {
  title: string;
  secret: string;
  children: ReactNode;
  close: () => void;
}) {
  return (
    <Dialog
      title={props.title}
      submit={props.close}
      foot={
        <button type="submit" className="primary">
          I have it
        </button>
      }
    >
      <div>{props.children}</div>
      <div className={css.once}>
        <Command text={props.secret} />
      </div>
    </Dialog>
  );
}
