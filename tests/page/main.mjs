// Runs the stories of stories/*.mjs, each with a browser context of its own. A file's stories share
// one server, which its `prepare` fills.
import {readdirSync, writeFileSync, mkdirSync} from "node:fs";
import {join} from "node:path";

import {checks} from "./checks.mjs";
import {Server} from "./server.mjs";
import {Story, chromium} from "./story.mjs";

const kStoryMs = 600_000;  // a story that takes longer hangs
const wanted = process.argv.slice(2).filter((word) => !word.startsWith("-"));
const logs = process.env.HEARTH_LOGS ?? "build/test-logs/page";
mkdirSync(logs, {recursive: true});

const folder = new URL("./stories/", import.meta.url);
const launch = () =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu"],
  });
let browser = await launch();
let serving;
// Playwright ends its browser by itself, and keeps the process.
for (const signal of ["SIGINT", "SIGTERM"])
  process.once(signal, () => {
    serving?.process?.kill("SIGKILL");
    process.exit(1);
  });
let passed = 0;
let failed = 0;

async function tell(file, name, story, run, server) {
  const began = Date.now();
  let trouble = "";
  let timer;
  try {
    const late = new Promise((_, fail) => {
      timer = setTimeout(() => fail(new Error(`it took longer than ${kStoryMs / 1000} s`)), kStoryMs);
    });
    await Promise.race([run(story, server), late]);
  } catch (error) {
    trouble = error.stack ?? String(error);
    await story.page?.screenshot({path: join(logs, `${name.replace(/\W+/g, "-")}.png`)}).catch(() => {});
  }
  clearTimeout(timer);
  const said = await story.close().catch((error) => [String(error)]);
  if (!trouble && said.length) trouble = said.join("\n");
  if (trouble) failed += 1;
  else passed += 1;
  console.log(`${trouble ? "FAILED" : "passed"} ${file}: ${name} (${((Date.now() - began) / 1000).toFixed(1)} s)`);
  if (trouble) console.log(`${trouble}${said.length ? `\nbeside it: ${said.join("\n")}` : ""}\n`);
}

for (const [name, check] of Object.entries(checks)) {
  if (wanted.length > 0 && !wanted.some((word) => `checks ${name}`.includes(word))) continue;
  try {
    check();
    passed += 1;
    console.log(`passed checks: ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED checks: ${name}\n${error.message}\n${error.stdout ?? ""}${error.stderr ?? ""}`);
  }
}

for (const file of readdirSync(folder).filter((name) => name.endsWith(".mjs")).sort()) {
  const {stories, prepare, options = []} = await import(new URL(file, folder));
  const chosen = Object.entries(stories).filter(
    ([name]) => wanted.length === 0 || wanted.some((word) => `${file} ${name}`.includes(word)));
  if (chosen.length === 0) continue;
  const server = (serving = new Server());
  try {
    await server.start(...options);
    await prepare?.(server);
    for (const [name, run] of chosen) {
      if (!browser.isConnected()) browser = await launch();  // it fell in the story before
      await tell(file, name, new Story(browser, server), run, server);
    }
  } catch (error) {
    failed += 1;
    console.log(`FAILED ${file}: ${error.stack}\n${server.log()}`);
  }
  writeFileSync(join(logs, `${file}.server.log`), server.log());
  await server.stop();
}
await browser.close();
console.log(`${passed} passed, ${failed} failed, 0 skipped`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);
