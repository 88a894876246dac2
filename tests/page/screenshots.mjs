// Pictures of every view: light and dark, 1440 and 390 pixels wide, of a server with real jobs.
// Arguments: the folder for them (build/screenshots), and words that the names of the views to show
// contain; none: all.
import {mkdirSync, writeFileSync} from "node:fs";
import {join} from "node:path";

import {Server} from "./server.mjs";
import {Story, chromium} from "./story.mjs";
import {options, prepare as fillPlaces} from "./world.mjs";

const [folder = "build/screenshots", ...wanted] = process.argv.slice(2);
const kTraining = "examples/fashion-mnist/job.yaml";
const kSettleMs = 1500;
mkdirSync(folder, {recursive: true});

const server = await new Server().start("--data-root", "/usr/share/datasets");
const root = process.cwd();
const say = (text) => console.log(text);

function submit(...args) {
  return JSON.parse(server.hearth("job", "submit", "--json", ...args)).id;
}

function wait(id) {
  try {
    server.hearth("job", "wait", id);
  } catch {
    // One of them is to fail.
  }
}

// Two trainings that differ, a failure, a wait, and one that runs while the pictures are taken.
function prepare() {
  const training = (...set) => submit(join(root, kTraining), ...set.flatMap((one) => ["--set", one]));
  say("Training, twice");
  const first = training("params.epochs=2");
  wait(first);
  const second = training("params.epochs=2", "params.lr=0.02");
  wait(second);
  const bad = submit("--name", "broken", "--", "python3", "-c", "print('reading'); raise ValueError('no such column: age')");
  wait(bad);
  const running = training("params.epochs=50");
  const gang = submit(join(root, "examples/two-ranks/job.yaml"));
  const runs = [first, second].map((id) => server.json("job", "show", id).run_id);
  return {first, second, bad, running, gang, runs};
}

const made = prepare();
const views = {
  "home": "/",
  "jobs": "/jobs",
  "job": `/jobs/${made.running}`,
  "job-failed": `/jobs/${made.bad}`,
  "job-waiting": `/jobs/${made.gang}`,
  "job-log": `/jobs/${made.first}/log`,
  "job-metrics": `/jobs/${made.first}/metrics`,
  "job-resources": `/jobs/${made.first}/resources`,
  "job-files": `/jobs/${made.first}/files`,
  "job-lineage": `/jobs/${made.first}/lineage`,
  "submit": "/submit",
  "submit-form": "/submit?template=image-classification",
  "submit-file": "/submit?template=image-classification&as=file",
  "runs": "/runs",
  "runs-grouped": "/runs?group=params.lr",
  "run": `/runs/${made.runs[0]}`,
  "compare": `/runs/compare?ids=${made.runs.join(",")}`,
  "compare-differences": `/runs/compare/differences?ids=${made.runs.join(",")}`,
  "compare-parallel": `/runs/compare/parallel?ids=${made.runs.join(",")}`,
  "compare-scatter": `/runs/compare/scatter?ids=${made.runs.join(",")}`,
  "models": "/models",
  "model": "/models/fashion-cnn?project=default",
  "model-compare": "/models/fashion-cnn/compare?project=default",
};
// What takes machines and people is shown of a server with both.
const lent = await new Server().start(...options);
await fillPlaces(lent);
const places = {
  "cluster": "/cluster",
  "cluster-by-job": "/cluster?by=job",
  "cluster-queue": "/cluster/queue",
  "cluster-pools": "/cluster/pools",
  "cluster-reservations": "/cluster/reservations",
  "cluster-what-if": "/cluster/what-if?add=hopper-1%3D2",
  "machine": "/cluster/machines/hopper-1",
  "quotas": "/quotas",
  "datasets": "/datasets",
  "dataset": "/datasets/clothes?project=vision",
  "dataset-files": "/datasets/clothes/files?project=vision&open=train%2Fgreen.png",
  "dataset-lineage": "/datasets/clothes/lineage?project=vision&version=1",
  "projects": "/admin",
  "project": "/admin/projects/vision",
  "users": "/admin/users",
  "tokens": "/admin/tokens",
  "audit": "/admin/audit",
  "server": "/admin/server",
};

const browser = await chromium.launch({executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"]});
let troubles = [];

async function pictures(of, shown, dark, phone) {
  const story = new Story(browser, of);
  const page = await story.signIn({dark, phone});
  const chosen = Object.entries(shown).filter(
    ([name]) => wanted.length === 0 || wanted.some((word) => name.includes(word)));
  for (const [name, path] of chosen) {
    await story.go(path);
    await page.waitForTimeout(kSettleMs);
    const file = `${name}-${dark ? "dark" : "light"}-${phone ? 390 : 1440}.png`;
    await page.screenshot({path: join(folder, file)});
  }
  troubles.push(...(await story.close()));
  say(`${dark ? "dark" : "light"}, ${phone ? 390 : 1440} pixels: ${chosen.length} pictures`);
}

for (const dark of [false, true]) {
  for (const phone of [false, true]) {
    await pictures(server, views, dark, phone);
    await pictures(lent, places, dark, phone);
  }
}
await browser.close();
await server.stop();
await lent.stop();
troubles = [...new Set(troubles)];
if (troubles.length) say(`Said in the browser:\n${troubles.join("\n")}`);
writeFileSync(join(folder, "troubles.txt"), troubles.join("\n"));
say(`The pictures lie in ${folder}`);
