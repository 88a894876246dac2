// What the reader may do in which project, so that what others may is not offered. The server has
// the last word whatever is shown.
import {useQueries, useQuery} from "@tanstack/react-query";

import {type Schemas, api, ask} from "../api/client";
import {projects, whoami} from "./queries";

export type Grade = Schemas["Grade"];
const kOrder: Grade[] = ["none", "viewer", "member", "maintainer", "admin"];
const kMostAsked = 50; // projects whose members are looked at

export const members = (project: string) => ({
  queryKey: ["admin", "members", project],
  queryFn: ({signal}: {signal: AbortSignal}) =>
    ask(api.GET("/api/v1/projects/{project}/members", {params: {path: {project}}, signal})),
});

export interface Grades {
  admin: boolean;
  user: string;
  // At least that role in the project, by itself or by one above it.
  may: (project: string, least: Grade) => boolean;
}

export function useGrades(): Grades {
  const me = useQuery(whoami());
  const all = useQuery(projects());
  const admin = me.data?.admin ?? false;
  const known = all.data?.items ?? [];
  const asked = admin ? [] : known.slice(0, kMostAsked);
  const found = useQueries({queries: asked.map((one) => members(one.name))});
  const roles = new Map(
    asked.map((one, i) => [
      one.name,
      found[i]?.data?.items?.find((member) => member.user === me.data?.user)?.role ?? "none",
    ]),
  );
  const parents = new Map(known.map((one) => [one.name, one.parent ?? ""]));
  const may = (project: string, least: Grade) => {
    if (admin) return true;
    for (let name = project, depth = 0; name !== "" && depth <= known.length; depth += 1) {
      if (kOrder.indexOf(roles.get(name) ?? "none") >= kOrder.indexOf(least)) return true;
      name = parents.get(name) ?? "";
    }
    return false;
  };
  return {admin, user: me.data?.user ?? "", may};
}
