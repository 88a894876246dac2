// The server's event stream, read by fetch: an EventSource hides the heartbeats, and with them
// whether a silent stream is quiet or dead. Goes on behind the last event that it has.

export interface ServerEvent {
  seq: number;
  kind: string; // "job.state"
  id: string;
  project: string;
  version: number;
}
export type FromFeed =
  | {type: "link"; up: boolean; since: number}
  | {type: "event"; event: ServerEvent}
  | {type: "reset"} // events were missed: what is shown is to be asked for again
  | {type: "signed-out"};

const kSilentMs = 45_000; // the server beats every 15 s
const kLeastWaitMs = 1000;
const kMostWaitMs = 30_000;

// Takes a stream's text in pieces; gives what blocks of `field: value` lines are whole.
export class EventParser {
  private rest = "";

  push(text: string): {event: string; data: string}[] {
    this.rest += text;
    const blocks = this.rest.split("\n\n");
    this.rest = blocks.pop() ?? "";
    const made: {event: string; data: string}[] = [];
    for (const block of blocks) {
      let event = "message";
      let data = "";
      for (const line of block.split("\n")) {
        if (line.startsWith("event: ")) event = line.slice(7);
        if (line.startsWith("data: ")) data += line.slice(6);
      }
      if (data !== "") made.push({event, data});
    }
    return made;
  }
}

export class EventFeed {
  private last = -1;
  private up = false;
  private since = Date.now();
  private wait = kLeastWaitMs;
  private running: AbortController | null = null;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private watch: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly tell: (message: FromFeed) => void) {}

  state(): FromFeed {
    return {type: "link", up: this.up, since: this.since};
  }

  start(): void {
    if (!this.running && this.retry === undefined) void this.open();
  }

  stop(): void {
    clearTimeout(this.retry);
    clearTimeout(this.watch);
    this.retry = undefined;
    this.running?.abort();
    this.running = null;
  }

  // After sleep, after signing in, or when somebody asks: now, not when the wait is over.
  wake(): void {
    if (this.up) return;
    this.stop();
    void this.open();
  }

  private async open(): Promise<void> {
    const mine = new AbortController();
    this.running = mine;
    try {
      const query = this.last >= 0 ? `?since=${this.last}` : "";
      this.heard(mine);
      const answer = await fetch(`/api/v1/events${query}`, {signal: mine.signal});
      if (answer.status === 401) this.tell({type: "signed-out"});
      if (!answer.ok || !answer.body) throw new Error(String(answer.status));
      const fresh = this.last < 0;
      this.wait = kLeastWaitMs;
      this.setUp(true);
      // What happened before the stream was open is in no event.
      if (fresh) this.tell({type: "reset"});
      await this.read(answer.body, mine);
      throw new Error("the stream ended");
    } catch {
      if (this.running === mine) this.broken();
    }
  }

  private async read(body: ReadableStream<Uint8Array>, mine: AbortController): Promise<void> {
    const reader = body.getReader();
    const decoder = new TextDecoder();
    const parser = new EventParser();
    for (;;) {
      const {done, value} = await reader.read();
      if (done) return;
      this.heard(mine);
      for (const {event, data} of parser.push(decoder.decode(value, {stream: true}))) {
        const content = JSON.parse(data) as ServerEvent;
        this.last = event === "reset" ? content.seq : Math.max(this.last, content.seq);
        this.tell(event === "reset" ? {type: "reset"} : {type: "event", event: content});
      }
    }
  }

  private heard(mine: AbortController): void {
    clearTimeout(this.watch);
    this.watch = setTimeout(() => {
      if (this.running === mine) this.broken();
    }, kSilentMs);
  }

  private broken(): void {
    this.stop();
    this.setUp(false);
    this.retry = setTimeout(() => {
      this.retry = undefined;
      void this.open();
    }, this.wait);
    this.wait = Math.min(kMostWaitMs, this.wait * 2);
  }

  private setUp(up: boolean): void {
    if (this.up === up) return;
    this.up = up;
    this.since = Date.now();
    this.tell(this.state());
  }
}
