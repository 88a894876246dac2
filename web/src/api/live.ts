// The tab's end of the event stream: whether the server is reached, and what changed.
import type {QueryClient} from "@tanstack/react-query";
import {useSyncExternalStore} from "react";

import {EventFeed, type FromFeed, type ServerEvent} from "./event_feed";
import workerUrl from "./events.worker.ts?sharedworker&url";
import {sessionLost} from "./session";

export interface Link {
  up: boolean;
  since: number; // ms since 1970
}

const kGatherMs = 250; // changes are gathered so long before what shows them is asked for again

let link: Link = {up: true, since: Date.now()};
let wakeUp: () => void = () => undefined;
const listeners = new Set<() => void>();

export function useLink(): Link {
  return useSyncExternalStore(
    (tell) => {
      listeners.add(tell);
      return () => listeners.delete(tell);
    },
    () => link,
  );
}

export const reconnect = (): void => wakeUp();

// What a kind of event makes stale: the first parts of query keys.
export function staleKeys(event: Pick<ServerEvent, "kind" | "id">): unknown[][] {
  const noun = event.kind.split(".")[0] ?? "";
  switch (noun) {
    case "job":
      return [["jobs"], ["job", event.id], ["home"], ["cluster"], ["quotas"]];
    case "attempt":
    case "task":
      return [["job"], ["cluster"]];
    case "run":
    case "live":
    case "metric":
      return [["runs"], ["run", event.id]];
    case "model":
      return [["models"]];
    case "dataset":
      return [["datasets"]];
    case "node":
    case "pool":
    case "reservation":
      return [["cluster"]];
    case "view":
      return [["views"]];
    case "quota":
      return [["quotas"], ["cluster"]];
    default:
      return [["admin"]];
  }
}

let listening = false;

// Once for a tab.
export function listen(queries: QueryClient): void {
  if (listening) return;
  listening = true;
  const stale = new Map<string, unknown[]>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    timer = undefined;
    for (const key of stale.values()) void queries.invalidateQueries({queryKey: key});
    stale.clear();
  };
  const take = (message: FromFeed) => {
    if (message.type === "link") {
      link = {up: message.up, since: message.since};
      for (const tell of listeners) tell();
    } else if (message.type === "reset") {
      void queries.invalidateQueries();
    } else if (message.type === "signed-out") {
      sessionLost();
    } else {
      for (const key of staleKeys(message.event)) stale.set(JSON.stringify(key), key);
      timer ??= setTimeout(flush, kGatherMs);
    }
  };
  wakeUp = open(take);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) wakeUp();
  });
  addEventListener("online", () => wakeUp());
}

interface TrustedTypes {
  createPolicy(
    name: string,
    rules: {createScriptURL(url: string): string},
  ): {createScriptURL(url: string): string};
}

// The content policy lets no text become a script but this one address, by this one name.
function asScript(url: string): string {
  const {trustedTypes} = window as {trustedTypes?: TrustedTypes};
  const own = (asked: string) => {
    if (asked !== workerUrl) throw new TypeError(`${asked} is no script of this page`);
    return asked;
  };
  const policy = trustedTypes?.createPolicy("hearth-events", {createScriptURL: own});
  return policy ? policy.createScriptURL(url) : url;
}

// One stream for all tabs where the browser can; else one of this tab's own.
function open(take: (message: FromFeed) => void): () => void {
  if (typeof SharedWorker === "undefined") {
    const feed = new EventFeed(take);
    feed.start();
    return () => feed.wake();
  }
  const worker = new SharedWorker(asScript(workerUrl), {type: "module", name: "hearth-events"});
  worker.port.onmessage = (message: MessageEvent<FromFeed>) => take(message.data);
  worker.port.start();
  addEventListener("pagehide", () => worker.port.postMessage("bye"));
  return () => worker.port.postMessage("wake");
}
