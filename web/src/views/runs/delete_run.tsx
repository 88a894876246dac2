// A run is deleted, and brought back while the server still has it.

import {type Run, api, ask} from "../../api/client";
import {useGrades} from "../../app/grades";
import {useWrite} from "../../app/write";
import {DeleteButton} from "../../ui/delete_button";
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
  const send = useWrite(
    () => ask(api.DELETE("/api/v1/runs/{run}", {params: {path: {run: run.id ?? ""}}})),
    kStale,
  );
  return (
    <DeleteButton of={run.name || (run.id ?? "")} action="Delete it" send={send}>
      It leaves the lists. Here it can be restored until the server clears it away, after 30 days
      unless it was told otherwise.
    </DeleteButton>
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
