// The log of one task: a window over all its lines, however many; followed, searched, copied.
import {useQuery} from "@tanstack/react-query";
import {ArrowDown, ArrowDownToLine, ArrowUp} from "lucide-react";
import {useEffect, useMemo, useReducer, useRef, useState} from "react";

import {type Job, api, ask} from "../../api/client";
import {say} from "../../app/errors";
import {useKeys} from "../../app/keys";
import {useView} from "../../app/search";
import {count, plural} from "../../lib/format";
import {Copy} from "../../ui/copy";
import {IconButton} from "../../ui/icon_button";
import {kEnded} from "../../ui/state";
import {Loading, Notice} from "../../ui/words";
import {LineText} from "./line_text";
import css from "./log.module.css";
import {type Line, LogSource, search} from "./log_source";

const kRow = 18;
const kMostPixels = 8_000_000; // beyond it browsers lose rows: the scroll position is scaled
const kOver = 30;
const kMostHits = 10_000;
const kMostWhole = 100; // of the chosen lines

export default function Log(props: {job: Job}) {
  const {job} = props;
  const [view, change] = useView();
  const which = useMemo(
    () => ({job: job.id, attempt: view.attempt, rank: view.rank}),
    [job.id, view.attempt, view.rank],
  );
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const [source, setSource] = useState<LogSource | null>(null);
  useEffect(() => {
    const made = new LogSource(which, redraw);
    setSource(made);
    return () => made.close();
  }, [which, job.attempts]);
  if (!source) return <Loading what="the log" />;
  return (
    <Lines
      key={`${view.attempt}/${view.rank}`}
      job={job}
      source={source}
      view={view}
      change={change}
    />
  );
}

function Lines(props: {
  job: Job;
  source: LogSource;
  view: Record<string, string | undefined>;
  change: ReturnType<typeof useView>[1];
}) {
  const {source, view, change} = props;
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const [follow, setFollow] = useState(view.line === undefined);
  const [paused, setPaused] = useState(0); // the last line when following ended
  const total = source.last > 0 ? source.last - Math.max(1, source.first) + 1 : 0;
  const first = Math.max(1, source.first);
  const full = total * kRow;
  const shown = Math.min(full, kMostPixels);
  // How many pixels of lines go by a pixel scrolled.
  const squeeze = shown > height ? (full - height) / (shown - height) : 1;
  const offset = Math.max(0, top * squeeze);
  const from = first + Math.max(0, Math.floor(offset / kRow) - kOver);
  const to = Math.min(source.last, first + Math.ceil((offset + height) / kRow) + kOver);
  const find = useFind(source, view.find ?? "");

  useEffect(() => {
    if (to >= from && total > 0) source.want(from, to);
  }, [from, to, source, total]);
  useEffect(() => {
    const watch = new ResizeObserver(() => setHeight(box.current?.clientHeight ?? 600));
    if (box.current) watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  const goTo = (seq: number) => {
    const wanted = ((seq - first) * kRow - height / 2) / squeeze;
    setFollow(false);
    setPaused(source.last);
    if (box.current) box.current.scrollTop = Math.max(0, wanted);
  };
  // To the end as lines come; or once to the line in the address.
  const placed = useRef(false);
  useEffect(() => {
    const holder = box.current;
    if (!holder || total === 0) return;
    if (follow) holder.scrollTop = holder.scrollHeight;
    else if (!placed.current && view.line) goTo(Number(view.line.split("-")[0]));
    placed.current = true;
  });
  const scrolled = () => {
    const holder = box.current;
    if (!holder) return;
    setTop(holder.scrollTop);
    const atEnd = holder.scrollTop + holder.clientHeight >= holder.scrollHeight - 4;
    if (!atEnd && follow && holder.scrollTop < top - 2) {
      setFollow(false);
      setPaused(source.last);
    }
  };
  const resume = () => {
    setFollow(true);
    change({line: undefined}, "replace");
  };
  useKeys([
    {keys: "f", does: "follow the log", run: resume},
    {keys: "n", does: "next hit", run: () => find.step(1, goTo)},
    {keys: "Shift+n", does: "hit before", run: () => find.step(-1, goTo)},
  ]);
  const [selFrom, selTo] = (view.line ?? "").split("-").map(Number);
  const choose = (seq: number, range: boolean) => {
    const start = range && selFrom ? Math.min(selFrom, seq) : seq;
    const end = range && selFrom ? Math.max(selFrom, seq) : seq;
    setFollow(false);
    setPaused(source.last);
    change({line: start === end ? String(start) : `${start}-${end}`}, "replace");
  };
  const rows: number[] = [];
  for (let seq = from; seq <= to && total > 0; seq += 1) rows.push(seq);
  // Rows stand where the scroll position says, not where the whole log would put them.
  const base = Math.max(0, offset - kOver * kRow);
  const shift = top - (offset - Math.floor(base / kRow) * kRow);
  return (
    <div className={css.log}>
      <Bar
        {...props}
        find={find}
        goTo={goTo}
        total={total}
        selection={selFrom ? [selFrom, selTo || selFrom] : null}
      />
      {source.error != null && <Notice kind="warn">{say(source.error).text}</Notice>}
      <div
        ref={box}
        className={css.box}
        onScroll={scrolled}
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label="Log lines"
      >
        {total === 0 && (
          <p className={css.none}>
            {source.ended || kEnded.has(props.job.state)
              ? "It wrote nothing."
              : source.error
                ? ""
                : "It has written nothing yet. Lines appear as they come."}
          </p>
        )}
        <div style={{height: shown}} className={css.all}>
          <div style={{transform: `translateY(${shift}px)`}} data-first={from}>
            {rows.map((seq) => (
              <Row
                key={seq}
                seq={seq}
                line={source.line(seq)}
                hit={find.re}
                current={find.current === seq}
                chosen={selFrom !== undefined && seq >= selFrom && seq <= (selTo || selFrom)}
                choose={choose}
                times={view.times === "1"}
              />
            ))}
          </div>
        </div>
      </div>
      {selFrom && <Whole source={source} from={selFrom} to={selTo || selFrom} hit={find.re} />}
      {!follow && !source.ended && (
        <button type="button" className={css.paused} onClick={resume}>
          <ArrowDownToLine size={14} aria-hidden /> Paused
          {source.last > paused && paused > 0 ? `, ${count(source.last - paused)} new` : ""}: follow
          (f)
        </button>
      )}
    </div>
  );
}

// Rows of the log are as high as one another; lines that are chosen are shown with their ends.
function Whole(props: {source: LogSource; from: number; to: number; hit: RegExp | null}) {
  const {source, from, to} = props;
  const all = Array.from({length: Math.min(kMostWhole, to - from + 1)}, (_, i) => from + i);
  const known = all.filter((seq) => source.line(seq));
  if (known.length === 0) return null;
  return (
    <div className={css.whole} role="region" aria-label="Chosen lines, whole" tabIndex={0}>
      {known.map((seq) => (
        <div key={seq}>
          <LineText text={source.line(seq)?.text ?? ""} hit={props.hit} />
        </div>
      ))}
    </div>
  );
}

function Row(props: {
  seq: number;
  line?: Line;
  hit: RegExp | null;
  current: boolean;
  chosen: boolean;
  times: boolean;
  choose: (seq: number, range: boolean) => void;
}) {
  const {line} = props;
  return (
    <div
      className={css.row}
      data-chosen={props.chosen || undefined}
      data-current={props.current || undefined}
      data-stream={line?.stream}
    >
      <button
        type="button"
        tabIndex={-1}
        className={css.seq}
        aria-label={`Line ${props.seq}`}
        onClick={(event) => props.choose(props.seq, event.shiftKey)}
      >
        {props.seq}
      </button>
      {props.times && <span className={css.time}>{line ? line.time.slice(11, 23) : ""}</span>}
      <span className={css.text}>{line && <LineText text={line.text} hit={props.hit} />}</span>
    </div>
  );
}

// Hits of a search over the whole log, gathered by the server piece by piece.
function useFind(source: LogSource, wanted: string) {
  const [hits, setHits] = useState<number[]>([]);
  const [progress, setProgress] = useState<{busy: boolean; from: number; error: string}>({
    busy: false,
    from: 0,
    error: "",
  });
  const [at, setAt] = useState(-1);
  const re = useMemo(() => {
    try {
      return wanted === "" ? null : new RegExp(wanted, "g");
    } catch {
      return null;
    }
  }, [wanted]);
  useEffect(() => {
    setHits([]);
    setAt(-1);
    setProgress({busy: wanted !== "", from: 0, error: ""});
    if (wanted === "") return;
    const stop = new AbortController();
    const go = async () => {
      const found: number[] = [];
      let from = 1;
      for (;;) {
        const got = await search(source.which, wanted, from, stop.signal);
        found.push(...got.hits.map((one) => one.seq));
        setHits([...found]);
        setProgress({busy: true, from: got.next_from, error: ""});
        if (got.next_from <= from || got.next_from > source.last || found.length >= kMostHits)
          break;
        from = got.next_from;
      }
      setProgress({busy: false, from: 0, error: ""});
    };
    const timer = setTimeout(
      () =>
        go().catch(
          (error: unknown) =>
            !stop.signal.aborted && setProgress({busy: false, from: 0, error: say(error).text}),
        ),
      250,
    );
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [wanted, source]);
  const step = (by: number, goTo: (seq: number) => void) => {
    if (hits.length === 0) return;
    const next = at < 0 ? (by > 0 ? 0 : hits.length - 1) : (at + by + hits.length) % hits.length;
    setAt(next);
    goTo(hits[next] as number);
  };
  return {re, hits, at, step, ...progress, current: at >= 0 ? hits[at] : undefined};
}

function Bar(
  props: Parameters<typeof Lines>[0] & {
    find: ReturnType<typeof useFind>;
    goTo: (seq: number) => void;
    total: number;
    selection: [number, number] | null;
  },
) {
  const {job, view, change, find, source} = props;
  const tasks = useQuery({
    queryKey: ["job", job.id, "tasks"],
    queryFn: ({signal}) =>
      ask(api.GET("/api/v1/jobs/{job}/tasks", {params: {path: {job: job.id}}, signal})),
  });
  const all = tasks.data?.items ?? [];
  const attempts = [...new Set(all.map((task) => task.attempt_number))].sort((a, b) => a - b);
  const attempt = view.attempt ? Number(view.attempt) : (attempts.at(-1) ?? 1);
  const ranks = all
    .filter((task) => task.attempt_number === attempt)
    .sort((a, b) => a.rank - b.rank);
  const [text, setText] = useState(view.find ?? "");
  const chosen = () => {
    if (!props.selection) return "";
    const lines = [];
    for (let seq = props.selection[0]; seq <= props.selection[1]; seq += 1)
      lines.push(source.line(seq)?.text ?? "");
    return lines.join("\n");
  };
  const download = new URLSearchParams({
    ...(view.rank ? {rank: view.rank} : {}),
    ...(view.attempt ? {attempt: view.attempt} : {}),
  });
  return (
    <div className={css.bar} role="toolbar" aria-label="Log">
      <form
        className="row"
        onSubmit={(event) => {
          event.preventDefault();
          if (text === (view.find ?? "")) find.step(1, props.goTo);
          else change({find: text || undefined}, "replace");
        }}
      >
        <input
          type="search"
          data-filter
          aria-label="Find in the log (regular expression)"
          placeholder="Find (RE2)"
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            if (event.target.value === "") change({find: undefined}, "replace");
          }}
        />
        <span className="muted nowrap" role="status">
          {find.error ? (
            <span className="bad">{find.error}</span>
          ) : view.find ? (
            (find.at >= 0 ? `${find.at + 1} of ` : "") +
            plural(find.hits.length, "hit") +
            (find.busy ? "…" : "")
          ) : (
            ""
          )}
        </span>
        {find.hits.length > 0 && (
          <>
            <IconButton icon={ArrowUp} does="Hit before" run={() => find.step(-1, props.goTo)} />
            <IconButton icon={ArrowDown} does="Next hit" run={() => find.step(1, props.goTo)} />
          </>
        )}
      </form>
      {attempts.length > 1 && (
        <label>
          try{" "}
          <select
            value={String(attempt)}
            onChange={(event) => change({attempt: event.target.value, line: undefined})}
          >
            {attempts.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
      )}
      {ranks.length > 1 && (
        <label>
          rank{" "}
          <select
            value={view.rank ?? String(ranks[0]?.rank ?? 0)}
            onChange={(event) => change({rank: event.target.value, line: undefined})}
          >
            {ranks.map((one) => (
              <option key={one.id} value={one.rank}>
                {one.rank}
                {one.role ? ` ${one.role}` : ""}
              </option>
            ))}
          </select>
        </label>
      )}
      <label>
        <input
          type="checkbox"
          checked={view.times === "1"}
          onChange={(event) => change({times: event.target.checked ? "1" : undefined}, "replace")}
        />{" "}
        times
      </label>
      <span className="grow" />
      {props.selection && (
        <Copy
          text={chosen()}
          what="the chosen lines"
          label={`Copy ${plural(props.selection[1] - props.selection[0] + 1, "line")}`}
        />
      )}
      <span className="muted nowrap" data-lines={props.total}>
        {plural(props.total, "line")}
        {source.ended ? "" : ", following"}
      </span>
      <a
        className="button"
        href={`/api/v1/jobs/${job.id}/logs?${download}`}
        download={`${job.name}.log`}
      >
        Download
      </a>
    </div>
  );
}
