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

export function keep({name, shared, parts}: Kept): Promise<View> {
  const body = {name, page: kPage, project: parts.project ?? "", query: queryOf(parts), shared};
  return ask(api.POST("/api/v1/views", {body})) as Promise<View>;
}

export const drop = (id: string) =>
  ask(api.DELETE("/api/v1/views/{view}", {params: {path: {view: id}}}));

// The API changes no view: the new one is there before the old one goes.
export async function replace(old: View, next: Kept): Promise<View> {
  const made = await keep(next);
  await drop(old.id);
  return made;
}

// What is shown, columns included that were not chosen: a view stays as it was saved.
export function partsNow(view: Search, fields: readonly RunField[]): Parts {
  return partsOf({...view, cols: view.cols ?? (fields.map((one) => one.field).join() || "none")});
}
