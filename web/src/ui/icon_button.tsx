// A button of one sign: what it does is its name, and is told to whoever points at it.
import type {LucideIcon} from "lucide-react";

export function IconButton(props: {
  icon: LucideIcon;
  does: string;
  run: () => void;
  disabled?: boolean;
  size?: number;
}) {
  const {icon: Icon, does, size = 14} = props;
  return (
    <button
      type="button"
      className="plain icon"
      aria-label={does}
      title={does}
      disabled={props.disabled}
      onClick={props.run}
    >
      <Icon size={size} aria-hidden />
    </button>
  );
}
