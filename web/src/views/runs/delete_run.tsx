// A run is deleted, and brought back while the server still has it.
import {useState} from "react";

import {type Run, api, ask} from "../../api/client";
import {useGrades} from "../../app/grades";
import {useWrite} from "../../app/write";
import {Confirm} from "../../ui/dialog";
import {Trouble} from "../../ui/words";

const kStale = ["run", "runs"];

export function DeleteRun(props: {run: Run}) {
  const {run} = props;
  const {may} = useGrades();
  if (!may(run.project ?? "", "member")) return null;
  return run.deleted_at ? <Restore run={run} /> : <Delete run={run} />;
}

function Delete(props: {run: Run}) {
  const {run} = props;
  const [asked, setAsked] = useState(false);
  const send = useWrite(
    () => ask(api.DELETE("/api/v1/runs/{run}", {params: {path: {run: run.id ?? ""}}})),
    kStale,
    () => setAsked(false),
  );
  return (
    <>
      <button type="button" className="danger" onClick={() => setAsked(true)}>
        Delete…
      </button>
      {asked && (
        <Confirm
          title={`Delete ${run.name || run.id}`}
          action="Delete it"
          busy={send.isPending}
          run={() => send.mutate(undefined)}
          close={() => setAsked(false)}
        >
          It leaves the lists. Here it can be restored until the server clears it away, after 30
          days unless it was told otherwise.
          {send.error && <Trouble error={send.error} />}
        </Confirm>
      )}
    </>
  );
}

function Restore(props: {run: Run}) {
  const {run} = props;
  const send = useWrite(
    () => ask(api.POST("/api/v1/runs/{run}/restore", {params: {path: {run: run.id ?? ""}}})),
    kStale,
  );
  return (
    <>
      {send.error && <Trouble error={send.error} />}
      <button type="button" disabled={send.isPending} onClick={() => send.mutate(undefined)}>
        Restore
      </button>
    </>
  );
}
