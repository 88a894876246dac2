// The machines: what they are, who holds them, what waits, and what would be if there were more.
import {useQuery} from "@tanstack/react-query";
import {useParams} from "@tanstack/react-router";
import {Suspense, lazy} from "react";

import {cluster, status} from "../../app/queries";
import {count, plural} from "../../lib/format";
import {totalsOf} from "../../lib/machines";
import {Page, Tabs} from "../../ui/page";
import {Loading, NoPart, Trouble} from "../../ui/words";
import {Machines} from "./machines";

const Queue = lazy(() => import("./queue"));
const Pools = lazy(() => import("./pools"));
const Reservations = lazy(() => import("./reservations"));
const WhatIf = lazy(() => import("./what_if"));

const kTabs = {
  machines: "Machines",
  queue: "Waiting",
  pools: "Pools",
  reservations: "Reservations",
  "what-if": "What if",
} as const;

export function Cluster() {
  const {tab = "machines"} = useParams({strict: false}) as {tab?: string};
  const query = useQuery(cluster());
  const {data: server} = useQuery(status());
  const machines = query.data?.items ?? [];
  const totals = totalsOf(machines);
  const waiting = server?.jobs?.queued ?? 0;
  const names = Object.entries(kTabs).map(([key, name]) => ({
    to: key === "machines" ? "/cluster" : `/cluster/${key}`,
    name: key === "queue" && waiting > 0 ? `${name} (${count(waiting)})` : name,
  }));
  const heading = (
    <>
      Cluster{" "}
      {query.data && (
        <small className="muted">
          {plural(totals.machines, "machine")}
          {totals.gpus > 0 && `, ${plural(totals.gpus, "GPU")}`}
        </small>
      )}
    </>
  );
  return (
    <Page
      title="Cluster"
      heading={heading}
      whole={tab === "queue"}
      tabs={<Tabs label="Parts of the cluster" tabs={names} />}
    >
      {query.error && !query.data && (
        <Trouble error={query.error} retry={() => void query.refetch()} />
      )}
      {query.isPending && !query.error && <Loading what="the machines" />}
      {query.data && (
        <Suspense fallback={<Loading what={tab} />}>
          {tab === "machines" && (
            <Machines machines={machines} queued={waiting} lent={server?.lent} />
          )}
          {tab === "queue" && <Queue />}
          {tab === "pools" && <Pools machines={machines} />}
          {tab === "reservations" && <Reservations machines={machines} />}
          {tab === "what-if" && <WhatIf machines={machines} />}
          {!(tab in kTabs) && (
            <NoPart of="the cluster" way={{to: "/cluster", name: "Its machines"}} />
          )}
        </Suspense>
      )}
    </Page>
  );
}
