// The state of a view lies in its address: every parameter is text there, and views read from it.
import {useNavigate, useSearch} from "@tanstack/react-router";
import {useCallback} from "react";

export type Search = Record<string, string | undefined>;

export function parseSearch(text: string): Search {
  return Object.fromEntries(new URLSearchParams(text));
}

export function stringifySearch(search: Record<string, unknown>): string {
  const made = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    if (value !== undefined && value !== null && value !== "") made.set(name, String(value));
  }
  const text = made.toString();
  return text === "" ? "" : `?${text}`;
}

export function useParams_(): Search {
  return useSearch({strict: false}) as Search;
}

export type Change = (change: Search, how?: "push" | "replace") => void;

// The address's parameters and how to change some of them. What a reader would want to step back
// to (filters, tabs) pushes; what moves under the hand (zoom, sort) replaces.
export function useView(): [Search, Change] {
  const search = useParams_();
  const navigate = useNavigate();
  const change = useCallback<Change>(
    (some, how = "push") => {
      void navigate({
        to: ".",
        search: (old: Search) => ({...old, ...some}),
        replace: how === "replace",
        resetScroll: false,
      } as never);
    },
    [navigate],
  );
  return [search, change];
}

// The project chosen, or undefined for all that one may see.
export function useProject(): string | undefined {
  return useParams_().project;
}
