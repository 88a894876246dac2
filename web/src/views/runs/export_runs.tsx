// The list as CSV: the columns shown, in the order shown, of all that match.
import {Download} from "lucide-react";
import {useState} from "react";

import {csv} from "../../lib/csv";
import {count} from "../../lib/format";
import type {RunField} from "../../lib/run_fields";
import {save} from "../../ui/save";
import {type RunRow, runPage, valueOf} from "./ask";
import type {useRunList} from "./run_list";

const kMostRows = 10_000;
const kPage = 500;
const kOwn = ["id", "name", "status", "project", "experiment", "owner", "created_at"] as const;

export function ExportRuns(props: {
  list: ReturnType<typeof useRunList>;
  fields: readonly RunField[];
}) {
  const {list, fields} = props;
  const [said, setSaid] = useState("");
  const write = async () => {
    const most = Math.min(list.total, kMostRows);
    const rows: (string | undefined)[][] = [
      [...kOwn, "started_at", "finished_at", ...fields.map((one) => one.field)],
    ];
    try {
      for (let skip = 0; skip < most; skip += kPage) {
        setSaid(`${count(skip)} of ${count(most)}`);
        const stop = new AbortController().signal;
        const limit = Math.min(kPage, most - skip);
        const page = await runPage({snapshot: list.snapshot, skip, limit}, fields, stop);
        rows.push(...page.items.map((run) => lineOf(run, fields)));
      }
      save("runs.csv", csv(rows));
      setSaid(list.total > most ? `the first ${count(most)} of ${count(list.total)}` : "");
    } catch (error) {
      setSaid(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <>
      <button type="button" disabled={list.total === 0} onClick={() => void write()}>
        <Download size={14} aria-hidden /> CSV
      </button>
      <span className="muted" role="status">
        {said}
      </span>
    </>
  );
}

function lineOf(run: RunRow, fields: readonly RunField[]): (string | undefined)[] {
  return [
    ...kOwn.map((name) => run[name]),
    run.started_at,
    run.finished_at,
    ...fields.map((one) => valueOf(run, one)),
  ];
}
