// The columns of the list, and the dialog that chooses them out of all keys that runs have.
import {keepPreviousData, useQuery} from "@tanstack/react-query";
import {Link} from "@tanstack/react-router";
import {ArrowDown, ArrowUp, X} from "lucide-react";
import {useState} from "react";

import {api, ask} from "../../api/client";
import {count, plural, short} from "../../lib/format";
import {
  type RunField,
  canBeColumn,
  isNumber,
  kMostColumns,
  quoted,
  runField,
  shown,
  titleOf,
} from "../../lib/run_fields";
import {Dialog} from "../../ui/dialog";
import {IconButton} from "../../ui/icon_button";
import {useSettled} from "../../ui/settled";
import {State} from "../../ui/state";
import type {Column} from "../../ui/table";
import {Elapsed, Time} from "../../ui/time";
import {Loading, Trouble} from "../../ui/words";
import {type RunColumn, type RunRow, valueOf} from "./ask";
import css from "./runs.module.css";

const kPauseMs = 150;
const kMostShown = 200; // keys at once; one searches for the others

export function RunName(props: {run: Pick<RunRow, "id" | "name">}) {
  const {run} = props;
  return (
    <Link to={`/runs/${run.id}` as never} className="cut" title={run.name || run.id}>
      {run.name || run.id}
    </Link>
  );
}

const kOwn: Column<RunRow>[] = [
  {
    key: "name",
    head: "Name",
    width: "minmax(150px, 1.6fr)",
    sort: "name",
    cell: (run) => <RunName run={run} />,
  },
  {
    key: "status",
    head: "State",
    width: "100px",
    sort: "status",
    cell: (run) => <State state={run.status} />,
  },
];
export const kOwnColumns = kOwn.length; // before the chosen ones
const kLast: Column<RunRow>[] = [
  {
    key: "experiment",
    head: "Experiment",
    width: "minmax(90px, 0.7fr)",
    sort: "experiment",
    cell: (run) => <span title={run.experiment}>{run.experiment}</span>,
  },
  {
    key: "lasted",
    head: "Ran",
    width: "76px",
    number: true,
    cell: (run) => run.started_at && <Elapsed from={run.started_at} until={run.finished_at} />,
  },
  {
    key: "created",
    head: "Made",
    width: "112px",
    sort: "created_at",
    cell: (run) => <Time at={run.created_at} />,
  },
];

export function columnsOf(fields: readonly RunField[]): Column<RunRow>[] {
  return [...kOwn, ...fields.map(columnOf), ...kLast];
}

function columnOf(of: RunField): Column<RunRow> {
  const metric = of.side === "metrics";
  return {
    key: of.field,
    head: (
      <span className="cut" title={of.field}>
        {titleOf(of)}
      </span>
    ),
    width: metric ? "104px" : "minmax(96px, 120px)",
    number: metric,
    sort: quoted(of.field),
    cell: (run) => {
      const value = valueOf(run, of);
      return value === undefined ? null : (
        <span title={value} className={!metric && isNumber(value) ? css.figure : undefined}>
          {shown(value)}
        </span>
      );
    },
  };
}

export function useKeysOfRuns(
  query: {project?: string; filter: string; q: string},
  enabled = true,
) {
  const q = useSettled(query.q, kPauseMs);
  return useQuery({
    queryKey: ["run-keys", query.project, query.filter, q],
    placeholderData: keepPreviousData,
    enabled,
    queryFn: ({signal}) =>
      ask(
        api.GET("/api/v1/runs/columns", {
          params: {
            query: {
              project: query.project,
              filter: query.filter || undefined,
              q: q || undefined,
              limit: kMostShown,
            },
          },
          signal,
        }),
      ),
  });
}

export function ChooseColumns(props: {
  project?: string;
  filter: string;
  fields: readonly RunField[];
  set: (fields: string[]) => void;
  close: () => void;
}) {
  const {fields, set} = props;
  const [find, setFind] = useState("");
  const query = useKeysOfRuns({project: props.project, filter: props.filter, q: find});
  const chosen = fields.map((one) => one.field);
  const toggle = (field: string) =>
    set(chosen.includes(field) ? chosen.filter((one) => one !== field) : [...chosen, field]);
  const move = (at: number, by: number) => {
    const next = [...chosen];
    const [one] = next.splice(at, 1);
    if (one) next.splice(at + by, 0, one);
    set(next);
  };
  const keys = (query.data?.items ?? []).filter((one) => canBeColumn(one.key ?? ""));
  const total = query.data?.total ?? 0;
  const addable = keys
    .map((one) => `${one.kind}s.${one.key}`)
    .filter((field) => !chosen.includes(field))
    .slice(0, Math.max(0, kMostColumns - chosen.length));
  return (
    <Dialog title="Columns" close={props.close} wide>
      {fields.length > 0 && (
        <ol className={css.chosenColumns} aria-label="Columns shown, in their order">
          {fields.map((one, at) => (
            <li key={one.field}>
              <span className="cut grow" title={one.field}>
                {titleOf(one)}
              </span>
              <IconButton
                icon={ArrowUp}
                does={`${one.field}: further left`}
                disabled={at === 0}
                run={() => move(at, -1)}
              />
              <IconButton
                icon={ArrowDown}
                does={`${one.field}: further right`}
                disabled={at === fields.length - 1}
                run={() => move(at, 1)}
              />
              <IconButton icon={X} does={`Take ${one.field} away`} run={() => toggle(one.field)} />
            </li>
          ))}
        </ol>
      )}
      <input
        type="search"
        autoFocus
        aria-label="Find a metric, parameter or tag"
        placeholder="Find a metric, parameter or tag"
        value={find}
        onChange={(event) => setFind(event.target.value)}
      />
      {query.error && <Trouble error={query.error} retry={() => void query.refetch()} />}
      {query.isPending && !query.error && <Loading what="the keys of all runs" />}
      {addable.length > 1 && (
        <div className="row">
          <button type="button" onClick={() => set([...chosen, ...addable])}>
            Show {find ? "these" : "the first"} {plural(addable.length, "key")}
          </button>
        </div>
      )}
      {query.data && keys.length === 0 && (
        <p className="muted">{find ? "No key is called so." : "These runs have no keys yet."}</p>
      )}
      <ul className={css.keys} aria-label="Keys">
        {keys.map((one) => (
          <KeyOfRuns
            key={`${one.kind} ${one.key}`}
            of={one}
            chosen={chosen}
            full={chosen.length >= kMostColumns}
            toggle={toggle}
          />
        ))}
      </ul>
      {total > keys.length && (
        <p className="muted">
          The first {count(keys.length)} of {plural(total, "key")}: search for the others.
        </p>
      )}
      {chosen.length >= kMostColumns && (
        <p className="muted">{kMostColumns} columns are the most that are shown at once.</p>
      )}
    </Dialog>
  );
}

function KeyOfRuns(props: {
  of: RunColumn;
  chosen: readonly string[];
  full: boolean;
  toggle: (field: string) => void;
}) {
  const {kind = "", key = "", count: runs, min, max} = props.of;
  const fields =
    kind === "metric"
      ? [`metrics.${key}`, `metrics.${key}.min`, `metrics.${key}.max`]
      : [`${kind}s.${key}`];
  return (
    <li>
      <span className="cut grow" title={key}>
        {key}
      </span>
      <span className="muted nowrap">
        {kind === "metric" && min != null && max != null ? `${short(min)} to ${short(max)} · ` : ""}
        {plural(runs, "run")}
      </span>
      {fields.map((field) => (
        <label key={field} className={css.which}>
          <input
            type="checkbox"
            checked={props.chosen.includes(field)}
            disabled={props.full && !props.chosen.includes(field)}
            onChange={() => props.toggle(field)}
          />
          {kind === "metric" ? (runField(field).which ?? "last") : kind}
        </label>
      ))}
    </li>
  );
}
