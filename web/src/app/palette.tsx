// One box for everything: views, jobs, runs, models, datasets by name.
import {keepPreviousData, useQuery} from "@tanstack/react-query";
import {useNavigate} from "@tanstack/react-router";
import {type KeyboardEvent, useDeferredValue, useId, useState} from "react";

import {api, ask} from "../api/client";
import {Dialog} from "../ui/dialog";
import css from "./palette.module.css";
import {useProject} from "./search";

interface Found {
  kind: string;
  name: string;
  note: string;
  to: string;
  project?: string; // whose name it is
}

const kViews: Found[] = [
  ["Home", "/"],
  ["Jobs", "/jobs"],
  ["New job", "/submit"],
  ["Runs", "/runs"],
  ["Cluster", "/cluster"],
  ["Quotas", "/quotas"],
  ["Datasets", "/datasets"],
  ["Models", "/models"],
  ["Admin", "/admin"],
].map(([name, to]) => ({kind: "view", name: name as string, note: "", to: to as string}));
const kMost = 5; // of each kind

export default function Palette(props: {close: () => void}) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const wanted = useDeferredValue(text.trim());
  const project = useProject();
  const navigate = useNavigate();
  const id = useId();
  const found = useQuery({
    queryKey: ["search", wanted, project],
    enabled: wanted.length > 1,
    placeholderData: keepPreviousData,
    queryFn: ({signal}) => search(wanted, project, signal),
  });
  const views = kViews.filter((view) => view.name.toLowerCase().includes(wanted.toLowerCase()));
  const all = [...views, ...(wanted.length > 1 ? (found.data ?? []) : [])];
  const go = (one: Found | undefined) => {
    if (!one) return;
    props.close();
    void navigate({to: one.to as never, search: {project: one.project ?? project} as never});
  };
  const keys = (event: KeyboardEvent) => {
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setAt((old) => (all.length ? (old + step + all.length) % all.length : 0));
    }
  };
  return (
    <Dialog title="Search everything" close={props.close} submit={() => go(all[at])}>
      <input
        autoFocus
        type="text"
        role="combobox"
        aria-expanded={all.length > 0}
        aria-controls={`${id}-list`}
        aria-activedescendant={all.length ? `${id}-${at}` : undefined}
        aria-label="Search views, jobs, runs, models, datasets"
        placeholder="A view, or the name of a job, run, model or dataset"
        value={text}
        onKeyDown={keys}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
      />
      <ul id={`${id}-list`} role="listbox" aria-label="Found" className={css.list}>
        {all.map((one, i) => (
          <li
            key={`${one.to} ${one.project}`}
            id={`${id}-${i}`}
            role="option"
            aria-selected={i === at}
            onClick={() => go(one)}
            onMouseMove={() => setAt(i)}
          >
            <span className="cut">{one.name}</span>
            <span className="muted">{one.note}</span>
            <span className="muted">{one.kind}</span>
          </li>
        ))}
      </ul>
      {wanted.length > 1 && all.length === 0 && (
        <p className="muted">{found.isFetching ? "Searching…" : "Nothing bears such a name."}</p>
      )}
    </Dialog>
  );
}

async function search(
  wanted: string,
  project: string | undefined,
  signal: AbortSignal,
): Promise<Found[]> {
  const quoted = `"${wanted.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/["\\]/g, "\\$&")}"`;
  const query = {filter: `name ~ ${quoted}`, limit: kMost, project};
  const [jobs, runs, models, datasets] = await Promise.all([
    ask(
      api.GET("/api/v1/jobs", {
        params: {query: {...query, fields: "id,name,state,project"}},
        signal,
      }),
    ),
    ask(api.GET("/api/v1/runs", {params: {query}, signal})),
    ask(api.GET("/api/v1/models", {params: {query}, signal})),
    ask(api.GET("/api/v1/datasets", {params: {query}, signal})),
  ]);
  const items = <T,>(answer: unknown) => (answer as {items: T[]}).items;
  type Named = {id: string; name: string; project: string; state?: string; status?: string};
  return [
    ...items<Named>(jobs).map((one) => ({
      kind: "job",
      name: one.name,
      note: `${one.state} · ${one.project}`,
      to: `/jobs/${one.id}`,
    })),
    ...items<Named>(runs).map((one) => ({
      kind: "run",
      name: one.name,
      note: `${one.status ?? ""} · ${one.project}`,
      to: `/runs/${one.id}`,
    })),
    ...items<Named>(models).map((one) => ({
      kind: "model",
      name: one.name,
      note: one.project,
      to: `/models/${one.name}`,
      project: one.project,
    })),
    ...items<Named>(datasets).map((one) => ({
      kind: "dataset",
      name: one.name,
      note: one.project,
      to: `/datasets/${one.name}`,
      project: one.project,
    })),
  ];
}
