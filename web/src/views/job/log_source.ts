// Where the lines of a task's log come from: ranges by line number, and the lines as they are
// written. Only what was looked at is kept, up to kMostBlocks blocks.
import {Refused, text as fetchText} from "../../api/client";
import {EventParser} from "../../api/event_feed";

export interface Line {
  seq: number;
  time: string;
  stream: string;
  text: string;
  partial?: boolean;
}
export interface LinePage {
  task_id: string;
  attempt: number;
  rank: number;
  first: number;
  last: number;
  ended: boolean;
  lines: Line[];
  next_from: number;
}

export const kBlock = 500;
const kMostBlocks = 200;

export interface Which {
  job: string;
  attempt?: string;
  rank?: string;
}

function query(which: Which, more: Record<string, string | number>): string {
  const made = new URLSearchParams();
  if (which.attempt) made.set("attempt", which.attempt);
  if (which.rank) made.set("rank", which.rank);
  for (const [name, value] of Object.entries(more)) made.set(name, String(value));
  return made.toString();
}

async function page(
  which: Which,
  more: Record<string, string | number>,
  signal?: AbortSignal,
): Promise<LinePage> {
  const answer = JSON.parse(
    await fetchText(`/api/v1/jobs/${which.job}/logs/lines?${query(which, more)}`, signal),
  ) as Partial<LinePage>;
  return {
    task_id: "",
    attempt: 0,
    rank: 0,
    first: 0,
    last: 0,
    ended: false,
    next_from: 0,
    lines: [],
    ...answer,
  } as LinePage;
}

export async function tail(job: string, lines: number, signal?: AbortSignal): Promise<Line[]> {
  return (await page({job}, {tail: lines}, signal)).lines;
}

export interface Hits {
  hits: Line[];
  next_from: number;
  ended: boolean;
  scanned: number;
}
export async function search(
  which: Which,
  re: string,
  from: number,
  signal: AbortSignal,
): Promise<Hits> {
  const answer = JSON.parse(
    await fetchText(
      `/api/v1/jobs/${which.job}/logs/search?${query(which, {re, from, limit: 500})}`,
      signal,
    ),
  ) as Partial<Hits>;
  return {hits: [], next_from: 0, ended: false, scanned: 0, ...answer} as Hits;
}

// One task's log. `changed` is called (at most once a frame) when lines came or its length grew.
export class LogSource {
  first = 0;
  last = 0;
  ended = false;
  error: unknown = null;
  private task = "";
  private readonly blocks = new Map<number, Map<number, Line>>();
  private readonly asked = new Map<number, AbortController>();
  private readonly stopped = new AbortController();
  private told = 0;

  constructor(
    readonly which: Which,
    private readonly changed: () => void,
  ) {
    void this.open();
  }

  close(): void {
    this.stopped.abort();
    for (const one of this.asked.values()) one.abort();
    cancelAnimationFrame(this.told);
  }

  line(seq: number): Line | undefined {
    return this.blocks.get(Math.floor(seq / kBlock))?.get(seq);
  }

  // What of [from, to] is not here is asked for; what is asked for and no longer wanted is not.
  want(from: number, to: number): void {
    const low = Math.floor(from / kBlock);
    const high = Math.floor(to / kBlock);
    for (const [block, request] of this.asked) {
      if (block < low - 1 || block > high + 1) {
        request.abort();
        this.asked.delete(block);
      }
    }
    for (let block = low; block <= high; block += 1) {
      if (!this.blocks.has(block) && !this.asked.has(block)) void this.load(block);
    }
  }

  private tell(): void {
    if (this.told) return;
    this.told = requestAnimationFrame(() => {
      this.told = 0;
      this.changed();
    });
  }

  private keep(lines: readonly Line[]): void {
    for (const line of lines) {
      const number = Math.floor(line.seq / kBlock);
      let block = this.blocks.get(number);
      if (!block) {
        block = new Map();
        this.blocks.set(number, block);
        if (this.blocks.size > kMostBlocks)
          this.blocks.delete(this.blocks.keys().next().value as number);
      }
      block.set(line.seq, line);
    }
  }

  private async load(block: number): Promise<void> {
    const request = new AbortController();
    this.asked.set(block, request);
    try {
      const from = Math.max(1, block * kBlock);
      const got = await page(this.which, {from, limit: kBlock}, request.signal);
      this.blocks.set(block, this.blocks.get(block) ?? new Map());
      this.keep(got.lines.filter((line) => line.seq < (block + 1) * kBlock));
      this.last = Math.max(this.last, got.last);
      this.error = null;
    } catch (error) {
      if (!request.signal.aborted) this.error = error;
    }
    if (this.asked.get(block) === request) this.asked.delete(block);
    this.tell();
  }

  // The end first; then what comes.
  private async open(): Promise<void> {
    const {signal} = this.stopped;
    while (!signal.aborted && !this.ended) {
      try {
        const got = await page(this.which, {tail: kBlock}, signal);
        this.task = got.task_id;
        this.first = got.first;
        this.last = got.last;
        this.keep(got.lines);
        this.error = null;
        this.ended = got.ended;
        this.tell();
        if (!got.ended) await this.follow(signal);
      } catch (error) {
        if (signal.aborted) return;
        this.error = error;
        this.tell();
        // A job that has not begun has no task yet.
        if (error instanceof Refused && error.status !== 404 && error.status < 500) return;
        await new Promise((again) => setTimeout(again, 2000));
      }
    }
  }

  private async follow(signal: AbortSignal): Promise<void> {
    const answer = await fetch(
      `/api/v1/jobs/${this.which.job}/logs?${query(this.which, {follow: 1})}`,
      {
        signal,
        headers: {Accept: "text/event-stream", "Last-Event-ID": `${this.task}:${this.last}`},
      },
    );
    if (!answer.ok || !answer.body)
      throw new Error(`the log cannot be followed (${answer.status})`);
    const reader = answer.body.getReader();
    const decoder = new TextDecoder();
    const parser = new EventParser();
    for (;;) {
      const {done, value} = await reader.read();
      if (done) return;
      for (const {event, data} of parser.push(decoder.decode(value, {stream: true}))) {
        if (event === "end") {
          this.ended = true;
          this.tell();
          return;
        }
        const line = JSON.parse(data) as Line & {task: string};
        if (line.task !== this.task) return; // the next try's: open anew
        this.keep([line]);
        this.last = Math.max(this.last, line.seq);
      }
      this.tell();
    }
  }
}
