// Projects own everything else; they form a tree.
import {useQuery} from "@tanstack/react-query";
import {Link} from "@tanstack/react-router";
import {useState} from "react";

import {type Schemas, api, ask} from "../../api/client";
import {useGrades} from "../../app/grades";
import {projects} from "../../app/queries";
import {useWrite} from "../../app/write";
import {inTree} from "../../lib/tree";
import {Ask} from "../../ui/ask";
import {ChoiceField, TextField} from "../../ui/inputs";
import {PlainTable} from "../../ui/plain_table";
import {Time} from "../../ui/time";
import {Empty, Loading, Trouble} from "../../ui/words";

type Project = Schemas["Project"];
const kStep = 20; // pixels that a project stands behind the one above it

export function Projects() {
  const query = useQuery(projects());
  const grades = useGrades();
  const [adding, setAdding] = useState(false);
  if (query.error) return <Trouble error={query.error} retry={() => void query.refetch()} />;
  if (!query.data) return <Loading what="projects" />;
  const all = (query.data.items ?? []) as Project[];
  const above = all.filter((one) => grades.may(one.name, "admin")).map((one) => one.name);
  const adds = grades.admin || above.length > 0;
  return (
    <div className="stack">
      <div className="row wrap">
        <p className="muted grow">
          What belongs to a project is seen by its members, and by those of the projects above it.
        </p>
        {adds && (
          <button type="button" className="primary" onClick={() => setAdding(true)}>
            New project…
          </button>
        )}
      </div>
      {all.length === 0 && (
        <Empty title="You are in no project yet">
          An admin gives you a role in one; until then there is nothing to be seen.
        </Empty>
      )}
      {all.length > 0 && <Tree all={all} />}
      {adding && <Add above={above} admin={grades.admin} close={() => setAdding(false)} />}
    </div>
  );
}

function Tree(props: {all: Project[]}) {
  const tree = inTree(
    props.all,
    (one) => one.name,
    (one) => one.parent,
  );
  return (
    <PlainTable
      label="Projects"
      rows={tree}
      id={({thing}) => thing.id ?? ""}
      columns={[
        {
          name: "Project",
          is: "title",
          cell: ({thing, depth}) => (
            <span style={{paddingLeft: depth * kStep}}>
              <Link to={"/admin/projects/$name" as never} params={{name: thing.name} as never}>
                {thing.name}
              </Link>
            </span>
          ),
        },
        {name: "Below", cell: ({thing}) => thing.parent},
        {name: "What it is", cell: ({thing}) => thing.description},
        {name: "Made by", cell: ({thing}) => thing.created_by},
        {name: "Made", cell: ({thing}) => <Time at={thing.created_at} />},
      ]}
    />
  );
}

function Add(props: {above: string[]; admin: boolean; close: () => void}) {
  const {above, admin, close} = props;
  const [name, setName] = useState("");
  const [parent, setParent] = useState(admin ? "" : (above[0] ?? ""));
  const [description, setDescription] = useState("");
  const send = useWrite(
    () => ask(api.POST("/api/v1/projects", {body: {name: name.trim(), parent, description}})),
    ["admin", "quotas"],
    close,
  );
  const top = admin ? [["", "none: it stands at the top"] as const] : [];
  return (
    <Ask title="New project" action="Make it" send={send} close={close} wrong={name.trim() === ""}>
      <TextField
        label="Name"
        value={name}
        set={setName}
        autoFocus
        help="a-z, 0-9, '.', '_', '-', at most 63 characters"
      />
      <ChoiceField
        label="Below"
        value={parent}
        set={setParent}
        choices={[...top, ...above.map((one) => [one, one] as const)]}
      />
      <TextField label="What it is" value={description} set={setDescription} />
    </Ask>
  );
}
