// What every story is given: a browser that is signed in, and an eye on whatever goes wrong in it.
import {createRequire} from "node:module";
import {readFileSync} from "node:fs";

const require = createRequire(new URL("../../web/package.json", import.meta.url));
export const {chromium} = require("playwright-core");
const kAxe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

// A wait is a bound on a hang, never a measure of speed; sanitizers slow everything.
export const kPatience = 60_000;
// What is added to the page's content policy, to try a stricter one before the program sends it.
const kPolicy = process.env.HEARTH_POLICY;
const kWide = {width: 1440, height: 900};
const kPhone = {width: 390, height: 844};

async function stricter(route) {
  if (route.request().resourceType() !== "document") return route.continue();
  const answer = await route.fetch().catch(() => null);  // it may be down
  if (!answer) return route.abort();
  const headers = answer.headers();
  headers["content-security-policy"] += `; ${kPolicy}`;
  return route.fulfill({response: answer, headers});
}

export class Story {
  constructor(browser, server) {
    this.browser = browser;
    this.server = server;
    this.troubles = [];
    this.expected = [];
  }

  // `phone`: 390 pixels wide. `dark`: the dark theme.
  async open({phone = false, dark = false} = {}) {
    this.context = await this.browser.newContext({
      viewport: phone ? kPhone : kWide,
      colorScheme: dark ? "dark" : "light",
      reducedMotion: "reduce",
      acceptDownloads: true,
    });
    if (kPolicy) await this.context.route(() => true, stricter);
    this.page = await this.newTab();
    return this.page;
  }

  async newTab() {
    const page = await this.context.newPage();
    page.setDefaultTimeout(kPatience);
    page.on("console", (message) => {
      if (message.type() === "error") this.troubles.push(`console: ${message.text()} ${message.location().url}`);
    });
    page.on("pageerror", (error) => this.troubles.push(`error: ${error.message}`));
    page.on("request", (request) => {
      const url = request.url();
      if (!url.startsWith(this.server.url) && !url.startsWith("blob:") && !url.startsWith("data:"))
        this.troubles.push(`a request left the server: ${url}`);
    });
    page.on("dialog", (dialog) => {
      this.troubles.push(`a dialog of somebody's script: ${dialog.message()}`);
      void dialog.dismiss();
    });
    await page.addInitScript(() => {
      window.broken = [];
      document.addEventListener("securitypolicyviolation", (event) =>
        window.broken.push(`${event.violatedDirective}: ${event.blockedURI} ${event.sample}`));
    });
    return page;
  }

  // Signs in by a link, as a person would.
  async signIn(options) {
    const page = await this.open(options);
    await page.goto(this.server.json("login", "--link").link);
    await page.getByRole("heading", {name: "Home"}).waitFor();
    return page;
  }

  async go(path) {
    await this.page.goto(this.server.url + path);
    return this.page;
  }

  // What the console will rightly say: a pattern of its text.
  expect(pattern) {
    this.expected.push(pattern);
  }

  // Accessibility of what is shown, by axe; through the debugger, so that the policy stays on.
  async axe(what) {
    const session = await this.context.newCDPSession(this.page);
    await session.send("Runtime.evaluate", {expression: kAxe});
    const run = `axe.run(document, {resultTypes: ["violations"], runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]})
      .then((found) => JSON.stringify(found.violations.map((one) => [one.id, one.help, one.nodes.slice(0, 3).map((n) => n.html + " " + (n.any[0]?.message ?? n.failureSummary ?? ""))])))`;
    const {result, exceptionDetails} = await session.send("Runtime.evaluate", {expression: run, awaitPromise: true, returnByValue: true});
    if (exceptionDetails) throw new Error(`axe: ${exceptionDetails.exception?.description}`);
    const found = JSON.parse(result.value);
    if (found.length) throw new Error(`${what}: axe found ${JSON.stringify(found, null, 1)}`);
  }

  // These addresses in both themes, wide and on a phone, each held to axe. `before` is called on the
  // page before each address; `after` once all were seen, with words for the theme and width.
  async everywhere(paths, {settleMs = 600, before, after} = {}) {
    for (const dark of [false, true]) {
      for (const phone of [false, true]) {
        const page = await this.signIn({dark, phone});
        const how = `${dark ? ", dark" : ""}${phone ? ", phone" : ""}`;
        for (const path of paths) {
          await before?.(page);
          await this.go(path);
          await page.getByRole("heading", {level: 1}).waitFor();
          await page.waitForTimeout(settleMs);
          await this.axe(path + how);
        }
        await after?.(page, how);
        await this.leave();
      }
    }
  }

  // Closes the browser's window, with what its policy refused in it.
  async leave() {
    for (const page of this.context?.pages() ?? []) {
      const broken = await page.evaluate(() => window.broken ?? []).catch(() => []);
      this.troubles.push(...broken.map((one) => `policy: ${one}`));
    }
    await this.context?.close();
    this.context = undefined;
  }

  async close() {
    await this.leave();
    return this.troubles.filter((one) => !this.expected.some((pattern) => pattern.test(one)));
  }
}

export function equal(found, wanted, what = "") {
  if (JSON.stringify(found) !== JSON.stringify(wanted))
    throw new Error(`${what}: found ${JSON.stringify(found)}, wanted ${JSON.stringify(wanted)}`);
}

export function truth(value, what) {
  if (!value) throw new Error(what);
}

export async function until(check, what, patience = kPatience) {
  const end = Date.now() + patience;
  for (;;) {
    const value = await check();
    if (value) return value;
    if (Date.now() > end) throw new Error(`it did not come: ${what}`);
    await new Promise((go) => setTimeout(go, 100));
  }
}
