// Pools: which machines are scheduled alike, by which rules.
import {useQuery} from "@tanstack/react-query";
import {Link} from "@tanstack/react-router";
import {useState} from "react";

import {type PoolStatus, type Schemas, api, ask} from "../../api/client";
import {whoami} from "../../app/queries";
import {useWrite} from "../../app/write";
import {plural, short} from "../../lib/format";
import {type Machine, totalsOf} from "../../lib/machines";
import {secondsOf, spanOf} from "../../lib/spans";
import {Ask} from "../../ui/ask";
import {Confirm} from "../../ui/dialog";
import {ChoiceField, TextField, YesField} from "../../ui/inputs";
import {Fact, Facts} from "../../ui/page";
import {Time} from "../../ui/time";
import {Empty, Loading, Trouble} from "../../ui/words";
import {Amount} from "./amount";
import css from "./cluster.module.css";
import {pools} from "./data";

type Pool = Schemas["Pool"];
const kStale = ["cluster", "jobs"];

export default function Pools(props: {machines: Machine[]}) {
  const query = useQuery(pools());
  const me = useQuery(whoami());
  const [making, setMaking] = useState(false);
  const admin = me.data?.admin ?? false;
  if (query.error && !query.data)
    return <Trouble error={query.error} retry={() => void query.refetch()} />;
  if (!query.data) return <Loading what="pools" />;
  const all = query.data.items ?? [];
  return (
    <div className="stack">
      <div className="row wrap">
        <p className="muted grow">
          A job says <code>pool: NAME</code>, or nothing: then any pool will do but those that want
          to be named. {!admin && "Admins set the rules."}
        </p>
        {admin && (
          <button type="button" onClick={() => setMaking(true)}>
            New pool
          </button>
        )}
      </div>
      {all.length === 0 && <Empty title="There is no pool" command="hearth pool set NAME" />}
      <div className={css.pools}>
        {all.map((one) => (
          <PoolCard
            key={one.pool?.name}
            status={one}
            admin={admin}
            machines={props.machines.filter((machine) => machine.node?.pool === one.pool?.name)}
          />
        ))}
      </div>
      {making && <Rules close={() => setMaking(false)} />}
    </div>
  );
}

function PoolCard(props: {status: PoolStatus; machines: Machine[]; admin: boolean}) {
  const {status, admin} = props;
  const [asked, setAsked] = useState<"" | "edit" | "reset">("");
  const pool = status.pool as Pool;
  const close = () => setAsked("");
  const reset = useWrite(
    () => ask(api.DELETE("/api/v1/pools/{pool}", {params: {path: {pool: pool.name ?? ""}}})),
    kStale,
    close,
  );
  const models = Object.entries(status.gpu_models ?? {}).map(([name, n]) => `${n} × ${name}`);
  return (
    <section className="card" aria-label={`Pool ${pool.name}`}>
      <div className="row wrap">
        <h2>
          <Link to={"/cluster" as never} search={{find: pool.name} as never}>
            {pool.name}
          </Link>
        </h2>
        <span className="muted grow">
          {plural(status.nodes, "machine")}, {status.open_nodes} open
        </span>
        {admin && (
          <>
            <button type="button" onClick={() => setAsked("edit")}>
              Rules…
            </button>
            {pool.id && (
              <button type="button" onClick={() => setAsked("reset")}>
                Default rules…
              </button>
            )}
          </>
        )}
      </div>
      {pool.description && <p>{pool.description}</p>}
      <PoolAmounts machines={props.machines} />
      <Facts>
        <Fact name="GPUs">{models.join(", ")}</Fact>
        <Fact name="Packing">
          {pool.packing === "centralized"
            ? "fills machines up, keeps whole ones free"
            : "loads machines evenly"}
        </Fact>
        <Fact name="Takes">
          {pool.by_name_only ? "only jobs that name it" : "any job that it suits"}
        </Fact>
        <Fact name="Makes room">
          {pool.preempts
            ? `jobs may be stopped for others after ${spanOf(pool.minimum_run_seconds)}`
            : "nobody is stopped for another"}
        </Fact>
        <Fact name="Service levels">{levelsOf(pool)}</Fact>
        <Fact name="When stopped">
          {pool.saves_when_stopped && "jobs save, so nothing is lost"}
        </Fact>
        <Fact name="Set by">
          {pool.changed_by && (
            <>
              {pool.changed_by}, <Time at={pool.changed_at} />
            </>
          )}
        </Fact>
      </Facts>
      {asked === "edit" && <Rules pool={pool} close={close} />}
      {asked === "reset" && (
        <Confirm
          title={`Default rules for ${pool.name}`}
          action="Take its rules away"
          busy={reset.isPending}
          run={() => reset.mutate()}
          close={close}
        >
          Its machines stay in it; what was set for it goes.
          {reset.error && <Trouble error={reset.error} />}
        </Confirm>
      )}
    </section>
  );
}

function PoolAmounts(props: {machines: Machine[]}) {
  const totals = totalsOf(props.machines);
  return (
    <div className={css.amounts}>
      {totals.gpus > 0 && (
        <Amount name="GPUs" whole={totals.gpus} given={totals.givenGpus} say={short} />
      )}
      <Amount name="CPUs" whole={totals.cpus} given={totals.givenCpus} say={short} />
    </div>
  );
}

const levelsOf = (pool: Pool) => (pool.service_levels ?? []).map((one) => short(one)).join(", ");

function Rules(props: {pool?: Pool; close: () => void}) {
  const {pool, close} = props;
  const [name, setName] = useState(pool?.name ?? "");
  const [description, setDescription] = useState(pool?.description ?? "");
  const [packing, setPacking] = useState<string>(pool?.packing ?? "centralized");
  const [byName, setByName] = useState(pool?.by_name_only ?? false);
  const [preempts, setPreempts] = useState(pool?.preempts ?? true);
  const [saves, setSaves] = useState(pool?.saves_when_stopped ?? false);
  const [least, setLeast] = useState(spanOf(pool?.minimum_run_seconds ?? 60));
  const [levels, setLevels] = useState((pool?.service_levels ?? []).join(", "));
  const seconds = secondsOf(least);
  const numbers = levels
    .split(/[\s,]+/)
    .filter(Boolean)
    .map(Number);
  const badLevels = numbers.some(Number.isNaN);
  const send = useWrite(
    () =>
      ask(
        api.PUT("/api/v1/pools/{pool}", {
          params: {
            path: {pool: name.trim()},
            header: pool?.id ? {"If-Match": `"${pool.version}"`} : {},
          },
          body: {
            description,
            packing: packing as Pool["packing"],
            by_name_only: byName,
            preempts,
            saves_when_stopped: saves,
            minimum_run_seconds: seconds,
            service_levels: numbers,
          },
        }),
      ),
    kStale,
    close,
  );
  return (
    <Ask
      title={pool ? `Rules of ${pool.name}` : "New pool"}
      action="Set the rules"
      send={send}
      close={close}
      wrong={Number.isNaN(seconds) || badLevels || name.trim() === ""}
    >
      {!pool && (
        <TextField
          label="Name"
          value={name}
          set={setName}
          help="a-z, 0-9, '.', '_', '-'"
          autoFocus
        />
      )}
      <TextField label="For people" value={description} set={setDescription} />
      <ChoiceField
        label="Packing"
        value={packing}
        set={setPacking}
        choices={[
          ["centralized", "fills machines up, keeps whole ones free"],
          ["equalized", "loads machines evenly"],
        ]}
      />
      <YesField label="Takes only jobs that name it" value={byName} set={setByName} />
      <YesField label="Jobs may be stopped for others" value={preempts} set={setPreempts} />
      <YesField label="Jobs save when they are stopped" value={saves} set={setSaves} />
      <TextField
        label="A job runs at least"
        value={least}
        set={setLeast}
        help="before it may be stopped for another: 60s, 10m"
        wrong={Number.isNaN(seconds) ? "A time such as 60s, 10m or 1h." : undefined}
      />
      <TextField
        label="Service levels, in GPU-seconds"
        value={levels}
        set={setLevels}
        placeholder="none; 3600, 36000"
        help="past each a job makes room for those that have had less"
        wrong={badLevels ? "Numbers with commas between." : undefined}
      />
    </Ask>
  );
}
