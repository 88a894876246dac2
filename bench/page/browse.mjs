// Measures a page in Chromium: browse.mjs hearth|mlflow '{"url": ..., ...}'. One JSON object:
// milliseconds of each round by what was measured. All times are taken inside the page, up to the
// paint of the frame that first shows what is waited for.
import {createRequire} from "node:module";

const require = createRequire(new URL("../../web/package.json", import.meta.url));
const {chromium} = require("playwright-core");
const [side, text] = process.argv.slice(2);
const of = JSON.parse(text);
const kPatienceMs = 180_000;
const kRows = 15; // of a list that are to be there
const kFrames = 240; // of a scroll
const kStepPx = 64; // a frame: two rows
const kSortedKeys = ["m100", "m101", "m102", "m103", "m104"];
const kShown = ["metrics.m000", "metrics.m001", "metrics.m002", ...kSortedKeys.map((key) => `metrics.${key}`)];

// In the page before anything of its own. `painted` ends once `there` was true in a frame and that
// frame is painted; `clicked` is when the last click came in.
function helpers() {
  window.bench = {
    clicked: 0,
    painted: (there) =>
      new Promise((done) => {
        const look = () => {
          if (!there()) return void requestAnimationFrame(look);
          const {port1, port2} = new MessageChannel();
          port1.onmessage = () => done(performance.now());
          port2.postMessage(0);
        };
        requestAnimationFrame(look);
      }),
    // Gaps between frames while a box is scrolled: down, and up again at its end.
    scroll: async (box, frames, step) => {
      const gaps = [];
      let last = await new Promise(requestAnimationFrame);
      let way = step;
      for (let i = 0; i < frames; i += 1) {
        const before = box.scrollTop;
        box.scrollTop += way;
        if (box.scrollTop === before) way = -way;
        const now = await new Promise(requestAnimationFrame);
        gaps.push(now - last);
        last = now;
      }
      return gaps;
    },
  };
  addEventListener("click", (event) => (window.bench.clicked = event.timeStamp), {capture: true});
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});
let signedIn;

// A window with nothing in its cache.
async function open() {
  const context = await browser.newContext({viewport: {width: 1440, height: 900}, storageState: signedIn});
  const page = await context.newPage();
  page.setDefaultTimeout(kPatienceMs);
  await page.addInitScript(helpers);
  return page;
}
const close = (page) => page.context().close();

const found = {};
const note = (name, ...values) => (found[name] ??= []).push(...values);

// --- Hearth -------------------------------------------------------------------------------------

const kTable = "[role=table][aria-label=Runs]";

async function signIn() {
  const page = await open();
  await page.goto(of.link);
  await page.getByRole("heading", {name: "Home"}).waitFor();
  signedIn = await page.context().storageState();
  await close(page);
}

// Until its first rows show a value in each column of a metric.
const listed = (page) =>
  page.evaluate(([table, rows]) => window.bench.painted(() => {
    const all = [...document.querySelectorAll(`${table} [role=row]`)].filter((row) => row.querySelector("a"));
    const wide = document.querySelectorAll(`${table} [role=columnheader]`).length;
    return all.length >= rows && all.slice(0, rows).every((row) => {
      const numbers = [...row.querySelectorAll("[role=cell]")];
      return numbers.length === wide && numbers.slice(3, 6).every((cell) => cell.textContent !== "");
    });
  }), [kTable, kRows]);

async function hearthList(rounds) {
  for (let i = 0; i < rounds; i += 1) {
    const page = await open();
    await page.goto(`${of.url}/runs`, {waitUntil: "commit"});
    note("list", await listed(page));
    await close(page);
  }
}

// Until the first rows are in the order of the column whose head was clicked, and not as before.
async function sortBy(page, key, way) {
  const head = page.locator(`${kTable} [role=columnheader]`).filter({hasText: key});
  const state = {table: kTable, rows: kRows, key, way, before: await firstName(page)};
  const seen = page.evaluate(({table, rows, key, way, before}) => window.bench.painted(() => {
    const heads = [...document.querySelectorAll(`${table} [role=columnheader]`)];
    const at = heads.findIndex((one) => one.textContent.includes(key));
    const all = [...document.querySelectorAll(`${table} [role=row]`)].filter((row) => row.querySelector("a")).slice(0, rows);
    if (all.length < rows || heads[at]?.getAttribute("aria-sort") !== way) return false;
    if (all[0].querySelector("a").textContent === before) return false;
    const shown = all.map((row) => row.querySelectorAll("[role=cell]")[at]?.textContent ?? "");
    const values = shown.map(Number);
    const sign = way === "descending" ? -1 : 1;
    return shown.every((one) => one !== "") && values.every((one, i) => i === 0 || sign * (one - values[i - 1]) >= 0);
  }), state);
  await head.getByRole("button").click();
  return (await seen) - (await page.evaluate(() => window.bench.clicked));
}
const firstName = (page) => page.evaluate((table) => document.querySelector(`${table} [role=row] a`)?.textContent, kTable);

async function hearthSort() {
  const page = await open();
  await page.goto(`${of.url}/runs?cols=${kShown.join()}`);
  await listed(page);
  for (const key of kSortedKeys) {
    note("sort_first", await sortBy(page, key, "descending"));
    note("sort_again", await sortBy(page, key, "ascending"));
  }
  await close(page);
}

async function hearthScroll(rounds) {
  const page = await open();
  await page.goto(`${of.url}/runs?cols=${kShown.join()}`);
  await listed(page);
  for (let i = 0; i < rounds; i += 1) {
    note("gaps", ...(await page.evaluate(([table, frames, step]) =>
      window.bench.scroll(document.querySelector(table), frames, step), [kTable, kFrames, kStepPx])));
  }
  await close(page);
}

// From the click on "Columns" until the keys of all runs are told.
async function hearthColumns(rounds) {
  for (let i = 0; i < rounds; i += 1) {
    const page = await open();
    await page.goto(`${of.url}/runs?cols=${kShown.join()}`);
    await listed(page);
    const seen = page.evaluate((rows) => window.bench.painted(() =>
      document.querySelectorAll("dialog [aria-label=Keys] li").length >= rows), kRows);
    await page.getByRole("button", {name: "Columns", exact: true}).click();
    note("columns", (await seen) - (await page.evaluate(() => window.bench.clicked)));
    await close(page);
  }
}

// From the click on "Compare" until every chart in sight has its lines.
async function hearthCompare(rounds) {
  for (let i = 0; i < rounds; i += 1) {
    const page = await open();
    await page.goto(`${of.url}/runs?cols=${kShown.join()}&sel=${of.runs.join(".")}`);
    await listed(page);
    const seen = page.evaluate(() => window.bench.painted(() => {
      const inSight = (one) => one.getBoundingClientRect().top < innerHeight;
      const charts = [...document.querySelectorAll("figure")].filter(inSight);
      const waits = [...document.querySelectorAll("main [aria-busy=true], main [role=status]")].filter(inSight).some((one) => /loading/i.test(one.textContent));
      const drawn = (chart) => {
        const canvas = chart.querySelector("canvas");
        if (!canvas || canvas.width === 0) return false;
        const {width, height} = canvas;
        return canvas.getContext("2d").getImageData(width / 2, 0, 1, height).data.some((value) => value !== 0);
      };
      return charts.length >= 3 && !waits && charts.every(drawn);
    }));
    await page.getByRole("link", {name: "Compare", exact: true}).click();
    note("compare", (await seen) - (await page.evaluate(() => window.bench.clicked)));
    await close(page);
  }
}

// --- MLflow -------------------------------------------------------------------------------------

const runsAt = (order, ascending) =>
  `#/experiments/${of.experiment}/runs?orderByKey=${encodeURIComponent(order)}&orderByAsc=${ascending}`;
const mlflowListed = (page, before) =>
  page.evaluate(([rows, before]) => window.bench.painted(() => {
    const names = [...document.querySelectorAll(".ag-row a")].map((one) => one.textContent).filter((name) => name.startsWith("run-"));
    return names.length >= rows && names[0] !== before;
  }), [kRows, before]);
const mlflowFirst = (page) => page.evaluate(() => [...document.querySelectorAll(".ag-row a")].map((one) => one.textContent).find((name) => name.startsWith("run-")));
// As a click does that is answered by another address; when it was set.
const goTo = (page, hash) => page.evaluate((hash) => {
  const now = performance.now();
  location.hash = hash;
  return now;
}, hash);

async function mlflow(rounds) {
  for (let i = 0; i < rounds; i += 1) {
    const page = await open();
    await page.goto(`${of.url}/${runsAt("attributes.start_time", false)}`, {waitUntil: "commit"});
    note("list", await mlflowListed(page, ""));
    const key = kSortedKeys[i % kSortedKeys.length];
    for (const [name, ascending] of [["sort_first", false], ["sort_again", true]]) {
      const before = await mlflowFirst(page);
      const began = await goTo(page, runsAt(`metrics.\`${key}\``, ascending));
      note(name, (await mlflowListed(page, before)) - began);
    }
    note("gaps", ...(await page.evaluate(([frames, step]) =>
      window.bench.scroll(document.querySelector(".ag-body-viewport"), frames, step), [kFrames, kStepPx])));
    const ids = encodeURIComponent(JSON.stringify(of.runs));
    const began = await goTo(page, `#/compare-runs?runs=${ids}&experiments=${encodeURIComponent(JSON.stringify([of.experiment]))}`);
    note("compare", (await page.evaluate(() =>
      window.bench.painted(() => document.querySelectorAll(".pcp-plot text").length > 10))) - began);
    await close(page);
  }
}

try {
  if (side === "mlflow") await mlflow(of.rounds);
  else {
    await signIn();
    await hearthList(of.rounds);
    await hearthSort();
    await hearthScroll(of.rounds);
    await hearthColumns(of.rounds);
    await hearthCompare(of.rounds);
  }
  console.log(JSON.stringify(found));
} finally {
  await browser.close();
}
