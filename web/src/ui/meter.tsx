// How much of something is taken, and of that how much is used (the dark line below); the words
// beside it carry the numbers.
import css from "./ui.module.css";

export function Meter(props: {
  label: string;
  whole: number;
  parts: {value: number; kind?: "borrowed" | "reserved"}[];
  used?: number;
  mark?: number; // a line there: what is promised
}) {
  const whole = Math.max(
    props.whole,
    props.parts.reduce((sum, part) => sum + part.value, 0),
    1e-9,
  );
  return (
    <div className={css.meter} role="img" aria-label={props.label} title={props.label}>
      {props.parts.map((part, i) => (
        <span
          key={i}
          className={part.kind ? css[part.kind] : ""}
          style={{width: `${(100 * part.value) / whole}%`}}
        />
      ))}
      {props.mark !== undefined && (
        <i className={css.mark} style={{left: `${Math.min(100, (100 * props.mark) / whole)}%`}} />
      )}
      {props.used !== undefined && (
        <i className={css.used} style={{width: `${Math.min(100, (100 * props.used) / whole)}%`}} />
      )}
    </div>
  );
}
