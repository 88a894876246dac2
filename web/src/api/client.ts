// Calls of the public API, typed by its own document (schema.d.ts is made from api/openapi.json).
import createClient, {type Middleware} from "openapi-fetch";

import {sessionLost} from "./session";
import type {components, paths} from "./schema";

type Schemas = components["schemas"];
// What is empty is left out of an answer; these are never empty.
type With<T, Names extends keyof T> = Omit<T, Names> & {[Name in Names]-?: NonNullable<T[Name]>};
export type Job = With<Schemas["Job"], "id" | "name" | "project" | "owner" | "created_at">;
export type JobState = Schemas["JobState"];
export type Reason = Schemas["Reason"];
export type Failure = Schemas["Failure"];
export type Run = With<Schemas["Run"], "id" | "name" | "project" | "experiment_id" | "created_at">;
export type Task = With<Schemas["Task"], "id" | "attempt_id">;
export type Attempt = Schemas["Attempt"];
export type NodeStatus = Schemas["NodeStatus"];
export type QuotaStatus = Schemas["QuotaStatus"];
export type PoolStatus = Schemas["PoolStatus"];
export type Problem = Schemas["Problem"];
export type {Schemas};

// What the server said no to, in its words.
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly problem: Partial<Problem>,
  ) {
    super(problem.detail ?? problem.title ?? `the server answered ${status}`);
  }
}

// Writes must carry a header that no foreign page can set without being let to.
const marked: Middleware = {
  onRequest({request}) {
    if (request.method !== "GET") request.headers.set("X-Hearth-Request", "page");
    return request;
  },
  onResponse({response}) {
    if (response.status === 401) sessionLost();
  },
};

export const api = createClient<paths>({baseUrl: location.origin});
api.use(marked);

interface Answered<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

// The body, or Refused. A server that is not reached throws what fetch throws (TypeError).
export async function ask<T>(call: Promise<Answered<T>>): Promise<T> {
  const {data, error, response} = await call;
  if (response.ok) return data as T;
  const problem = error && typeof error === "object" ? (error as Partial<Problem>) : {};
  throw new Refused(response.status, problem);
}

// A page of a list of which only some fields were asked for.
export interface Listed<T> {
  items: T[];
  next_cursor?: string;
}

// Bytes as text, or Refused: for artifacts and plain logs.
export async function text(path: string, signal?: AbortSignal): Promise<string> {
  const response = await fetch(path, {signal});
  if (response.status === 401) sessionLost();
  if (!response.ok) {
    const problem = await response.json().catch(() => ({}));
    throw new Refused(response.status, problem as Partial<Problem>);
  }
  return response.text();
}
