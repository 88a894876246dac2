// One project: who may do what in it, and the secrets that its jobs get.
import {useQuery} from "@tanstack/react-query";
import {Link, useParams} from "@tanstack/react-router";
import {useState} from "react";

import {type Schemas, api, ask} from "../../api/client";
import {members, useGrades} from "../../app/grades";
import {useDelete, useWrite} from "../../app/write";
import {ChoiceField, TextField} from "../../ui/inputs";
import {Ask} from "../../ui/ask";
import {DeleteButton} from "../../ui/delete_button";
import {Fact, Facts, Page} from "../../ui/page";
import {PlainTable} from "../../ui/plain_table";
import {Time} from "../../ui/time";
import {Loading, Trouble} from "../../ui/words";
import css from "./admin.module.css";
import {kRoles} from "./roles";
import {Secrets} from "./secrets";

const kAll = {to: "/admin", name: "All projects"};

type Grade = Schemas["Grade"];
type Membership = Schemas["Membership"];

export function ProjectPage() {
  const {name = ""} = useParams({strict: false}) as {name?: string};
  const query = useQuery({
    queryKey: ["admin", "project", name],
    queryFn: ({signal}) =>
      ask(api.GET("/api/v1/projects/{project}", {params: {path: {project: name}}, signal})),
  });
  const grades = useGrades();
  const project = query.data;
  const heading = (
    <>
      <Link to={"/admin" as never} className="muted">
        Projects
      </Link>{" "}
      <span className="muted">/</span> <span className="cut">{name}</span>
    </>
  );
  return (
    <Page
      title={name}
      heading={heading}
      actions={project && grades.may(name, "admin") && <Delete name={name} />}
    >
      {query.error && (
        <Trouble error={query.error} retry={() => void query.refetch()} instead={kAll} />
      )}
      {query.isPending && !query.error && <Loading what="the project" />}
      {project && (
        <div className="stack">
          <section className="card" aria-label="About it">
            {project.description && <p>{project.description}</p>}
            <Facts>
              <Fact name="Below">{project.parent}</Fact>
              <Fact name="Made by">{project.created_by}</Fact>
              <Fact name="Made">
                <Time at={project.created_at} />
              </Fact>
              <Fact name="Shows">
                <span className="row wrap">
                  <Link to="/jobs" search={{project: name} as never}>
                    jobs
                  </Link>
                  <Link to={"/quotas" as never} search={{project: name} as never}>
                    quota
                  </Link>
                  <Link
                    to={"/admin/$tab" as never}
                    params={{tab: "audit"} as never}
                    search={{project: name} as never}
                  >
                    audit
                  </Link>
                </span>
              </Fact>
            </Facts>
          </section>
          <div className={css.columns}>
            <Members project={name} writes={grades.may(name, "maintainer")} />
            <Secrets
              project={name}
              reads={grades.may(name, "member")}
              writes={grades.may(name, "maintainer")}
            />
          </div>
        </div>
      )}
    </Page>
  );
}

function Members(props: {project: string; writes: boolean}) {
  const {project, writes} = props;
  const query = useQuery(members(project));
  const [adding, setAdding] = useState(false);
  const set = useSetRole(project);
  const all = (query.data?.items ?? []) as Membership[];
  return (
    <section className="card" aria-label="Members">
      <div className="row">
        <h2 className="grow">Members</h2>
        {writes && (
          <button type="button" onClick={() => setAdding(true)}>
            Add a member…
          </button>
        )}
      </div>
      {query.error && <Trouble error={query.error} />}
      {set.error && <Trouble error={set.error} />}
      {query.data && all.length === 0 && (
        <p className="muted">
          Nobody by name; admins of the server and members of the projects above are here, too.
        </p>
      )}
      {all.length > 0 && (
        <PlainTable
          label="Members, as a table"
          rows={all}
          id={(member) => member.id ?? ""}
          columns={[
            {name: "User", is: "title", cell: (member) => member.user},
            {
              name: "Role",
              is: "title",
              cell: (member) =>
                writes ? (
                  <select
                    aria-label={`Role of ${member.user}`}
                    value={member.role}
                    disabled={set.isPending}
                    onChange={(event) =>
                      set.mutate({user: member.user, role: event.target.value as Grade})
                    }
                  >
                    {kRoles.map(([role]) => (
                      <option key={role}>{role}</option>
                    ))}
                    <option value="none">none: take the role away</option>
                  </select>
                ) : (
                  member.role
                ),
            },
            {name: "Since", cell: (member) => <Time at={member.created_at} />},
          ]}
        />
      )}
      {adding && <AddMember project={project} close={() => setAdding(false)} />}
    </section>
  );
}

function useSetRole(project: string, done?: () => void) {
  return useWrite(
    ({user, role}: {user: string; role: Grade}) =>
      ask(
        api.PUT("/api/v1/projects/{project}/members/{user}", {
          params: {path: {project, user}},
          body: {role},
        }),
      ),
    ["admin"],
    done,
  );
}

function AddMember(props: {project: string; close: () => void}) {
  const [user, setUser] = useState("");
  const [role, setRole] = useState("member");
  const write = useSetRole(props.project, props.close);
  const send = {...write, mutate: () => write.mutate({user: user.trim(), role: role as Grade})};
  return (
    <Ask
      title={`A member of ${props.project}`}
      action="Give the role"
      send={send}
      close={props.close}
      wrong={user.trim() === ""}
    >
      <TextField label="User" value={user} set={setUser} autoFocus help="who is known already" />
      <ChoiceField label="Role" value={role} set={setRole} choices={kRoles} />
    </Ask>
  );
}

function Delete(props: {name: string}) {
  const {name} = props;
  const send = useDelete(
    () => ask(api.DELETE("/api/v1/projects/{project}", {params: {path: {project: name}}})),
    ["admin", "quotas"],
    "/admin",
  );
  return (
    <DeleteButton of={name} action="Delete it" send={send}>
      Only a project without jobs, runs, models, datasets, secrets and projects below it can be
      deleted; roles, tokens and quota go with it.
    </DeleteButton>
  );
}
