// Keyboard: single keys and two-key sequences ("g j"), named so that `?` can list them. Dead while
// typing, and altogether where the reader has switched them off (WCAG 2.1.4).
import {useEffect, useRef} from "react";

export interface Key {
  keys: string; // "g j", "?", "Mod+k", "Shift+x"
  does: string;
  run: () => void;
}

const kSequenceMs = 1200;
const kOff = "hearth.keys_off";
const active: Key[] = [];
let before = "";
let before_at = 0;

export function keysOff(): boolean {
  try {
    return localStorage.getItem(kOff) === "yes";
  } catch {
    return false;
  }
}
export function setKeysOff(off: boolean): void {
  try {
    localStorage.setItem(kOff, off ? "yes" : "no");
  } catch {
    // nothing to remember it by
  }
}
export const activeKeys = (): readonly Key[] => active;

export function named(
  event: Pick<KeyboardEvent, "key" | "shiftKey" | "ctrlKey" | "metaKey" | "altKey">,
): string {
  const mod = event.ctrlKey || event.metaKey ? "Mod+" : "";
  const alt = event.altKey ? "Alt+" : "";
  const letter = /^[A-Za-z]$/.test(event.key);
  const shift = event.shiftKey && (letter || event.key.length > 1) ? "Shift+" : "";
  return mod + alt + shift + (letter ? event.key.toLowerCase() : event.key);
}

function typing(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable ||
      target.matches("input:not([type=checkbox]):not([type=range]), textarea, select"))
  );
}

addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.isComposing) return;
  const name = named(event);
  const modified = name.startsWith("Mod+");
  if (!modified && (keysOff() || typing(event.target) || document.querySelector("dialog[open]")))
    return;
  const sequence = event.timeStamp - before_at < kSequenceMs ? `${before} ${name}` : "";
  // The newest first: what a view binds wins over the frame's.
  const found =
    active.findLast((key) => key.keys === sequence) ?? active.findLast((key) => key.keys === name);
  before = name;
  before_at = event.timeStamp;
  if (!found) return;
  event.preventDefault();
  before = "";
  found.run();
});

// Binds keys while the component is mounted; what they do may change with each render.
export function useKeys(keys: Key[]): void {
  const newest = useRef(keys);
  newest.current = keys;
  const names = keys.map((key) => key.keys).join("|");
  useEffect(() => {
    const bound = newest.current.map((key, i) => ({
      keys: key.keys,
      does: key.does,
      run: () => newest.current[i]?.run(),
    }));
    active.push(...bound);
    return () => {
      for (const key of bound) active.splice(active.indexOf(key), 1);
    };
  }, [names]);
}
