// Prints a line for each view and kind of screen; exits 1 when one is below kLeast. Arguments: words
// that the addresses to look at contain; none: all.
import {mkdtempSync, rmSync} from "node:fs";
import {createServer} from "node:net";
import {tmpdir} from "node:os";
import {join} from "node:path";

import lighthouse, {desktopConfig} from "lighthouse";

import {Server} from "../server.mjs";
import {chromium} from "../story.mjs";
import {ids, options, prepare} from "../world.mjs";

const kLeast = 95;
// No time is measured, so none is simulated; a view is there long before its streams would be quiet.
const kWaits = {throttlingMethod: "provided", maxWaitForLoad: 10_000};
const kWords = process.argv.slice(2);

// Lighthouse may still ask a view that it has closed whether it is quiet.
process.on("unhandledRejection", (error) => {
  if (!/Session closed|Target closed|No target with/.test(String(error?.message))) throw error;
});

function freePort() {
  return new Promise((done) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const {port} = probe.address();
      probe.close(() => done(port));
    });
  });
}

async function views(server) {
  const made = await server.api("GET", "/api/v1/runs?filter=name+~+digits&fields=id");
  const runs = made.items.map((run) => run.id);
  return ["/", "/jobs", `/jobs/${ids.tune}`, `/jobs/${ids.tune}/log`, `/jobs/${ids.tune}/metrics`,
    `/jobs/${ids.big}`, "/submit", "/submit?template=image-classification", "/runs", `/runs/${runs[0]}`,
    `/runs/compare?ids=${runs.join(".")}`, "/cluster", "/cluster/queue", "/cluster/machines/hopper-1", "/quotas",
    "/datasets", "/datasets/clothes?project=vision", "/models", "/models/digits?project=vision", "/admin", "/admin/server"];
}

// What an audit found wrong, in short.
function wrong(result) {
  return Object.values(result.audits)
    .filter((audit) => audit.score === 0)
    .map((audit) => `    ${audit.id}: ${(audit.details?.items ?? []).slice(0, 2).map((item) => item.node?.snippet).join(" ")}`);
}

const server = await new Server().start(...options);
const profile = mkdtempSync(join(tmpdir(), "hearth-lighthouse-"));
let bad = 0;
try {
  await prepare(server);
  const port = await freePort();
  // Lighthouse looks at tabs of this very browser, which is signed in.
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", `--remote-debugging-port=${port}`],
  });
  const page = await context.newPage();
  await page.goto(server.json("login", "--link").link);
  await page.getByRole("heading", {name: "Home"}).waitFor();
  const chosen = (path) => kWords.length === 0 || kWords.some((word) => path.includes(word));
  for (const path of (await views(server)).filter(chosen)) {
    for (const [kind, config] of [["desktop", desktopConfig], ["phone", undefined]]) {
      const flags = {port, onlyCategories: ["accessibility"], disableStorageReset: true, logLevel: "error", ...kWaits};
      const {lhr} = await lighthouse(server.url + path, flags, config);
      const score = Math.round(100 * (lhr.categories.accessibility.score ?? 0));
      if (score < kLeast) bad += 1;
      console.log(`${String(score).padStart(3)} ${kind.padEnd(7)} ${path}${score < kLeast ? "  TOO LOW" : ""}`);
      if (score < 100) console.log(wrong(lhr).join("\n"));
    }
  }
  await context.close();
} finally {
  await server.stop();
  rmSync(profile, {recursive: true, force: true});
}
console.log(bad === 0 ? `All of them have ${kLeast} at least.` : `${bad} are below ${kLeast}.`);
process.exit(bad === 0 ? 0 : 1);
