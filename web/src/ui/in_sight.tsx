// What is out of sight keeps its place and costs nothing.
import {type ReactNode, useEffect, useRef, useState} from "react";

export function InSight(props: {
  height: number;
  className?: string;
  see?: () => void; // it has come into sight
  always?: boolean; // there is so little of it that it may stand out of sight, too
  children: ReactNode;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [inSight, setSeen] = useState(false);
  const see = useRef(props.see);
  see.current = props.see;
  const seen = inSight || props.always;
  const [height, setHeight] = useState(props.height);
  useEffect(() => {
    const watched = box.current;
    const watch = new IntersectionObserver(
      (entries) => {
        const now = entries.some((one) => one.isIntersecting);
        // It leaves as much room as it took.
        if (!now && watched && watched.offsetHeight > 0) setHeight(watched.offsetHeight);
        setSeen(now);
        if (now) see.current?.();
      },
      {rootMargin: "300px"},
    );
    if (watched) watch.observe(watched);
    return () => watch.disconnect();
  }, []);
  return (
    <div ref={box} className={props.className} style={{minHeight: seen ? undefined : height}}>
      {seen && props.children}
    </div>
  );
}
