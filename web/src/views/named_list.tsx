// A list of things with names and versions: models, datasets. The server filters and sorts it.
import {keepPreviousData, useInfiniteQuery} from "@tanstack/react-query";
import {useNavigate} from "@tanstack/react-router";
import type {ReactNode} from "react";

import type {Listed} from "../api/client";
import {type Change, useProject, useView} from "../app/search";
import {plural} from "../lib/format";
import {FilterBox} from "../ui/filter";
import {useRows, useWalk} from "../ui/list";
import {Page} from "../ui/page";
import {type Column, Table} from "../ui/table";
import {Empty, Loading, Trouble} from "../ui/words";
import css from "./jobs.module.css";

export interface Asked {
  project?: string;
  filter?: string;
  order_by: string;
  limit: number;
  cursor?: string;
}

const kPage = 100;

export function NamedList<Row extends {id: string; name: string; project: string}>(props: {
  title: string; // "Models"
  noun: string; // the first part of its address and of its query's key: "models"
  one: string;
  order: string;
  examples: string[];
  columns: Column<Row>[];
  card: (row: Row) => ReactNode;
  ask: (query: Asked, signal: AbortSignal) => Promise<Listed<Row>>;
  empty: ReactNode;
}) {
  const [view, change] = useView();
  const project = useProject();
  const navigate = useNavigate();
  const filter = view.filter ?? "";
  const order = view.order ?? props.order;
  const query = useInfiniteQuery({
    queryKey: [props.noun, "list", project, filter, order],
    initialPageParam: "",
    placeholderData: keepPreviousData,
    queryFn: ({pageParam, signal}) =>
      props.ask(
        {
          project,
          filter: filter || undefined,
          order_by: order,
          limit: kPage,
          cursor: pageParam || undefined,
        },
        signal,
      ),
    getNextPageParam: (last) => last.next_cursor || undefined,
  });
  const {rows, more} = useRows(query);
  const open = (row: Row) =>
    void navigate({
      to: `/${props.noun}/${row.name}` as never,
      search: {project: row.project} as never,
    });
  const current = useWalk(rows, open, () => undefined);
  return (
    <Page title={props.title} whole>
      <div className={css.filters}>
        <FilterBox
          label={`Filter ${props.noun}`}
          value={filter}
          set={(text) => change({filter: text || undefined})}
          error={filter !== "" ? query.error : undefined}
          examples={props.examples}
        />
        <span className="muted nowrap" role="status">
          {rows.length > 0 && plural(rows.length, props.one)}
          {query.hasNextPage && " and more"}
        </span>
      </div>
      {query.error && !query.data && filter === "" && (
        <Trouble error={query.error} retry={() => void query.refetch()} />
      )}
      {query.isPending && !query.error && <Loading what={props.noun} />}
      {query.data && rows.length === 0 && (
        <None filter={filter} project={project} change={change} {...props} />
      )}
      {rows.length > 0 && (
        <Table
          label={props.title}
          rows={rows}
          id={(row) => row.id}
          name={(row) => row.name}
          columns={props.columns}
          more={more}
          order={order}
          sort={(next) => change({order: next}, "replace")}
          current={current?.id}
          card={props.card}
        />
      )}
    </Page>
  );
}

function None(props: {
  filter: string;
  project?: string;
  change: Change;
  one: string;
  empty: ReactNode;
}) {
  const {filter, project, change} = props;
  if (filter === "" && !project) return props.empty;
  return (
    <Empty
      title={`No ${props.one} is like that`}
      action={
        <button type="button" onClick={() => change({filter: undefined, project: undefined})}>
          Show all
        </button>
      }
    >
      {filter !== "" ? "The filter hides all there are. " : ""}
      {project ? `Only those of the project ${project} are looked at.` : ""}
    </Empty>
  );
}
