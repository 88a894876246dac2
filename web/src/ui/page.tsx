// The frame of a view: its heading with actions, its tabs, its body.
import {Link, useRouterState} from "@tanstack/react-router";
import {type ReactNode, useEffect, useRef} from "react";

import css from "./ui.module.css";

export function Page(props: {
  title: string; // of the document, too
  heading?: ReactNode;
  actions?: ReactNode;
  tabs?: ReactNode;
  whole?: boolean; // the body scrolls by itself (virtual lists)
  children: ReactNode;
}) {
  useEffect(() => {
    document.title = `${props.title} · Hearth`;
  }, [props.title]);
  return (
    <div className={css.page}>
      <header className={css.head}>
        <h1>{props.heading ?? props.title}</h1>
        {props.actions && <div className={css.actions}>{props.actions}</div>}
      </header>
      {props.tabs}
      {/* It scrolls: the keyboard must reach it even where nothing in it takes the focus. */}
      <div
        className={props.whole ? `${css.body} ${css.whole}` : css.body}
        tabIndex={props.whole ? undefined : 0}
      >
        {props.children}
      </div>
    </div>
  );
}

// Tabs are links: each is an address of its own.
export function Tabs(props: {
  label: string;
  keep?: boolean; // what the address says besides
  tabs: {to: string; params?: object; name: ReactNode}[];
}) {
  // Where they are wider than the screen, the one that is shown is in sight.
  const shown = useRouterState({select: (state) => state.location.pathname});
  const nav = useRef<HTMLElement>(null);
  useEffect(() => {
    const tab = nav.current?.querySelector("[aria-current]");
    tab?.scrollIntoView({inline: "center", block: "nearest"});
  }, [shown]);
  return (
    <nav ref={nav} className={css.tabs} aria-label={props.label}>
      {props.tabs.map((tab) => (
        <Link
          key={tab.to}
          to={tab.to as never}
          params={(tab.params ?? {}) as never}
          search={(props.keep ? true : undefined) as never}
          activeOptions={{exact: true, includeSearch: false}}
          activeProps={{"aria-current": "page"}}
        >
          {tab.name}
        </Link>
      ))}
    </nav>
  );
}

export function Facts(props: {children: ReactNode}) {
  return <dl className={css.facts}>{props.children}</dl>;
}

// A name and its value; nothing where there is no value.
export function Fact(props: {name: string; children: ReactNode}) {
  if (props.children == null || props.children === "" || props.children === false) return null;
  return (
    <>
      <dt>{props.name}</dt>
      <dd>{props.children}</dd>
    </>
  );
}
