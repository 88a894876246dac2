// Words for what went wrong, from whatever was thrown.
import {Refused} from "../api/client";

export interface Said {
  text: string;
  mend?: string;
  request_id?: string;
  fields: {path: string; line?: number; text: string; mend?: string}[];
}

// There is no such thing, or its name can be none.
export const isGone = (error: unknown): boolean =>
  error instanceof Refused && [400, 404, 410].includes(error.status);

export function say(error: unknown): Said {
  if (error instanceof Refused) {
    const {problem} = error;
    const told = problem.errors?.some((one) => one.mend === problem.mend); // beside its field
    return {
      text: error.message,
      mend: told ? undefined : problem.mend,
      request_id: problem.request_id,
      fields: (problem.errors ?? []).map((one) => ({
        path: one.path ?? "",
        line: one.line || undefined,
        text: [one.found ? `found ${one.found}` : "", one.allowed ? `allowed: ${one.allowed}` : ""]
          .filter(Boolean)
          .join("; "),
        mend: one.mend,
      })),
    };
  }
  if (error instanceof TypeError)
    return {
      text: "The server does not answer.",
      mend: "This goes on by itself once it does.",
      fields: [],
    };
  return {text: error instanceof Error ? error.message : String(error), fields: []};
}
