// Runs beside each other: curves, differences, axes, files.
import {readFileSync} from "node:fs";

import {experiment, makeRun, makeRuns} from "../runs_data.mjs";
import {equal, truth, until} from "../story.mjs";

const kMany = 120;
const kEvil = '</text><script>alert(1)</script>';
const kTrainer = (name, scale) => `hearth: 1
name: ${name}
command:
  - python3
  - -c
  - |
    import hearth
    for s in range(3):
        hearth.log_image("samples", [[0, ${scale}], [1, 0]], step=s)
        hearth.log(step=s, loss=${scale} / (s + 1))
    hearth.log_curve("roc", [0, 0.5, 1], [0, ${scale}, 1])
    hearth.log_table("confusion", [["cat", 9, 1], ["dog", 2, 8]], columns=["true", "cat", "dog"])
params: {scale: ${scale}}
resources: {cpus: 0.1, memory: 256MiB}
`;
const of = {};

export async function prepare(server) {
  const jobs = [server.submit(kTrainer("half", 0.5)), server.submit(kTrainer("most", 0.9))];
  of.many = await experiment(server, "many");
  of.ids = await makeRuns(server, of.many, "many", kMany);
  const other = await experiment(server, "other");
  of.evil = await makeRun(server, other, kEvil, {metrics: {loss: [1, 2]}, params: {arch: kEvil}});
  of.bad = await makeRun(server, other, "negative", {metrics: {loss: [-1, 0, 2]}});
  of.trained = jobs.map((id) => {
    server.hearth("job", "wait", id);
    return server.json("job", "show", id).run_id;
  });
}

const three = () => of.ids.slice(0, 3).join(".");
const loss = (page) => page.getByRole("img", {name: /^loss/});

export const stories = {
  "runs chosen in the list are drawn together, in colours that stay": async (story) => {
    const page = await story.signIn();
    await story.go("/runs?filter=experiment+%3D+many&order=started_at");
    for (const name of ["many-0", "many-1", "many-2"]) await page.getByLabel(`Choose ${name}`, {exact: true}).click();
    const swatch = (row) => row.locator("svg line").first().getAttribute("stroke");
    const inList = await swatch(page.getByRole("row", {name: /many-1 /}));
    await page.getByRole("link", {name: "Compare", exact: true}).click();
    await loss(page).waitFor();
    const label = await loss(page).getAttribute("aria-label");
    for (const name of ["many-0", "many-1", "many-2"]) truth(label.includes(name), `${label} lacks ${name}`);
    const runs = page.getByRole("list", {name: "Runs compared"});
    equal(await swatch(runs.getByRole("listitem").filter({hasText: "many-1"})), inList, "its colour");
    await page.getByLabel("Show many-0").click();
    await until(async () => !(await loss(page).getAttribute("aria-label")).includes("many-0"), "one line less");
    equal(await swatch(runs.getByRole("listitem").filter({hasText: "many-1"})), inList, "its colour without the first");
    await page.reload();
    await until(async () => !(await loss(page).getAttribute("aria-label")).includes("many-0"), "it stays hidden");
  },

  "a zoom holds for all charts, lies in the address, and z ends it": async (story) => {
    const page = await story.signIn();
    await story.go(`/runs/compare?ids=${three()}`);
    await loss(page).waitFor();
    const box = await loss(page).locator(".u-over").boundingBox();
    await page.mouse.move(box.x + box.width * 0.25, box.y + 30);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.75, box.y + 30, {steps: 5});
    await page.mouse.up();
    await page.waitForURL(/zoom=0\.\d+\.\.1\.\d+/);
    await until(async () => (await page.getByRole("button", {name: "show all", exact: true}).count()) >= 2, "both charts zoomed");
    await page.keyboard.press("z");
    await until(() => !page.url().includes("zoom="), "all again");
  },

  "over epochs, by ratio, smoothed: as the address says": async (story) => {
    const page = await story.signIn();
    await story.go(`/runs/compare?ids=${three()}`);
    await page.getByLabel("x axis").selectOption("epoch");
    await page.waitForURL(/x=epoch/);
    await loss(page).waitFor();
    await page.getByLabel("log y").check();
    await page.getByLabel("smoothing").fill("0.5");
    await page.waitForURL(/smooth=0\.5/);
    truth(page.url().includes("log=y"), page.url());
    await story.go(`/runs/compare?ids=${of.bad}&log=y`);
    await page.getByText("2 not above 0 left out").waitFor();
  },

  "a hundred runs are compared, and pointing at one names it": async (story) => {
    const page = await story.signIn();
    await story.go(`/runs/compare?ids=${of.ids.slice(0, 100).join(".")}`);
    await loss(page).waitFor();
    truth((await loss(page).getAttribute("aria-label")).includes("and 95 more"), "not all are drawn");
    const item = page.getByRole("list", {name: "Runs compared"}).getByRole("listitem").nth(4);
    await item.hover();
    const caption = page.locator("figure").filter({has: loss(page)}).locator("figcaption");
    await until(async () => (await caption.textContent()).includes("many-4 0.996"), "the run that is meant");
  },

  "a chart goes out as picture and as numbers; names in it stay names": async (story) => {
    const page = await story.signIn();
    await story.go(`/runs/compare?ids=${of.evil}.${of.ids[0]}`);
    const take = async (name) => {
      await page.getByRole("button", {name: "Save loss"}).click();
      const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("menuitem", {name}).click()]);
      return readFileSync(await file.path());
    };
    const svg = (await take("Save as SVG")).toString();
    truth(svg.startsWith("<svg") && svg.includes("many-0") && !svg.includes("<script"), svg.slice(0, 300));
    equal((await take("Save as PNG")).subarray(1, 4).toString(), "PNG", "the picture");
    const lines = (await take("Save as CSV")).toString().trim().split("\r\n");
    equal(lines.length, 1 + 2 + 3, "lines");
    truth(lines.some((line) => line.includes("many-0,2,1,")), lines.join("\n"));
  },

  "only what differs is shown, then all": async (story) => {
    const page = await story.signIn();
    await story.go(`/runs/compare/differences?ids=${of.ids[0]}.${of.ids[6]}`);
    const table = page.getByRole("table", {name: "Differences"});
    await table.getByText("seed").waitFor();
    equal(await table.getByText("arch").count(), 0, "what is the same");
    await page.getByLabel("only what differs").uncheck();
    await table.getByText("arch").waitFor();
    await story.go(`/runs/compare/differences?ids=${of.trained.join(".")}`);
    await table.getByText("scale").waitFor();
    await page.getByLabel("only what differs").uncheck();
    await page.getByLabel("Find a parameter, package or tag").fill("environment");
    await table.getByText("python", {exact: false}).first().waitFor();
  },

  "a part of an axis picks runs out, which go on to be compared": async (story) => {
    const page = await story.signIn();
    await story.go("/runs/compare/parallel?all=yes&filter=experiment+%3D+many&axes=params.arch,params.lr,metrics.loss");
    await page.getByText(`${kMany} runs`).waitFor();
    const box = await page.locator("canvas").boundingBox();
    await page.mouse.move(box.x + 56, box.y + 41);
    await page.mouse.down();
    await page.mouse.move(box.x + 56, box.y + 100, {steps: 4});
    await page.mouse.up();
    await page.getByText("40 of 120 picked out").waitFor();
    truth(page.url().includes("brush=0"), page.url());
    await page.getByRole("link", {name: "Compare these"}).click();
    await page.getByText("40 runs").waitFor();
    await loss(page).waitFor();
  },

  "points are picked out by a rectangle; boxes have the right medians": async (story) => {
    const page = await story.signIn();
    await story.go("/runs/compare/scatter?all=yes&filter=experiment+%3D+many&sx=params.seed&sy=metrics.loss");
    await page.getByText(`${kMany} runs`).waitFor();
    const box = await page.locator("canvas").boundingBox();
    await page.mouse.move(box.x + 70, box.y + 10);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width - 10, box.y + 16 + 200, {steps: 4});
    await page.mouse.up();
    await page.getByText("60 of 120 picked out").waitFor();
    await story.go("/runs/compare/box?all=yes&filter=experiment+%3D+many&of=metrics.loss&by=params.arch");
    await page.getByRole("img", {name: "Box plot: loss by arch"}).waitFor();
    await page.getByText("As numbers").click();
    const row = page.getByRole("row", {name: /^cnn/});
    equal((await row.getByRole("cell").allTextContents()).slice(0, 5), ["cnn", "40", "0.883", "0.9123", "0.9415"], "the box of cnn");
  },

  "files of one name are beside each other, curves on one chart": async (story) => {
    const page = await story.signIn();
    await story.go(`/runs/compare/files?ids=${of.trained.join(".")}&open=plots/samples.png`);
    const half = page.getByRole("region", {name: "half-1"});
    await half.getByRole("img", {name: /samples-0000000002/}).waitFor();
    await page.getByLabel("step").fill("0");
    await page.waitForURL(/step=0/);
    await page.getByRole("region", {name: "most-1"}).getByRole("img", {name: /samples-0000000000/}).waitFor();
    const names = await page.getByLabel("file").locator("option").allTextContents();
    const named = (part) => page.getByLabel("file").selectOption({label: names.find((one) => one.includes(part))});
    await named("confusion");
    await half.getByRole("cell", {name: "9"}).waitFor();
    await named("roc");
    await page.getByRole("img", {name: /roc.*half-1.*most-1/}).waitFor();
  },

  "comparing is there for eyes, hands and readers, in both themes": async (story) => {
    const ids = [...of.trained, ...of.ids.slice(0, 3)].join(".");
    const tabs = ["", "/differences", "/parallel", "/scatter", "/box", "/files"];
    await story.everywhere(tabs.map((tab) => `/runs/compare${tab}?ids=${ids}`), {settleMs: 700});
    const page = await story.signIn();
    await story.go("/runs/compare");
    await page.getByText("There is nothing to compare").waitFor();
  },
};
