// A machine by its name, as a link to its page.
import {Link} from "@tanstack/react-router";

export function MachineLink(props: {name: string; className?: string}) {
  return (
    <Link
      to={"/cluster/machines/$node" as never}
      params={{node: props.name} as never}
      className={props.className}
      title={props.name}
    >
      {props.name}
    </Link>
  );
}
