// Jobs from the form to their end: submitting, live parameters, logs, files, what failed and why.
import {equal, truth, until} from "../story.mjs";

export const options = ["--data-root", "/usr/share/datasets"];

// Trains nothing, but does all that a training does.
const kTrainer = `hearth: 1
name: trainer
command:
  - python3
  - -c
  - |
    import json, os, time, hearth
    p = hearth.params(steps=40)
    hearth.log_table("confusion", [["cat", 9, 1], ["dog", 2, 8]], columns=["true", "cat", "dog"])
    hearth.log_curve("pr", [0, 0.5, 1], [1, 0.8, 0.2])
    for s in range(3):
        hearth.log_image("samples", [[0, 1], [1, 0]], step=s)
    out = os.environ["HEARTH_OUTPUT_DIR"]
    os.makedirs(os.path.join(out, "plots"), exist_ok=True)
    open(os.path.join(out, "plots/notes.txt"), "w").write("read <b>me</b>")
    open(os.path.join(out, "plots/evil.html"), "w").write("<script>alert(document.cookie)</script>")
    for step in range(p.steps):
        lr = hearth.live("lr", 0.1)
        hearth.log(step=step, loss=1 / (step + 1), lr=lr)
        print("step", step, "lr", lr, flush=True)
        if step == 5:
            with hearth.checkpoint(step=step) as d: (d / "w").write_text("w")
        time.sleep(0.25)
params:
  steps: 40
  lr: {value: 0.1, live: true, min: 0.0001, max: 1}
outputs:
  checkpoints: {path: ckpt, keep: 2}
  artifacts: [plots/**]
resources: {cpus: 0.1, memory: 256MiB}
`;
const kLines = (command, name) => `hearth: 1
name: ${name}
command: ${JSON.stringify(command)}
resources: {cpus: 0.1, memory: 256MiB}
`;
const kMillion = 1_000_000;

const ids = {};
export async function prepare(server) {
  ids.million = server.submit(kLines(`seq 1 ${kMillion}`, "million"));
  ids.trainer = server.submit(kTrainer, "--set", "params.steps=8");
  for (const id of Object.values(ids)) server.hearth("job", "wait", id);
}

// The log box's row that shows this line, wherever it is scrolled to.
const line = (page, text) => page.getByRole("log").getByText(text, {exact: true}).last();

export const stories = {
  "from the form to a trained model": async (story, server) => {
    const page = await story.signIn();
    await page.getByRole("link", {name: "New job"}).first().click();
    await page.getByRole("button", {name: /Image classification/}).click();
    await page.getByLabel("Epochs").fill("1");
    await page.getByLabel("Training images").fill("3000");
    await page.getByText("It would start at once.").waitFor();
    await page.getByRole("button", {name: "Submit"}).click();
    await page.getByRole("heading", {name: /image-classification-1/}).waitFor();
    await until(async () => /succeeded/.test(await page.getByRole("heading", {level: 1}).textContent()), "the training's end", 200_000);
    await page.getByRole("img", {name: /^loss/}).waitFor();
    await page.getByRole("link", {name: "Files"}).click();
    await page.getByRole("region", {name: "Models"}).getByText("image-classification@1").waitFor();
    equal(server.json("model", "show", "image-classification").latest.number, 1, "the model");
  },

  "a job file: completion, and what is wrong at its line": async (story) => {
    const page = await story.signIn();
    await story.go("/submit");
    await page.getByRole("button", {name: /A job file/}).click();
    const editor = page.getByLabel("Job file", {exact: true}).last();
    await editor.click();
    await page.keyboard.press("Control+End");
    await page.keyboard.type("prio");
    await page.getByRole("option", {name: /priority/}).waitFor();
    await page.waitForTimeout(300);  // the list takes no key in its first moment, lest one chooses unawares
    await page.keyboard.press("Enter");
    await page.keyboard.type("900");
    await page.getByRole("alert").getByText("Line 5").waitFor();
    truth(await page.getByRole("button", {name: "Submit"}).isDisabled(), "a wrong file can be sent");
    await page.keyboard.press("Backspace");
    await page.getByText("It would start at once.").waitFor();
    await page.getByRole("button", {name: "Form", exact: true}).click();
    equal(await page.getByLabel("Priority").inputValue(), "90", "the form has what the file says");
    await page.reload();
    await page.getByLabel("Priority").waitFor();
    equal(await page.getByLabel("Priority").inputValue(), "90", "a reload lost the draft");
    await page.getByRole("button", {name: "Submit"}).click();
    await page.getByRole("heading", {name: /my-job-1/}).waitFor();
  },

  "again with changes": async (story, server) => {
    const page = await story.signIn();
    await story.go(`/jobs/${ids.trainer}`);
    await page.getByRole("heading", {name: /trainer-1/}).waitFor();
    await page.keyboard.press("e");
    await page.getByLabel("steps").fill("2");
    await page.getByLabel("lr").fill("0.5");
    await page.keyboard.press("Control+Enter");
    await page.getByRole("heading", {name: /trainer-2/}).waitFor();
    const made = server.json("job", "show", "trainer-2");
    equal([made.spec.params.steps, made.spec.params.lr.value], [2, 0.5], "its parameters");
  },

  "a failed job is mended and sent again": async (story, server) => {
    const id = server.submit(kLines("echo reading the table; exit 3", "mend"));
    await until(() => server.json("job", "show", id).state === "failed", "its failure");
    const page = await story.signIn();
    await story.go(`/jobs/${id}`);
    const cause = page.getByRole("region", {name: "Why it failed"});
    await cause.getByText("exit code 3").waitFor();
    await cause.getByText("reading the table").waitFor();
    await cause.getByRole("link", {name: "Again with changes"}).click();
    await page.getByLabel("Command").fill("echo right");
    await page.getByRole("button", {name: "Submit"}).click();
    await page.getByRole("heading", {name: /mend-2/}).waitFor();
    await page.getByRole("heading", {level: 1}).getByText("succeeded").waitFor();
  },

  "a live parameter: slider, bounds, and its mark on the chart": async (story, server) => {
    const id = server.submit(kTrainer, "--set", "params.steps=400");
    const page = await story.signIn();
    await story.go(`/jobs/${id}`);
    const live = page.getByRole("region", {name: "Live parameters"});
    const box = live.getByRole("textbox", {name: "lr"});
    await page.getByRole("img", {name: /^loss/}).waitFor();
    await box.fill("0.02");
    await live.getByRole("button", {name: "Set"}).click();
    await live.getByText(/0.02 from step \d+ on/).waitFor();
    const item = (await server.api("GET", `/api/v1/runs/${server.json("job", "show", id).run_id}/live`)).items.at(-1);
    truth(Number.isInteger(item.step), "no step");
    story.expect(/400/);
    await box.fill("7");
    await live.getByRole("button", {name: "Set"}).click();
    await live.locator(".bad").waitFor();
    await box.fill("0.02");
    await live.getByLabel("lr slider").focus();
    await page.keyboard.press("ArrowRight");
    await live.getByText("2 changes").click();
    await page.getByRole("button", {name: "Stop"}).click();
    await page.getByRole("dialog").getByRole("button", {name: "Stop it"}).click();
    await page.getByRole("heading", {level: 1}).getByText("cancelled").waitFor();
  },

  "a log of a million lines": async (story) => {
    const page = await story.signIn();
    await story.go(`/jobs/${ids.million}/log`);
    await line(page, String(kMillion)).waitFor();
    await page.getByText("1,000,000 lines").waitFor();
    const log = page.getByRole("log");
    await log.evaluate((box) => (box.scrollTop = 0));
    await line(page, "1").waitFor();
    await log.evaluate((box) => (box.scrollTop = (box.scrollHeight - box.clientHeight) / 2));
    await until(async () => (await log.innerText()).split("\n").some((text) => Math.abs(Number(text) - kMillion / 2) < 5000), "its middle");
    await story.go(`/jobs/${ids.million}/log?line=777777`);
    await line(page, "777777").waitFor();
    await page.getByLabel("Find in the log").fill("^12345[678]$");
    await page.keyboard.press("Enter");
    await page.getByText("3 hits").waitFor();
    await page.getByRole("button", {name: "Next hit"}).click();
    await line(page, "123456").waitFor();
    const heap = await page.evaluate(() => performance.memory?.usedJSHeapSize ?? 0);
    truth(heap < 100 << 20, `the page holds ${heap} bytes`);
  },

  "a long line is chosen and read whole": async (story, server) => {
    const id = server.submit(kLines("echo short; echo begin-$(seq -s, 1 900)-end; echo last", "long"));
    const page = await story.signIn();
    await story.go(`/jobs/${id}/log`);
    await line(page, "last").waitFor();
    await page.getByRole("button", {name: "Line 2", exact: true}).click();
    const whole = page.getByRole("region", {name: "Chosen lines, whole"});
    await whole.getByText(/^begin-1,2,.*,900-end$/).waitFor();
    truth(await whole.evaluate((box) => box.scrollWidth <= box.clientWidth), "it is cut at the side");
    await page.getByRole("button", {name: "Line 3", exact: true}).click({modifiers: ["Shift"]});
    await whole.getByText("last").waitFor();
    await page.getByRole("button", {name: "Copy 2 lines"}).waitFor();
    await story.axe("a chosen line");
  },

  "a log is followed, paused by scrolling up, and goes on": async (story, server) => {
    const id = server.submit(kLines("i=0; while sleep 0.05; do echo line-$i; i=$((i+1)); done", "ticker"));
    const page = await story.signIn();
    await story.go(`/jobs/${id}/log`);
    const log = page.getByRole("log");
    // Of the lines only those in sight are there, and they go by.
    const latest = async () =>
      Math.max(-1, ...(await log.getByText(/^line-\d+$/).allTextContents()).map((text) => Number(text.slice(5))));
    await until(async () => (await latest()) > 60, "enough lines to scroll");
    await log.hover();
    await page.mouse.wheel(0, -600);
    await page.getByRole("button", {name: /Paused.*new/}).waitFor();
    const top = await log.evaluate((box) => box.scrollTop);
    await page.waitForTimeout(500);
    equal(await log.evaluate((box) => box.scrollTop), top, "it moved under the reader");
    const read = await latest();
    await page.getByRole("button", {name: /Paused/}).click();
    await until(async () => (await latest()) > read + 20, "it goes on");
    server.hearth("job", "cancel", id);
  },

  "colours, progress bars and links of terminals": async (story, server) => {
    const id = server.submit(kLines("printf '\\033[31mred\\033[0m plain\\n10%%\\r55%%\\r100%%\\n\\033]8;;https://evil.example\\007click\\033]8;;\\007\\n<img src=x onerror=alert(1)>\\n'", "ansi"));
    server.hearth("job", "wait", id);
    const page = await story.signIn();
    await story.go(`/jobs/${id}/log`);
    const red = page.getByRole("log").getByText("red", {exact: true});
    await red.waitFor();
    truth(/ansi_red/.test(await red.getAttribute("class") ?? (await red.evaluate((node) => node.parentElement.className))), "red is not red");
    await line(page, "100%").waitFor();
    await line(page, "click").waitFor();
    await line(page, "<img src=x onerror=alert(1)>").waitFor();
    equal(await page.getByRole("log").getByRole("link").count(), 0, "links of a log");
  },

  "files are shown by what they are, and run nothing": async (story, server) => {
    const page = await story.signIn();
    await story.go(`/jobs/${ids.trainer}/files`);
    await page.getByRole("region", {name: "Checkpoints"}).getByText("5", {exact: true}).waitFor();
    await page.getByRole("button", {name: /confusion/}).click();
    await page.getByRole("cell", {name: "9", exact: true}).waitFor();
    await page.getByRole("button", {name: /pr.*curve/}).click();
    await page.locator("canvas").waitFor();
    await page.getByRole("button", {name: /samples/}).click();
    await page.getByRole("img", {name: /samples/}).waitFor();
    await page.getByRole("slider").fill("0");
    await page.waitForURL(/step=0/);
    await page.getByRole("button", {name: /notes.txt/}).click();
    await page.getByText("read <b>me</b>").waitFor();
    await page.getByRole("button", {name: /evil.html/}).click();
    await page.getByText("<script>alert(document.cookie)</script>").waitFor();
    const run = server.json("job", "show", ids.trainer).run_id;
    const files = (await server.api("GET", `/api/v1/runs/${run}/artifacts`)).items;
    const evil = files.find((one) => one.path.endsWith("evil.html"));
    const answer = await page.request.get(`${server.url}/api/v1/runs/${run}/artifacts/${evil.path}`);
    truth(/^attachment/.test(answer.headers()["content-disposition"] ?? ""), "it would open as a page");
    truth(/sandbox/.test(answer.headers()["content-security-policy"] ?? ""), "it has no sandbox");
  },

  "what users name things is shown as text": async (story, server) => {
    const evil = `"><img src=x onerror=alert(1)>`;
    const id = server.submit(`hearth: 1
name: named
labels: {team: ${JSON.stringify(evil)}}
command: [python3, -c, "import hearth; hearth.log(step=1, **{'<svg onload=alert(2)>': 1.0})"]
params: {note: ${JSON.stringify(`${evil}<script>alert(3)</script>`)}}
resources: {cpus: 0.1, memory: 64MiB}
`);
    server.hearth("job", "wait", id);
    const page = await story.signIn();
    for (const tab of ["", "/metrics", "/log", "/files", "/lineage", "/resources"]) {
      await story.go(`/jobs/${id}${tab}`);
      await page.getByRole("heading", {level: 1}).waitFor();
      await page.waitForTimeout(300);
    }
    story.expect(/40[04]/);
    for (const path of [`/jobs?filter=${encodeURIComponent(evil)}`, `/jobs/${encodeURIComponent(evil)}`, `/submit?from=${encodeURIComponent(evil)}`, `/jobs?project=${encodeURIComponent(evil)}`]) {
      await story.go(path);
      await page.waitForTimeout(300);
    }
    equal(await page.locator("img[src=x]").count(), 0, "an element of theirs");
  },

  "what a job uses is drawn beside what it asked for": async (story) => {
    const page = await story.signIn();
    await story.go(`/jobs/${ids.trainer}/resources`);
    await page.getByRole("img", {name: /^Memory/}).waitFor();
    await page.getByText("asked for").first().waitFor();
  },

  "a retry, and a job that is deleted": async (story, server) => {
    const id = server.submit(kLines("exit 1", "again"));
    await until(() => server.json("job", "show", id).state === "failed", "its failure");
    const page = await story.signIn();
    await story.go(`/jobs/${id}`);
    await page.getByRole("button", {name: "Try again"}).click();
    await page.getByText("(try 2)").first().waitFor();
    await page.getByRole("button", {name: "Delete"}).click();
    await page.getByRole("dialog").getByRole("button", {name: "Delete it"}).click();
    await page.getByRole("heading", {name: "Jobs"}).waitFor();
    equal(server.json("job", "list", "--filter", "name = again-1").length ?? 0, 0, "jobs of that name");
  },

  "eight tabs share one stream": async (story, server) => {
    await story.signIn();
    const tabs = [story.page];
    for (let i = 0; i < 7; i += 1) {
      const tab = await story.newTab();
      await tab.goto(`${server.url}/jobs`);
      await tab.getByRole("heading", {name: "Jobs"}).waitFor();
      tabs.push(tab);
    }
    const id = server.submit(kLines("true", "seen"));
    for (const tab of tabs) await tab.getByRole("link", {name: "seen-1"}).first().waitFor();
    server.hearth("job", "wait", id);
  },

  "the theme is kept, and one leaves": async (story) => {
    const page = await story.signIn();
    await page.getByRole("button", {name: /^Theme/}).click();
    await page.getByRole("button", {name: /^Theme/}).click();
    await page.reload();
    await page.getByRole("heading", {name: "Home"}).waitFor();
    equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark", "the theme");
    await page.getByRole("button", {name: /Signed in as/}).click();
    story.expect(/401/);
    await page.getByRole("menuitem", {name: "Sign out"}).click();
    await page.getByRole("heading", {name: "Hearth"}).waitFor();
    equal((await story.context.cookies()).length, 0, "cookies");
  },

  "with a phone: a job, its log, its stop": async (story, server) => {
    const id = server.submit(kLines("echo hello; sleep 300", "phone"));
    const page = await story.signIn({phone: true});
    await page.getByRole("link", {name: "phone-1"}).click();
    await page.getByRole("link", {name: "Log", exact: true}).click();
    await line(page, "hello").waitFor();
    truth(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page scrolls sideways");
    await page.getByRole("button", {name: "Stop"}).click();
    await page.getByRole("dialog").getByRole("button", {name: "Stop it"}).click();
    await page.getByRole("heading", {level: 1}).getByText("cancelled").waitFor();
    equal(server.json("job", "show", id).state, "cancelled", "its state");
  },

  "submitting by eye and by reader, in both themes": async (story) => {
    const before = (page) => page.evaluate(() => sessionStorage.clear());
    await story.everywhere(["/submit", "/submit?template=image-classification", "/submit?template=image-classification&as=file",
      `/jobs/${ids.trainer}/resources`, `/jobs/${ids.trainer}/files`, `/jobs/${ids.million}/log`], {settleMs: 900, before});
  },
};
