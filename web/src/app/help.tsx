import {useState} from "react";

import {Dialog} from "../ui/dialog";
import {activeKeys, keysOff, setKeysOff} from "./keys";

export default function Help(props: {close: () => void}) {
  const [off, setOff] = useState(keysOff);
  const unique = new Map(activeKeys().map((key) => [key.keys, key]));
  return (
    <Dialog title="Keys" close={props.close}>
      <table>
        <tbody>
          {[...unique.values()].map((key) => (
            <tr key={key.keys}>
              <td className="nowrap">
                {key.keys.split(" ").map((one, i) => (
                  <kbd key={i}>{one.replace("Mod", "Ctrl")}</kbd>
                ))}
              </td>
              <td>{key.does}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <label>
        <input
          type="checkbox"
          checked={off}
          onChange={(event) => {
            setKeysOff(event.target.checked);
            setOff(event.target.checked);
          }}
        />
        No single keys (they stay off in this browser; Ctrl K goes on working)
      </label>
    </Dialog>
  );
}
