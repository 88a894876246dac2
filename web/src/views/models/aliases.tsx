// Names that point at a version.
import css from "./models.module.css";

export function Aliases(props: {of?: Record<string, string>; version?: number}) {
  const all = Object.entries(props.of ?? {})
    .filter(([, number]) => props.version === undefined || Number(number) === props.version)
    .sort(([a], [b]) => a.localeCompare(b));
  return (
    <span className={css.aliases}>
      {all.map(([alias, number]) => (
        <span key={alias} className={css.alias}>
          {alias}
          {props.version === undefined && <span className="muted"> {number}</span>}
        </span>
      ))}
    </span>
  );
}
