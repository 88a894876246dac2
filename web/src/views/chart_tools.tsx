// What holds for all charts of a view: which metrics, over what, how smooth, on which axes.
import {useView} from "../app/search";
import type {XKind} from "../ui/chart";

const kAxes: [XKind, string][] = [
  ["step", "step"],
  ["relative", "time since its start"],
  ["time", "time of day"],
  ["epoch", "epoch"],
];

export function ChartTools(props: {
  keys: string[];
  find: string;
  setFind: (find: string) => void;
  x: XKind;
  zoom: (range: null) => void;
}) {
  const [view, change] = useView();
  const {keys, x} = props;
  const smooth = Math.min(0.99, Math.max(0, Number(view.smooth ?? 0) || 0));
  const logs = view.log ?? "";
  const log = (axis: "x" | "y", on: boolean) => {
    const next = ["x", "y"].filter((one) => (one === axis ? on : logs.includes(one))).join("");
    change({log: next || undefined}, "replace");
  };
  return (
    <div className="row wrap" role="toolbar" aria-label="Charts">
      {keys.length > 4 && (
        <input
          type="search"
          data-filter
          aria-label="Find a metric"
          placeholder={`Find one of ${keys.length} metrics`}
          value={props.find}
          onChange={(event) => props.setFind(event.target.value)}
        />
      )}
      <label>
        x{" "}
        <select
          aria-label="x axis"
          value={x}
          onChange={(event) =>
            change(
              {x: event.target.value === "step" ? undefined : event.target.value, zoom: undefined},
              "replace",
            )
          }
        >
          {kAxes
            .filter(([axis]) => axis !== "epoch" || keys.includes("epoch"))
            .map(([axis, name]) => (
              <option key={axis} value={axis}>
                {name}
              </option>
            ))}
        </select>
      </label>
      <label>
        smoothing{" "}
        <input
          type="range"
          min="0"
          max="0.99"
          step="0.01"
          value={smooth}
          aria-valuetext={String(smooth)}
          onChange={(event) =>
            change({smooth: event.target.value === "0" ? undefined : event.target.value}, "replace")
          }
        />{" "}
        <span className="number">{smooth}</span>
      </label>
      <label>
        <input
          type="checkbox"
          checked={logs.includes("y")}
          onChange={(event) => log("y", event.target.checked)}
        />{" "}
        log y
      </label>
      {x !== "time" && (
        <label>
          <input
            type="checkbox"
            checked={logs.includes("x")}
            onChange={(event) => log("x", event.target.checked)}
          />{" "}
          log x
        </label>
      )}
      {view.zoom && (
        <button type="button" onClick={() => props.zoom(null)}>
          Show all (z)
        </button>
      )}
    </div>
  );
}
