// What is done to a saved view: another name, what is shown now in place of what it showed, away.
import {useState} from "react";

import {useWrite} from "../../app/write";
import {type Parts, fromQuery} from "../../lib/saved_view";
import {Ask} from "../../ui/ask";
import {Confirm} from "../../ui/dialog";
import {TextField} from "../../ui/inputs";
import {Notice, Trouble} from "../../ui/words";
import {type View, drop, kMostName, kStale, replace} from "./views_ask";

export function Rename(props: {of: View; close: () => void}) {
  const {of, close} = props;
  const [name, setName] = useState(of.name);
  const send = useWrite(
    () => replace(of, {name: name.trim(), shared: of.shared, parts: fromQuery(of.query)}),
    kStale,
    close,
  );
  const wrong = name.trim() === "" || name.trim() === of.name || name.length > kMostName;
  return (
    <Ask title={`Rename ${of.name}`} action="Rename" send={send} close={close} wrong={wrong}>
      <TextField label="New name" value={name} set={setName} required autoFocus />
    </Ask>
  );
}

export function Delete(props: {of: View; close: () => void}) {
  const {of, close} = props;
  const send = useWrite(() => drop(of.id), kStale, close);
  return (
    <Confirm
      title={`Delete the view ${of.name}?`}
      action="Delete it"
      run={() => send.mutate()}
      close={close}
      busy={send.isPending}
    >
      {of.shared
        ? `Nobody in ${of.project} finds it here any more. No run changes.`
        : "No run changes by that."}
      {send.error && <Trouble error={send.error} />}
    </Confirm>
  );
}

// The view is open, and what is shown is no longer what it says.
export function Changed(props: {
  of: View;
  now: Parts;
  mine: boolean;
  show: (view: View) => void;
  close: () => void;
}) {
  const {of, show, close} = props;
  const send = useWrite(
    () =>
      replace(of, {name: of.name, shared: of.shared, parts: {...props.now, project: of.project}}),
    kStale,
    (made) => {
      show(made);
      close();
    },
  );
  return (
    <Notice>
      <p>
        <strong>{of.name}</strong> shows something else than this list does now.
      </p>
      {props.mine && (
        <button type="button" disabled={send.isPending} onClick={() => send.mutate()}>
          Update {of.name}
        </button>
      )}
      <button
        type="button"
        onClick={() => {
          show(of);
          close();
        }}
      >
        Back to it
      </button>
      {send.error && <Trouble error={send.error} />}
    </Notice>
  );
}
