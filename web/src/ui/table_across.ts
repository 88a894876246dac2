// Which columns of a table are in sight, where they are more than fit beside each other: then each
// takes its least width, the first one stays at the left, and only those in sight exist.
import {useVirtualizer} from "@tanstack/react-virtual";
import {type RefObject, useEffect, useLayoutEffect, useMemo, useState} from "react";

import {type Placed, kGap, kPad, placed, within} from "../lib/across";

const kOverscan = 3;
const kAssumed = 1200; // the width of the box, before it is known

export interface Across {
  wide: boolean;
  grid: string; // of CSS grid
  first: number; // the columns [first, end) exist, and the first of all
  end: number;
  width?: number; // of a row, where it is wider than the box
}

function useWidth(box: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const holder = box.current;
    if (!holder) return;
    setWidth(holder.clientWidth);
    const watch = new ResizeObserver(() => setWidth(holder.clientWidth));
    watch.observe(holder);
    return () => watch.disconnect();
  }, [box]);
  return width;
}

// `choosing`: the width of the boxes before the first column, or 0.
export function useAcross(
  box: RefObject<HTMLElement | null>,
  widths: readonly string[],
  choosing: number,
): Across {
  const room = useWidth(box);
  const text = widths.join("|");
  const at: Placed = useMemo(() => placed(text.split("|"), choosing), [text, choosing]);
  const wide = at.width > (room || kAssumed);
  const columns = useVirtualizer({
    horizontal: true,
    count: wide ? widths.length : 0,
    getScrollElement: () => box.current,
    estimateSize: (index) => (at.widths[index] ?? 0) + kGap,
    paddingStart: kPad + (choosing ? choosing + kGap : 0),
    overscan: kOverscan,
    useFlushSync: false,
  });
  useEffect(() => columns.measure(), [at, columns]);
  if (!wide) {
    const all = [...(choosing ? [`${choosing}px`] : []), ...widths];
    return {wide, grid: all.join(" "), first: 0, end: widths.length};
  }
  const items = columns.getVirtualItems();
  const [first, end] = within(items[0]?.index, items.at(-1)?.index, widths.length);
  return {wide, grid: at.grid(first, end), first, end, width: at.width};
}
