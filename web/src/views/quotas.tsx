// What each project is promised, where it ends, and what it uses: projects as a tree.
import {useQuery} from "@tanstack/react-query";
import {Link} from "@tanstack/react-router";
import {useState} from "react";

import {type QuotaStatus, api, ask} from "../api/client";
import {useGrades} from "../app/grades";
import {cluster, quotas} from "../app/queries";
import {useProject, useView} from "../app/search";
import {useWrite} from "../app/write";
import {type Amounts, amountsOf, written} from "../lib/amounts";
import {count, percent, toNumber} from "../lib/format";
import {type Bar, barsOf, overPromised, supplyOf, treeOf} from "../lib/quotas";
import type {Leaf} from "../lib/tree";
import {Ask} from "../ui/ask";
import {Confirm} from "../ui/dialog";
import {TextField} from "../ui/inputs";
import {Meter} from "../ui/meter";
import {Page} from "../ui/page";
import {Time} from "../ui/time";
import {Empty, Loading, Notice, Trouble} from "../ui/words";
import {QuotaFields, wrongQuota} from "./quota_fields";
import css from "./quotas.module.css";

const kStale = ["quotas", "cluster", "jobs"];
const kStep = 20; // pixels that a project stands behind the one above it

export function Quotas() {
  const query = useQuery(quotas());
  const machines = useQuery(cluster());
  const project = useProject();
  const [, change] = useView();
  const grades = useGrades();
  const [edited, setEdited] = useState<QuotaStatus | null>(null);
  const all = query.data?.items ?? [];
  const supply = supplyOf(machines.data?.items ?? []);
  const tree = treeOf(all, project);
  const models = Object.keys(supply).filter((what) => !["gpus", "cpus", "memory"].includes(what));
  // The admins of the project above set it; at the top, admins of the server.
  const may = (one: QuotaStatus) =>
    grades.admin || Boolean(one.parent && grades.may(one.parent, "admin"));
  return (
    <Page title="Quotas">
      {query.error && !query.data && (
        <Trouble error={query.error} retry={() => void query.refetch()} />
      )}
      {query.isPending && !query.error && <Loading what="quotas" />}
      {query.data && tree.length === 0 && (
        <Empty
          title={project ? `There is no project ${project}` : "There is no project"}
          action={
            project && (
              <button type="button" onClick={() => change({project: undefined})}>
                Show all projects
              </button>
            )
          }
        />
      )}
      {tree.length > 0 && (
        <div className="stack">
          <Legend />
          {tree.map((branch) => (
            <Project
              key={branch.thing.quota?.project}
              branch={branch}
              supply={supply}
              edit={may(branch.thing) ? () => setEdited(branch.thing) : undefined}
            />
          ))}
        </div>
      )}
      {edited && (
        <Edit
          status={edited}
          models={models}
          beyond={(guaranteed) =>
            machines.data
              ? overPromised(
                  edited.quota?.project ?? "",
                  guaranteed,
                  all,
                  machines.data.items ?? [],
                )
              : []
          }
          close={() => setEdited(null)}
        />
      )}
    </Page>
  );
}

function Legend() {
  return (
    <div className={css.legend}>
      <span className={css.key}>
        <Meter label="used" whole={1} parts={[{value: 1}]} /> used
      </span>
      <span className={css.key}>
        <Meter label="borrowed" whole={1} parts={[{value: 1, kind: "borrowed"}]} /> borrowed: beyond
        what is guaranteed, given back when it is asked for
      </span>
      <span className={css.key}>
        <i className={css.mark} /> guaranteed
      </span>
      <span className="muted">
        A bar ends at the limit, without one at what the cluster has. What is used below a project
        counts above it, too; opportunistic jobs count nowhere.
      </span>
    </div>
  );
}

function Project(props: {
  branch: Leaf<QuotaStatus>;
  supply: Record<string, number>;
  edit?: () => void;
}) {
  const {thing: status, depth} = props.branch;
  const {quota} = status;
  const name = quota?.project ?? "";
  const share = toNumber(status.share);
  const jobs = (number: number, word: string, filter: string) =>
    number > 0 ? (
      <Link to="/jobs" search={{filter, project: name} as never}>
        {count(number)} {word}
      </Link>
    ) : (
      <span className="muted">none {word}</span>
    );
  return (
    <section
      className={`card ${css.project}`}
      aria-label={name}
      style={{marginLeft: depth * kStep}}
    >
      <div className="row wrap">
        <h2>{name}</h2>
        {depth > 0 && <span className="muted">below {status.parent}</span>}
        <span className="grow" />
        {jobs(status.running, "running", "state in (preparing, running, saving)")}
        {jobs(status.queued, "waiting", "state = queued")}
        <span className="muted" title="the largest part of what there is, over its weight">
          share {percent(share, 1)}, weight {quota?.weight ?? 1}
        </span>
        {props.edit && (
          <button type="button" onClick={props.edit} aria-label={`Edit the quota of ${name}`}>
            Edit…
          </button>
        )}
      </div>
      <div className={css.bars}>
        {barsOf(status, props.supply).map((bar) => (
          <OneBar key={bar.what} bar={bar} project={name} />
        ))}
      </div>
      {quota?.changed_by && (
        <small className="muted">
          set by {quota.changed_by}, <Time at={quota.changed_at} />
        </small>
      )}
      {!quota?.id && <small className="muted">no quota of its own</small>}
    </section>
  );
}

function OneBar(props: {bar: Bar; project: string}) {
  const {bar} = props;
  return (
    <div className={css.bar}>
      <p className="row">
        <span className="grow">{bar.name}</span>
        <span className="number">{bar.words}</span>
      </p>
      <Meter
        label={`${props.project}, ${bar.name}: ${bar.words}`}
        whole={bar.whole}
        parts={[{value: bar.used - bar.borrowed}, {value: bar.borrowed, kind: "borrowed"}]}
        mark={bar.guaranteed}
      />
    </div>
  );
}

function Edit(props: {
  status: QuotaStatus;
  models: string[];
  beyond: (guaranteed: Amounts) => string[]; // what would be promised in all and is not there
  close: () => void;
}) {
  const {close, models} = props;
  const quota = props.status.quota;
  const name = quota?.project ?? "";
  const [value, setValue] = useState({
    guaranteed: written(quota?.guaranteed),
    limit: written(quota?.limit),
  });
  const [weight, setWeight] = useState(String(quota?.weight ?? 1));
  const [taking, setTaking] = useState(false);
  const path = {project: name};
  const set = useWrite(
    () =>
      ask(
        api.PUT("/api/v1/projects/{project}/quota", {
          params: {path, header: quota?.id ? {"If-Match": `"${quota.version}"`} : {}},
          body: {
            guaranteed: amountsOf(value.guaranteed),
            limit: amountsOf(value.limit),
            weight: Number(weight),
          },
        }),
      ),
    kStale,
    close,
  );
  const take = useWrite(
    () => ask(api.DELETE("/api/v1/projects/{project}/quota", {params: {path}})),
    kStale,
    close,
  );
  const badWeight = !(Number(weight) > 0);
  const wrong = wrongQuota(value);
  const beyond = wrong ? [] : props.beyond(amountsOf(value.guaranteed));
  if (taking)
    return (
      <Confirm
        title={`No quota for ${name}`}
        action="Take its quota away"
        busy={take.isPending}
        run={() => take.mutate()}
        close={() => setTaking(false)}
      >
        Nothing is promised to it then, and nothing bounds it but what is above it.
        {take.error && <Trouble error={take.error} />}
      </Confirm>
    );
  return (
    <Ask
      title={`Quota of ${name}`}
      action="Set the quota"
      send={set}
      close={close}
      wrong={badWeight || wrong}
    >
      <QuotaFields value={value} set={setValue} models={models} />
      {beyond.length > 0 && (
        <Notice kind="warn">
          The projects are then guaranteed {beyond.join("; ")} now. Until nodes come that have the
          rest, who asks for it waits.
        </Notice>
      )}
      <TextField
        label="Weight"
        value={weight}
        set={setWeight}
        help="beyond guarantees, the smaller share divided by the weight goes first"
        wrong={badWeight ? "A number above 0." : undefined}
      />
      {quota?.id && (
        <p>
          <button type="button" className="danger" onClick={() => setTaking(true)}>
            Take the quota away…
          </button>
        </p>
      )}
    </Ask>
  );
}
