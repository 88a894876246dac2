// By what runs are put together.
import {useMemo} from "react";

import type {Change} from "../../app/search";
import {type RunField, canBeColumn, titleOf} from "../../lib/run_fields";
import {useKeysOfRuns} from "./columns";

const kOwn = ["experiment", "status", "owner", "project"];

export function GroupBy(props: {
  by: readonly RunField[];
  fields: readonly RunField[];
  project?: string;
  filter: string;
  change: Change;
}) {
  const {by, fields} = props;
  // All keys are asked for only once the list is opened.
  const keys = useKeysOfRuns({project: props.project, filter: props.filter, q: ""}, by.length > 0);
  const offered = useMemo(() => {
    const known = (keys.data?.items ?? [])
      .filter((one) => one.kind !== "metric")
      .map((one) => `${one.kind}s.${one.key}`);
    const shown = fields.filter((one) => one.side !== "metrics").map((one) => one.field);
    return [...new Set([...by.map((one) => one.field), ...kOwn, ...shown, ...known])].filter(
      canBeColumn,
    );
  }, [keys.data, fields, by]);
  const names = by.map((one) => one.field);
  const set = (next: string[]) => props.change({group: next.join() || undefined});
  return (
    <>
      {[...names, ""].slice(0, 2).map((mine, i) => (
        <label key={i}>
          {i === 0 ? "group by" : "and"}
          <select
            value={mine}
            onChange={(event) => {
              const next = [...names];
              next.splice(i, 1, ...(event.target.value ? [event.target.value] : []));
              set(next);
            }}
          >
            <option value="">nothing{i > 0 ? " else" : ""}</option>
            {offered
              .filter((one) => one === mine || !names.includes(one))
              .map((one) => (
                <option key={one} value={one}>
                  {one.startsWith("params.") || one.startsWith("tags.")
                    ? one
                    : titleOf({field: one, side: "own", key: one})}
                </option>
              ))}
          </select>
        </label>
      ))}
    </>
  );
}
