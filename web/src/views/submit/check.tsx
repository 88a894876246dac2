// What the server says of a job file before it is sent: what is wrong and where, what it would take
// of the quota, when it would start and why not at once.
import {keepPreviousData, useQuery} from "@tanstack/react-query";

import {type Schemas, api, ask} from "../../api/client";
import {say} from "../../app/errors";
import {quotas} from "../../app/queries";
import {takesOf} from "../../lib/quotas";
import {Meter} from "../../ui/meter";
import {Notice} from "../../ui/words";
import {useSettled} from "../../ui/settled";
import css from "./submit.module.css";

export interface Fault {
  path: string;
  line?: number;
  text: string;
}
type Checked = Schemas["CheckResult"];

const kPauseMs = 350;

function said(error: Schemas["FieldError"]): string {
  const allowed = error.allowed ? `allowed: ${error.allowed}` : "";
  const found = error.found && error.path ? `found ${error.found}` : error.found;
  return [[found, allowed].filter(Boolean).join("; "), error.mend].filter(Boolean).join(". ");
}

export function useCheck(text: string, code: string) {
  const settled = useSettled(text, kPauseMs);
  const query = useQuery({
    queryKey: ["check", settled, code],
    enabled: settled.trim() !== "",
    retry: false,
    staleTime: 10_000,
    refetchInterval: 20_000,
    placeholderData: keepPreviousData,
    queryFn: ({signal}) =>
      ask(
        api.POST("/api/v1/jobs/check", {
          params: {query: {report: true}},
          body: settled as never,
          bodySerializer: (body) => body as unknown as string,
          headers: {"Content-Type": "application/yaml"},
          signal,
        }),
      ),
  });
  const wrong = query.data?.errors ?? [];
  const errors = wrong.map((one): Fault => ({
    path: one.path ?? "",
    line: one.line || undefined,
    text: said(one),
  }));
  return {errors, checked: wrong.length > 0 ? null : (query.data ?? null), error: query.error};
}

export function Check(props: {check: ReturnType<typeof useCheck>}) {
  const {checked, errors, error} = props.check;
  return (
    <aside className={css.check} aria-label="Before it is sent" aria-live="polite">
      <section className="card stack">
        <h2>Before it is sent</h2>
        {error != null && <p className="muted">{say(error).text}</p>}
        {errors.length > 0 && (
          <Notice kind="bad">
            {errors.length === 1
              ? "One thing is wrong in the job file."
              : `${errors.length} things are wrong in the job file.`}
          </Notice>
        )}
        {checked && <Start checked={checked} />}
        {checked && <Takes checked={checked} />}
      </section>
    </aside>
  );
}

function Start(props: {checked: Checked}) {
  const {checked} = props;
  if (!checked.runnable)
    return (
      <Notice kind="warn">
        {[checked.reason?.text ?? "It could not run here.", checked.reason?.mend].join("\n")}
      </Notice>
    );
  if (checked.reason?.code === "now") return <p className="good">It would start at once.</p>;
  return (
    <div>
      <p>It would wait{checked.start ? "" : "; nobody knows yet how long"}.</p>
      {checked.reason?.text && <p className="muted">{checked.reason.text}</p>}
    </div>
  );
}

function Takes(props: {checked: Checked}) {
  const {quota} = props.checked;
  const all = useQuery(quotas());
  if (!quota?.asks) return null;
  return takesOf(quota, all.data?.items ?? []).map((take, above) => (
    <div key={take.project} className="stack">
      <h3>
        Of the quota of {take.project}
        {above > 0 && <span className="muted"> above it</span>}
      </h3>
      {take.rows.map(({what, name, asks, used, whole, words}) => (
        <div key={what}>
          <p className="row">
            <span className="grow">{name}</span> <span className="number">{words}</span>
          </p>
          {whole !== undefined && (
            <Meter
              label={`${name}: ${words}`}
              whole={whole}
              parts={[
                {value: used, kind: "reserved"},
                {value: asks, kind: used + asks > whole ? "borrowed" : undefined},
              ]}
            />
          )}
        </div>
      ))}
    </div>
  ));
}
