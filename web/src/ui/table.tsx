// A table of many rows and columns: only those in sight exist. The server sorts and filters; this
// asks for more as its end comes near, or says which rows are in sight where the list can be
// entered anywhere (lib/blocks.ts). On a phone each row is a card of two lines.
import {useVirtualizer} from "@tanstack/react-virtual";
import {ArrowDown, ArrowUp} from "lucide-react";
import {type ReactNode, type RefObject, memo, useCallback, useEffect, useMemo, useRef} from "react";

import {kPad} from "../lib/across";
import {usePhone} from "./media";
import css from "./table.module.css";
import {type Across, useAcross} from "./table_across";

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
  seenAcross?: (first: number, last: number) => void; // these columns; on a phone no more than them
  top?: unknown; // another list begins at its top
  order?: string; // "created_at desc"
  sort?: (order: string) => void;
  chosen?: Chosen;
  name?: (row: Row) => string; // for the checkbox
  mark?: (row: Row) => ReactNode; // of a chosen row, beside its checkbox
  current?: string;
  cursor?: number; // the row one walks on by keys: kept in sight
  rowHeight?: number;
  cardHeight?: number;
}

const kRow = 32;
const kCard = 60;
const kAhead = 20;
const kChoose = 28; // wide are the boxes that choose
const kChooseMarked = 48;

type Box = RefObject<HTMLDivElement | null>;

function useRowsInSight<Row>(props: Props<Row>, box: Box, height: number) {
  const {seen, more, top, cursor} = props;
  const count = props.rows.length;
  const rows = useVirtualizer({
    count,
    getScrollElement: () => box.current,
    estimateSize: () => height,
    overscan: 12,
    useFlushSync: false,
  });
  useEffect(() => rows.measure(), [height, rows]);
  useEffect(() => void (box.current && (box.current.scrollTop = 0)), [box, top]);
  useEffect(() => {
    if (cursor !== undefined && cursor >= 0) rows.scrollToIndex(cursor, {align: "auto"});
  }, [cursor, rows]);
  const items = rows.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (more && last >= count - kAhead) more();
  }, [last, count, more]);
  useEffect(() => seen?.(first, last), [first, last, seen]);
  return {items, high: rows.getTotalSize()};
}

function useColumnsInSight<Row>(props: Props<Row>, box: Box, choosing: number, phone: boolean) {
  const {columns, seenAcross} = props;
  const widths = useMemo(() => columns.map((one) => one.width), [columns]);
  const across = useAcross(box, widths, choosing);
  const {first, end} = across;
  useEffect(
    () => (phone ? seenAcross?.(0, 0) : seenAcross?.(first, end - 1)),
    [phone, first, end, seenAcross],
  );
  // The same as long as the same columns are in sight, so that scrolling down draws no row again.
  const inSight = useMemo(
    () =>
      columns
        .map((column, at) => ({column, at}))
        .filter(({at}) => at === 0 || (at >= first && at < end)),
    [columns, first, end],
  ) as Placed<unknown>[];
  return {across, inSight};
}

export function Table<Row>(props: Props<Row>) {
  const phone = usePhone();
  const box = useRef<HTMLDivElement>(null);
  const height = phone ? (props.cardHeight ?? kCard) : (props.rowHeight ?? kRow);
  const choosing = !props.chosen ? 0 : props.mark ? kChooseMarked : kChoose;
  const {items, high} = useRowsInSight(props, box, height);
  const {across, inSight} = useColumnsInSight(props, box, choosing, phone);
  const wide = across.wide && !phone;
  const choose = useChoose(props);
  return (
    <div
      ref={box}
      className={css.box}
      role="table"
      aria-label={props.label}
      tabIndex={0}
      aria-rowcount={(props.total ?? props.rows.length) + 1}
      aria-colcount={wide ? props.columns.length + (choosing ? 1 : 0) : undefined}
      data-wide={wide || undefined}
    >
      {!phone && <Heads {...props} across={across} choosing={choosing} inSight={inSight} />}
      <div className={css.rows} role="rowgroup" style={{height: high}}>
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
              inSight={inSight}
              choosing={choosing}
              card={props.card as (row: unknown) => ReactNode}
              name={props.name as ((row: unknown) => string) | undefined}
              mark={props.mark as ((row: unknown) => ReactNode) | undefined}
              chosen={props.chosen ? props.chosen.ids.has(id) : undefined}
              current={id !== "" && props.current === id}
              choose={choose}
              top={item.start}
              height={height}
              grid={phone ? undefined : across.grid}
              width={phone ? undefined : across.width}
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
  inSight: Placed<unknown>[];
  choosing: number;
  card: (row: unknown) => ReactNode;
  name?: (row: unknown) => string;
  mark?: (row: unknown) => ReactNode;
  chosen?: boolean;
  current: boolean;
  choose: (index: number, range: boolean) => void;
  top: number;
  height: number;
  grid?: string;
  width?: number; // where the columns are wider than the table
}

// A column that exists, and which of all it is.
interface Placed<Row> {
  column: Column<Row>;
  at: number;
}

// In a wide table each cell says which column it is of, as others do not exist; the first of those
// after the one at the left stands behind the room for those that do not.
function inWide(at: number, place: number, choosing: number) {
  const left = choosing ? kPad + choosing : 0;
  return {
    "aria-colindex": at + 1 + (choosing ? 1 : 0),
    "data-first": place === 0 || undefined,
    style:
      place === 0
        ? {left}
        : place === 1 && at > 1
          ? {gridColumnStart: choosing ? 4 : 3}
          : undefined,
  };
}

// Drawn again only when something of its own has changed: scrolling moves none of the others.
const OneRow = memo(function OneRow(props: RowProps) {
  const {row, index, phone, chosen, inSight} = props;
  const there = row !== undefined;
  const wide = props.width !== undefined;
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
        width: props.width,
      }}
    >
      {chosen !== undefined && (
        <span role="cell" className={css.choose} aria-colindex={wide ? 1 : undefined}>
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
        inSight.map(({column, at}, place) => (
          <Cell
            key={column.key}
            column={column}
            row={row}
            at={wide ? at : -1}
            place={Math.min(place, 2)}
            choosing={props.choosing}
          />
        ))}
    </div>
  );
});

// `at`: which of all columns, in a wide table; else -1.
const Cell = memo(function Cell(props: {
  column: Column<unknown>;
  row: unknown;
  at: number;
  place: number;
  choosing: number;
}) {
  const {column, at} = props;
  return (
    <span
      role="cell"
      className={column.number ? css.number : css.cell}
      {...(at >= 0 && inWide(at, props.place, props.choosing))}
    >
      {column.cell(props.row)}
    </span>
  );
});

function Heads(props: {
  chosen?: Chosen;
  order?: string;
  sort?: (order: string) => void;
  across: Across;
  choosing: number;
  inSight: readonly Placed<unknown>[];
}) {
  const {across, inSight, chosen} = props;
  const wide = across.width !== undefined;
  return (
    <div
      className={css.head}
      role="row"
      aria-rowindex={1}
      style={{gridTemplateColumns: across.grid, width: across.width}}
    >
      {chosen && (
        <span role="columnheader" className={css.choose} aria-colindex={wide ? 1 : undefined}>
          <span className="unseen">chosen</span>
        </span>
      )}
      {inSight.map(({column, at}, place) => (
        <Head
          key={column.key}
          column={column}
          order={props.order}
          sort={props.sort}
          more={wide ? inWide(at, place, props.choosing) : undefined}
        />
      ))}
    </div>
  );
}

function Head(props: {
  column: Column<unknown>;
  order?: string;
  sort?: (order: string) => void;
  more?: ReturnType<typeof inWide>;
}) {
  const {column, sort} = props;
  const falls = props.order === `${column.sort} desc`;
  const mine =
    column.sort !== undefined &&
    (falls || props.order === column.sort || props.order === `${column.sort} asc`);
  const direction = mine ? (falls ? "descending" : "ascending") : undefined;
  return (
    <span
      role="columnheader"
      aria-sort={direction}
      className={column.number ? css.number : css.cell}
      {...props.more}
    >
      {column.sort && sort ? (
        <button
          type="button"
          className={css.sort}
          onClick={() => sort(falls ? `${column.sort}` : `${column.sort} desc`)}
        >
          {column.head}
          {mine &&
            (falls ? <ArrowDown size={12} aria-hidden /> : <ArrowUp size={12} aria-hidden />)}
        </button>
      ) : (
        column.head
      )}
    </span>
  );
}
