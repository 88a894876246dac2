// A dialog that takes some fields and sends them; what the server says against it stays inside.
import type {ReactNode} from "react";

import {Dialog} from "./dialog";
import {Trouble} from "./words";

export function Ask(props: {
  title: string;
  action: string;
  send: {mutate: (input: void) => void; isPending: boolean; error: unknown};
  close: () => void;
  wrong?: boolean; // what is filled in cannot be sent
  danger?: boolean;
  wide?: boolean;
  children: ReactNode;
}) {
  const {send, wrong = false} = props;
  return (
    <Dialog
      title={props.title}
      close={props.close}
      wide={props.wide}
      submit={() => !wrong && !send.isPending && send.mutate()}
      foot={
        <>
          <button type="button" onClick={props.close}>
            Keep as it is
          </button>
          <button
            type="submit"
            className={props.danger ? "danger" : "primary"}
            disabled={wrong || send.isPending}
          >
            {props.action}
          </button>
        </>
      }
    >
      {props.children}
      {send.error != null && <Trouble error={send.error} />}
    </Dialog>
  );
}
