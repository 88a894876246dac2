// One line as a terminal would show it: colours of ANSI, what carriage returns overwrote left out,
// links of OSC 8 as text, and the hits of a search marked. All of it text nodes.
import Anser from "anser";
import {Fragment, memo} from "react";

import css from "./log.module.css";

// The part after the last carriage return that something follows: what a terminal would show.
export function folded(text: string): string {
  const end = text.endsWith("\r") ? text.slice(0, -1) : text;
  const at = end.lastIndexOf("\r");
  return at < 0 ? end : end.slice(at + 1);
}

// OSC sequences (titles, links): no text of theirs is shown, and none is followed.
const kOsc = /\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)/g;
// Other control sequences that no colour is; colours end in m.
const kOther = /\u001b\[[0-9;?]*[A-LN-Za-ln-z]|[\u0000-\u0008\u000b\u000c\u000e-\u001a\u007f]/g;

export function clean(text: string): string {
  return folded(text).replace(kOsc, "").replace(kOther, "");
}

export const LineText = memo(function LineText(props: {text: string; hit: RegExp | null}) {
  const shown = clean(props.text);
  if (!shown.includes("\u001b")) return <Marked text={shown} hit={props.hit} />;
  return (
    <>
      {Anser.ansiToJson(shown, {json: true, remove_empty: true, use_classes: true}).map(
        (part, i) => (
          <span
            key={i}
            className={[
              part.fg ? css[part.fg.replace("-", "_").replace("-", "_")] : "",
              part.bg ? css[`on_${part.bg.replace("-", "_").replace("-", "_")}`] : "",
              part.decorations.includes("bold") ? css.bold : "",
            ].join(" ")}
          >
            <Marked text={part.content} hit={props.hit} />
          </span>
        ),
      )}
    </>
  );
});

function Marked(props: {text: string; hit: RegExp | null}) {
  if (!props.hit) return props.text;
  const parts = [];
  let at = 0;
  for (const match of props.text.matchAll(props.hit)) {
    if (match[0] === "") continue;
    parts.push(props.text.slice(at, match.index), <mark key={match.index}>{match[0]}</mark>);
    at = match.index + match[0].length;
  }
  return (
    <>
      {parts.map((part, i) => (
        <Fragment key={i}>{part}</Fragment>
      ))}
      {props.text.slice(at)}
    </>
  );
}
