// What stands around every view: where one may go, the project, the search, and whether the server
// is reached.
import {useQuery, useQueryClient} from "@tanstack/react-query";
import {Link, Outlet, useNavigate, useRouter} from "@tanstack/react-router";
import {
  Boxes,
  ChartLine,
  CircleUser,
  Cpu,
  Database,
  House,
  Layers,
  ListChecks,
  Monitor,
  Moon,
  Plus,
  Scale,
  Search as Lens,
  Settings,
  Sun,
} from "lucide-react";
import {Suspense, lazy, useEffect, useState, useSyncExternalStore} from "react";

import {listen, reconnect, useLink} from "../api/live";
import {isSessionLost, onSession} from "../api/session";
import {clock} from "../lib/format";
import {IconButton} from "../ui/icon_button";
import {Menu} from "../ui/menu";
import {Page} from "../ui/page";
import {Empty, Loading, Trouble, WayOn} from "../ui/words";
import {SignInAgain} from "../views/sign_in";
import {useKeys} from "./keys";
import {projects, status, whoami} from "./queries";
import {useView} from "./search";
import css from "./shell.module.css";
import {setTheme, useTheme} from "./theme";

const Palette = lazy(() => import("./palette"));
const Help = lazy(() => import("./help"));

const kViews = [
  {to: "/", name: "Home", keys: "g h", icon: House},
  {to: "/jobs", name: "Jobs", keys: "g j", icon: ListChecks},
  {to: "/runs", name: "Runs", keys: "g r", icon: ChartLine},
  {to: "/cluster", name: "Cluster", keys: "g c", icon: Cpu},
  {to: "/quotas", name: "Quotas", keys: "g q", icon: Scale},
  {to: "/datasets", name: "Data", keys: "g d", icon: Database},
  {to: "/models", name: "Models", keys: "g m", icon: Boxes},
  {to: "/admin", name: "Admin", keys: "g a", icon: Settings},
] as const;

export function Shell() {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [panel, setPanel] = useState<"" | "palette" | "help">("");
  const lost = useSyncExternalStore(onSession, isSessionLost);
  const me = useQuery(whoami());
  useEffect(() => listen(queries), [queries]);
  useKeys([
    ...kViews.map((view) => ({
      keys: view.keys,
      does: `go to ${view.name}`,
      run: () => void navigate({to: view.to as never}),
    })),
    {keys: "c", does: "new job", run: () => void navigate({to: "/submit" as never})},
    {keys: "Mod+k", does: "search everything", run: () => setPanel("palette")},
    {keys: "?", does: "keys", run: () => setPanel("help")},
    {keys: "/", does: "filter or search", run: () => focusFilter() || setPanel("palette")},
  ]);
  if (!me.data) {
    if (lost) return <SignInAgain />;
    return me.error ? (
      <div className={css.alone}>
        <Trouble error={me.error} retry={() => void me.refetch()} />
      </div>
    ) : (
      <Loading what="who you are" />
    );
  }
  return (
    <div className={css.frame}>
      <Skip />
      <nav className={css.side} aria-label="Views">
        <Link to="/" className={css.name}>
          <Layers size={18} aria-hidden /> <span>Hearth</span>
        </Link>
        {kViews.map((view) => (
          <Link
            key={view.to}
            to={view.to as never}
            activeOptions={{exact: view.to === "/", includeSearch: false}}
            activeProps={{"aria-current": "page"}}
            title={`${view.name} (${view.keys})`}
          >
            <view.icon size={16} aria-hidden /> <span>{view.name}</span>
          </Link>
        ))}
      </nav>
      <div className={css.main}>
        <Top
          user={me.data.user ?? ""}
          search={() => setPanel("palette")}
          help={() => setPanel("help")}
        />
        <LinkBar />
        <HealthBar />
        <main id="view" className={css.view} tabIndex={-1}>
          <Suspense fallback={<Loading what="the view" />}>
            <Outlet />
          </Suspense>
        </main>
      </div>
      <Suspense fallback={null}>
        {panel === "palette" && <Palette close={() => setPanel("")} />}
        {panel === "help" && <Help close={() => setPanel("")} />}
      </Suspense>
      {lost && <SignInAgain />}
    </div>
  );
}

function Skip() {
  return (
    <a className={css.skip} href="#view">
      Skip to the view
    </a>
  );
}

// The filter of the view, if it has one.
function focusFilter(): boolean {
  const filter = document.querySelector<HTMLInputElement>("[data-filter]");
  filter?.focus();
  filter?.select();
  return filter !== null;
}

function Top(props: {user: string; search: () => void; help: () => void}) {
  const [view, change] = useView();
  const all = useQuery(projects());
  const theme = useTheme();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const next = {system: "light", light: "dark", dark: "system"} as const;
  const Icon = {system: Monitor, light: Sun, dark: Moon}[theme];
  const leave = async () => {
    await fetch("/api/v1/sessions", {method: "DELETE", headers: {"X-Hearth-Request": "page"}});
    queries.clear();
    void navigate({to: "/sign-in"});
  };
  return (
    <header className={css.top}>
      <select
        aria-label="Project"
        value={view.project ?? ""}
        onChange={(event) => change({project: event.target.value || undefined})}
      >
        <option value="">all projects</option>
        {(all.data?.items ?? []).map((project) => (
          <option key={project.name} value={project.name}>
            {project.name}
          </option>
        ))}
        {view.project && !all.data?.items?.some((one) => one.name === view.project) && (
          <option value={view.project}>{view.project}</option>
        )}
      </select>
      <button type="button" className={css.search} onClick={props.search}>
        <Lens size={14} aria-hidden /> <span>Search</span> <kbd>Ctrl K</kbd>
      </button>
      <span className="grow" />
      <Link to={"/submit" as never} className="button primary">
        <Plus size={14} aria-hidden /> New job
      </Link>
      <IconButton
        icon={Icon}
        size={16}
        does={`Theme: ${theme}; change to ${next[theme]}`}
        run={() => setTheme(next[theme])}
      />
      <Menu
        title={`Signed in as ${props.user}`}
        className="plain"
        label={<CircleUser size={16} aria-hidden />}
        items={[
          {
            name: `Signed in as ${props.user}`,
            run: () => void navigate({to: "/admin" as never}),
            disabled: true,
          },
          {name: "Keys (?)", run: props.help},
          {name: "Sign out", run: () => void leave()},
        ]}
      />
    </header>
  );
}

// A lost connection is said, stays said, and what is shown stays.
function LinkBar() {
  const link = useLink();
  const [late, setLate] = useState(false);
  useEffect(() => {
    setLate(false);
    if (link.up) return;
    const timer = setTimeout(() => setLate(true), 1500); // a restart in a blink is not worth a word
    return () => clearTimeout(timer);
  }, [link]);
  if (link.up || !late) return null;
  return (
    <div className={css.bar} role="status">
      The server has not been reached since {clock(link.since, false)}. What you see is from then;
      this goes on by itself.
      <button type="button" onClick={reconnect}>
        Try now
      </button>
    </div>
  );
}

// A server that takes nothing says why, and what to do.
function HealthBar() {
  const {data} = useQuery(status());
  if (!data || (data.ready && !data.draining)) return null;
  return (
    <div className={css.bar} role="alert">
      {data.ready
        ? "The server is being drained: no job starts any more, and it ends when none runs."
        : `Nothing is written: ${data.refusing} ${data.mend}`}
    </div>
  );
}

export function NotFound() {
  return (
    <Page title="Not there">
      <Empty title="There is no such view" action={<WayOn to="/" name="Home" />}>
        The address is wrong, or what it showed has been deleted.
      </Empty>
    </Page>
  );
}

export function ViewFailed(props: {error: unknown}) {
  const router = useRouter();
  return (
    <Page title="This view failed">
      <Trouble error={props.error} retry={() => void router.invalidate()} />
    </Page>
  );
}
