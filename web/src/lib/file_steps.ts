// Files that a script keeps step after step. Pure.

import type {Schemas} from "../api/client";

type Artifact = Schemas["Artifact"];

// "plots/samples-0000000003.png" is step 3 of plots/samples.png.
export function stepOf(path: string): {name: string; step: number | null} {
  const match = /^(.*)-(\d{10})(\.[^/]*)$/.exec(path);
  return match
    ? {name: `${match[1]}${match[3]}`, step: Number(match[2])}
    : {name: path, step: null};
}

interface Group {
  name: string;
  files: {step: number | null; artifact: Artifact}[];
}

export function grouped(artifacts: readonly Artifact[]): Group[] {
  const groups = new Map<string, Group>();
  for (const artifact of artifacts) {
    const {name, step} = stepOf(artifact.path ?? "");
    const group = groups.get(name) ?? {name, files: []};
    group.files.push({step, artifact});
    groups.set(name, group);
  }
  for (const group of groups.values()) group.files.sort((a, b) => (a.step ?? 0) - (b.step ?? 0));
  return [...groups.values()].sort((a, b) => a.name.localeCompare(b.name));
}
