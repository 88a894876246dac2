// What its tasks use of their machines, beside what was asked for.
import {useQuery} from "@tanstack/react-query";
import {useMemo} from "react";

import {type Job, type Schemas, api, ask} from "../../api/client";
import {rangeOf} from "../run_charts";
import {useView} from "../../app/search";
import {slots} from "../../lib/colours";
import {toNumber} from "../../lib/format";
import {rate, sizeOf} from "../../lib/rates";
import {type Line, line} from "../../lib/series";
import {Chart, type Series} from "../../ui/chart";
import {kEnded} from "../../ui/state";
import {Empty, Loading, Notice, Trouble} from "../../ui/words";
import css from "../run_charts.module.css";

const kColumns = 400;
const kMostTasks = 16; // drawn at once
const kMicros = 1e6;

interface Kind {
  title: string;
  key: RegExp;
  of?: (line: Line) => Line;
  asked?: (resources: Schemas["Resources"] | undefined) => number | undefined;
}

const scaled =
  (by: number) =>
  (of: Line): Line => {
    const made = (values: (number | null)[]) => values.map((v) => (v === null ? null : v / by));
    return {...of, last: made(of.last), min: made(of.min), max: made(of.max)};
  };
const kGiB = 2 ** 30;
const kMiB = 2 ** 20;

const kKinds: Kind[] = [
  {
    title: "CPU cores used",
    key: /\/cpu_seconds$/,
    of: (one) => rate(one, kMicros),
    asked: (resources) => toNumber(resources?.cpus ?? 1),
  },
  {
    title: "Memory, GiB",
    key: /\/memory_bytes$/,
    of: scaled(kGiB),
    asked: (resources) => sizeOf(String(resources?.memory ?? "2GiB")) / kGiB,
  },
  {title: "GPU use, %", key: /gpu\.\d+\.utilization_percent$/},
  {title: "GPU memory, GiB", key: /gpu\.\d+\.memory_bytes$/, of: scaled(kGiB)},
  {title: "GPU temperature, °C", key: /gpu\.\d+\.temperature/},
  {title: "GPU power, W", key: /gpu\.\d+\.power/},
  {title: "Read, MiB/s", key: /\/io_read_bytes$/, of: (one) => scaled(kMiB)(rate(one, kMicros))},
  {
    title: "Written, MiB/s",
    key: /\/io_write_bytes$/,
    of: (one) => scaled(kMiB)(rate(one, kMicros)),
  },
  {title: "Processes", key: /\/processes$/},
];

// As the shim names what it samples (src/hw/sampler.h), of one task.
function keysOf(task: Schemas["Task"]): string[] {
  const of = (name: string) => `system/${task.role}-${task.rank}/${name}`;
  const gpus = (task.gpus ?? []).flatMap((_, i) =>
    ["utilization_percent", "memory_bytes", "temperature_celsius", "power_watts"].map(
      (name) => `gpu.${i}.${name}`,
    ),
  );
  return [
    "cpu_seconds",
    "memory_bytes",
    "io_read_bytes",
    "io_write_bytes",
    "processes",
    ...gpus,
  ].map(of);
}

function useSamples(job: Job) {
  const tasks = useQuery({
    queryKey: ["job", job.id, "tasks"],
    queryFn: ({signal}) =>
      ask(api.GET("/api/v1/jobs/{job}/tasks", {params: {path: {job: job.id}}, signal})),
  });
  const last = Math.max(0, ...(tasks.data?.items ?? []).map((task) => task.attempt_number));
  const mine = (tasks.data?.items ?? []).filter((task) => task.attempt_number === last);
  const keys = mine.slice(0, kMostTasks).flatMap(keysOf);
  const samples = useQuery({
    queryKey: ["run", job.run_id, "samples", keys],
    enabled: keys.length > 0 && Boolean(job.run_id),
    refetchInterval: kEnded.has(job.state) ? false : 3000,
    staleTime: 0,
    queryFn: ({signal}) =>
      ask(
        api.POST("/api/v1/metrics/query", {
          body: {runs: [job.run_id ?? ""], keys, columns: kColumns, x: "relative"},
          signal,
        }),
      ),
  });
  return {tasks, samples, count: mine.length};
}

const labelOf = (key: string) =>
  key
    .replace(/^system\//, "")
    .replace(/\/(gpu\.\d+)?.*$/, " $1")
    .trim();

// A task, and each of its GPUs, has one colour in all charts.
type Slots = ReturnType<typeof slots>;
const slotsOf = (all: Schemas["ChartSeries"][]): Slots =>
  slots([...new Set(all.map((one) => labelOf(one.key ?? "")))]);

function seriesOf(kind: Kind, all: Schemas["ChartSeries"][], slot: Slots, job: Job): Series[] {
  const found = all.filter((one) => kind.key.test(one.key ?? "") && (one.x?.length ?? 0) > 0);
  const made = found.map((one): Series => {
    const key = one.key ?? "";
    const drawn = line({...one, x: one.last_x});
    return {
      ...(kind.of ? kind.of(drawn) : drawn),
      id: key,
      label: labelOf(key),
      slot: slot.get(labelOf(key)) ?? {colour: 0, dash: 0},
    };
  });
  const roles = Object.values(job.spec?.roles ?? {});
  const asked =
    roles.length > 1 ? undefined : kind.asked?.(roles[0]?.resources ?? job.spec?.resources);
  const first = made[0];
  if (first && asked !== undefined && Number.isFinite(asked)) {
    const flat = first.x.map(() => asked);
    made.push({
      ...first,
      last: flat,
      min: flat,
      max: flat,
      id: "asked",
      label: "asked for",
      slot: {colour: 4, dash: 1},
    });
  }
  return made;
}

export default function Resources(props: {job: Job}) {
  const {job} = props;
  const [view, change] = useView();
  const range = rangeOf(view);
  const {tasks, samples, count} = useSamples(job);
  const charts = useMemo(() => {
    const all = samples.data?.series ?? [];
    const slot = slotsOf(all);
    return kKinds
      .map((kind) => ({kind, series: seriesOf(kind, all, slot, job)}))
      .filter(({series}) => series.length > 0);
  }, [samples.data, job.id]);
  const error = tasks.error ?? samples.error;
  if (error) return <Trouble error={error} />;
  if (tasks.isPending || (samples.isPending && count > 0)) return <Loading what="samples" />;
  if (charts.length === 0)
    return (
      <Empty title="No sample yet">
        What each task uses of CPU, memory, disk and GPUs is sampled while it runs, and drawn here.
      </Empty>
    );
  return (
    <div className="stack">
      {count > kMostTasks && (
        <Notice>{`The first ${kMostTasks} of ${count} tasks are drawn.`}</Notice>
      )}
      <div className={css.grid}>
        {charts.map(({kind, series}) => (
          <div key={kind.title} className={css.card}>
            <Chart
              title={kind.title}
              series={series}
              x="relative"
              zero
              range={range}
              zoom={(next) =>
                change(
                  {zoom: next ? `${Math.round(next[0])}..${Math.round(next[1])}` : undefined},
                  "replace",
                )
              }
            />
          </div>
        ))}
      </div>
    </div>
  );
}
