// The addresses of the page. Each view is a file of its own that is fetched when it is first shown
// (or pointed at); the server answers with index.html for every one of them (src/api/page.cc).
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
  retainSearchParams,
} from "@tanstack/react-router";

import {pathOfMlflowLink} from "../lib/mlflow_link";
import {Home} from "../views/home";
import {SignIn} from "../views/sign_in";
import {NotFound, Shell, ViewFailed} from "./shell";
import {type Search, parseSearch, stringifySearch} from "./search";

const root = createRootRoute({
  validateSearch: (search): Search => search as Search,
  search: {middlewares: [retainSearchParams<Search>(["project"] as never)]},
});
const signIn = createRoute({getParentRoute: () => root, path: "/sign-in", component: SignIn});
const shell = createRoute({getParentRoute: () => root, id: "shell", component: Shell});
const home = createRoute({
  getParentRoute: () => shell,
  path: "/",
  component: Home,
  beforeLoad: ({location}) => {
    const href = pathOfMlflowLink(location.hash);
    if (href) throw redirect({href, replace: true});
  },
});

const view = <Path extends string>(path: Path, component: ReturnType<typeof lazyRouteComponent>) =>
  createRoute({getParentRoute: () => shell, path, component});

const jobs = view(
  "/jobs",
  lazyRouteComponent(() => import("../views/jobs"), "Jobs"),
);
const job = view(
  "/jobs/$job",
  lazyRouteComponent(() => import("../views/job/index"), "JobPage"),
);
const jobTab = view(
  "/jobs/$job/$tab",
  lazyRouteComponent(() => import("../views/job/index"), "JobPage"),
);

const submit = view(
  "/submit",
  lazyRouteComponent(() => import("../views/submit/index"), "Submit"),
);

const clusterView = lazyRouteComponent(() => import("../views/cluster/index"), "Cluster");
const cluster = view("/cluster", clusterView);
const clusterTab = view("/cluster/$tab", clusterView);
const machine = view(
  "/cluster/machines/$node",
  lazyRouteComponent(() => import("../views/cluster/machine"), "MachinePage"),
);
const quotas = view(
  "/quotas",
  lazyRouteComponent(() => import("../views/quotas"), "Quotas"),
);

const modelView = lazyRouteComponent(() => import("../views/models/model"), "ModelPage");
const models = view(
  "/models",
  lazyRouteComponent(() => import("../views/models/index"), "Models"),
);
const model = view("/models/$model", modelView);
const modelTab = view("/models/$model/$tab", modelView);

const datasetView = lazyRouteComponent(() => import("../views/datasets/dataset"), "DatasetPage");
const datasets = view(
  "/datasets",
  lazyRouteComponent(() => import("../views/datasets/index"), "Datasets"),
);
const dataset = view("/datasets/$dataset", datasetView);
const datasetTab = view("/datasets/$dataset/$tab", datasetView);

const runs = view(
  "/runs",
  lazyRouteComponent(() => import("../views/runs/index"), "Runs"),
);
const runView = lazyRouteComponent(() => import("../views/runs/run"), "RunPage");
const run = view("/runs/$run", runView);
const runTab = view("/runs/$run/$tab", runView);
const compareRuns = lazyRouteComponent(() => import("../views/runs/compare/index"), "ComparePage");
const compare = view("/runs/compare", compareRuns);
const compareTab = view("/runs/compare/$tab", compareRuns);

const adminView = lazyRouteComponent(() => import("../views/admin/index"), "Admin");
const admin = view("/admin", adminView);
const adminTab = view("/admin/$tab", adminView);
const project = view(
  "/admin/projects/$name",
  lazyRouteComponent(() => import("../views/admin/project"), "ProjectPage"),
);

const tree = root.addChildren([
  signIn,
  shell.addChildren([
    ...[home, jobs, job, jobTab, submit],
    ...[runs, run, runTab, compare, compareTab],
    ...[cluster, clusterTab, machine, quotas],
    ...[models, model, modelTab, datasets, dataset, datasetTab],
    ...[admin, adminTab, project],
  ]),
]);

export const router = createRouter({
  routeTree: tree,
  parseSearch,
  stringifySearch,
  defaultPreload: "intent",
  defaultNotFoundComponent: NotFound,
  defaultErrorComponent: ViewFailed,
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
