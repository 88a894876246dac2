// Machines, who waits, pools, reservations and quotas, on machines that a topology file lends.
import {equal, truth} from "../story.mjs";
import {as, owner, shows} from "../world.mjs";

export {options, prepare} from "../world.mjs";

const machineOf = (page, name) => page.getByRole("article", {name});

export const stories = {
  "machines are drawn by rack, with who holds each GPU": async (story) => {
    const page = await story.signIn();
    await page.getByRole("link", {name: "Cluster", exact: true}).click();
    const small = page.getByRole("region", {name: "rack-b"}).getByRole("article", {name: "small-1"});
    await small.getByRole("link", {name: "half-1", exact: true}).waitFor();
    await shows(small, "75% given");
    await shows(small, "reserved for vision as demo");
    await shows(machineOf(page, "gpu-1"), "nvlink0 300 GB/s");
    await shows(machineOf(page, "hopper-1"), "numa1: 48 CPUs, 512 GiB");
    await shows(machineOf(page, "cpu-2"), `cordoned by ${owner}: new disk`);
    equal(await machineOf(page, "cpu-2").locator("[data-state]").getAttribute("data-state"), "cordoned");
    // What is used is sampled, and stands beside what is given.
    await shows(machineOf(page, "cpu-1"), / used$/);
    await page.getByLabel("Find machines").fill("h100");
    await shows(page.locator("main"), "1 of 6 machines");
    equal(await page.getByRole("article").count(), 1, "machines found");
    truth(page.url().includes("find=h100"), "the finder is not in the address");
  },

  "by job it says where each one is": async (story) => {
    const page = await story.signIn();
    await story.go("/cluster?by=job");
    const row = page.getByRole("row", {name: /bert-1/});
    await row.getByText("vision").waitFor();
    equal(await row.getByRole("cell").nth(3).textContent(), "4", "its GPUs");
    await row.getByRole("button", {name: /Show/}).click();
    await page.getByRole("article").first().getByText("bert-1").first().waitFor();
  },

  "what waits stands in its order, with why": async (story) => {
    const page = await story.signIn();
    await story.go("/cluster/queue");
    await page.getByRole("row", {name: /big-1/}).getByText(/needs 8 GPUs/).waitFor();
    await page.getByRole("row", {name: /over-1/}).getByText(/limit of 4 GPUs/).waitFor();
    const rows = page.getByRole("table", {name: "Waiting"}).getByRole("row");
    const places = [];
    for (const row of (await rows.all()).slice(1)) places.push(Number(await row.getByRole("cell").first().textContent()));
    equal(places, places.map((_, i) => i + 1), "places");
  },

  "a machine is closed, emptied and opened, and others see it at once": async (story, server) => {
    const page = await story.signIn();
    await story.go("/cluster/machines/cpu-1");
    await page.getByRole("region", {name: "Tasks, as a table"}).getByRole("link", {name: "etl-1"}).waitFor();
    await page.getByRole("button", {name: "Drain…"}).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("What runs may go on for").fill("soon");
    await dialog.getByText("A time such as").waitFor();
    truth(await dialog.getByRole("button", {name: "Drain it"}).isDisabled(), "a wrong time was taken");
    await dialog.getByLabel("What runs may go on for").fill("2h");
    await dialog.getByLabel("Why").fill("fans");
    await dialog.getByText("1 job that runs there may go on until").waitFor();
    await dialog.getByRole("button", {name: "Drain it"}).click();
    await page.locator("h1 [data-state=draining]").waitFor();
    await shows(page.locator("main"), `drained by ${owner}: fans`);
    await page.getByRole("button", {name: "Open again…"}).click();
    await page.getByRole("dialog").getByRole("button", {name: "Open it"}).click();
    await page.locator("h1 [data-state=open]").waitFor();
    server.hearth("node", "cordon", "cpu-1");
    await page.locator("h1 [data-state=cordoned]").waitFor();
    server.hearth("node", "uncordon", "cpu-1");
    await page.locator("h1 [data-state=open]").waitFor();
  },

  "the server's no is said where it was asked": async (story) => {
    const page = await story.signIn();
    story.expect(/409/);
    await story.go("/cluster/machines/cpu-1");
    await page.getByRole("button", {name: "Move…"}).click();
    await page.getByLabel("Pool").selectOption("small");
    await page.getByRole("button", {name: "Move it"}).click();
    await page.getByRole("dialog").getByRole("alert").getByText(/runs? on cpu-1/).waitFor();
  },

  "an admin sets a pool's rules": async (story, server) => {
    const page = await story.signIn();
    await story.go("/cluster/pools");
    const pool = page.getByRole("region", {name: "Pool small"});
    await pool.getByRole("button", {name: "Rules…"}).click();
    await page.getByLabel("A job runs at least").fill("10m");
    await page.getByLabel("Takes only jobs that name it").check();
    await page.getByRole("button", {name: "Set the rules"}).click();
    await shows(pool, "after 10m");
    await shows(pool, "only jobs that name it");
    equal(server.json("pool", "show", "small").pool.minimum_run_seconds, 600);
    await pool.getByRole("button", {name: "Default rules…"}).click();
    await page.getByRole("button", {name: "Take its rules away"}).click();
    await shows(pool, "after 1m");
  },

  "maintenance is planned, and ended": async (story, server) => {
    const page = await story.signIn();
    await story.go("/cluster/reservations");
    await page.getByRole("row", {name: /demo/}).getByText("for vision").waitFor();
    await page.getByRole("button", {name: "Keep machines…"}).click();
    await page.getByLabel("Name").fill("fans");
    await page.getByLabel("cpu-2").check();
    await page.getByRole("button", {name: "Keep them"}).click();
    await page.getByRole("row", {name: /fans/}).getByText(/holds/).waitFor();
    equal(server.json("reservation", "list").find((one) => one.name === "fans").maintenance, true);
    await page.getByRole("row", {name: /fans/}).getByRole("button", {name: "End…"}).click();
    await page.getByRole("button", {name: "End it"}).click();
    await page.getByRole("row", {name: /fans/}).waitFor({state: "detached"});
  },

  "what if there were more machines": async (story) => {
    const page = await story.signIn();
    await story.go("/cluster/what-if");
    truth(await page.getByRole("button", {name: "What if?"}).isDisabled(), "nothing was changed");
    await page.getByRole("button", {name: "Add machines"}).click();
    await page.getByLabel("like", {exact: true}).selectOption("hopper-1");
    await page.getByLabel("How many more like hopper-1").fill("2");
    await page.reload();
    await page.getByRole("button", {name: "What if?"}).click();
    const row = page.getByRole("row", {name: /^GPUs 18/});
    await row.waitFor();
    equal(await row.getByRole("cell").allTextContents(), ["18", "34", "+16"]);
    await page.getByRole("region", {name: "Waits by project"}).getByText("speech").waitFor();
  },

  "who is no admin is not shown what only admins may": async (story, server) => {
    const page = await as(story, server, "ann");
    await story.go("/cluster/machines/gpu-1");
    await page.getByRole("region", {name: "GPUs", exact: true}).waitFor();
    equal(await page.getByRole("button", {name: "Drain…"}).count(), 0, "orders");
    await story.go("/cluster/what-if");
    await page.getByRole("heading", {name: "Only admins ask what if"}).waitFor();
    await story.go("/quotas");
    await page.getByRole("region", {name: "vision", exact: true}).waitFor();
    equal(await page.getByRole("button", {name: /Edit/}).count(), 0, "quotas that she does not set");
    // Jobs of projects that she may not see have no name.
    await story.go("/cluster");
    await shows(machineOf(page, "small-1"), "another's");
  },

  "quotas are a tree, with what is borrowed": async (story, server) => {
    const page = await story.signIn();
    await page.getByRole("link", {name: "Quotas", exact: true}).click();
    const speech = page.getByRole("region", {name: "speech", exact: true});
    await shows(speech, "3.75 used, 1 guaranteed, at most 4, 2.75 borrowed");
    await shows(page.getByRole("region", {name: "cars", exact: true}), "below vision");
    await speech.getByRole("button", {name: /Edit/}).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Memory, guaranteed").fill("much");
    await dialog.getByText("A size such as 64GiB.").waitFor();
    await dialog.getByLabel("Memory, guaranteed").fill("32GiB");
    // More than there is may be promised, but not without a word.
    await dialog.getByLabel("GPUs, guaranteed").fill("99");
    await dialog.getByText(/are then guaranteed 105 GPUs, and the cluster has \d+ now/).waitFor();
    // The server's own checks stand in the dialog.
    story.expect(/400|422/);
    await dialog.getByLabel("GPUs, guaranteed").fill("9");
    await dialog.getByRole("button", {name: "Set the quota"}).click();
    await dialog.getByRole("alert").getByText("at most limit.gpus: 4").waitFor();
    await dialog.getByLabel("GPUs, guaranteed").fill("2");
    await dialog.getByRole("button", {name: "Set the quota"}).click();
    await shows(speech, "3.75 used, 2 guaranteed, at most 4, 1.75 borrowed");
    const quota = server.json("quota", "show", "speech").quota;
    equal([quota.guaranteed, quota.weight], [{gpus: 2, memory_bytes: 32 * 2 ** 30}, 2], "what was set");
    await speech.getByRole("link", {name: "1 waiting"}).click();
    await page.getByRole("link", {name: "over-1"}).waitFor();
  },

  "a quota that somebody else changed meanwhile is not overwritten": async (story, server) => {
    const page = await story.signIn();
    await story.go("/quotas?project=cars");
    await page.getByRole("button", {name: "Edit the quota of cars"}).click();
    equal(await page.getByRole("main").getByRole("region").count(), 1, "projects shown");
    server.hearth("quota", "set", "cars", "--weight", "3");
    story.expect(/409/);
    await page.getByLabel("Weight").fill("5");
    await page.getByRole("button", {name: "Set the quota"}).click();
    await page.getByRole("dialog").getByRole("alert").waitFor();
    equal(server.json("quota", "show", "cars").quota.weight, 3);
  },

  "each is there for eyes, hands and readers, in both themes": async (story) => {
    const paths = ["/cluster", "/cluster?by=job", "/cluster/queue", "/cluster/pools", "/cluster/reservations",
                   "/cluster/what-if?add=gpu-1%3D2", "/cluster/machines/gpu-1", "/quotas"];
    await story.everywhere(paths);
  },
};
