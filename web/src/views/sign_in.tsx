// Signs in by the code in the address's fragment (no proxy and no log sees that part), or a token.
import {useQueryClient} from "@tanstack/react-query";
import {useNavigate} from "@tanstack/react-router";
import {useEffect, useRef, useState} from "react";

import {signIn} from "../api/session";
import {reconnect} from "../api/live";
import {Field} from "../ui/field";
import {Dialog} from "../ui/dialog";
import {Command, Notice} from "../ui/words";
import css from "./sign_in.module.css";

function useSignIn(done: () => void) {
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<{detail: string; mend: string} | null>(null);
  const go = async (body: {code: string} | {token: string}) => {
    setBusy(true);
    const problem = await signIn(body);
    setBusy(false);
    setRefused(problem);
    if (!problem) done();
  };
  return {busy, refused, go};
}

export function SignIn() {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const {busy, refused, go} = useSignIn(() => {
    queries.clear();
    const next = new URLSearchParams(location.search).get("next") ?? "/";
    void navigate({
      to: (next.startsWith("/") && !next.startsWith("//") ? next : "/") as never,
      replace: true,
    });
  });
  const tried = useRef(false);
  useEffect(() => {
    document.title = "Sign in · Hearth";
    const code = location.hash.slice(1);
    if (code === "" || tried.current) return;
    tried.current = true;
    history.replaceState(null, "", location.pathname + location.search); // a code is good once
    void go({code: decodeURIComponent(code)});
  });
  return (
    <main className={css.alone}>
      <h1>Hearth</h1>
      {refused ? (
        <Notice kind="bad">{`${refused.detail}\n${refused.mend}`}</Notice>
      ) : (
        <p>A link signs you in. On the machine that runs Hearth, this prints one:</p>
      )}
      <Command text="hearth login --link" />
      <p className="muted">Or sign in with a token:</p>
      <TokenFields
        busy={busy}
        go={(token) => void go({token})}
        help="`hearth token add NAME` prints one; no storage of this browser keeps it."
      />
    </main>
  );
}

// Over what is shown, when the server no longer knows us.
export function SignInAgain() {
  const queries = useQueryClient();
  const {busy, refused, go} = useSignIn(() => {
    reconnect();
    void queries.invalidateQueries();
  });
  return (
    <Dialog title="Sign in">
      <p>
        You are not signed in, or no longer. What you had open stays as it is. On the machine that
        runs Hearth, this prints a link:
      </p>
      <Command text="hearth login --link" />
      {refused && <Notice kind="bad">{`${refused.detail}\n${refused.mend}`}</Notice>}
      <TokenFields busy={busy} go={(token) => void go({token})} />
    </Dialog>
  );
}

// A form may not lie in a form, and a dialog is one.
function TokenFields(props: {busy: boolean; go: (token: string) => void; help?: string}) {
  const [token, setToken] = useState("");
  const submit = () => {
    if (token.trim() !== "") props.go(token.trim());
    setToken("");
  };
  return (
    <div className={css.form}>
      <Field label="Token" help={props.help}>
        {(ids) => (
          <input
            {...ids}
            type="password"
            autoComplete="off"
            autoFocus
            value={token}
            onChange={(event) => setToken(event.target.value)}
            onKeyDown={(event) => event.key === "Enter" && submit()}
          />
        )}
      </Field>
      <button type="button" className="primary" disabled={props.busy} onClick={submit}>
        {props.busy ? "Signing in…" : "Sign in"}
      </button>
    </div>
  );
}
