// Times: absolute in local time, the exact one as title; durations that grow while they last.
import {useEffect, useState} from "react";

import {clock, duration, seconds_between} from "../lib/format";

export function Time(props: {at?: string | null; date?: boolean}) {
  if (!props.at) return null;
  return (
    <time dateTime={props.at} title={props.at} className="nowrap">
      {clock(props.at, props.date ?? true)}
    </time>
  );
}

let ticking = 0;
const tickers = new Set<(now: number) => void>();
setInterval(() => {
  if (document.hidden || tickers.size === 0) return;
  ticking = Date.now();
  for (const tick of tickers) tick(ticking);
}, 1000);

// Now, again every second while the tab is seen and `on` holds.
export function useNow(on = true): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!on) return;
    tickers.add(setNow);
    return () => void tickers.delete(setNow);
  }, [on]);
  return now;
}

export function Elapsed(props: {from?: string; until?: string}) {
  const now = useNow(!props.until);
  if (!props.from) return null;
  return (
    <span className="nowrap">{duration(seconds_between(props.from, props.until ?? now))}</span>
  );
}
