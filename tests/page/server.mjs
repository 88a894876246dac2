// A real server in a folder of its own, spoken to by the real command line.
import {execFileSync, spawn} from "node:child_process";
import {closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync} from "node:fs";
import {tmpdir} from "node:os";
import {join} from "node:path";

const kStartMs = 60_000;

export class Server {
  constructor(program = process.env.HEARTH_BIN) {
    this.program = program;
    this.root = mkdtempSync(join(tmpdir(), "hearth-page-"));
    this.data = join(this.root, "data");
    this.port = 0;
    this.env = {
      ...process.env,
      XDG_CONFIG_HOME: join(this.root, "config"),
      XDG_DATA_HOME: join(this.root, "share"),
      NO_COLOR: "1",
    };
    delete this.env.HEARTH_URL;
    delete this.env.HEARTH_TOKEN;
  }

  // On the port it had before, if any.
  async start(...more) {
    const log = openSync(join(this.root, "server.log"), "a");
    const page = process.env.HEARTH_PAGE ? ["--page", process.env.HEARTH_PAGE] : [];
    const args = ["up", "--data", this.data, "--listen", `127.0.0.1:${this.port}`, ...page, ...more];
    this.process = spawn(this.program, args, {env: this.env, stdio: ["ignore", log, log]});
    closeSync(log);
    const until = Date.now() + kStartMs;
    for (;;) {
      if (this.process.exitCode !== null || Date.now() > until)
        throw new Error(`the server did not start:\n${this.log()}`);
      try {
        const state = JSON.parse(readFileSync(join(this.data, "server.json"), "utf8"));
        if (state.pid === this.process.pid) {
          this.url = state.url;
          const answer = await fetch(`${this.url}/readyz`);
          if (answer.ok) break;
        }
      } catch {
        // not yet
      }
      await new Promise((go) => setTimeout(go, 50));
    }
    this.port = Number(new URL(this.url).port);
    this.env.HEARTH_URL = this.url;
    return this;
  }

  log() {
    return readFileSync(join(this.root, "server.log"), "utf8").slice(-4000);
  }

  kill(signal = "SIGKILL") {
    const gone = new Promise((done) => this.process.once("exit", done));
    this.process.kill(signal);
    return gone;
  }

  hearth(...args) {
    return execFileSync(this.program, args, {env: this.env, encoding: "utf8", cwd: this.root}).trim();
  }

  json(...args) {
    return JSON.parse(this.hearth(...args, "--json"));
  }

  // A job from the text of its file; its id.
  submit(text, ...more) {
    const path = join(this.root, `job-${Math.random().toString(36).slice(2)}.yaml`);
    writeFileSync(path, text);
    return this.json("job", "submit", path, ...more).id;
  }

  token() {
    this.kept ??= this.hearth("token", "add", `page-${process.pid}`, "-q");
    return this.kept;
  }

  async api(method, path, body) {
    const answer = await fetch(this.url + path, {
      method,
      headers: {Authorization: `Bearer ${this.token()}`, "Content-Type": "application/json"},
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text === "" ? null : JSON.parse(text);
  }

  async stop() {
    try {
      this.hearth("down", "--cancel", "--data", this.data);
    } catch {
      await this.kill();
    }
    rmSync(this.root, {recursive: true, force: true});
  }
}
