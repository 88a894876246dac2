// Copies; also over plain HTTP, where browsers have no clipboard object.
import {Check, Copy as CopyIcon} from "lucide-react";
import {useState} from "react";

export async function copyText(text: string): Promise<boolean> {
  if (navigator.clipboard) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // not allowed: the old way is left
    }
  }
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "unseen";
  const holder = document.querySelector("dialog[open]") ?? document.body;
  holder.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}

export function Copy(props: {text: string; what: string; label?: string}) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    setDone(await copyText(props.text));
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <button
      type="button"
      className={props.label ? "" : "plain icon"}
      onClick={() => void copy()}
      aria-label={props.label ? undefined : `Copy ${props.what}`}
      title={`Copy ${props.what}`}
    >
      {done ? <Check size={14} aria-hidden /> : <CopyIcon size={14} aria-hidden />}
      {props.label}
      <span className="unseen" role="status">
        {done ? "copied" : ""}
      </span>
    </button>
  );
}
