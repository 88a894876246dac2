// The job file as a form. Each field changes the file at its path; what the server finds wrong
// stands under the field it is about.
import {useQuery} from "@tanstack/react-query";
import {useEffect, useMemo, useState} from "react";

import {type Schemas} from "../../api/client";
import {cluster} from "../../app/queries";
import {scalar, valueAt, withValue} from "../../lib/job_yaml";
import {Field} from "../../ui/field";
import type {Fault} from "./check";
import css from "./submit.module.css";
import type {FormField, Template} from "./templates";

const kAlways: FormField[] = [
  {path: "name", label: "Name", type: "text", help: "its jobs are NAME-1, NAME-2, ..."},
];
// Asked for where no template says what to ask.
const kCommon: FormField[] = [
  {path: "command", label: "Command", type: "text"},
  {path: "resources.cpus", label: "CPUs", type: "number", min: 0.01},
  {path: "resources.memory", label: "Memory", type: "size", help: "such as 4GiB"},
  {path: "resources.gpus", label: "GPUs", type: "gpus", min: 0},
  {
    path: "priority",
    label: "Priority",
    type: "integer",
    min: 0,
    max: 100,
    help: "50 unless you say so",
  },
  {path: "time_limit", label: "Time limit", type: "text", help: "such as 2h; empty: none"},
];

export function fieldsOf(text: string, template: Template | undefined): FormField[] {
  if (template?.form?.length) return [...kAlways, ...template.form];
  const params = valueAt(text, "params");
  const own = Object.keys((params as Record<string, unknown> | undefined) ?? {}).map(
    (name): FormField => {
      const value = valueAt(text, `params.${name}`);
      const param = (params as Record<string, {min?: number; max?: number; live?: boolean}>)[name];
      const kind =
        typeof value === "number" ? "number" : typeof value === "boolean" ? "boolean" : "text";
      return {
        path: `params.${name}`,
        label: name,
        type: kind,
        min: param?.min,
        max: param?.max,
        help: param?.live ? "can be changed while it runs" : undefined,
      };
    },
  );
  const roles = valueAt(text, "roles") !== undefined;
  return [
    ...kAlways,
    ...own,
    ...kCommon.filter((field) => !roles || !/^(command|resources)/.test(field.path)),
  ];
}

export function Form(props: {
  text: string;
  set: (text: string) => void;
  template: Template | undefined;
  errors: Fault[];
}) {
  const fields = useMemo(
    () => fieldsOf(props.text, props.template),
    [props.template, Boolean(props.text), valueAt(props.text, "roles") === undefined],
  );
  const params = fields.filter((field) => field.path.startsWith("params."));
  const rest = fields.filter((field) => !field.path.startsWith("params.") && field.path !== "name");
  const others = props.errors.filter(
    (error) => !fields.some((field) => same(error.path, field.path)),
  );
  const group = (title: string, some: FormField[]) =>
    some.length > 0 && (
      <fieldset className={css.fields}>
        <legend>{title}</legend>
        {some.map((field) => (
          <Input key={field.path} {...props} field={field} />
        ))}
      </fieldset>
    );
  return (
    <div className="stack">
      {props.template?.doc && <p className="muted">{props.template.doc}</p>}
      {group(
        "Job",
        fields.filter((field) => field.path === "name"),
      )}
      {group("Parameters", params)}
      {group("What it needs", rest)}
      {others.length > 0 && (
        <ul className="bad">
          {others.map((error, i) => (
            <li key={i}>
              <code>{error.path || "the file"}</code>
              {error.line ? `, line ${error.line}` : ""}: {error.text}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

const same = (a: string, b: string) =>
  a.replace(/\[(\d+)\]/g, ".$1").replace(/\.value$/, "") === b.replace(/\[(\d+)\]/g, ".$1");

function Input(props: {
  field: FormField;
  text: string;
  set: (text: string) => void;
  errors: Fault[];
}) {
  const {field} = props;
  const current = valueAt(props.text, field.path);
  const [draft, setDraft] = useState(shown(current));
  useEffect(() => setDraft((old) => (same_value(old, current) ? old : shown(current))), [current]);
  const found = props.errors.find((error) => same(error.path, field.path));
  const bounds =
    field.min !== undefined && field.max !== undefined && field.type !== "gpus"
      ? `${field.min} to ${field.max}`
      : "";
  const take = (written: string) => {
    setDraft(written);
    const value =
      written.trim() === ""
        ? undefined
        : field.type === "text" || field.type === "size"
          ? field.path.startsWith("params.")
            ? scalar(written)
            : written
          : scalar(written);
    props.set(withValue(props.text, field.path, value));
  };
  const numeric = field.type === "integer" || field.type === "number" || field.type === "gpus";
  return (
    <Field
      label={field.label ?? field.path}
      help={[field.help, bounds].filter(Boolean).join("; ")}
      wrong={found?.text}
    >
      {(ids) =>
        field.type === "boolean" ? (
          <select {...ids} value={draft} onChange={(event) => take(event.target.value)}>
            <option>true</option>
            <option>false</option>
          </select>
        ) : field.type === "choice" ? (
          <select {...ids} value={draft} onChange={(event) => take(event.target.value)}>
            {!(field.choices ?? []).map(String).includes(draft) && (
              <option value={draft}>{draft || "choose"}</option>
            )}
            {field.choices?.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        ) : field.path === "command" ? (
          <textarea
            {...ids}
            className="mono"
            rows={Math.min(8, draft.split("\n").length + 1)}
            value={draft}
            spellCheck={false}
            onChange={(event) => take(event.target.value)}
          />
        ) : (
          <span className="row">
            <input
              {...ids}
              className={numeric ? css.number : "grow"}
              inputMode={numeric ? "decimal" : "text"}
              value={draft}
              spellCheck={false}
              onChange={(event) => take(event.target.value)}
            />
            {field.type === "gpus" && <GpuModel text={props.text} set={props.set} />}
          </span>
        )
      }
    </Field>
  );
}

const shown = (value: unknown) =>
  value === undefined || value === null
    ? ""
    : Array.isArray(value)
      ? value.join(" ")
      : String(value);
const same_value = (draft: string, value: unknown) =>
  draft.trim() !== "" && String(scalar(draft)) === String(value);

// Which GPUs: those that there are.
function GpuModel(props: {text: string; set: (text: string) => void}) {
  const {data} = useQuery(cluster());
  const nodes = (data?.items ?? []) as Schemas["NodeStatus"][];
  const models = [
    ...new Set(nodes.flatMap((node) => node.node?.gpus?.map((gpu) => gpu.model ?? "") ?? [])),
  ]
    .filter(Boolean)
    .sort();
  const chosen = valueAt(props.text, "resources.gpu_model");
  const value = Array.isArray(chosen) ? String(chosen[0] ?? "") : "";
  if (models.length === 0) return <span className="muted">no machine here has a GPU</span>;
  return (
    <select
      aria-label="GPU model"
      value={value}
      onChange={(event) =>
        props.set(
          withValue(
            props.text,
            "resources.gpu_model",
            event.target.value ? [event.target.value] : undefined,
          ),
        )
      }
    >
      <option value="">of any model</option>
      {models.map((model) => (
        <option key={model}>{model}</option>
      ))}
    </select>
  );
}
