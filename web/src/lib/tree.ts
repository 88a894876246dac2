// Things that name the one above them, as a tree: each stands behind the one above it. Pure.

export interface Leaf<Thing> {
  thing: Thing;
  depth: number;
}

// By name; where the one above is not to be seen, at the top. With `below`: that one and what is
// below it alone.
export function inTree<Thing>(
  all: readonly Thing[],
  nameOf: (thing: Thing) => string,
  parentOf: (thing: Thing) => string | undefined,
  below?: string,
): Leaf<Thing>[] {
  const known = new Set(all.map(nameOf));
  const children = new Map<string, Thing[]>();
  const byName = (a: Thing, b: Thing) =>
    nameOf(a).localeCompare(nameOf(b), "en-US", {numeric: true});
  for (const thing of [...all].sort(byName)) {
    const parent = parentOf(thing) ?? "";
    const above = known.has(parent) ? parent : "";
    children.set(above, [...(children.get(above) ?? []), thing]);
  }
  const made: Leaf<Thing>[] = [];
  const walk = (thing: Thing, depth: number) => {
    made.push({thing, depth});
    for (const child of children.get(nameOf(thing)) ?? []) walk(child, depth + 1);
  };
  const roots = below ? all.filter((thing) => nameOf(thing) === below) : children.get("");
  for (const root of roots ?? []) walk(root, 0);
  return made;
}
