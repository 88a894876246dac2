// Light, dark, or as the system has it. Kept in this browser; the page works without storage, too.
import {useSyncExternalStore} from "react";

export type Theme = "system" | "light" | "dark";

const kKey = "hearth.theme";
const dark_system = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();
let chosen: Theme = read();

function read(): Theme {
  try {
    const kept = localStorage.getItem(kKey);
    return kept === "light" || kept === "dark" ? kept : "system";
  } catch {
    return "system";
  }
}

function apply(): void {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  for (const tell of listeners) tell();
}

export function isDark(): boolean {
  return chosen === "dark" || (chosen === "system" && dark_system.matches);
}

export function setTheme(theme: Theme): void {
  chosen = theme;
  try {
    localStorage.setItem(kKey, theme);
  } catch {
    // A browser that keeps nothing: it holds until the tab is closed.
  }
  apply();
}

function subscribe(tell: () => void): () => void {
  listeners.add(tell);
  return () => listeners.delete(tell);
}

export const useTheme = (): Theme => useSyncExternalStore(subscribe, () => chosen);
export const useDark = (): boolean => useSyncExternalStore(subscribe, isDark);

dark_system.addEventListener("change", apply);
apply();
