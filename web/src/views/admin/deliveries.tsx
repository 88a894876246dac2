// Webhook calls and how they went: a job file's `notify` asks for them.
import {keepPreviousData, useInfiniteQuery} from "@tanstack/react-query";
import {Link} from "@tanstack/react-router";

import {type Listed, type Schemas, api, ask} from "../../api/client";
import {useView} from "../../app/search";
import {FilterBox} from "../../ui/filter";
import {useRows} from "../../ui/list";
import {State} from "../../ui/state";
import {type Column, Table} from "../../ui/table";
import {Time} from "../../ui/time";
import {Empty, Loading, Trouble} from "../../ui/words";
import css from "./admin.module.css";

type Delivery = Schemas["Delivery"];
const kPage = 100;
const kExamples = ["state = failed", "event_kind = job.failed", "created_at > 2026-01-01"];
const kShapes = {waiting: "queued", delivered: "succeeded", failed: "failed"} as const;

function How(props: {one: Delivery}) {
  return <State state={kShapes[props.one.state]} word={props.one.state} />;
}

const newsOf = (one: Delivery): string =>
  one.last_error || (one.last_status > 0 ? `HTTP ${one.last_status}` : "");

const kColumns: Column<Delivery>[] = [
  {
    key: "created",
    head: "When",
    width: "118px",
    sort: "created_at",
    cell: (one) => <Time at={one.created_at} />,
  },
  {key: "state", head: "State", width: "108px", cell: (one) => <How one={one} />},
  {
    key: "event",
    head: "What happened",
    width: "minmax(110px, 0.6fr)",
    cell: (one) => one.event_kind,
  },
  {
    key: "job",
    head: "Job",
    width: "216px",
    cell: (one) =>
      one.job_id && (
        <Link to="/jobs/$job" params={{job: one.job_id}}>
          <code>{one.job_id}</code>
        </Link>
      ),
  },
  {
    key: "url",
    head: "Where to",
    width: "minmax(160px, 1.5fr)",
    cell: (one) => <span title={one.url}>{one.url}</span>,
  },
  {key: "tries", head: "Tries", width: "48px", number: true, cell: (one) => one.tries},
  {
    key: "news",
    head: "Last answer",
    width: "minmax(140px, 1.5fr)",
    cell: (one) => <span title={newsOf(one)}>{newsOf(one)}</span>,
  },
];

export default function Deliveries() {
  const [view, change] = useView();
  const filter = view.filter ?? "";
  const order = view.order ?? "created_at desc";
  const query = useInfiniteQuery({
    queryKey: ["admin", "deliveries", filter, order],
    initialPageParam: "",
    placeholderData: keepPreviousData,
    queryFn: async ({pageParam, signal}) => {
      const asked = {
        filter: filter || undefined,
        order_by: order,
        limit: kPage,
        cursor: pageParam || undefined,
      };
      return (await ask(
        api.GET("/api/v1/deliveries", {params: {query: asked}, signal}),
      )) as Listed<Delivery>;
    },
    getNextPageParam: (last) => last.next_cursor || undefined,
  });
  const {rows, more} = useRows(query);
  return (
    <>
      <div className={css.finders}>
        <FilterBox
          label="Filter webhook calls"
          value={filter}
          set={(text) => change({filter: text || undefined})}
          error={filter !== "" ? query.error : undefined}
          examples={kExamples}
        />
      </div>
      {query.error && filter === "" && (
        <Trouble error={query.error} retry={() => void query.refetch()} />
      )}
      {query.isPending && !query.error && <Loading what="webhook calls" />}
      {query.data && rows.length === 0 && (
        <None filtered={filter !== ""} all={() => change({filter: undefined})} />
      )}
      {rows.length > 0 && (
        <Table
          label="Webhook calls"
          rows={rows}
          id={(one) => one.id ?? ""}
          columns={kColumns}
          more={more}
          order={order}
          sort={(next) => change({order: next}, "replace")}
          card={(one) => (
            <>
              <div className="row">
                <span className="cut grow">{one.url}</span> <How one={one} />
              </div>
              <div className="row muted">
                <span className="cut grow">
                  {one.event_kind} {newsOf(one)}
                </span>
                <Time at={one.created_at} />
              </div>
            </>
          )}
        />
      )}
    </>
  );
}

function None(props: {filtered: boolean; all: () => void}) {
  if (props.filtered)
    return (
      <Empty
        title="No call is like that"
        action={
          <button type="button" onClick={props.all}>
            Show all
          </button>
        }
      />
    );
  return (
    <Empty
      title="Nobody was told anything yet"
      command="notify: [{webhook: 'https://chat.example.org/hook', when: [failed]}]"
    >
      A job file says whom to tell when the job ends; each call and how it went is listed here.
    </Empty>
  );
}
