// What a job's page holds while the job runs: heap.mjs [MINUTES], ten unless said. The job logs a
// line and three metrics ten times a second; its overview, curves and log are open, each in a tab.
// Prints the heap in use after a collection, each minute; exits 1 when a tab ends above kMostMb.
// HEARTH_BIN names the program, HEARTH_PAGE a built page in place of its own.
import {Server} from "./server.mjs";
import {chromium} from "./story.mjs";

const kMostMb = 100;
const kShareMs = 20_000; // three tabs a minute
const minutes = Number(process.argv[2] ?? 10);
const kJob = `hearth: 1
name: live
command: |
  i=0
  while sleep 0.1; do i=$((i+1)); echo "step=$i loss=0.$((RANDOM)) accuracy=0.$((RANDOM)) rate=$((i % 97))"; done
resources: {cpus: 0.1, memory: 64MiB}
`;

async function heap(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const {usedSize} = await session.send("Runtime.getHeapUsage");
  const counters = await session.send("Memory.getDOMCounters");
  await session.detach();
  return {mb: usedSize / 1e6, nodes: counters.nodes, listeners: counters.jsEventListeners};
}

const server = await new Server().start();
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});
let most = 0;
try {
  const id = server.submit(kJob);
  const context = await browser.newContext({viewport: {width: 1440, height: 900}});
  const first = await context.newPage();
  await first.goto(server.json("login", "--link").link);
  await first.getByRole("heading", {name: "Home"}).waitFor();
  const tabs = {};
  for (const view of ["overview", "metrics", "log"]) {
    tabs[view] = await context.newPage();
    await tabs[view].goto(`${server.url}/jobs/${id}${view === "overview" ? "" : `/${view}`}`);
    await tabs[view].getByRole("heading", {level: 1}).waitFor();
  }
  for (let minute = 0; minute <= minutes; minute += 1) {
    const said = [];
    most = 0;
    for (const [view, page] of Object.entries(tabs)) {
      // A tab is live while it is looked at.
      await page.bringToFront();
      await page.waitForTimeout(kShareMs);
      const now = await heap(page);
      most = Math.max(most, now.mb);
      said.push(`${view} ${now.mb.toFixed(1)} MB, ${now.nodes} nodes, ${now.listeners} listeners`);
    }
    console.log(`minute ${minute}: ${said.join("; ")}`);
  }
} finally {
  await browser.close();
  await server.stop();
}
console.log(`${most.toFixed(1)} MB at the end; at most ${kMostMb}.`);
process.exit(most <= kMostMb ? 0 : 1);
