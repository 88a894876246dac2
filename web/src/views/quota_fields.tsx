// What a project is promised and where it ends, as fields: of each kind, and of each GPU model.
import {type Written, kPlain, nameOfAmount, wrongAmount} from "../lib/amounts";
import css from "./quotas.module.css";

export interface QuotaText {
  guaranteed: Written;
  limit: Written;
}

export const wrongQuota = (of: QuotaText): boolean =>
  [of.guaranteed, of.limit].some((fields) =>
    Object.entries(fields).some(([what, text]) => wrongAmount(what, text) !== undefined),
  );

export function QuotaFields<Text extends QuotaText>(props: {
  value: Text;
  set: (value: Text) => void;
  models: string[];
}) {
  const {value, set} = props;
  const known = [...Object.keys(value.guaranteed), ...Object.keys(value.limit), ...props.models];
  const kinds = [...new Set([...kPlain, ...known])];
  const cell = (of: "guaranteed" | "limit", what: string) => {
    const text = value[of][what] ?? "";
    const wrong = wrongAmount(what, text);
    return (
      <td>
        <input
          type="text"
          aria-label={`${nameOfAmount(what)}, ${of}`}
          aria-invalid={wrong ? true : undefined}
          value={text}
          placeholder={of === "limit" ? "no limit" : "nothing"}
          onChange={(event) => set({...value, [of]: {...value[of], [what]: event.target.value}})}
        />
        {wrong && <small className="bad">{wrong}</small>}
      </td>
    );
  };
  return (
    <table className={css.fields}>
      <thead>
        <tr>
          <td />
          <th scope="col">Guaranteed</th>
          <th scope="col">Limit</th>
        </tr>
      </thead>
      <tbody>
        {kinds.map((what) => (
          <tr key={what}>
            <th scope="row">{nameOfAmount(what)}</th>
            {cell("guaranteed", what)}
            {cell("limit", what)}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
