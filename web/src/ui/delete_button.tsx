// "Delete…": a button that asks first, and says there why it could not be done.
import {type ReactNode, useState} from "react";

import {Confirm} from "./dialog";
import {Trouble} from "./words";

export function DeleteButton(props: {
  of: string; // its name
  action: string;
  send: {
    isPending: boolean;
    error: Error | null;
    mutate: (nothing: undefined, then?: {onSuccess?: () => void}) => void;
  };
  children: ReactNode; // what goes, and whether it comes back
}) {
  const {send} = props;
  const [asked, setAsked] = useState(false);
  const close = () => setAsked(false);
  return (
    <>
      <button type="button" className="danger" onClick={() => setAsked(true)}>
        Delete…
      </button>
      {asked && (
        <Confirm
          title={`Delete ${props.of}`}
          action={props.action}
          busy={send.isPending}
          run={() => send.mutate(undefined, {onSuccess: close})}
          close={close}
        >
          {props.children}
          {send.error && <Trouble error={send.error} />}
        </Confirm>
      )}
    </>
  );
}
