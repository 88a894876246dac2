// A table of many rows: only those in sight exist. The server sorts and filters; this asks for more
// as its end comes near. On a phone each row is a card of two lines.
import {useVirtualizer} from "@tanstack/react-virtual";
import {ArrowDown, ArrowUp} from "lucide-react";
import {type CSSProperties, type ReactNode, useEffect, useRef} from "react";

import {usePhone} from "./media";
import css from "./table.module.css";

export interface Column<Row> {
  key: string;
  head: ReactNode;
  width: string; // of CSS grid: "120px", "minmax(160px, 2fr)"
  number?: boolean;
  sort?: string; // what order_by calls it
  cell: (row: Row) => ReactNode;
}

export interface Chosen {
  ids: ReadonlySet<string>;
  set: (ids: ReadonlySet<string>) => void;
}

interface Props<Row> {
  label: string;
  rows: readonly Row[];
  id: (row: Row) => string;
  columns: Column<Row>[];
  card: (row: Row) => ReactNode;
  total?: number;
  more?: () => void; // the end is near
  order?: string; // "created_at desc"
  sort?: (order: string) => void;
  chosen?: Chosen;
  name?: (row: Row) => string; // for the checkbox
  current?: string;
  rowHeight?: number;
}

const kRow = 32;
const kCard = 60;
const kAhead = 20;

export function Table<Row>(props: Props<Row>) {
  const phone = usePhone();
  const box = useRef<HTMLDivElement>(null);
  const height = phone ? kCard : (props.rowHeight ?? kRow);
  const rows = useVirtualizer({
    count: props.rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => height,
    overscan: 12,
  });
  useEffect(() => rows.measure(), [height, rows]);
  const items = rows.getVirtualItems();
  const lastSeen = items.at(-1)?.index ?? 0;
  const {more} = props;
  useEffect(() => {
    if (more && lastSeen >= props.rows.length - kAhead) more();
  }, [lastSeen, props.rows.length, more]);
  const columns = (props.chosen ? "28px " : "") + props.columns.map((c) => c.width).join(" ");
  const choose = useChoose(props);
  return (
    <div
      ref={box}
      className={css.box}
      role="table"
      aria-label={props.label}
      tabIndex={0}
      aria-rowcount={(props.total ?? props.rows.length) + 1}
    >
      {!phone && <Heads {...props} grid={columns} />}
      <div className={css.rows} role="rowgroup" style={{height: rows.getTotalSize()}}>
        {items.map((item) => {
          const row = props.rows[item.index] as Row;
          return (
            <OneRow
              key={props.id(row)}
              table={props}
              row={row}
              index={item.index}
              phone={phone}
              choose={choose}
              style={{
                transform: `translateY(${item.start}px)`,
                height,
                gridTemplateColumns: phone ? undefined : columns,
              }}
            />
          );
        })}
      </div>
    </div>
  );
}

// Chooses a row, or with Shift all from the one chosen before to it.
function useChoose<Row>(props: Props<Row>) {
  const anchor = useRef(-1);
  return (index: number, range: boolean) => {
    const {chosen} = props;
    if (!chosen) return;
    const next = new Set(chosen.ids);
    const [from, to] =
      range && anchor.current >= 0
        ? [Math.min(anchor.current, index), Math.max(anchor.current, index)]
        : [index, index];
    const add = !next.has(props.id(props.rows[index] as Row));
    for (let i = from; i <= to; i += 1) {
      const id = props.id(props.rows[i] as Row);
      if (add) next.add(id);
      else next.delete(id);
    }
    anchor.current = index;
    chosen.set(next);
  };
}

function OneRow<Row>(props: {
  table: Props<Row>;
  row: Row;
  index: number;
  phone: boolean;
  style: CSSProperties;
  choose: (index: number, range: boolean) => void;
}) {
  const {table, row, index, phone} = props;
  const id = table.id(row);
  const isChosen = table.chosen?.ids.has(id);
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      className={phone ? css.card : css.row}
      data-current={table.current === id || undefined}
      data-chosen={isChosen || undefined}
      style={props.style}
    >
      {table.chosen && (
        <span role="cell">
          <input
            type="checkbox"
            checked={isChosen}
            aria-label={`Choose ${table.name?.(row) ?? id}`}
            onClick={(event) => props.choose(index, event.shiftKey)}
            onChange={() => undefined}
          />
        </span>
      )}
      {phone ? (
        <div role="cell" className="grow">
          {table.card(row)}
        </div>
      ) : (
        table.columns.map((column) => (
          <span key={column.key} role="cell" className={column.number ? css.number : css.cell}>
            {column.cell(row)}
          </span>
        ))
      )}
    </div>
  );
}

function Heads<Row>(props: Props<Row> & {grid: string}) {
  return (
    <div
      className={css.head}
      role="row"
      aria-rowindex={1}
      style={{gridTemplateColumns: props.grid}}
    >
      {props.chosen && (
        <span role="columnheader">
          <span className="unseen">chosen</span>
        </span>
      )}
      {props.columns.map((column) => (
        <Head key={column.key} column={column} order={props.order} sort={props.sort} />
      ))}
    </div>
  );
}

function Head<Row>(props: {column: Column<Row>; order?: string; sort?: (order: string) => void}) {
  const {column, sort} = props;
  const [field, way] = (props.order ?? "").split(" ");
  const mine = column.sort !== undefined && field === column.sort;
  const direction = mine ? (way === "desc" ? "descending" : "ascending") : undefined;
  return (
    <span
      role="columnheader"
      aria-sort={direction}
      className={column.number ? css.number : css.cell}
    >
      {column.sort && sort ? (
        <button
          type="button"
          className={css.sort}
          onClick={() => sort(mine && way === "desc" ? `${column.sort}` : `${column.sort} desc`)}
        >
          {column.head}
          {mine &&
            (way === "desc" ? (
              <ArrowDown size={12} aria-hidden />
            ) : (
              <ArrowUp size={12} aria-hidden />
            ))}
        </button>
      ) : (
        column.head
      )}
    </span>
  );
}
