// Saved views of the list of runs, as the API keeps them.
import {useQuery} from "@tanstack/react-query";

import {type Schemas, api, ask} from "../../api/client";
import type {Search} from "../../app/search";
import type {RunField} from "../../lib/run_fields";
import {type Parts, partsOf, queryOf} from "../../lib/saved_view";

const kPage = "runs";
const kMostShown = 1000;
export const kMostName = 128;
export const kStale = ["views"];

export type View = Schemas["SavedView"] & {id: string};
// A view that is shared shows its project's runs to that project's members.
export interface Kept {
  name: string;
  shared: boolean;
  parts: Parts;
}

export function useViews() {
  return useQuery({
    queryKey: ["views", kPage],
    queryFn: async ({signal}) => {
      const query = {page: kPage, limit: kMostShown, order_by: "name"};
      const all = await ask(api.GET("/api/v1/views", {params: {query}, signal}));
      return (all.items ?? []) as View[];
    },
  });
}

const bodyOf = ({name, shared, parts}: Kept) => ({
  name,
  page: kPage,
  project: parts.project ?? "",
  query: queryOf(parts),
  shared,
});

export const keep = (wanted: Kept) =>
  ask(api.POST("/api/v1/views", {body: bodyOf(wanted)})) as Promise<View>;

export const drop = (id: string) =>
  ask(api.DELETE("/api/v1/views/{view}", {params: {path: {view: id}}}));

// Refused when somebody changed it since it was read: another window of the same person.
export const replace = (old: View, next: Kept) =>
  ask(
    api.PUT("/api/v1/views/{view}", {
      params: {path: {view: old.id}, header: {"If-Match": `"${old.version}"`}},
      body: bodyOf(next),
    }),
  ) as Promise<View>;

// What is shown, columns included that were not chosen: a view stays as it was saved.
export function partsNow(view: Search, fields: readonly RunField[]): Parts {
  return partsOf({...view, cols: view.cols ?? (fields.map((one) => one.field).join() || "none")});
}
