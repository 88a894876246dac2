// A table of many rows: only those in sight exist. The server sorts and filters; this asks for more
// as its end comes near, or says which rows are in sight where the list can be entered anywhere
// (lib/blocks.ts). On a phone each row is a card of two lines.
import {useVirtualizer} from "@tanstack/react-virtual";
import {ArrowDown, ArrowUp} from "lucide-react";
import {type ReactNode, memo, useCallback, useEffect, useRef} from "react";

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

// An array, or what has not all of its rows yet.
export interface Rows<Row> {
  readonly length: number;
  at: (index: number) => Row | undefined;
}

export interface Chosen {
  ids: ReadonlySet<string>;
  set: (ids: ReadonlySet<string>) => void;
  between?: (from: number, to: number) => Promise<string[]>; // where not all rows are there
}

interface Props<Row> {
  label: string;
  rows: Rows<Row>;
  id: (row: Row) => string;
  columns: Column<Row>[];
  card: (row: Row) => ReactNode;
  total?: number;
  more?: () => void; // the end is near
  seen?: (first: number, last: number) => void; // these rows are in sight
  top?: unknown; // another list begins at its top
  order?: string; // "created_at desc"
  sort?: (order: string) => void;
  chosen?: Chosen;
  name?: (row: Row) => string; // for the checkbox
  mark?: (row: Row) => ReactNode; // of a chosen row, beside its checkbox
  current?: string;
  cursor?: number; // the row one walks on by keys: kept in sight
  rowHeight?: number;
}

const kRow = 32;
const kCard = 60;
const kAhead = 20;

export function Table<Row>(props: Props<Row>) {
  const {seen, more, columns, top, cursor} = props;
  const phone = usePhone();
  const box = useRef<HTMLDivElement>(null);
  const height = phone ? kCard : (props.rowHeight ?? kRow);
  const rows = useVirtualizer({
    count: props.rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => height,
    overscan: 12,
    useFlushSync: false,
  });
  useEffect(() => rows.measure(), [height, rows]);
  useEffect(() => void (box.current && (box.current.scrollTop = 0)), [top]);
  useEffect(() => {
    if (cursor !== undefined && cursor >= 0) rows.scrollToIndex(cursor, {align: "auto"});
  }, [cursor, rows]);
  const items = rows.getVirtualItems();
  const firstSeen = items[0]?.index ?? 0;
  const lastSeen = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (more && lastSeen >= props.rows.length - kAhead) more();
  }, [lastSeen, props.rows.length, more]);
  useEffect(() => seen?.(firstSeen, lastSeen), [firstSeen, lastSeen, seen]);
  const choosing = props.chosen ? (props.mark ? "48px " : "28px ") : "";
  const grid = choosing + columns.map((c) => c.width).join(" ");
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
      {!phone && <Heads {...props} grid={grid} />}
      <div className={css.rows} role="rowgroup" style={{height: rows.getTotalSize()}}>
        {items.map((item) => {
          const row = props.rows.at(item.index);
          const id = row === undefined ? "" : props.id(row);
          return (
            <OneRow
              key={id || item.index}
              row={row}
              id={id}
              index={item.index}
              phone={phone}
              columns={columns as Column<unknown>[]}
              card={props.card as (row: unknown) => ReactNode}
              name={props.name as ((row: unknown) => string) | undefined}
              mark={props.mark as ((row: unknown) => ReactNode) | undefined}
              chosen={props.chosen ? props.chosen.ids.has(id) : undefined}
              current={id !== "" && props.current === id}
              choose={choose}
              top={item.start}
              height={height}
              grid={phone ? undefined : grid}
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
  const newest = useRef(props);
  newest.current = props;
  return useCallback((index: number, range: boolean) => {
    const {chosen, rows, id} = newest.current;
    const row = rows.at(index);
    if (!chosen || row === undefined) return;
    const add = !chosen.ids.has(id(row));
    const [from, to] =
      range && anchor.current >= 0
        ? [Math.min(anchor.current, index), Math.max(anchor.current, index)]
        : [index, index];
    anchor.current = index;
    const set = (ids: string[]) => {
      const next = new Set(newest.current.chosen?.ids);
      for (const one of ids) void (add ? next.add(one) : next.delete(one));
      newest.current.chosen?.set(next);
    };
    const there: string[] = [];
    for (let i = from; i <= to; i += 1) {
      const one = rows.at(i);
      if (one !== undefined) there.push(id(one));
    }
    if (there.length === to - from + 1 || !chosen.between) set(there);
    else void chosen.between(from, to).then(set);
  }, []);
}

interface RowProps {
  row: unknown;
  id: string;
  index: number;
  phone: boolean;
  columns: Column<unknown>[];
  card: (row: unknown) => ReactNode;
  name?: (row: unknown) => string;
  mark?: (row: unknown) => ReactNode;
  chosen?: boolean;
  current: boolean;
  choose: (index: number, range: boolean) => void;
  top: number;
  height: number;
  grid?: string;
}

// Drawn again only when something of its own has changed: scrolling moves none of the others.
const OneRow = memo(function OneRow(props: RowProps) {
  const {row, index, phone, chosen} = props;
  const there = row !== undefined;
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-busy={there ? undefined : true}
      className={phone ? css.card : css.row}
      data-current={props.current || undefined}
      data-chosen={chosen || undefined}
      style={{
        transform: `translateY(${props.top}px)`,
        height: props.height,
        gridTemplateColumns: props.grid,
      }}
    >
      {chosen !== undefined && (
        <span role="cell" className={css.choose}>
          {there && (
            <input
              type="checkbox"
              checked={chosen}
              aria-label={`Choose ${props.name?.(row) ?? props.id}`}
              onClick={(event) => props.choose(index, event.shiftKey)}
              onChange={() => undefined}
            />
          )}
          {there && chosen && props.mark?.(row)}
        </span>
      )}
      {!there && (
        <span role="cell" className={css.absent}>
          <span className="unseen">loading</span>
        </span>
      )}
      {there && phone && (
        <div role="cell" className="grow">
          {props.card(row)}
        </div>
      )}
      {there &&
        !phone &&
        props.columns.map((column) => (
          <span key={column.key} role="cell" className={column.number ? css.number : css.cell}>
            {column.cell(row)}
          </span>
        ))}
    </div>
  );
});

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
