// Why a job waits, what would start it, and a newcomer's way to a second, changed training.
import {rmSync, writeFileSync} from "node:fs";
import {tmpdir} from "node:os";
import {join} from "node:path";

import {equal, truth, until} from "../story.mjs";

const gpu = (node, i) => `{uuid: GPU-${node}-${i}, model: A100, memory: 40GiB, numa: n0}`;
const node = (name) =>
  `  - {name: ${name}, cpus: 8, memory: 32GiB, rack: r1, numa: [{name: n0, cpus: 8, memory: 32GiB}], gpus: [${gpu(name, 0)}, ${gpu(name, 1)}]}`;
const topology = join(tmpdir(), `hearth-page-topology-${process.pid}.yaml`);
writeFileSync(topology, `hearth: 1\nnodes:\n${node("one")}\n${node("two")}\n`);
process.on("exit", () => rmSync(topology, {force: true}));
export const options = ["--topology", topology, "--data-root", "/usr/share/datasets"];

const kHold = (gpus) => `hearth: 1
name: hold
command: sleep 6000
resources: {cpus: 1, memory: 64MiB, gpus: ${gpus}}
`;
const kMostClicks = 15;
const kManyWait = 620;  // the API gives 500 at once
const kMostMs = 500_000;

export const stories = {
  "a waiting job says why, and a press starts it smaller": async (story, server) => {
    const holder = server.submit(kHold(1));
    server.submit(kHold(2).replace("hold", "other"));
    const waiting = server.submit(kHold(2).replace("hold", "wide"));
    await until(() => server.json("job", "show", waiting).reason?.changes?.length > 0, "its reason");
    const page = await story.signIn();
    await page.getByRole("region", {name: "Waiting"}).getByRole("link", {name: "wide-1"}).waitFor();
    truth((await page.getByRole("region", {name: "Waiting"}).textContent()).length > 40, "no reason is said");
    await page.getByRole("link", {name: "wide-1"}).click();
    await page.getByRole("link", {name: "Submit with resources.gpus = 1"}).click();
    equal(await page.getByLabel("GPUs", {exact: true}).inputValue(), "1", "the change");
    await page.getByText("It would start at once.").waitFor();
    await page.getByRole("button", {name: "Submit"}).click();
    await page.getByRole("heading", {name: /wide-2/}).waitFor();
    await page.getByRole("heading", {level: 1}).getByText("running").waitFor();
    for (const id of [holder, waiting, "other-1", "wide-2"]) server.hearth("job", "cancel", id);
  },

  "a gang by rank": async (story, server) => {
    const id = server.submit(`hearth: 1
name: gang
launch: plain
roles:
  worker: {replicas: 2, command: "echo I am $HEARTH_RANK", resources: {cpus: 1, memory: 64MiB, gpus: 1}}
`);
    server.hearth("job", "wait", id);
    const page = await story.signIn();
    await story.go(`/jobs/${id}`);
    await page.getByRole("region", {name: "Tasks"}).getByRole("link", {name: "log"}).nth(1).click();
    await page.getByRole("log").getByText("I am 1").waitFor();
    await page.getByLabel("rank").selectOption("0");
    await page.getByRole("log").getByText("I am 0").waitFor();
  },

  "a job that is tried again says how it failed": async (story, server) => {
    const id = server.submit(`hearth: 1
name: again
command: exit 3
retries: {limit: 10, for: [exit]}
resources: {cpus: 0.1, memory: 64MiB}
`);
    const page = await story.signIn();
    await story.go(`/jobs/${id}`);
    await page.getByText(/Attempt \d+ ended: .*3/).waitFor();
    server.hearth("job", "cancel", id);
  },

  "a project is chosen, and stays": async (story, server) => {
    server.hearth("project", "add", "vision");
    server.submit(kHold(0).replace("hold", "mine").replace("sleep 6000", "true").replace("hearth: 1", "hearth: 1\nproject: vision"));
    const page = await story.signIn();
    await page.getByLabel("Project").selectOption("vision");
    await page.getByRole("link", {name: "Jobs", exact: true}).click();
    await page.waitForURL(/project=vision/);
    await page.getByRole("link", {name: "mine-1"}).waitFor();
    equal(await page.getByRole("link", {name: "hold-1"}).count(), 0, "another project's job");
  },

  "a newcomer's second, changed training": async (story, server) => {
    const page = await story.open();
    const began = Date.now();
    let clicks = 0;
    const press = async (what) => {
      clicks += 1;
      await what.click();
    };
    const ended = () => until(async () => /succeeded/.test(await page.getByRole("heading", {level: 1}).textContent()), "the training's end", kMostMs);
    await page.goto(server.json("login", "--link").link);
    await press(page.getByRole("link", {name: "New job"}).last());
    await press(page.getByRole("button", {name: /^Table/}));
    await press(page.getByRole("button", {name: "Submit"}));
    await page.getByRole("heading", {name: /-1/}).waitFor();
    await ended();
    await press(page.getByRole("button", {name: "Again with changes"}));
    await press(page.getByLabel("epochs"));
    await page.getByLabel("epochs").fill("3");
    await press(page.getByRole("button", {name: "Submit"}));
    await page.getByRole("heading", {name: /-2/}).waitFor();
    await ended();
    await page.getByRole("img", {name: /^loss/}).waitFor();
    console.log(`  ${clicks} clicks, ${Math.round((Date.now() - began) / 1000)} s`);
    truth(clicks <= kMostClicks, `${clicks} clicks`);
    truth(Date.now() - began <= kMostMs, "it took too long");
  },

  "a queue of more than one page is shown whole": async (story, server) => {
    for (const name of ["one", "two"]) server.hearth("node", "cordon", name);
    const spec = {hearth: 1, name: "many", command: "true", resources: {cpus: 1, memory: "64MiB"}};
    let made = 0;
    const work = async () => {
      while (made < kManyWait) {
        made += 1;
        await server.api("POST", "/api/v1/jobs", {spec});
      }
    };
    await Promise.all(Array.from({length: 8}, work));
    const page = await story.signIn();
    await story.go("/cluster/queue");
    const table = page.getByRole("table", {name: "Waiting"});
    const rows = async () => Number(await table.getAttribute("aria-rowcount")) - 1;
    await until(async () => (await rows()) >= kManyWait, "all that wait");
    truth((await table.getByRole("row").count()) < 100, "rows out of sight are drawn");
    await table.evaluate((box) => (box.scrollTop = box.scrollHeight));
    const last = table.locator(`[aria-rowindex="${(await rows()) + 1}"]`);
    await last.getByRole("link", {name: /^many-/}).waitFor();
    await story.axe("a long queue");
  },
};
