// Whether the server still knows us. When it does not, the sign-in comes over what is shown, so
// that a form half filled in is not lost.
type Listener = () => void;

let lost = false;
const listeners = new Set<Listener>();

function set(value: boolean): void {
  if (lost === value) return;
  lost = value;
  for (const tell of listeners) tell();
}

export const sessionLost = (): void => set(true);
export const sessionFound = (): void => set(false);
export const isSessionLost = (): boolean => lost;
export function onSession(tell: Listener): () => void {
  listeners.add(tell);
  return () => listeners.delete(tell);
}

// Signs in by a link's code or a token; the answer to give people, or nothing when it worked.
export async function signIn(
  body: {code: string} | {token: string},
): Promise<{detail: string; mend: string} | null> {
  const kMend = "`hearth login --link` prints a new link.";
  try {
    const answer = await fetch("/api/v1/sessions", {
      method: "POST",
      headers: {"Content-Type": "application/json", "X-Hearth-Request": "page"},
      body: JSON.stringify(body),
    });
    if (answer.ok) {
      sessionFound();
      return null;
    }
    const problem = (await answer.json().catch(() => ({}))) as {detail?: string; mend?: string};
    return {
      detail: problem.detail ?? `The server answered ${answer.status}.`,
      mend: problem.mend ?? kMend,
    };
  } catch {
    return {detail: "The server does not answer.", mend: "Is it running? Then try again."};
  }
}
