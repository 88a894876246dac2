// What these runs were told, what they ran and in what: only what differs, or all of it.
import {useMemo} from "react";

import {useView} from "../../../app/search";
import {csv} from "../../../lib/csv";
import {compared} from "../../../lib/differences";
import {plural} from "../../../lib/format";
import {shown} from "../../../lib/run_fields";
import {Swatch} from "../../../ui/chart";
import {save} from "../../../ui/save";
import {type Column, Table} from "../../../ui/table";
import {Empty} from "../../../ui/words";
import {RunName} from "../columns";
import type {RunRow} from "../ask";
import type {ComparedRun} from "./index";
import css from "./compare.module.css";

interface Row {
  id: string;
  part: string;
  key: string;
  values: (string | undefined)[];
  differs: boolean;
}

function codeOf(run: RunRow): Record<string, string> {
  const {git} = run;
  const all = {
    "code bundle": run.code_digest,
    commit: git?.commit,
    branch: git?.branch,
    remote: git?.remote,
    "uncommitted changes": git?.dirty ? (git.diff_digest ?? "yes") : undefined,
  };
  return Object.fromEntries(
    Object.entries(all).filter((pair): pair is [string, string] => Boolean(pair[1])),
  );
}

function dataOf(run: RunRow): Record<string, string> {
  return Object.fromEntries(
    (run.datasets ?? []).map((one) => [
      one.name || one.path || "dataset",
      [one.version, one.digest].filter(Boolean).join(" "),
    ]),
  );
}

// Those that clients write for themselves tell nothing apart.
function tagsOf(run: RunRow): Record<string, string> {
  return Object.fromEntries(
    Object.entries(run.tags ?? {}).filter(([name]) => !/^(mlflow|hearth)\./.test(name)),
  );
}

const kParts: [string, (run: RunRow) => Record<string, string> | undefined][] = [
  ["parameter", (run) => run.params],
  ["code", codeOf],
  ["data", dataOf],
  ["environment", (run) => run.environment],
  ["tag", tagsOf],
];

export default function Differences(props: {runs: readonly ComparedRun[]}) {
  const {runs} = props;
  const [view, change] = useView();
  const everything = view.rows === "all";
  const find = (view.find ?? "").toLowerCase();
  const all = useMemo(
    () =>
      kParts.flatMap(([part, of]) =>
        compared(runs.map(({run}) => of(run))).map((row): Row => ({
          ...row,
          part,
          id: `${part} ${row.key}`,
        })),
      ),
    [runs],
  );
  const rows = all.filter(
    (row) => (everything || row.differs) && row.id.toLowerCase().includes(find),
  );
  const columns = useMemo(() => columnsOf(runs), [runs]);
  const hidden = all.filter((row) => !row.differs).length;
  return (
    <div className={css.fill}>
      <div className="row wrap">
        <input
          type="search"
          className={css.find}
          data-filter
          aria-label="Find a parameter, package or tag"
          placeholder="Find a parameter, package or tag"
          value={view.find ?? ""}
          onChange={(event) => change({find: event.target.value || undefined}, "replace")}
        />
        <label>
          <input
            type="checkbox"
            checked={!everything}
            onChange={(event) => change({rows: event.target.checked ? undefined : "all"})}
          />
          only what differs
        </label>
        <span className="muted">
          {!everything && `${plural(hidden, "value")} the same in all ${runs.length} left out`}
        </span>
        <span className="grow" />
        <button
          type="button"
          onClick={() =>
            save(
              "differences.csv",
              csv([
                ["kind", "key", ...runs.map((one) => one.label)],
                ...rows.map((row) => [row.part, row.key, ...row.values]),
              ]),
            )
          }
        >
          Save as CSV
        </button>
      </div>
      {rows.length === 0 ? (
        <Empty title={find ? "Nothing is called so" : "Nothing differs between them"}>
          {hidden > 0 && !everything
            ? `They were told and ran the same: ${plural(hidden, "value")} are left out.`
            : ""}
        </Empty>
      ) : (
        <div className={css.table}>
          <Table
            label="Differences"
            rows={rows}
            id={(row) => row.id}
            columns={columns}
            card={(row) => (
              <>
                <div className="row">
                  <span className="cut">{row.key}</span> <span className="muted">{row.part}</span>
                </div>
                <div className="cut muted">
                  {[...new Set(row.values.map((value) => shown(value) || "-"))].join(" · ")}
                </div>
              </>
            )}
          />
        </div>
      )}
    </div>
  );
}

function columnsOf(runs: readonly ComparedRun[]): Column<Row>[] {
  return [
    {
      key: "key",
      head: "Value",
      width: "minmax(160px, 1fr)",
      cell: (row) => <span title={row.key}>{row.key}</span>,
    },
    {
      key: "part",
      head: "Kind",
      width: "92px",
      cell: (row) => <span className="muted">{row.part}</span>,
    },
    ...runs.map(({run, slot, label}, i): Column<Row> => ({
      key: run.id,
      head: (
        <span className="row">
          <Swatch slot={slot} /> <RunName run={{id: run.id, name: label}} />
        </span>
      ),
      width: "minmax(110px, 1fr)",
      cell: (row) => {
        const value = row.values[i];
        return (
          <span title={value} className={value !== row.values[0] ? css.other : undefined}>
            {value === undefined ? "-" : shown(value)}
          </span>
        );
      },
    })),
  ];
}
