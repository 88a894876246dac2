// People, keys, projects, what was done by whom, and the server itself. What only admins may is
// not offered to others; the server has the last word.
import {useQuery} from "@tanstack/react-query";
import {useParams} from "@tanstack/react-router";
import {Suspense, lazy} from "react";

import {whoami} from "../../app/queries";
import {Page, Tabs} from "../../ui/page";
import {Loading, NoPart} from "../../ui/words";
import {Projects} from "./projects";

const Users = lazy(() => import("./users"));
const Tokens = lazy(() => import("./tokens"));
const Deliveries = lazy(() => import("./deliveries"));
const Audit = lazy(() => import("./audit"));
const Server = lazy(() => import("./server"));

const kTabs = {
  projects: "Projects",
  users: "Users",
  tokens: "Tokens",
  audit: "Audit",
  webhooks: "Webhooks",
  server: "Server",
} as const;
const kLists = ["audit", "webhooks"]; // that scroll by themselves

export function Admin() {
  const {tab = "projects"} = useParams({strict: false}) as {tab?: string};
  const me = useQuery(whoami());
  const heading = (
    <>
      Admin{" "}
      <small className="muted">
        {me.data && `${me.data.user}${me.data.admin ? ", an admin" : ", no admin of this server"}`}
      </small>
    </>
  );
  return (
    <Page
      title="Admin"
      heading={heading}
      whole={kLists.includes(tab)}
      tabs={
        <Tabs
          label="Parts of the administration"
          tabs={Object.entries(kTabs).map(([key, name]) => ({
            to: key === "projects" ? "/admin" : `/admin/${key}`,
            name,
          }))}
        />
      }
    >
      <Suspense fallback={<Loading what={tab} />}>
        {tab === "projects" && <Projects />}
        {tab === "users" && <Users />}
        {tab === "tokens" && <Tokens />}
        {tab === "audit" && <Audit />}
        {tab === "webhooks" && <Deliveries />}
        {tab === "server" && <Server />}
        {!(tab in kTabs) && (
          <NoPart of="the administration" way={{to: "/admin", name: "Its projects"}} />
        )}
      </Suspense>
    </Page>
  );
}
