// A button that opens a list of actions: the browser's popover, with the keys of a menu.
import {type KeyboardEvent, type ReactNode, useId, useRef, useState} from "react";

import css from "./ui.module.css";

export interface MenuItem {
  name: ReactNode;
  run: () => void;
  disabled?: boolean;
}

export function Menu(props: {
  label: ReactNode;
  title?: string;
  items: MenuItem[];
  className?: string;
}) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const [open, setOpen] = useState(false);
  const show = () => {
    const at = button.current?.getBoundingClientRect();
    const shown = list.current;
    if (!at || !shown) return;
    shown.showPopover();
    const left = Math.min(at.left, innerWidth - shown.offsetWidth - 8);
    const below = at.bottom + 4;
    const top =
      below + shown.offsetHeight > innerHeight
        ? Math.max(8, at.top - shown.offsetHeight - 4)
        : below;
    shown.style.left = `${Math.max(8, left)}px`;
    shown.style.top = `${top}px`;
    shown.querySelector<HTMLElement>("button:not(:disabled)")?.focus();
  };
  const move = (event: KeyboardEvent) => {
    const all = [...(list.current?.querySelectorAll<HTMLElement>("button:not(:disabled)") ?? [])];
    const at = all.indexOf(document.activeElement as HTMLElement);
    const to = {ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1}[event.key];
    if (to === undefined) return;
    event.preventDefault();
    all[(to + all.length) % all.length]?.focus();
  };
  return (
    <span className={css.menu}>
      <button
        type="button"
        ref={button}
        className={props.className}
        aria-haspopup="menu"
        aria-expanded={open}
        aria-controls={id}
        title={props.title}
        aria-label={props.title}
        onClick={show}
      >
        {props.label}
      </button>
      <div
        id={id}
        ref={list}
        popover="auto"
        role="menu"
        className={css.menuItems}
        onKeyDown={move}
        aria-label={props.title}
        onToggle={(event) => setOpen(event.newState === "open")}
      >
        {props.items.map((item, i) => (
          <button
            key={i}
            type="button"
            role="menuitem"
            disabled={item.disabled}
            onClick={() => {
              list.current?.hidePopover();
              item.run();
            }}
          >
            {item.name}
          </button>
        ))}
      </div>
    </span>
  );
}
