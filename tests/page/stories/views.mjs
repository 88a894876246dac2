// Saved views of the list of runs, and a list of more columns than fit beside each other.
import {experiment, makeRun, makeRuns} from "../runs_data.mjs";
import {equal, truth, until} from "../story.mjs";
import {as} from "../world.mjs";

const kRuns = 40;
const kKeys = 300;

export async function prepare(server) {
  const made = await experiment(server, "many");
  await makeRuns(server, made, "many", kRuns);
  const wide = await experiment(server, "wide");
  for (let run = 0; run < 3; run += 1) {
    const metrics = Object.fromEntries(Array.from({length: kKeys}, (_, key) => [name(key), [run + key / 1000]]));
    await makeRun(server, wide, `wide-${run}`, {at: run, metrics});
  }
  server.hearth("user", "add", "ann", "--role", "member", "--project", "default");
}

const name = (key) => `k${String(key).padStart(3, "0")}`;
const table = (page) => page.getByRole("table", {name: "Runs"});
const dialog = (page) => page.getByRole("dialog", {name: "Saved views"});
const views = (server) => server.api("GET", "/api/v1/views?page=runs").then((all) => all.items ?? []);

async function save(page, called, who) {
  await page.getByRole("button", {name: "Views"}).click();
  await dialog(page).getByLabel("Name", {exact: true}).fill(called);
  if (who) await dialog(page).getByLabel("Who sees it").selectOption({label: who});
  await dialog(page).getByRole("button", {name: "Save", exact: true}).click();
  await dialog(page).waitFor({state: "detached"});
}

export const stories = {
  "a view is saved, opened, changed, renamed and deleted": async (story, server) => {
    const page = await story.signIn();
    await story.go("/runs?filter=params.arch+%3D+vit&order=metrics.loss&cols=metrics.loss,params.arch&sel=x");
    await page.getByText("13 runs").waitFor();
    await save(page, "best vit");
    await page.getByRole("button", {name: "best vit"}).waitFor();
    const [kept] = await views(server);
    equal([kept.name, kept.shared ?? false, kept.query],
      ["best vit", false, "filter=params.arch+%3D+vit&cols=metrics.loss%2Cparams.arch&order=metrics.loss"], "what is kept");

    await story.go("/runs");
    await page.getByText(/^4\d runs$/).waitFor();
    await page.getByRole("button", {name: "Views"}).click();
    await dialog(page).getByRole("link", {name: "best vit"}).click();
    await page.getByText("13 runs").waitFor();
    await page.getByRole("columnheader", {name: "arch"}).waitFor();
    await until(async () => /many-38/.test(await table(page).getByRole("row").nth(1).textContent()), "its order");

    await page.getByRole("columnheader", {name: "State"}).getByRole("button").click();
    await page.getByRole("button", {name: "best vit changed"}).click();
    await dialog(page).getByRole("button", {name: "Update best vit"}).click();
    await until(async () => (await views(server)).map((one) => one.query).join().includes("order=status"), "the new order");
    await until(async () => (await views(server)).length === 1, "the end of the old one");

    await page.getByRole("button", {name: "best vit", exact: true}).click();
    await dialog(page).getByRole("button", {name: "Rename best vit"}).click();
    await page.getByLabel("New name").fill("worst vit");
    await page.keyboard.press("Enter");
    await dialog(page).getByRole("link", {name: "worst vit"}).waitFor();
    equal((await views(server)).map((one) => one.name), ["worst vit"], "names");
    truth(page.url().includes((await views(server))[0].id), "the address has lost the view");

    await dialog(page).getByRole("button", {name: "Delete worst vit"}).click();
    await page.getByRole("button", {name: "Delete it"}).click();
    await dialog(page).getByText("None yet").waitFor();
    equal((await views(server)).length, 0, "views after the end");
  },

  "a view is shared with a project, by keys alone": async (story, server) => {
    const page = await story.signIn();
    await story.go("/runs?filter=experiment+%3D+wide");
    await page.getByText("3 runs").waitFor();
    await page.keyboard.press("v");
    await dialog(page).getByLabel("Name", {exact: true}).focus();
    await page.keyboard.type("the wide ones");
    await page.keyboard.press("Tab");
    await page.keyboard.type("members of default");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await dialog(page).waitFor({state: "detached"});
    equal((await views(server)).map((one) => [one.name, one.shared, one.project]), [["the wide ones", true, "default"]], "what is kept");
    await story.leave();

    const hers = await as(story, server, "ann");
    await story.go("/runs");
    await hers.getByText(/^4\d runs$/).waitFor();
    await hers.getByRole("button", {name: "Views"}).click();
    await dialog(hers).getByText("shares it in default").waitFor();
    equal(await dialog(hers).getByRole("button", {name: /^(Rename|Delete)/}).count(), 0, "ways to change what is not hers");
    await dialog(hers).getByRole("link", {name: "the wide ones"}).click();
    await hers.getByText("3 runs").waitFor();
    truth(hers.url().includes("project=default"), "the project is not in the address");
  },

  "of hundreds of columns only those in sight exist, the name stays": async (story) => {
    const page = await story.signIn();
    const asked = new Set();
    page.on("request", (request) => {
      const fields = new URL(request.url()).searchParams.get("fields") ?? "";
      for (const field of fields.split(",").filter((one) => one.startsWith("metrics."))) asked.add(field);
    });
    const cols = Array.from({length: kKeys}, (_, key) => `metrics.${name(key)}`).join();
    await story.go(`/runs?filter=experiment+%3D+wide&order=started_at&cols=${cols}`);
    const row = table(page).getByRole("row", {name: /wide-1 /});
    await row.getByText("1.001").waitFor();
    equal(await table(page).getAttribute("aria-colcount"), String(kKeys + 6), "columns in all");
    truth(asked.size > 5, "no column was asked for by name");
    truth(asked.size < 60, `${asked.size} columns were asked for`);
    truth((await row.getByRole("cell").count()) < 40, "columns exist that nobody sees");
    await table(page).evaluate((box) => { box.scrollLeft = box.scrollWidth; });
    await row.getByText("1.299").waitFor();
    equal(await row.getByRole("cell").filter({hasText: "1.299"}).getAttribute("aria-colindex"), String(kKeys + 3), "its place");
    truth(!asked.has("metrics.k150"), "columns were asked for that nobody saw");
    const link = await row.getByRole("link", {name: "wide-1"}).boundingBox();
    truth(link.x > 150 && link.x < 400, `the name lies at ${link.x}`);
    await page.getByRole("button", {name: name(kKeys - 1), exact: true}).click();
    await until(async () => /wide-2/.test(await table(page).getByRole("row").nth(1).textContent()), "the order of the last column");
    await story.axe("hundreds of columns");
  },

  "views are there for eyes, hands and readers, in both themes": async (story, server) => {
    await server.api("POST", "/api/v1/views", {name: '<img src=x onerror="alert(1)">', page: "runs", query: "filter=name+~+a&group=experiment"});
    const after = async (page, how) => {
      await page.getByRole("button", {name: "Views"}).click();
      await dialog(page).getByText("<img").first().waitFor();
      await story.axe(`views${how}`);
      await dialog(page).getByRole("link", {name: /img/}).click();
      await page.getByRole("table", {name: "Groups of runs"}).waitFor();
      await story.axe(`a view of groups${how}`);
    };
    await story.everywhere(["/runs"], {after});
  },
};
