// A new job: from a template by a form, from another job, or as the file itself. Form and file are
// two views of one document; what it takes and when it would start is said before it is sent.
import {useMutation, useQuery, useQueryClient} from "@tanstack/react-query";
import {useNavigate} from "@tanstack/react-router";
import {Suspense, lazy, useDeferredValue, useEffect, useState} from "react";

import {type Job, api, ask} from "../../api/client";
import {job as jobQuery} from "../../app/queries";
import {useKeys} from "../../app/keys";
import {type Search, useProject, useView} from "../../app/search";
import {scalar, valueAt, withValue, yamlOf} from "../../lib/job_yaml";
import {Page} from "../../ui/page";
import {Loading, Notice, Trouble} from "../../ui/words";
import {Check, useCheck} from "./check";
import {Form} from "./form";
import css from "./submit.module.css";
import {type Template, Templates, useTemplates} from "./templates";

const Editor = lazy(() => import("./editor"));

const kDraft = "hearth.draft";

interface Draft {
  text: string;
  code: string; // digest of the code that goes with it, or ""
  source: string; // what it was made from: "template:NAME", "job:ID" or ""
}

// What was begun is kept while the tab lives: a reload or a look elsewhere loses nothing.
function kept(): Draft | null {
  try {
    return JSON.parse(sessionStorage.getItem(kDraft) ?? "null") as Draft | null;
  } catch {
    return null;
  }
}

function keep(draft: Draft | null): void {
  try {
    if (draft) sessionStorage.setItem(kDraft, JSON.stringify(draft));
    else sessionStorage.removeItem(kDraft);
  } catch {
    // It lives as long as the view, then.
  }
}

// "resources.gpus=1" as the smallest change that would start a job says it.
function applied(text: string, change: string | undefined): string {
  const at = change?.indexOf("=") ?? -1;
  return change && at > 0
    ? withValue(text, change.slice(0, at), scalar(change.slice(at + 1)))
    : text;
}

function sourceOf(view: Search): string {
  return view.from ? `job:${view.from}` : view.template ? `template:${view.template}` : "";
}

function fromTemplate(template: Template, project: string | undefined): Draft {
  const text = template.job_yaml ?? "";
  return {
    text:
      project && valueAt(text, "project") === undefined
        ? withValue(text, "project", project)
        : text,
    code: template.code_digest ?? "",
    source: `template:${template.name}`,
  };
}

function fromJob(job: Job, change: string | undefined): Draft {
  const text = yamlOf(job.spec as Record<string, unknown>);
  return {text: applied(text, change), code: job.code_digest ?? "", source: `job:${job.id}`};
}

// The document, made from what the address names unless it was begun before.
function useDraft(templates: Template[] | undefined) {
  const [view] = useView();
  const project = useProject();
  const wanted = sourceOf(view);
  const [draft, setDraft] = useState<Draft | null>(() => {
    const old = kept();
    return old && (wanted === "" || (old.source === wanted && !view.set)) ? old : null;
  });
  const origin = useQuery({...jobQuery(view.from ?? ""), enabled: Boolean(view.from)});
  useEffect(() => {
    if (wanted === "" || (draft && draft.source === wanted)) return;
    const template = templates?.find((one) => one.name === view.template);
    if (view.from && origin.data) setDraft(fromJob(origin.data, view.set));
    else if (template) setDraft(fromTemplate(template, project));
  }, [wanted, templates, origin.data]);
  useEffect(() => keep(draft), [draft]);
  return {draft, setDraft, origin};
}

export function Submit() {
  const [view, change] = useView();
  const templates = useTemplates();
  const {draft, setDraft, origin} = useDraft(templates.data);
  const set = (text: string) => setDraft((old) => ({code: "", source: "", ...old, text}));
  if (draft)
    return (
      <Edit
        draft={draft}
        set={set}
        template={templates.data?.find((one) => draft.source === `template:${one.name}`)}
        origin={origin.data}
        discard={() => {
          setDraft(null);
          change({from: undefined, template: undefined, set: undefined, as: undefined});
        }}
        sent={() => setDraft(null)}
      />
    );
  return (
    <Page title="New job">
      {view.from && origin.error != null && <Trouble error={origin.error} />}
      {view.template && templates.data?.every((one) => one.name !== view.template) && (
        <Notice kind="warn">
          {`There is no template ${view.template}; begin with one of these.`}
        </Notice>
      )}
      {sourceOf(view) !== "" && !origin.error && (templates.isPending || view.from) ? (
        <Loading what="what it begins with" />
      ) : (
        <Templates
          templates={templates.data}
          error={templates.error}
          choose={(name) => change({template: name})}
          blank={() => set(kBlank)}
        />
      )}
    </Page>
  );
}

interface EditProps {
  draft: Draft;
  set: (text: string) => void;
  template: Template | undefined;
  origin: Job | undefined;
  discard: () => void;
  sent: () => void;
}

function Edit(props: EditProps) {
  const {draft, set, template, origin} = props;
  const [view] = useView();
  const asFile = view.as ? view.as === "file" : draft.source === "";
  const check = useCheck(useDeferredValue(draft.text), draft.code);
  const send = useSend(props.sent);
  const run = () => {
    if (!send.isPending) send.mutate(draft);
  };
  useKeys([{keys: "Mod+Enter", does: "submit", run}]);
  const heading = (
    <>
      New job <span className="muted">{from(draft, template, origin)}</span>
    </>
  );
  const actions = (
    <>
      <FormOrFile asFile={asFile} />
      <button type="button" onClick={props.discard}>
        Start over
      </button>
      <button
        type="button"
        className="primary"
        disabled={send.isPending || check.errors.length > 0}
        onClick={run}
      >
        {send.isPending ? "Submitting…" : "Submit"}
      </button>
    </>
  );
  return (
    <Page title="New job" heading={heading} actions={actions}>
      <div className={css.submit}>
        <div className="grow stack">
          {send.error && <Trouble error={send.error} />}
          {asFile ? (
            <Suspense fallback={<Loading what="the editor" />}>
              <Editor text={draft.text} set={set} errors={check.errors} />
            </Suspense>
          ) : (
            <Form text={draft.text} set={set} template={template} errors={check.errors} />
          )}
        </div>
        <Check check={check} />
      </div>
    </Page>
  );
}

function FormOrFile(props: {asFile: boolean}) {
  const [, change] = useView();
  const button = (name: string, as: string, on: boolean) => (
    <button
      type="button"
      aria-pressed={on}
      className={on ? css.on : ""}
      onClick={() => change({as}, "replace")}
    >
      {name}
    </button>
  );
  return (
    <div className="row" role="group" aria-label="Edit as">
      {button("Form", "form", !props.asFile)}
      {button("Job file", "file", props.asFile)}
    </div>
  );
}

const kBlank = `hearth: 1
name: my-job
command: python3 -c "print('hello')"
resources: {cpus: 1, memory: 512MiB}
`;

function from(draft: Draft, template: Template | undefined, origin: Job | undefined): string {
  if (template) return `from the template ${template.title ?? template.name}`;
  return draft.source.startsWith("job:") && origin ? `as ${origin.name}` : "";
}

function useSend(done: () => void) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (draft: Draft) => {
      // The same press twice makes one job.
      const key = `page-${hash(draft.text + draft.code)}-${Math.floor(Date.now() / 10_000)}`;
      return (await ask(
        api.POST("/api/v1/jobs", {
          params: {query: {code_digest: draft.code || undefined}, header: {"Idempotency-Key": key}},
          body: draft.text as never,
          bodySerializer: (body) => body as unknown as string,
          headers: {"Content-Type": "application/yaml"},
        }),
      )) as Job;
    },
    onSuccess: (job) => {
      done();
      keep(null);
      void queries.invalidateQueries({queryKey: ["jobs"]});
      void navigate({to: "/jobs/$job", params: {job: job.id}});
    },
  });
}

function hash(text: string): string {
  let value = 2166136261;
  for (let i = 0; i < text.length; i += 1) value = Math.imul(value ^ text.charCodeAt(i), 16777619);
  return (value >>> 0).toString(36);
}
