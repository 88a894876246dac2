// The list of runs, groups of them, and one run.
import {readFileSync} from "node:fs";

import {experiment, makeRun, makeRuns} from "../runs_data.mjs";
import {equal, truth, until} from "../story.mjs";

const kRuns = 400;
const kEvil = '<img src=x onerror="alert(1)">';
const of = {};

export async function prepare(server) {
  of.many = await experiment(server, "many");
  of.ids = await makeRuns(server, of.many, "many", kRuns);
  of.other = await experiment(server, "other");
  of.parent = await makeRun(server, of.other, "parent", {
    metrics: {loss: [1, 0.5]}, params: {depth: 3}, tags: {team: "vision"}});
  of.spaced = await experiment(server, "spaced");
  for (const [i, team] of ["a, b", "c", "a, b"].entries())
    await makeRun(server, of.spaced, `spaced-${i}`, {
      metrics: {"val loss: best": [[2, 3, 1][i]]}, params: {}, tags: {"my team": team}});
  of.child = await makeRun(server, of.other, "child", {parent: of.parent, metrics: {loss: [1]}});
  const spare = await experiment(server, "spare");
  of.spare = await makeRun(server, spare, "spare", {metrics: {loss: [1]}});
  await makeRun(server, spare, "kept", {metrics: {loss: [1]}});
  of.evil = await makeRun(server, of.other, kEvil, {
    metrics: {"evil/metric": [1]}, params: {arch: kEvil}, tags: {team: kEvil}});
}

const many = "filter=experiment+%3D+many";
const table = (page) => page.getByRole("table", {name: "Runs"});
const firstRow = (page) => table(page).getByRole("row").nth(1);
const scrollTo = (page, part) =>
  table(page).evaluate((box, to) => { box.scrollTop = to * box.scrollHeight; }, part);

export const stories = {
  "the scroll bar jumps anywhere, only what is seen is fetched": async (story) => {
    const page = await story.signIn();
    const asked = [];
    page.on("request", (request) => {
      const url = new URL(request.url());
      if (url.pathname === "/api/v1/runs" && url.searchParams.has("skip")) asked.push(url.searchParams.get("skip"));
    });
    await story.go(`/runs?${many}&order=started_at`);
    await page.getByText(`${kRuns} runs`).waitFor();
    await scrollTo(page, 1);
    await page.getByRole("link", {name: `many-${kRuns - 1}`, exact: true}).waitFor();
    equal(await table(page).getAttribute("aria-rowcount"), String(kRuns + 1), "rows in all");
    truth(!asked.includes("128"), `rows in the middle were fetched: ${asked}`);
    await scrollTo(page, 0.5);
    await page.getByRole("link", {name: "many-210", exact: true}).waitFor();
    const row = page.getByRole("row", {name: /many-210 /});
    truth((await row.textContent()).includes("0.79"), "the value of a column is not there");
  },

  "a link that MLflow's client prints leads to its run": async (story) => {
    const page = await story.signIn();
    await story.go(`/#/experiments/${of.other}/runs/${of.parent}`);
    await page.waitForURL(new RegExp(`/runs/${of.parent}$`));
    await page.getByRole("heading", {name: "parent"}).waitFor();
    await story.go(`/#/experiments/${of.other}`);
    await page.getByRole("link", {name: "child", exact: true}).waitFor();
  },

  "a run is deleted and restored": async (story) => {
    const page = await story.signIn();
    await story.go(`/runs/${of.spare}`);
    await page.getByRole("button", {name: "Delete…"}).click();
    await page.getByRole("dialog").getByRole("button", {name: "Delete it"}).click();
    await page.getByRole("button", {name: "Restore"}).waitFor();
    await story.go("/runs?filter=experiment+%3D+spare");
    await page.getByRole("link", {name: "kept", exact: true}).waitFor();
    equal(await page.getByRole("link", {name: "spare", exact: true}).count(), 0, "deleted runs that are listed");
    await story.go(`/runs/${of.spare}`);
    await page.getByRole("button", {name: "Restore"}).click();
    await page.getByRole("button", {name: "Delete…"}).waitFor();
    await story.go("/runs?filter=experiment+%3D+spare");
    await page.getByRole("link", {name: "spare", exact: true}).waitFor();
  },

  "columns come from all keys, and any of them orders": async (story) => {
    const page = await story.signIn();
    await story.go(`/runs?${many}&cols=metrics.loss`);
    await page.getByRole("button", {name: "Columns"}).click();
    const dialog = page.getByRole("dialog", {name: "Columns"});
    await dialog.getByLabel("Find a metric, parameter or tag").fill("acc");
    await dialog.getByRole("listitem").filter({hasText: "val/acc"}).getByLabel("max").click();
    await page.waitForURL(/val%2Facc\.max/);
    await dialog.getByRole("button", {name: "Close"}).click();
    await page.getByRole("button", {name: "val/acc max"}).click();
    await page.waitForURL(/order=metrics/);
    await until(async () => /many-399/.test(await firstRow(page).textContent()), "the greatest first");
    await page.getByRole("button", {name: "val/acc max"}).click();
    await page.getByRole("button", {name: "loss", exact: true}).click();
    await until(async () => /many-0 /.test(await firstRow(page).innerText().then((text) => text.replace(/\s+/g, " "))), "the greatest loss first");
    await page.reload();
    await page.getByRole("columnheader", {name: "val/acc max"}).waitFor();
    equal(await page.getByRole("columnheader", {name: "loss", exact: true}).getAttribute("aria-sort"), "descending", "order after a reload");
  },

  "keys with spaces are columns, orders and groups as others are": async (story) => {
    const page = await story.signIn();
    const spaced = "filter=experiment+%3D+spaced&cols=metrics.val+loss:+best,tags.my+team";
    await story.go(`/runs?${spaced}`);
    const names = async () => (await table(page).getByRole("link", {name: /^spaced-/}).allTextContents()).join();
    await page.getByRole("button", {name: "val loss: best"}).click();
    await until(async () => (await names()) === "spaced-1,spaced-0,spaced-2", "the greatest first");
    await page.getByRole("button", {name: "val loss: best"}).click();
    await until(async () => (await names()) === "spaced-2,spaced-0,spaced-1", "the least first");
    await page.reload();
    await until(async () => (await names()) === "spaced-2,spaced-0,spaced-1", "the same after a reload");
    await page.getByLabel("group by").selectOption("tags.my team");
    const row = page.getByRole("row", {name: /a, b/});
    await row.waitFor();
    truth((await row.textContent()).includes("1.5 ±"), await row.textContent());
    await row.getByRole("link", {name: "a, b"}).click();
    await page.getByText("2 runs").waitFor();
  },

  "what comes new moves no row until it is asked for": async (story, server) => {
    const page = await story.signIn();
    await story.go("/runs?filter=experiment+%3D+growing+or+experiment+%3D+other");
    await page.getByRole("link", {name: "child"}).waitFor();
    // The values of its columns come after the row itself.
    const name = () => firstRow(page).getByRole("link").first().textContent();
    const before = await name();
    const growing = await experiment(server, "growing");
    await makeRuns(server, growing, "fresh", 3);
    await page.getByRole("button", {name: "3 new: show"}).waitFor();
    equal(await name(), before, "the first row");
    await page.getByRole("button", {name: "3 new: show"}).click();
    await page.getByRole("link", {name: "fresh-2"}).waitFor();
    equal(await page.getByRole("button", {name: /new: show/}).count(), 0, "the pill");
  },

  "runs are chosen, also a range not yet fetched, and kept in the address": async (story) => {
    const page = await story.signIn();
    await story.go(`/runs?${many}&order=started_at`);
    await page.getByLabel("Choose many-3", {exact: true}).click();
    await page.getByText("1 chosen").waitFor();
    await scrollTo(page, 0.3);
    await page.getByLabel("Choose many-120", {exact: true}).click({modifiers: ["Shift"]});
    await page.getByText("118 chosen").waitFor();
    truth(page.url().includes(of.ids[100]), "the address lacks one");
    await page.reload();
    await page.getByText("118 chosen").waitFor();
    await page.getByRole("button", {name: "Choose none"}).click();
    await until(() => !page.url().includes("sel="), "an address without them");
  },

  "a filter that is wrong is said, one that hides all too": async (story) => {
    const page = await story.signIn();
    story.expect(/400/);
    await story.go("/runs");
    await page.getByLabel("Filter runs").fill("params.lr <<< 3");
    await page.getByRole("alert").waitFor();
    await page.getByLabel("Filter runs").fill("metrics.loss < -5");
    await page.getByText("No run is like that").waitFor();
    await page.getByRole("button", {name: "Show all runs"}).click();
    await page.getByRole("link", {name: "parent"}).waitFor();
  },

  "groups have the mean over all their runs, and lead to them": async (story, server) => {
    const page = await story.signIn();
    await story.go(`/runs?${many}&cols=metrics.loss`);
    await page.getByLabel("group by").selectOption("experiment");
    await page.waitForURL(/group=experiment/);
    const row = page.getByRole("row", {name: /many/});
    const answer = await server.api("GET", `/api/v1/runs/groups?${many}&group_by=experiment&agg=metrics.loss:mean`);
    const mean = answer.items[0].aggregates["metrics.loss:mean"];
    truth((await row.textContent()).includes(`400${mean.toPrecision(4).replace(/0+$/, "")} ±`), `${await row.textContent()}, not ${mean}`);
    await page.getByLabel("group by").selectOption("params.arch");
    await page.getByRole("link", {name: "vit"}).click();
    await page.getByText("133 runs").waitFor();
    truth(decodeURIComponent(page.url()).replaceAll("+", " ").includes("params.arch = vit"), "the filter of the group");
  },

  "the list goes out as CSV, as it is shown": async (story) => {
    const page = await story.signIn();
    await story.go(`/runs?${many}&order=started_at&cols=metrics.loss,params.seed`);
    await page.getByText(`${kRuns} runs`).waitFor();
    const [file] = await Promise.all([
      page.waitForEvent("download"), page.getByRole("button", {name: "CSV"}).click()]);
    const lines = readFileSync(await file.path(), "utf8").trim().split("\r\n");
    equal(lines.length, kRuns + 1, "lines");
    truth(lines[0].endsWith("metrics.loss,params.seed"), lines[0]);
    truth(lines[8].includes("many-7") && lines[8].endsWith("0.993,7"), lines[8]);
  },

  "a run says all of itself; its tags are changed": async (story, server) => {
    const page = await story.signIn();
    await story.go(`/runs/${of.parent}`);
    await page.getByRole("heading", {name: /parent/}).waitFor();
    await page.getByRole("region", {name: "Parameters"}).getByText("depth").waitFor();
    await page.getByRole("region", {name: "Related runs"}).getByRole("link", {name: "child", exact: true}).waitFor();
    const tags = page.getByRole("region", {name: "Tags"});
    await tags.getByRole("button", {name: "Add a tag"}).click();
    await page.getByLabel("Name").fill("verdict");
    await page.getByLabel("Value").fill("keep it");
    await page.keyboard.press("Enter");
    await tags.getByRole("link", {name: "keep it"}).waitFor();
    equal((await server.api("GET", `/api/v1/runs/${of.parent}`)).tags.verdict, "keep it", "the tag");
    await tags.getByRole("button", {name: "Take the tag verdict away"}).click();
    await tags.getByText("verdict").waitFor({state: "detached"});
    await page.getByRole("link", {name: "Metrics"}).click();
    await page.getByRole("img", {name: /^loss/}).waitFor();
    await page.getByRole("link", {name: "Lineage"}).click();
    await page.getByText("Nothing is linked to it yet").waitFor();
  },

  "what users write is text, everywhere": async (story) => {
    const page = await story.signIn();
    await story.go("/runs?filter=experiment+%3D+other&cols=params.arch,tags.team");
    await page.getByRole("link", {name: kEvil}).click();
    await page.getByRole("heading", {name: kEvil}).waitFor();
    await page.getByRole("region", {name: "Tags"}).getByRole("link", {name: kEvil}).waitFor();
    equal(await page.locator("img").count(), 0, "pictures of somebody's making");
    await story.go("/runs?filter=experiment+%3D+other&group=params.arch");
    await page.getByRole("link", {name: kEvil}).waitFor();
  },

  "runs are there for eyes, hands and readers, in both themes": async (story) => {
    const after = async (page, how) => {
      await story.go("/runs");
      await page.getByRole("button", {name: "Columns"}).click();
      await page.getByRole("list", {name: "Keys"}).getByText("val/acc").waitFor();
      await story.axe(`the columns${how}`);
    };
    await story.everywhere(["/runs", `/runs?${many}&sel=${of.ids.slice(0, 3).join(".")}`, `/runs?${many}&group=params.arch`,
      `/runs/${of.parent}`, `/runs/${of.ids[0]}/metrics`], {after});
  },
};
