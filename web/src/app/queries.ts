// What more than one view asks of the API. Keys begin with the noun, so that events can name what
// they made stale (api/live.ts).
import {QueryClient, queryOptions} from "@tanstack/react-query";

import {type Job, Refused, type Run, api, ask} from "../api/client";

const kTries = 2;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      gcTime: 300_000,
      // What the server refused it will refuse again; what did not reach it may the next time.
      retry: (failures, error) =>
        !(error instanceof Refused && error.status < 500) && failures < kTries,
      refetchOnWindowFocus: false,
    },
  },
});

export const whoami = () =>
  queryOptions({
    queryKey: ["whoami"],
    queryFn: () => ask(api.GET("/api/v1/whoami")),
    staleTime: Infinity,
  });

export const projects = () =>
  queryOptions({queryKey: ["admin", "projects"], queryFn: () => ask(api.GET("/api/v1/projects"))});

export const status = () =>
  queryOptions({
    queryKey: ["status"],
    queryFn: () => ask(api.GET("/api/v1/status")),
    refetchInterval: 15_000,
  });

export const job = (id: string) =>
  queryOptions({
    queryKey: ["job", id, "itself"],
    queryFn: async ({signal}) =>
      (await ask(api.GET("/api/v1/jobs/{job}", {params: {path: {job: id}}, signal}))) as Job,
  });

export const run = (id: string) =>
  queryOptions({
    queryKey: ["run", id, "itself"],
    queryFn: async ({signal}) =>
      (await ask(api.GET("/api/v1/runs/{run}", {params: {path: {run: id}}, signal}))) as Run,
    enabled: id !== "",
  });

export const cluster = () =>
  queryOptions({
    queryKey: ["cluster", "nodes"],
    queryFn: ({signal}) => ask(api.GET("/api/v1/cluster", {signal})),
  });

export const quotas = () =>
  queryOptions({
    queryKey: ["quotas"],
    queryFn: ({signal}) => ask(api.GET("/api/v1/quotas", {signal})),
  });
