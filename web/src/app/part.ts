// A part of a view with a script of its own, which may be asked for ahead: then it is there at once
// when it is shown. React holds one that comes late back, for 300 ms after its fallback.
import {type ComponentType, type LazyExoticComponent, lazy} from "react";

interface Module<Props> {
  default: ComponentType<Props>;
}
export type Part<Props> = LazyExoticComponent<ComponentType<Props>> & {ahead: () => void};

export function part<Props>(load: () => Promise<Module<Props>>): Part<Props> {
  let there: Module<Props> | undefined;
  let coming: Promise<Module<Props>> | undefined;
  const come = () =>
    (coming ??= load().then(
      (module) => (there = module),
      (error: unknown) => {
        coming = undefined; // the next who shows it tries again
        throw error;
      },
    ));
  // React calls `then` at once: what is there is taken without waiting.
  const then: Promise<Module<Props>>["then"] = (ok, bad) => {
    if (!there || !ok) return come().then(ok, bad);
    return ok(there) as never;
  };
  const made = lazy(() => ({then}) as Promise<Module<Props>>);
  return Object.assign(made, {ahead: () => void come().catch(() => undefined)});
}
