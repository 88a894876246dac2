// A table of few rows, laid out by the browser. On a phone each row is a card: what it is and what
// may be done with it in the first line, the rest by name below; nothing scrolls sideways.
import type {ReactNode} from "react";

import {usePhone} from "./media";
import css from "./plain_table.module.css";

export interface PlainColumn<Row> {
  name: string; // the head of the column, and what stands before the value in a card
  cell: (row: Row) => ReactNode; // in a card nothing is said of what is "", null or false
  number?: boolean;
  is?: "title" | "actions"; // in the first line of a card, without its name
  hidden?: boolean; // its head is for screen readers alone
}

interface Props<Row> {
  label: string;
  rows: readonly Row[];
  id: (row: Row) => string;
  columns: (PlainColumn<Row> | false)[];
  dense?: boolean; // rows of 28 pixels: numbers, and nothing to press
}

export function PlainTable<Row>(props: Props<Row>) {
  const phone = usePhone();
  const columns = props.columns.filter((one) => one !== false);
  return phone ? <Cards {...props} columns={columns} /> : <Wide {...props} columns={columns} />;
}

type Shown<Row> = Omit<Props<Row>, "columns"> & {columns: PlainColumn<Row>[]};

function Wide<Row>(props: Shown<Row>) {
  return (
    <div className={css.scroll} tabIndex={0} role="region" aria-label={props.label}>
      <table className={props.dense ? css.dense : css.table}>
        <thead>
          <tr>
            {props.columns.map((column) => (
              <th key={column.name} className={column.number ? "number" : undefined}>
                {column.hidden || column.is === "actions" ? (
                  <span className="unseen">{column.name}</span>
                ) : (
                  column.name
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {props.rows.map((row) => (
            <tr key={props.id(row)}>
              {props.columns.map((column) => (
                <td key={column.name} className={kindOf(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const kindOf = (column: PlainColumn<never>) =>
  column.is === "actions" ? "actions" : column.number ? "number nowrap" : undefined;

const isNothing = (value: ReactNode) =>
  value === undefined || value === null || value === false || value === "";

function Cards<Row>(props: Shown<Row>) {
  const {columns} = props;
  const of = (is: PlainColumn<Row>["is"]) => columns.filter((column) => column.is === is);
  return (
    <ul className={css.cards} aria-label={props.label}>
      {props.rows.map((row) => (
        <li key={props.id(row)}>
          <div className={css.first}>
            {of("title").map((column) => (
              <span key={column.name} className={css.title}>
                {column.cell(row)}
              </span>
            ))}
            <span className="grow" />
            {of("actions").map((column) => (
              <span key={column.name} className={css.actions}>
                {column.cell(row)}
              </span>
            ))}
          </div>
          <div className={css.facts}>
            {of(undefined).map((column) => {
              const value = column.cell(row);
              return isNothing(value) ? null : (
                <span key={column.name} className={css.fact}>
                  {!column.hidden && <span className="muted">{column.name} </span>}
                  {value}
                </span>
              );
            })}
          </div>
        </li>
      ))}
    </ul>
  );
}
