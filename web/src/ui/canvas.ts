// A canvas as wide as its place, sharp on every screen, drawn again when its place, the theme or
// what it shows changes.
import {type RefObject, useEffect, useRef, useState} from "react";

import {useDark} from "../app/theme";

export interface Paint {
  ctx: CanvasRenderingContext2D;
  width: number;
  height: number;
  colour: (token: string) => string; // of app/base.css: "--text"
  dark: boolean;
}

export function useCanvas(
  height: number,
  draw: (paint: Paint) => void,
  least = 0,
): {canvas: RefObject<HTMLCanvasElement | null>; width: number} {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const dark = useDark();
  useEffect(() => {
    const holder = canvas.current?.parentElement;
    if (!holder) return;
    const measure = () => setWidth(Math.max(least, holder.clientWidth));
    const watch = new ResizeObserver(measure);
    watch.observe(holder);
    measure();
    return () => watch.disconnect();
  }, [least]);
  useEffect(() => {
    const shown = canvas.current;
    const ctx = shown?.getContext("2d");
    if (!shown || !ctx || width === 0) return;
    const scale = devicePixelRatio;
    shown.width = Math.round(width * scale);
    shown.height = Math.round(height * scale);
    shown.style.width = `${width}px`;
    shown.style.height = `${height}px`;
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    ctx.clearRect(0, 0, width, height);
    ctx.font = "11px system-ui, sans-serif";
    const style = getComputedStyle(document.documentElement);
    draw({ctx, width, height, dark, colour: (token) => style.getPropertyValue(token).trim()});
  }, [width, height, draw, dark]);
  return {canvas, width};
}

// Text as long as there is room for it: the whole is said elsewhere.
export function fitted(ctx: CanvasRenderingContext2D, text: string, room: number): string {
  if (ctx.measureText(text).width <= room) return text;
  let end = text.length;
  while (end > 1 && ctx.measureText(`${text.slice(0, end)}…`).width > room) end -= 1;
  return `${text.slice(0, end)}…`;
}
