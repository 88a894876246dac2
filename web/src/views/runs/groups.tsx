// Runs put together by equal values: how many, and the mean and spread of each metric shown, over
// all of them, as the server has it.
import {keepPreviousData, useQuery} from "@tanstack/react-query";
import {Link} from "@tanstack/react-router";
import {useMemo} from "react";

import {type Schemas, api, ask} from "../../api/client";
import {count, plural, short, toNumber} from "../../lib/format";
import {changed, written} from "../../lib/chosen";
import {type RunField, both, equals, listed, quoted, shown, titleOf} from "../../lib/run_fields";
import {type Column, Table} from "../../ui/table";
import {Empty, Loading, Trouble} from "../../ui/words";
import css from "./runs.module.css";

const kMostGroups = 1000;
const kMostAveraged = 10; // metrics: each takes two of the API's twenty aggregates

type Group = Schemas["RunGroup"];
type Row = Group & {id: string};

export function Groups(props: {
  project?: string;
  filter: string;
  by: readonly RunField[];
  fields: readonly RunField[];
}) {
  const {project, filter} = props;
  const by = props.by.map((one) => one.field);
  const averaged = props.fields.filter((one) => one.side === "metrics").slice(0, kMostAveraged);
  const agg = averaged
    .flatMap(({field}) => [`${quoted(field)}:mean`, `${quoted(field)}:std`])
    .join();
  const query = useQuery({
    queryKey: ["runs", "groups", project, filter, by.join(), agg],
    placeholderData: keepPreviousData,
    queryFn: ({signal}) =>
      ask(
        api.GET("/api/v1/runs/groups", {
          params: {
            query: {
              project,
              filter: filter || undefined,
              group_by: listed(by),
              agg: agg || undefined,
              limit: kMostGroups,
            },
          },
          signal,
        }),
      ),
  });
  const rows = useMemo(
    () =>
      (query.data?.items ?? []).map((one): Row => ({...one, id: JSON.stringify(one.values ?? {})})),
    [query.data],
  );
  const columns = useMemo(
    () => [...props.by.map((of) => valueColumn(of, filter, by)), ...restOf(rows, averaged)],
    [rows, by.join(), agg, filter],
  );
  if (query.error) return <Trouble error={query.error} retry={() => void query.refetch()} />;
  if (!query.data) return <Loading what="groups" />;
  if (rows.length === 0) return <Empty title="No run is like that" />;
  return (
    <>
      {query.data.total > rows.length && (
        <p className={css.notice}>
          The {count(rows.length)} largest of {plural(query.data.total, "group")}.
        </p>
      )}
      <Table
        label="Groups of runs"
        rows={rows}
        id={(row) => row.id}
        columns={columns}
        rowHeight={40}
        card={(row) => (
          <>
            <div className="row">
              {columns[0]?.cell(row)} <span className="grow" /> {plural(row.count, "run")}
            </div>
            <div className="row muted">
              {averaged
                .filter((of) => meanOf(row, of) !== "")
                .slice(0, 2)
                .map((of) => `${titleOf(of)} ${meanOf(row, of)}`)
                .join(" · ")}
            </div>
          </>
        )}
      />
    </>
  );
}

function valueColumn(of: RunField, filter: string, by: readonly string[]): Column<Row> {
  return {
    key: of.field,
    head: titleOf(of),
    width: "minmax(140px, 1fr)",
    cell: (row) => {
      const value = row.values?.[of.field];
      const mine = by
        .map((field) => equals(field, row.values?.[field]))
        .reduce((all, one) => both(all, one), filter);
      return (
        <Link
          to={"/runs" as never}
          search={((old: object) => ({...old, filter: mine, group: undefined})) as never}
          className="cut"
        >
          {value === undefined ? "(none)" : shown(value)}
        </Link>
      );
    },
  };
}

function meanOf(row: Row, of: RunField): string {
  const mean = row.aggregates?.[`${of.field}:mean`];
  const std = row.aggregates?.[`${of.field}:std`];
  if (mean === undefined) return "";
  return std === undefined || row.count < 2 ? short(mean) : `${short(mean)} ± ${short(std)}`;
}

function restOf(rows: readonly Row[], averaged: readonly RunField[]): Column<Row>[] {
  return [
    {key: "runs", head: "Runs", width: "72px", number: true, cell: (row) => count(row.count)},
    ...averaged.map((of): Column<Row> => {
      const ends = rows.flatMap((row) => {
        const [mean, std] = spread(row, of);
        return Number.isFinite(mean) ? [mean - std, mean + std] : [];
      });
      const least = Math.min(...ends);
      const most = Math.max(...ends);
      return {
        key: of.field,
        head: (
          <span className="cut" title={`${of.field}: mean ± standard deviation`}>
            {titleOf(of)}
          </span>
        ),
        width: "minmax(150px, 0.8fr)",
        number: true,
        cell: (row) => <Mean row={row} of={of} least={least} most={most} />,
      };
    }),
    {
      key: "compare",
      head: <span className="unseen">compare</span>,
      width: "90px",
      cell: (row) => (
        <Link
          to={"/runs/compare" as never}
          search={{ids: written(changed([], row.run_ids ?? []))} as never}
        >
          Compare
        </Link>
      ),
    },
  ];
}

function spread(row: Row, of: RunField): [number, number] {
  const std = toNumber(row.aggregates?.[`${of.field}:std`] as never);
  return [toNumber(row.aggregates?.[`${of.field}:mean`] as never), Number.isFinite(std) ? std : 0];
}

// The number, and where it lies among the other groups.
function Mean(props: {row: Row; of: RunField; least: number; most: number}) {
  const [mean, std] = spread(props.row, props.of);
  if (!Number.isFinite(mean)) return null;
  const wide = props.most - props.least || 1;
  const at = (value: number) => `${(100 * (value - props.least)) / wide}%`;
  return (
    <>
      {meanOf(props.row, props.of)}
      <span className={css.band} aria-hidden>
        <span style={{left: at(mean - std), width: `${(200 * std) / wide}%`}} />
        <i style={{left: at(mean)}} />
      </span>
    </>
  );
}
