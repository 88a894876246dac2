// A state is told by shape, word and colour together.
import {
  Ban,
  CalendarClock,
  CircleAlert,
  CircleCheck,
  CircleDashed,
  CirclePause,
  CircleX,
  ClockArrowDown,
  Loader,
  Save,
  Settings2,
  Unplug,
  Wrench,
} from "lucide-react";

import css from "./ui.module.css";

const kKinds = {
  queued: [CircleDashed, "quiet"],
  preparing: [Settings2, "active"],
  starting: [Settings2, "active"],
  running: [Loader, "active"],
  saving: [Save, "active"],
  stopping: [Ban, "quiet"],
  succeeded: [CircleCheck, "good"],
  finished: [CircleCheck, "good"],
  failed: [CircleX, "bad"],
  cancelled: [Ban, "quiet"],
  killed: [Ban, "quiet"],
  warning: [CircleAlert, "warn"],
  // of machines
  open: [CircleCheck, "good"],
  cordoned: [CirclePause, "warn"],
  draining: [ClockArrowDown, "warn"],
  drained: [Ban, "warn"],
  reserved: [CalendarClock, "active"],
  maintenance: [Wrench, "warn"],
  away: [Unplug, "bad"],
} as const;

export function State(props: {state: string; word?: string}) {
  const [Icon, tone] = kKinds[props.state.toLowerCase() as keyof typeof kKinds] ?? kKinds.queued;
  return (
    <span className={`${css.state} ${css[tone]}`} data-state={props.state}>
      <Icon size={14} aria-hidden />
      {props.word ?? props.state.toLowerCase()}
    </span>
  );
}

export const kEnded = new Set(["succeeded", "failed", "cancelled"]);
