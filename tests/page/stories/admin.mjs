// People, keys, projects and their secrets, what was done by whom, and the server itself.
import {equal, truth, until} from "../story.mjs";
import {as, people, shows} from "../world.mjs";

export function prepare(server) {
  people(server);
  // The server calls no address of its own machine: there is a failure to see.
  const id = server.submit(`hearth: 1
name: told
command: "true"
resources: {cpus: 0.1, memory: 64MiB}
notify: [{webhook: "http://127.0.0.1:1/hook", when: [succeeded]}]
`);
  server.hearth("job", "wait", id);
}

const rowOf = (page, name) => page.getByRole("row", {name});

export const stories = {
  "a user is added with a link, disabled and let in again": async (story, server) => {
    const page = await story.signIn();
    await page.getByRole("link", {name: "Admin", exact: true}).click();
    await page.getByRole("link", {name: "Users"}).click();
    await page.getByRole("button", {name: "Add a user…"}).click();
    await page.getByLabel("Name").fill("eve");
    await page.getByLabel("Project", {exact: true}).last().selectOption("speech");
    await page.getByLabel("Role there").selectOption("viewer");
    await page.getByRole("button", {name: "Add, and show the link"}).click();
    const link = await page.getByRole("dialog").locator("code").textContent();
    truth(link.includes("/sign-in#"), `no link: ${link}`);
    await page.getByRole("button", {name: "I have it"}).click();
    await rowOf(page, /^eve/).waitFor();
    const members = (await server.api("GET", "/api/v1/projects/speech/members")).items;
    equal(members.find((one) => one.user === "eve").role, "viewer");
    // The link signs her in, and only once.
    const other = await story.browser.newContext();
    const hers = await other.newPage();
    await hers.goto(link);
    await hers.getByRole("heading", {name: "Home"}).waitFor();
    await rowOf(page, /^eve/).getByRole("button", {name: /Disable/}).click();
    await page.getByRole("dialog").getByRole("button", {name: "Disable"}).click();
    await rowOf(page, /^eve/).getByText("disabled").waitFor();
    await hers.reload();
    await hers.getByRole("dialog").waitFor();
    await other.close();
    await rowOf(page, /^eve/).getByRole("button", {name: "Enable eve"}).click();
    await rowOf(page, /^eve/).getByText("may sign in").waitFor();
  },

  "the last admin cannot be shut out": async (story) => {
    const page = await story.signIn();
    story.expect(/409/);
    await story.go("/admin/users");
    await rowOf(page, /root|admin of everything/).getByRole("button", {name: /Disable/}).click();
    await page.getByRole("dialog").getByRole("button", {name: "Disable", exact: true}).click();
    await page.getByRole("dialog").getByRole("alert").getByText("is the last admin").waitFor();
  },

  "a token is shown once, works, and is revoked": async (story, server) => {
    const page = await story.signIn();
    await story.go("/admin/tokens");
    await page.getByRole("button", {name: "New token…"}).click();
    await page.getByLabel("Name").fill("laptop");
    await page.getByLabel("Valid in").selectOption("vision");
    await page.getByLabel("At most as").selectOption("viewer");
    await page.getByLabel("Good for").fill("2d");
    await page.getByRole("button", {name: "Make it, and show it"}).click();
    const token = await page.getByRole("dialog").locator("code").textContent();
    const ask = () => fetch(`${server.url}/api/v1/whoami`, {headers: {Authorization: `Bearer ${token}`}});
    const me = await (await ask()).json();
    equal([me.project, me.role], ["vision", "viewer"], "what the token may");
    await page.getByRole("button", {name: "I have it"}).click();
    equal(await page.getByText(token).count(), 0, "the token is still shown");
    await rowOf(page, /laptop/).getByRole("button", {name: "Revoke…"}).click();
    await page.getByRole("button", {name: "Revoke it"}).click();
    await rowOf(page, /laptop/).waitFor({state: "detached"});
    equal((await ask()).status, 401, "a revoked token");
  },

  "a project gets members and secrets, and goes": async (story, server) => {
    const page = await story.signIn();
    await story.go("/admin");
    await page.getByRole("button", {name: "New project…"}).click();
    await page.getByLabel("Name").fill("trucks");
    await page.getByLabel("Below").selectOption("vision");
    await page.getByRole("button", {name: "Make it"}).click();
    await page.getByRole("link", {name: "trucks"}).click();
    await page.getByRole("button", {name: "Add a member…"}).click();
    await page.getByLabel("User").fill("bob");
    await page.getByRole("button", {name: "Give the role"}).click();
    await page.getByLabel("Role of bob").selectOption("maintainer");
    await until(async () => (await server.api("GET", "/api/v1/projects/trucks/members")).items[0]?.role === "maintainer",
                "the role is set");
    await page.getByRole("button", {name: "Set a secret…"}).click();
    await page.getByLabel("Name").fill("HOOK_KEY");
    await page.getByLabel("Value").fill("open sesame");
    await page.getByRole("button", {name: "Set it"}).click();
    const secrets = page.getByRole("region", {name: "Secrets"});
    await shows(secrets, "HOOK_KEY");
    equal(await page.getByText("open sesame").count(), 0, "the value is shown");
    // It has a secret: it cannot go yet, and says so.
    story.expect(/409/);
    await page.locator("header").getByRole("button", {name: "Delete…"}).click();
    await page.getByRole("button", {name: "Delete it"}).click();
    await page.getByRole("dialog").getByText("still has 1 secrets").waitFor();
    await page.getByRole("button", {name: "Keep as it is"}).click();
    await secrets.getByRole("button", {name: "Delete…"}).click();
    await page.getByRole("button", {name: "Delete it"}).click();
    await shows(secrets, "None.");
    await page.locator("header").getByRole("button", {name: "Delete…"}).click();
    await page.getByRole("button", {name: "Delete it"}).click();
    await page.getByRole("link", {name: "vision"}).waitFor();
    await page.getByRole("link", {name: "trucks"}).waitFor({state: "detached"});
  },

  "webhook calls say how they went": async (story) => {
    const page = await story.signIn();
    await story.go("/admin/webhooks");
    const row = rowOf(page, /job.succeeded/);
    await row.getByText(/127.0.0.1 is/).waitFor();
    // However long a cell's text is, its column stands below its head.
    const left = async (role, name) => (await page.getByRole(role, {name}).boundingBox()).x;
    truth(Math.abs(await left("columnheader", "Last answer") - await left("cell", /127.0.0.1 is/)) < 2, "columns are apart");
    await page.getByLabel("Filter webhook calls").fill("state = delivered");
    await page.getByText("No call is like that").waitFor();
  },

  "who did what is found by who, what and when": async (story, server) => {
    const page = await story.signIn();
    server.hearth("quota", "set", "speech", "--weight", "4");
    await story.go("/admin/audit");
    const row = rowOf(page, /quota.set/).first();
    await row.getByText(/weight 4/).waitFor();
    await page.getByLabel("What", {exact: true}).fill("user.added");
    await rowOf(page, /quota.set/).first().waitFor({state: "detached"});
    await rowOf(page, /user.added/).first().waitFor();
    await page.getByLabel("Who", {exact: true}).fill("nobody");
    await page.getByText("Nothing like that was done").waitFor();
    truth(page.url().includes("actor=nobody"), "what is looked for is not in the address");
    await page.getByRole("button", {name: "Show all"}).click();
    await rowOf(page, /quota.set/).first().waitFor();
  },

  "a backup is fetched, and where it lies is noted": async (story, server) => {
    const page = await story.signIn();
    await story.go("/admin/server");
    const backup = page.getByRole("region", {name: "Backup"});
    await shows(backup, "None was put away yet.");
    const [download] = await Promise.all([page.waitForEvent("download"), backup.getByRole("link", {name: "Download a backup"}).click()]);
    truth((await download.path()) !== null, "nothing came");
    await backup.getByRole("button", {name: "Say where I put it…"}).click();
    await page.getByLabel("Path").fill("/safe/hearth-backup.tar");
    await page.getByLabel("Machine").fill("vault");
    await page.getByRole("button", {name: "Note it"}).click();
    await shows(backup, "/safe/hearth-backup.tar");
    const {last_backup: last} = await server.api("GET", "/api/v1/status");
    equal([last.path, last.host], ["/safe/hearth-backup.tar", "vault"]);
    truth(last.size_bytes > 1000, "its size");
  },

  "who is no admin administers what is theirs": async (story, server) => {
    const page = await as(story, server, "ann");
    await story.go("/admin/users");
    await page.getByText("Only admins of this server").waitFor();
    equal(await page.getByRole("row").count(), 2, "users that she sees");
    await story.go("/admin/projects/vision");
    await page.getByRole("button", {name: "Add a member…"}).waitFor();
    equal(await page.getByRole("button", {name: "Delete…"}).count(), 0, "she does not delete it");
    await story.go("/admin/server");
    await page.getByText("Admins make backups").waitFor();
    await story.context.close();
    const other = await as(story, server, "bob");
    await story.go("/admin/projects/speech");
    await other.getByRole("row", {name: /bob viewer/}).waitFor();
    await other.getByText("Members of the project see their names.").waitFor();
    equal(await other.getByRole("button", {name: "Set a secret…"}).count(), 0, "what a viewer does not do");
  },

  "administration is there for eyes, hands and readers, in both themes": async (story) => {
    const paths = ["/admin", "/admin/users", "/admin/tokens", "/admin/audit", "/admin/webhooks", "/admin/server",
                   "/admin/projects/vision"];
    await story.everywhere(paths);
  },
};
