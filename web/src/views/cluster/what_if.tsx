// What if there were more machines, fewer, or other quotas: past jobs are replayed by the very
// scheduler, as it is and with the change, and stand side by side.
import {useMutation, useQuery} from "@tanstack/react-query";
import {X} from "lucide-react";
import {useRef} from "react";

import {type Schemas, api, ask} from "../../api/client";
import {quotas, whoami} from "../../app/queries";
import {useView} from "../../app/search";
import {written} from "../../lib/amounts";
import {type Machine, modelsOf, nameOf} from "../../lib/machines";
import {type Question, bodyOf, changes, questionOf, searchOf} from "../../lib/what_if";
import {IconButton} from "../../ui/icon_button";
import {TextField} from "../../ui/inputs";
import {Picks} from "../../ui/picks";
import {useNow} from "../../ui/time";
import {Empty, Notice, Trouble} from "../../ui/words";
import {QuotaFields, wrongQuota} from "../quota_fields";
import css from "./cluster.module.css";
import {Answer} from "./what_if_answer";

type WhatIfAnswer = Schemas["WhatIfAnswer"];

// The server ends it when it is told to, or when it has taken too long by its own measure.
function useAsk() {
  const stop = useRef<AbortController | null>(null);
  const ask_ = useMutation({
    mutationFn: (question: Question): Promise<WhatIfAnswer> => {
      stop.current = new AbortController();
      const {signal} = stop.current;
      return ask(api.POST("/api/v1/what-if", {body: bodyOf(question), signal}));
    },
  });
  const cancel = () => {
    void api.DELETE("/api/v1/what-if");
    stop.current?.abort();
    ask_.reset();
  };
  return {ask: ask_, cancel};
}

export default function WhatIf(props: {machines: Machine[]}) {
  const [view, change] = useView();
  const me = useQuery(whoami());
  const question = questionOf(view);
  const set = (some: Partial<Question>) => change(searchOf({...question, ...some}), "replace");
  const {ask, cancel} = useAsk();
  if (me.data && !me.data.admin)
    return (
      <Empty title="Only admins ask what if">
        The answer shows the work of all projects. An admin of this server can ask for you.
      </Empty>
    );
  const wrong = Object.values(question.quotas).some(wrongQuota);
  return (
    <div className={css.whatIf}>
      <form
        className="stack"
        aria-label="The change"
        onSubmit={(event) => {
          event.preventDefault();
          if (!wrong) ask.mutate(question);
        }}
      >
        <TextField
          label="Days of past work"
          type="number"
          value={question.days}
          set={(days) => set({days})}
          help="jobs that came within so many days are replayed, each for as long as it really ran"
        />
        <More machines={props.machines} question={question} set={set} />
        <Picks
          label="Without these machines"
          names={props.machines.map(nameOf)}
          chosen={question.without}
          set={(without) => set({without})}
        />
        <OtherQuotas machines={props.machines} question={question} set={set} />
        <div className="row wrap">
          <button
            type="submit"
            className="primary"
            disabled={wrong || ask.isPending || changes(question) === 0}
          >
            What if?
          </button>
          {ask.isPending && (
            <button type="button" onClick={cancel}>
              Stop
            </button>
          )}
          {changes(question) === 0 && <span className="muted">Nothing is changed yet.</span>}
        </div>
      </form>
      <section aria-label="Answer" className="stack">
        {ask.isPending && <Replaying />}
        {ask.error && <Trouble error={ask.error} />}
        {ask.data && <Answer answer={ask.data} />}
        {ask.isIdle && (
          <Notice>
            How long jobs waited and took will stand here, as the machines and quotas are and with
            the change.
          </Notice>
        )}
      </section>
    </div>
  );
}

function Replaying() {
  const since = useRef(Date.now());
  const seconds = Math.round((useNow() - since.current) / 1000);
  return <Notice>{`Past jobs are replayed twice… ${Math.max(0, seconds)} s of some 20 s`}</Notice>;
}

interface Part {
  machines: Machine[];
  question: Question;
  set: (some: Partial<Question>) => void;
}

function More({machines, question, set}: Part) {
  const first = machines.find((one) => !(nameOf(one) in question.add));
  const rename = (old: string, name: string) =>
    set({
      add: Object.fromEntries(
        Object.entries(question.add).map(([key, count]) => [key === old ? name : key, count]),
      ),
    });
  return (
    <fieldset className={css.part}>
      <legend>More machines</legend>
      {Object.entries(question.add).map(([name, count]) => (
        <div key={name} className="row">
          <input
            type="number"
            min={1}
            max={1000}
            className={css.count}
            aria-label={`How many more like ${name}`}
            value={count}
            onChange={(event) =>
              set({add: {...question.add, [name]: Math.max(1, Number(event.target.value) || 1)}})
            }
          />
          like
          <select
            className="grow"
            aria-label="like"
            value={name}
            onChange={(event) => rename(name, event.target.value)}
          >
            {machines.map((one) => (
              <option key={nameOf(one)} value={nameOf(one)}>
                {nameOf(one)} ({modelsOf(one) || `${one.node?.cpus} CPUs`})
              </option>
            ))}
          </select>
          <IconButton
            icon={X}
            does={`No more like ${name}`}
            run={() => {
              const {[name]: _, ...add} = question.add;
              set({add});
            }}
          />
        </div>
      ))}
      {first && (
        <button type="button" onClick={() => set({add: {...question.add, [nameOf(first)]: 1}})}>
          Add machines
        </button>
      )}
    </fieldset>
  );
}

function OtherQuotas({machines, question, set}: Part) {
  const all = useQuery(quotas());
  const projects = (all.data?.items ?? []).map((one) => one.quota?.project ?? "");
  const models = machines.flatMap((one) => (one.node?.gpus ?? []).map((gpu) => gpu.model ?? ""));
  const left = projects.filter((one) => !(one in question.quotas));
  // What is asked replaces the whole quota: it begins as it is.
  const begin = (project: string) => {
    const quota = all.data?.items?.find((one) => one.quota?.project === project)?.quota;
    return {
      guaranteed: written(quota?.guaranteed),
      limit: written(quota?.limit),
      weight: String(quota?.weight ?? 1),
    };
  };
  return (
    <fieldset className={css.part}>
      <legend>Other quotas</legend>
      {Object.entries(question.quotas).map(([project, one]) => (
        <div key={project} className="stack">
          <div className="row">
            <strong className="grow">{project}</strong>
            <button
              type="button"
              onClick={() => {
                const {[project]: _, ...rest} = question.quotas;
                set({quotas: rest});
              }}
            >
              As it is
            </button>
          </div>
          <QuotaFields
            value={one}
            set={(value) => set({quotas: {...question.quotas, [project]: value}})}
            models={[...new Set(models)]}
          />
        </div>
      ))}
      {left.length > 0 && (
        <select
          aria-label="Change the quota of"
          value=""
          onChange={(event) =>
            set({quotas: {...question.quotas, [event.target.value]: begin(event.target.value)}})
          }
        >
          <option value="">Change the quota of…</option>
          {left.map((project) => (
            <option key={project} value={project}>
              {project}
            </option>
          ))}
        </select>
      )}
    </fieldset>
  );
}
