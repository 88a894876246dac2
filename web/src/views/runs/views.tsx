// Views of the list under a name: one's own, and those that members of a project share.
import {useQuery} from "@tanstack/react-query";
import {Link} from "@tanstack/react-router";
import {Bookmark, Pencil, Trash2} from "lucide-react";
import {useState} from "react";

import {type Grades, useGrades} from "../../app/grades";
import {useKeys} from "../../app/keys";
import {projects} from "../../app/queries";
import type {Change, Search} from "../../app/search";
import {useWrite} from "../../app/write";
import type {RunField} from "../../lib/run_fields";
import {type Parts, asSearch, fromQuery, inWords, same} from "../../lib/saved_view";
import {Dialog} from "../../ui/dialog";
import {IconButton} from "../../ui/icon_button";
import {ChoiceField, TextField} from "../../ui/inputs";
import {Loading, Trouble} from "../../ui/words";
import css from "./runs.module.css";
import {type View, keep, kMostName, kStale, partsNow, useViews} from "./views_ask";
import {Changed, Delete, Rename} from "./views_change";

export function Views(props: {view: Search; fields: readonly RunField[]; change: Change}) {
  const {view, change} = props;
  const [open, setOpen] = useState(false);
  const query = useViews();
  useKeys([{keys: "v", does: "saved views", run: () => setOpen(true)}]);
  const now = partsNow(view, props.fields);
  const current = query.data?.find((one) => one.id === view.view);
  const changed = current !== undefined && !same(fromQuery(current.query), now);
  return (
    <>
      <button type="button" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        <Bookmark size={14} aria-hidden />
        <span className={css.viewName}>{current?.name ?? "Views"}</span>
        {changed && <span className="muted">changed</span>}
      </button>
      {open && (
        <ViewsDialog
          query={query}
          now={now}
          current={current}
          changed={changed}
          change={change}
          close={() => setOpen(false)}
        />
      )}
    </>
  );
}

function ViewsDialog(props: {
  query: ReturnType<typeof useViews>;
  now: Parts;
  current?: View;
  changed: boolean;
  change: Change;
  close: () => void;
}) {
  const {query, now, current, change, close} = props;
  const grades = useGrades();
  const [renamed, setRenamed] = useState<View | null>(null);
  const [deleted, setDeleted] = useState<View | null>(null);
  const [name, setName] = useState("");
  const [seen, setSeen] = useState(""); // by the members of this project
  const show = (made: View) => change({...asSearch(fromQuery(made.query)), view: made.id});
  const save = useWrite(
    () =>
      keep({name: name.trim(), shared: seen !== "", parts: {...now, project: seen || now.project}}),
    kStale,
    (made) => {
      show(made);
      close();
    },
  );
  const wrong = name.trim() === "" || name.length > kMostName;
  return (
    <>
      <Dialog
        title="Saved views"
        close={close}
        submit={() => !wrong && !save.isPending && save.mutate()}
      >
        {query.error && <Trouble error={query.error} retry={() => void query.refetch()} />}
        {query.isPending && !query.error && <Loading what="saved views" />}
        {query.data?.length === 0 && (
          <p className="muted">
            None yet. A view is the filter, columns, order and groups of this list, under a name.
          </p>
        )}
        {query.data && query.data.length > 0 && (
          <ul className={css.views} aria-label="Views">
            {query.data.map((one) => (
              <OneView
                key={one.id}
                of={one}
                grades={grades}
                current={one.id === current?.id}
                close={close}
                rename={() => setRenamed(one)}
                remove={() => setDeleted(one)}
              />
            ))}
          </ul>
        )}
        {current && props.changed && (
          <Changed
            of={current}
            now={now}
            mine={current.owner === grades.user}
            show={show}
            close={close}
          />
        )}
        <fieldset className={css.saveView}>
          <legend>Save this list as a view</legend>
          <TextField label="Name" value={name} set={setName} />
          <WhoSees grades={grades} project={now.project} value={seen} set={setSeen} />
          <button type="submit" className="primary" disabled={wrong || save.isPending}>
            Save
          </button>
        </fieldset>
        {save.error && <Trouble error={save.error} />}
      </Dialog>
      {renamed && <Rename of={renamed} close={() => setRenamed(null)} />}
      {deleted && <Delete of={deleted} close={() => setDeleted(null)} />}
    </>
  );
}

// Whoever may run jobs in a project may share there.
function WhoSees(props: {
  grades: Grades;
  project?: string;
  value: string;
  set: (project: string) => void;
}) {
  const all = useQuery(projects());
  const names = (all.data?.items ?? [])
    .map((one) => one.name)
    .filter((name) => !props.project || name === props.project)
    .filter((name) => props.grades.may(name, "member"));
  return (
    <ChoiceField
      label="Who sees it"
      value={props.value}
      set={props.set}
      choices={[["", "only me"], ...names.map((name) => [name, `members of ${name}`] as const)]}
      help={
        props.value && !props.project ? `It shows the runs of ${props.value} alone.` : undefined
      }
    />
  );
}

function OneView(props: {
  of: View;
  grades: Grades;
  current: boolean;
  close: () => void;
  rename: () => void;
  remove: () => void;
}) {
  const {of, grades} = props;
  const parts = fromQuery(of.query);
  const mine = of.owner === grades.user;
  const who = of.shared
    ? `${mine ? "shared" : `${of.owner} shares it`} in ${of.project}`
    : of.project && `runs of ${of.project}`;
  return (
    <li data-current={props.current || undefined}>
      <div className="grow">
        <Link
          to={"/runs" as never}
          search={((old: object) => ({...old, ...asSearch(parts), view: of.id})) as never}
          aria-current={props.current || undefined}
          onClick={props.close}
        >
          {of.name}
        </Link>
        <small className="muted">{[who, inWords(parts)].filter(Boolean).join(" · ")}</small>
      </div>
      {mine && <IconButton icon={Pencil} does={`Rename ${of.name}`} run={props.rename} />}
      {(mine || grades.may(of.project ?? "", "maintainer")) && (
        <IconButton icon={Trash2} does={`Delete ${of.name}`} run={props.remove} />
      )}
    </li>
  );
}
