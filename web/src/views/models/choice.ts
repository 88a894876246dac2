// Which versions of a model the address names.
import type {Search} from "../../app/search";
import type {Model, ModelVersion} from "./model";

const kFirst = 5; // compared unless others are chosen

// Numbers of those that the address names; else of the newest that came from a run.
export function chosenOf(view: Search, all: ModelVersion[]): number[] {
  const known = all.filter((one) => one.run_id);
  if (view.with !== undefined) {
    const wanted = new Set(view.with.split(",").map(Number));
    return all.filter((one) => wanted.has(one.number)).map((one) => one.number);
  }
  return known.slice(0, kFirst).map((one) => one.number);
}

// The one that is named by number or alias; else the newest.
export function versionOf(view: Search, model: Model, all: ModelVersion[]) {
  const wanted = view.version ?? "";
  const number = Number(model.aliases?.[wanted] ?? wanted);
  return all.find((one) => one.number === number) ?? all[0];
}
