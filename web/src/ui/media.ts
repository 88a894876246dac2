import {useSyncExternalStore} from "react";

const phone = matchMedia("(max-width: 639px)");
export function usePhone(): boolean {
  return useSyncExternalStore(
    (tell) => {
      phone.addEventListener("change", tell);
      return () => phone.removeEventListener("change", tell);
    },
    () => phone.matches,
  );
}
