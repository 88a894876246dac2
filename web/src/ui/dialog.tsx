// A modal dialog: the browser's own, which keeps focus inside and gives it back.
import {X} from "lucide-react";
import {type FormEvent, type ReactNode, useEffect, useRef} from "react";

import {IconButton} from "./icon_button";
import css from "./ui.module.css";

export function Dialog(props: {
  title: string;
  close?: () => void; // without it there is no way out but through
  foot?: ReactNode;
  submit?: () => void;
  children: ReactNode;
  wide?: boolean;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    props.submit?.();
  };
  return (
    <dialog
      ref={dialog}
      aria-label={props.title}
      style={props.wide ? {maxWidth: "min(960px, calc(100vw - 24px))"} : undefined}
      onCancel={(event) => {
        event.preventDefault();
        props.close?.();
      }}
      onClick={(event) => {
        if (event.target === dialog.current) props.close?.();
      }}
    >
      <form onSubmit={submit}>
        <div className={css.dialogHead}>
          <h2 className="grow">{props.title}</h2>
          {props.close && <IconButton icon={X} does="Close" size={16} run={props.close} />}
        </div>
        <div className={css.dialogBody}>{props.children}</div>
        {props.foot && <div className={css.dialogFoot}>{props.foot}</div>}
      </form>
    </dialog>
  );
}

// Asks before what cannot be taken back.
export function Confirm(props: {
  title: string;
  children: ReactNode;
  action: string;
  run: () => void;
  close: () => void;
  busy?: boolean;
}) {
  return (
    <Dialog
      title={props.title}
      close={props.close}
      submit={props.run}
      foot={
        <>
          <button type="button" onClick={props.close}>
            Keep as it is
          </button>
          <button type="submit" className="danger" disabled={props.busy}>
            {props.action}
          </button>
        </>
      }
    >
      <div>{props.children}</div>
    </Dialog>
  );
}
