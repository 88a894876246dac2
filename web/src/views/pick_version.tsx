// Which version of a model or a dataset is looked at.
export function PickVersion(props: {
  all: {number: number}[];
  at: {number: number};
  set: (version: string) => void;
}) {
  return (
    <label>
      version
      <select value={String(props.at.number)} onChange={(event) => props.set(event.target.value)}>
        {props.all.map((one) => (
          <option key={one.number} value={String(one.number)}>
            {one.number}
          </option>
        ))}
      </select>
    </label>
  );
}
