// A job file as text and as a document at once: forms change the document by its paths, and
// comments and order stay as they were written. Pure.
import {Document, isCollection, isMap, parseDocument} from "yaml";

// "params.lr" -> ["params", "lr"]; "datasets[0].name" -> ["datasets", 0, "name"]
export function parts(path: string): (string | number)[] {
  return path
    .replace(/\[(\d+)\]/g, ".$1")
    .split(".")
    .filter((part) => part !== "")
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
}

function read(text: string): Document {
  return parseDocument(text, {keepSourceTokens: true});
}

// The value at a path; of a parameter written as {value: ...} that value.
export function valueAt(text: string, path: string): unknown {
  const document = read(text);
  const at = parts(path);
  const value = document.getIn(at);
  if (isMap(value) && at[0] === "params" && value.has("value")) return value.get("value");
  return isCollection(value) ? value.toJSON() : value;
}

// The text with the value at that path set; undefined takes the field away.
export function withValue(text: string, path: string, value: unknown): string {
  const document = read(text);
  const at = parts(path);
  if (document.contents === null || !isMap(document.contents)) return text;
  const old = document.getIn(at);
  const place = isMap(old) && at[0] === "params" && old.has("value") ? [...at, "value"] : at;
  if (value === undefined) document.deleteIn(place);
  else document.setIn(place, typeof value === "object" ? document.createNode(value) : value);
  return document.toString({lineWidth: 0, flowCollectionPadding: false});
}

// "0.1" -> 0.1, "true" -> true, "4GiB" -> "4GiB": as YAML would read it.
export function scalar(text: string): unknown {
  const value: unknown = parseDocument(text).toJS();
  return typeof value === "object" && value !== null ? text : value;
}

const kDefaults: Record<string, unknown> = {
  launch: "plain",
  priority: 50,
  opportunistic: false,
  "resources.cpu_limit": "weight",
  "resources.gpus": 0,
  "resources.gpu_share": 1,
};

// A job file that says what this job's did, without what is so by itself.
export function yamlOf(spec: Record<string, unknown>): string {
  const plain = structuredClone(spec);
  const document = new Document(plain);
  for (const [path, value] of Object.entries(kDefaults)) {
    if (document.getIn(parts(path)) === value) document.deleteIn(parts(path));
  }
  if (plain.experiment === plain.name) document.delete("experiment");
  const params = document.get("params");
  if (isMap(params)) {
    for (const pair of params.items) {
      if (isMap(pair.value)) pair.value.flow = true;
    }
  }
  const resources = document.get("resources");
  if (isMap(resources)) resources.flow = true;
  return document.toString({lineWidth: 0, flowCollectionPadding: false});
}
