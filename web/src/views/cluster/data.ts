// What the cluster's views ask: pools, reservations, and what is used of what is given.
import {keepPreviousData, queryOptions, useQuery} from "@tanstack/react-query";

import {type Listed, type Job, api, ask} from "../../api/client";
import {type Held, type Machine} from "../../lib/machines";
import {type Used, sampleKeys, taskKey, usedOf} from "../../lib/used";

const kMostRuns = 200; // whose samples are asked for in one call
const kMostKeys = 10_000;
const kSampleMs = 10_000;
const kWindowMs = 60_000; // CPU use is that of the last minute
const kColumns = 32;

export const pools = () =>
  queryOptions({
    queryKey: ["cluster", "pools"],
    queryFn: ({signal}) => ask(api.GET("/api/v1/pools", {signal})),
  });

export const reservations = () =>
  queryOptions({
    queryKey: ["cluster", "reservations"],
    queryFn: ({signal}) => ask(api.GET("/api/v1/reservations", {signal})),
  });

export type RunningJob = Pick<Job, "id" | "run_id" | "owner">;

// The jobs that run now, for what the machines do not say of them.
const running = () =>
  queryOptions({
    queryKey: ["cluster", "running"],
    queryFn: async ({signal}) => {
      const query = {
        filter: "state in (preparing, running, saving)",
        fields: "id,run_id,owner",
        limit: kMostRuns,
      };
      const page = await ask(api.GET("/api/v1/jobs", {params: {query}, signal}));
      return (page as unknown as Listed<RunningJob>).items;
    },
  });

// By the server's clock: a reader's may be wrong.
async function sampled(
  runs: string[],
  keys: string[],
  signal: AbortSignal,
): Promise<Map<string, Used>> {
  const status = await api.GET("/api/v1/status", {signal});
  const now = Date.parse(status.response.headers.get("Date") ?? "") || Date.now();
  const body = {runs, keys, x: "time", first: (now - kWindowMs) * 1000, columns: kColumns} as const;
  const answer = await ask(api.POST("/api/v1/metrics/query", {body, signal}));
  return usedOf(answer.series);
}

export interface Use {
  of: (task: Held) => Used | undefined;
  owner: (job: string) => string;
}

// Of a GPU that a task holds, by its place among them.
export function gpuSample(used: Used | undefined, task: Held, gpu: string | undefined) {
  const at = (task.gpus ?? []).indexOf(gpu ?? "");
  return at < 0 ? undefined : used?.gpus[at];
}

export function useUse(machines: readonly Machine[]): Use {
  const jobs = useQuery(running());
  const tasks = machines.flatMap((one) => one.tasks ?? []).filter((task) => task.job_id);
  const names = tasks.flatMap((t) => sampleKeys(t.role, t.rank, t.gpus?.length ?? 0));
  const keys = [...new Set(names)].sort().slice(0, kMostKeys);
  const held = new Set(tasks.map((task) => task.job_id));
  const byJob = new Map((jobs.data ?? []).map((job) => [job.id, job]));
  const runs = [...byJob.values()]
    .filter((job) => held.has(job.id) && job.run_id)
    .map((job) => job.run_id as string);
  const samples = useQuery({
    queryKey: ["cluster-use", runs, keys],
    enabled: runs.length > 0 && keys.length > 0,
    placeholderData: keepPreviousData,
    refetchInterval: kSampleMs,
    staleTime: 0,
    queryFn: ({signal}) => sampled(runs, keys, signal),
  });
  return {
    of: (task) => {
      const run = byJob.get(task.job_id ?? "")?.run_id;
      return run ? samples.data?.get(taskKey(run, task.role, task.rank)) : undefined;
    },
    owner: (job) => byJob.get(job)?.owner ?? "",
  };
}
