// Rows of a long list of which only those in sight are fetched: by blocks, a few at once, those
// that were scrolled past called off. Rows stay while they are fetched anew, so nothing blinks.

export const kBlock = 64; // rows of one fetch
const kAtOnce = 3;
const kMostKept = 64; // blocks; those not wanted longest go

export type Fetch<Row> = (first: number, count: number, stop: AbortSignal) => Promise<Row[]>;

export class Blocks<Row> {
  private readonly kept = new Map<number, Row[]>(); // the most lately wanted last
  private readonly stale = new Set<number>();
  private readonly under_way = new Map<number, AbortController>();
  private wanted: number[] = [];

  constructor(
    readonly length: number,
    private readonly fetch: Fetch<Row>,
    private readonly tell: (error?: unknown) => void, // something has come, or failed
  ) {}

  at(index: number): Row | undefined {
    return this.kept.get(Math.floor(index / kBlock))?.[index % kBlock];
  }

  // What is there already: the first page, or the rows of before that are to be fetched anew.
  put(first: number, rows: readonly Row[], how: "fresh" | "stale" = "fresh"): void {
    for (let at = 0; at < rows.length; at += kBlock) {
      const block = Math.floor((first + at) / kBlock);
      this.kept.set(block, rows.slice(at, at + kBlock));
      if (how === "stale") this.stale.add(block);
    }
  }

  // As `put`, of all that another holds.
  putAll(other: Blocks<Row>): void {
    for (const [block, rows] of other.kept) this.put(block * kBlock, rows, "stale");
  }

  // These are in sight: fetches what lacks, calls off what is wanted no more.
  want(first: number, last: number): void {
    const from = Math.max(0, Math.floor(first / kBlock));
    const to = Math.floor(Math.min(last, this.length - 1) / kBlock);
    this.wanted = [];
    for (let block = from; block <= to; block += 1) this.wanted.push(block);
    for (const [block, stop] of this.under_way)
      if (!this.wanted.includes(block)) {
        stop.abort();
        this.under_way.delete(block);
      }
    for (const block of this.wanted) {
      const rows = this.kept.get(block);
      if (!rows) continue;
      this.kept.delete(block);
      this.kept.set(block, rows);
    }
    this.go();
  }

  // Fetches anew what is in sight, and the rest when it comes into sight.
  refresh(): void {
    for (const block of this.kept.keys()) this.stale.add(block);
    this.go();
  }

  // Whether any row in sight is like that.
  some(like: (row: Row) => boolean): boolean {
    return this.wanted.some((block) => this.kept.get(block)?.some(like));
  }

  // Calls off all that is under way.
  rest(): void {
    for (const stop of this.under_way.values()) stop.abort();
    this.under_way.clear();
    this.wanted = [];
  }

  private go(): void {
    for (const block of this.wanted) {
      if (this.under_way.size >= kAtOnce) return;
      if (this.under_way.has(block) || (this.kept.has(block) && !this.stale.has(block))) continue;
      void this.load(block);
    }
  }

  private async load(block: number): Promise<void> {
    const stop = new AbortController();
    this.under_way.set(block, stop);
    const first = block * kBlock;
    try {
      const rows = await this.fetch(first, Math.min(kBlock, this.length - first), stop.signal);
      if (stop.signal.aborted) return;
      this.under_way.delete(block);
      this.stale.delete(block);
      this.kept.set(block, rows);
      this.forget();
      this.tell();
      this.go();
    } catch (error) {
      if (stop.signal.aborted) return;
      this.under_way.delete(block);
      this.tell(error);
    }
  }

  private forget(): void {
    for (const block of this.kept.keys()) {
      if (this.kept.size <= kMostKept) return;
      if (!this.wanted.includes(block)) this.kept.delete(block);
    }
  }
}
