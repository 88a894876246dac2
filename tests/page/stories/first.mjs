// Signing in, finding one's way, and the jobs there are.
import {equal, truth, until} from "../story.mjs";

const kSteps = `hearth: 1
name: steps
command: |
  i=0; while [ $i -lt 30 ]; do echo "step=$i loss=0.$((90 - i)) acc=0.$((50 + i))"; i=$((i+1)); done
resources: {cpus: 0.1, memory: 64MiB}
`;
const kBad = `hearth: 1
name: bad
command: [python3, -c, "print('before it'); raise ValueError('no such class: 11')"]
resources: {cpus: 0.1, memory: 64MiB}
`;
const ids = {};

export async function prepare(server) {
  ids.steps = server.submit(kSteps);
  ids.bad = server.submit(kBad);
  for (const id of Object.values(ids)) {
    try {
      server.hearth("job", "wait", id);
    } catch {
      // it was to fail
    }
  }
}

export const stories = {
  "a link signs in, once": async (story, server) => {
    const page = await story.open();
    const {link} = server.json("login", "--link");
    await page.goto(link);
    await page.getByRole("heading", {name: "Home"}).waitFor();
    truth(!page.url().includes("#"), "the code stayed in the address");
    const cookies = await story.context.cookies();
    truth(cookies.every((cookie) => cookie.httpOnly && cookie.sameSite === "Strict"), "the cookie can be read");
    equal(await page.evaluate(() => document.cookie), "", "the token is in the page");
    story.expect(/401/);
    const second = await story.browser.newContext();
    const other = await second.newPage();
    await other.goto(link);
    await other.getByRole("alert").waitFor();
    truth((await other.getByRole("alert").textContent()).includes("hearth login --link"), "no mend is said");
    await second.close();
  },

  "without a session the sign-in comes, and a token opens": async (story, server) => {
    const page = await story.open();
    story.expect(/401/);
    await story.go(`/jobs/${ids.steps}`);
    await page.getByRole("dialog").getByLabel("Token").fill(server.token());
    await page.keyboard.press("Enter");
    await page.getByRole("heading", {name: /steps-1/}).waitFor();
    truth(page.url().endsWith(ids.steps), "the address was lost");
  },

  "home says what failed, and why": async (story) => {
    const page = await story.signIn();
    await page.getByRole("region", {name: "Failed"}).getByText("no such class: 11").waitFor();
    await page.getByRole("link", {name: "bad-1"}).click();
    await page.getByRole("region", {name: "Why it failed"}).getByText("before it").waitFor();
    await page.getByRole("link", {name: "Again with changes"}).waitFor();
  },

  "keys go everywhere, and are listed": async (story) => {
    const page = await story.signIn();
    await page.keyboard.press("g");
    await page.keyboard.press("j");
    await page.getByRole("table", {name: "Jobs"}).getByRole("link", {name: "steps-1"}).waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", {name: /steps-1/}).waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog", {name: "Keys"}).getByText("go to Jobs").waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+k");
    await page.getByLabel("Search views, jobs").fill("steps");
    await page.getByRole("option", {name: /steps-1.*job/}).waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(new RegExp(ids.steps));
  },

  "a filter lies in the address, and a wrong one is said": async (story) => {
    const page = await story.signIn();
    await story.go("/jobs?filter=state+%3D+failed");
    await page.getByRole("link", {name: "bad-1"}).waitFor();
    equal(await page.getByRole("link", {name: "steps-1"}).count(), 0, "what the filter hides");
    story.expect(/400/);
    await page.getByLabel("Filter jobs").fill("state ==== 3");
    await page.getByRole("alert").waitFor();
    await page.getByRole("button", {name: "Take the filter away"}).click();
    await page.getByRole("link", {name: "steps-1"}).waitFor();
  },

  "many jobs are stopped, tried again and deleted at once": async (story, server) => {
    const page = await story.signIn();
    const made = [1, 2, 3].map(() => server.submit(kSteps.replace("steps", "many")));
    for (const id of made) server.hearth("job", "wait", id);
    await story.go("/jobs?filter=name+~+many");
    await page.getByLabel("Choose many-1").click();
    await page.getByLabel("Choose many-3").click({modifiers: ["Shift"]});
    await page.getByText("3 chosen").waitFor();
    await page.getByRole("button", {name: "Delete 3"}).click();
    await page.getByRole("dialog").getByRole("button", {name: "Delete 3 jobs"}).click();
    await page.getByText("No job is like that").waitFor();
  },

  "curves are drawn, by step and by time": async (story) => {
    const page = await story.signIn();
    await story.go(`/jobs/${ids.steps}/metrics`);
    await page.getByRole("img", {name: /^loss/}).waitFor();
    await page.getByLabel("x axis").selectOption("relative");
    await page.waitForURL(/x=relative/);
    await until(async () => (await page.locator("canvas").count()) >= 2, "two charts");
  },

  "a lost server is said, what is shown stays, and it comes back by itself": async (story, server) => {
    const page = await story.signIn();
    story.expect(/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_CONNECTION_RESET|Failed to fetch|network error/);
    await story.go("/jobs");
    await page.getByRole("link", {name: "steps-1"}).waitFor();
    await server.kill();
    await page.getByText("The server has not been reached since").waitFor();
    await page.getByRole("link", {name: "steps-1"}).waitFor();
    await server.start();
    await page.getByText("The server has not been reached since").waitFor({state: "detached"});
    const id = server.submit(kSteps.replace("steps", "later"));
    await page.getByRole("link", {name: "later-1"}).waitFor();
    server.hearth("job", "wait", id);
    await page.getByRole("row", {name: /later-1/}).getByText("succeeded").waitFor();
  },

  "every view is there for eyes, hands and readers, in both themes": async (story) => {
    await story.everywhere(["/", "/jobs", `/jobs/${ids.steps}`, `/jobs/${ids.steps}/metrics`, `/jobs/${ids.bad}`,
      `/jobs/${ids.steps}/log`, `/jobs/${ids.steps}/files`, `/jobs/${ids.steps}/lineage`]);
  },
};
