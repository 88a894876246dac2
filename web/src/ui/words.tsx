// What a view says when it has no data to show: loading, empty, refused. These four differ, always.
import {Link} from "@tanstack/react-router";
import {type ReactNode, useEffect, useState} from "react";

import {isGone, say} from "../app/errors";
import {Copy} from "./copy";
import css from "./ui.module.css";

const kPatienceMs = 10_000; // after so long one is told what is waited for
const kBlinkMs = 200; // nothing is said about what takes no longer

export function Loading(props: {what: string}) {
  const [after, setAfter] = useState<"" | "soon" | "long">("");
  useEffect(() => {
    const soon = setTimeout(() => setAfter("soon"), kBlinkMs);
    const long = setTimeout(() => setAfter("long"), kPatienceMs);
    return () => {
      clearTimeout(soon);
      clearTimeout(long);
    };
  }, []);
  return (
    <p className={css.waiting} role="status">
      {after === "soon" && `Loading ${props.what}…`}
      {after === "long" &&
        `Still waiting for ${props.what}: no answer for 10 s. It goes on by itself.`}
    </p>
  );
}

export function Notice(props: {kind?: "bad" | "warn"; children: ReactNode; action?: ReactNode}) {
  const kind = props.kind ? css[props.kind] : "";
  return (
    <div className={`${css.notice} ${kind}`} role={props.kind === "bad" ? "alert" : "status"}>
      <p>{props.children}</p>
      {props.action}
    </div>
  );
}

interface Way {
  to: string;
  name: string;
}

export function WayOn(props: Way & {params?: object}) {
  return (
    <Link to={props.to as never} params={(props.params ?? {}) as never} className="button">
      {props.name}
    </Link>
  );
}

// `instead`: where one goes on when there is no such thing; to ask again would not bring it.
// What stands between backticks is a command.
function Prose(props: {text: string}) {
  return props.text.split("`").map((part, i) => (i % 2 === 1 ? <code key={i}>{part}</code> : part));
}

export function Trouble(props: {error: unknown; retry?: () => void; instead?: Way}) {
  const said = say(props.error);
  const gone = props.instead !== undefined && isGone(props.error);
  return (
    <div className={`${css.notice} ${css.bad}`} role="alert">
      <div className="grow">
        <p>
          <Prose text={said.text} />
          {said.mend && "\n"}
          <Prose text={said.mend ?? ""} />
        </p>
        {said.fields.length > 0 && (
          <ul>
            {said.fields.map((field, i) => (
              <li key={i}>
                <code>{field.path || "the file"}</code>
                {field.line ? ` (line ${field.line})` : ""}: {field.text}
                {field.mend ? ` - ${field.mend}` : ""}
              </li>
            ))}
          </ul>
        )}
        {said.request_id && <small className="muted">request {said.request_id}</small>}
      </div>
      {gone && <WayOn {...(props.instead as Way)} />}
      {props.retry && !gone && (
        <button type="button" onClick={props.retry}>
          Try again
        </button>
      )}
    </div>
  );
}

// Says what would be here, and the one command or button that brings it.
export function Empty(props: {
  title: string;
  children?: ReactNode;
  command?: string;
  action?: ReactNode;
}) {
  return (
    <div className={css.empty}>
      <h2>{props.title}</h2>
      {props.children && <p>{props.children}</p>}
      {props.command && <Command text={props.command} />}
      {props.action}
    </div>
  );
}

// An address that names a part which a view does not have.
export function NoPart(props: {of: string; way: Way & {params?: object}}) {
  return (
    <Empty title={`There is no such part of ${props.of}`} action={<WayOn {...props.way} />}>
      The address is wrong; the parts that there are stand above.
    </Empty>
  );
}

export function Command(props: {text: string}) {
  return (
    <span className={css.command}>
      <code tabIndex={0}>
        {props.text.split(" ").flatMap((word, i) => [i > 0 && " ", <span key={i}>{word}</span>])}
      </code>
      <Copy text={props.text} what="command" />
    </span>
  );
}
