// What a job can begin with.
import {useQuery} from "@tanstack/react-query";
import {FileCode2, LayoutTemplate} from "lucide-react";

import {text} from "../../api/client";
import {Loading, Trouble} from "../../ui/words";
import css from "./submit.module.css";

export interface FormField {
  path: string;
  label?: string;
  type?: string;
  min?: number | string;
  max?: number | string;
  choices?: (string | number)[];
  help?: string;
}
export interface Template {
  name: string;
  title?: string;
  doc?: string;
  job_yaml?: string;
  code_digest?: string;
  form?: FormField[];
}

export function useTemplates() {
  return useQuery({
    queryKey: ["templates"],
    staleTime: Infinity,
    queryFn: async ({signal}) =>
      (JSON.parse(await text("/api/v1/templates", signal)) as {items: Template[]}).items,
  });
}

export function Templates(props: {
  templates: Template[] | undefined;
  error: unknown;
  choose: (name: string) => void;
  blank: () => void;
}) {
  const shown = props.templates?.filter((one) => (one.form?.length ?? 0) > 0);
  return (
    <div className="stack">
      <p className="muted">
        Begin with one of these, or with a file of your own. From any job, “Again with changes”
        brings you here, too.
      </p>
      {props.error != null && <Trouble error={props.error} />}
      {!shown && !props.error && <Loading what="templates" />}
      <ul className={css.templates}>
        {shown?.map((one) => (
          <li key={one.name}>
            <button type="button" className={css.template} onClick={() => props.choose(one.name)}>
              <LayoutTemplate size={18} aria-hidden />
              <strong>{one.title ?? one.name}</strong>
              <span>{one.doc}</span>
            </button>
          </li>
        ))}
        <li>
          <button type="button" className={css.template} onClick={props.blank}>
            <FileCode2 size={18} aria-hidden />
            <strong>A job file</strong>
            <span>Written by hand, with completion and what is wrong shown at its line.</span>
          </button>
        </li>
      </ul>
    </div>
  );
}
