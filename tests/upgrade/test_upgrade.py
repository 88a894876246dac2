"""The previous release's server is replaced by this one while its jobs go on."""
import json
import os
import shutil
import signal
import subprocess
import time
import unittest

from harness import BIN, PATIENCE, Server, eventually, job_text, shim_of
from schema import raise_schema

OLD = os.environ["HEARTH_OLD_BIN"]
kAway = 60  # lines that the job writes while there is no server

# Numbered lines, metrics and checkpoints until the file STOP is there; TRUTH says how many.
TRAIN = """
import os, time, hearth
k = 0
truth = os.open(os.environ["TRUTH"], os.O_WRONLY | os.O_CREAT, 0o600)
while not os.path.exists(os.environ["STOP"]):
    os.write(1, b"line %d\\n" % k)
    hearth.log(step=k, x=k)
    k += 1
    os.pwrite(truth, b"%012d" % k, 0)
    if k % 50 == 0:
        with hearth.checkpoint(step=k) as d:
            (d / "step").write_text("%d" % k)
    time.sleep(0.004)
with open("model.bin", "w") as f:
    f.write("weights of %d" % k)
"""
LIVE = """
import time, hearth
print("start", flush=True)
while hearth.live("lr", 0.1) == 0.1:
    time.sleep(0.02)
print("lr is", hearth.live("lr", 0.1))
"""


def install(program, to):
    """As the guide says: the file is a new one under the old name."""
    subprocess.run(["install", "-m", "755", program, to], check=True)


def rename(program, to):
    """As package managers do."""
    shutil.copy2(program, to + ".new")
    os.rename(to + ".new", to)


def same_file(pid, path):
    mine, other = os.stat("/proc/%d/exe" % pid), os.stat(path)
    return (mine.st_dev, mine.st_ino) == (other.st_dev, other.st_ino)


class Upgrade(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.close)
        self.server.program = os.path.join(self.server.root, "bin", "hearth")
        os.mkdir(os.path.dirname(self.server.program))
        install(OLD, self.server.program)
        self.folder = os.path.join(self.server.root, "code")
        os.mkdir(self.folder)
        for name, text in (("train.py", TRAIN), ("live.py", LIVE)):
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        self.server.start()

    def path(self, name):
        return os.path.join(self.server.root, name)

    def touch(self, name):
        with open(self.path(name), "w", encoding="utf-8"):
            pass

    def submit(self, command, name="it", **fields):
        fields.setdefault("resources", "{cpus: 0.05, memory: 256MiB}")
        return self.server.submit(job_text(command, name, **fields), folder=self.folder)

    def state(self, job):
        return self.server.json("job", "show", job)

    def task(self, job):
        return self.server.http("GET", "/api/v1/jobs/%s/tasks" % job).json()["items"][-1]

    def shim(self, job):
        return eventually(lambda: shim_of(self.task(job)["id"]), "the shim of %s" % job)

    def ended(self, job, state):
        found = self.server.wait(job)
        self.assertEqual(found["state"], state, (found, self.server.log_text()))
        return found

    def written(self):
        try:
            with open(self.path("truth"), encoding="utf-8") as file:
                return int(file.read() or 0)
        except FileNotFoundError:
            return 0

    def write_more(self, lines):
        until = self.written() + lines
        eventually(lambda: self.written() >= until, "the job writes on")

    # --- the jobs --------------------------------------------------------------------------------

    def submit_all(self):
        """One job in each way to be; their ids by name."""
        env = json.dumps({"TRUTH": self.path("truth"), "STOP": self.path("stop")})
        jobs = {"ended": self.submit("echo done; exit 3", "ended"),
                "train": self.submit("exec python3 train.py", "train", code=".", env=env,
                                     outputs="{checkpoints: {path: ckpt, keep: 3}, models: "
                                             "[{path: model.bin, name: tiny}]}"),
                "live": self.submit("exec python3 live.py", "live", code=".",
                                    params="{lr: {value: 0.1, live: true, max: 1}}"),
                "endless": self.submit("trap '' TERM; echo ready; sleep 600", "endless"),
                "away": self.submit(self.when("go", "echo meanwhile; exit 5"), "away"),
                "orphan": self.submit(self.when("go", "seq 1 200; sleep 600"), "orphan",
                                      retries="{limit: 0}"),
                "backoff": self.submit("echo try; test -e %s" % self.path("mended"), "backoff",
                                       retries="{limit: 20, for: [exit]}")}
        cpus = self.server.json("node", "list")
        cpus = (cpus["items"] if isinstance(cpus, dict) else cpus)[0]["cpus"]
        jobs["waits"] = self.submit("echo my turn", "waits", priority=0,
                                    resources="{cpus: %g, memory: 64MiB}" % cpus)
        self.assertEqual(self.ended(jobs["ended"], "failed")["failure"]["exit_code"], 3)
        self.write_more(200)
        eventually(lambda: "start" in self.server.lines(jobs["live"]), "live.py runs")
        eventually(lambda: "ready" in self.server.lines(jobs["endless"]), "the endless job runs")
        for name in ("away", "orphan"):
            eventually(lambda name=name: self.state(jobs[name])["state"] == "running",
                       name + " runs")
        self.assertEqual(self.state(jobs["waits"])["state"], "queued")

        def backs_off():
            state = self.state(jobs["backoff"])
            return state["attempts"] >= 2 and state["state"] == "queued"
        eventually(backs_off, "a job waits for its next attempt")
        return jobs

    def when(self, name, command):
        return "while ! test -e %s; do sleep 0.05; done; %s" % (self.path(name), command)

    def meanwhile(self, orphan_task, orphan_shim):
        """What happens while there is no server."""
        self.write_more(kAway)
        self.touch("go")
        spool = os.path.join(self.server.data, "work", orphan_task["attempt_id"],
                             orphan_task["id"], "spool")

        def spooled():
            files = [os.path.join(spool, name) for name in os.listdir(spool) if "log." in name]
            return any(b"\x03200" in open(path, "rb").read() for path in files)
        eventually(spooled, "the last line is in the spool")
        os.kill(orphan_shim, signal.SIGKILL)
        self.write_more(kAway)

    # --- what has to hold ------------------------------------------------------------------------

    def check_train(self, job, shim):
        self.assertTrue(os.path.exists("/proc/%d" % shim), "its shim is the same")
        self.write_more(kAway)
        self.touch("stop")
        state = self.ended(job, "succeeded")
        self.assertEqual(state["attempts"], 1)
        count = self.written()
        self.assertEqual(self.server.lines(job), ["line %d" % k for k in range(count)])
        points = self.server.http("GET", "/api/v1/runs/%s/metrics?key=x&points=0" %
                                  state["run_id"]).json()["points"]
        self.assertEqual([(p.get("step", 0), p["value"]) for p in points],
                         [(k, k) for k in range(count)])
        kept = self.server.http("GET", "/api/v1/jobs/%s/checkpoints" % job).json()["items"]
        last = count // 50 * 50
        self.assertEqual([c["step"] for c in kept], [last - 100, last - 50, last])
        out = self.path("model")
        self.server.ok("model", "get", "tiny", "--out", out)
        with open(out if os.path.isfile(out) else os.path.join(out, "model.bin"),
                  encoding="utf-8") as file:
            self.assertEqual(file.read(), "weights of %d" % count)

    def check_new_jobs(self):
        """New ones run under the new program."""
        job = self.submit("echo new; sleep 600", "new")
        eventually(lambda: "new" in self.server.lines(job), "a new job runs")
        self.assertTrue(same_file(self.shim(job), self.server.program))
        self.server.ok("job", "cancel", job)
        self.ended(job, "cancelled")

    def check_all(self, jobs, shims):
        self.assertEqual(self.ended(jobs["ended"], "failed")["failure"]["exit_code"], 3)
        self.assertEqual(self.server.lines(jobs["ended"]), ["done"])
        away = self.ended(jobs["away"], "failed")
        self.assertEqual(away["failure"]["exit_code"], 5)
        self.assertEqual(self.server.lines(jobs["away"]), ["meanwhile"])
        orphan = self.ended(jobs["orphan"], "failed")
        self.assertEqual(orphan["failure"]["class"], "lost")
        self.assertEqual(self.server.lines(jobs["orphan"]), [str(i) for i in range(1, 201)])
        self.check_new_jobs()
        self.server.ok("run", "set", jobs["live"], "lr=0.5")
        self.ended(jobs["live"], "succeeded")
        self.assertEqual(self.server.lines(jobs["live"]), ["start", "lr is 0.5"])
        self.server.ok("job", "cancel", jobs["endless"])
        self.ended(jobs["endless"], "cancelled")
        self.touch("mended")
        mended = self.ended(jobs["backoff"], "succeeded")
        self.assertGreaterEqual(mended["attempts"], 3)
        self.assertEqual(self.server.lines(jobs["backoff"]), ["try"])
        self.check_train(jobs["train"], shims["train"])
        self.ended(jobs["waits"], "succeeded")
        self.assertEqual(self.server.lines(jobs["waits"]), ["my turn"])
        eventually(lambda: not any(os.path.exists("/proc/%d" % pid) for pid in shims.values()),
                   "every old shim has ended")

    def upgrade(self, stop, replace_while_it_runs, replace):
        jobs = self.submit_all()
        shims = {name: self.shim(jobs[name])
                 for name in ("train", "live", "endless", "away", "orphan")}
        orphan = self.task(jobs["orphan"])
        before = self.server.json("status")
        if replace_while_it_runs:
            replace(BIN, self.server.program)
            during = self.submit("echo between", "between")
            self.ended(during, "succeeded")
            self.assertEqual(self.server.lines(during), ["between"])
        stop()
        self.meanwhile(orphan, shims["orphan"])
        if not replace_while_it_runs:
            replace(BIN, self.server.program)
        self.server.start()
        self.assertTrue(same_file(self.server.process.pid, self.server.program))
        self.assertFalse(same_file(shims["train"], self.server.program))
        after = self.server.json("status")
        self.assertEqual(after["server_id"], before["server_id"])
        self.assertEqual(after["version"], self.server.json("version")["version"])
        self.check_all(jobs, shims)
        # The command line of the release before still knows this server.
        self.server.program = OLD
        self.assertEqual(self.server.lines(jobs["ended"]), ["done"])

    def test_after_a_plain_stop_with_the_file_replaced_under_the_running_server(self):
        self.upgrade(self.server.stop, True, install)

    def test_after_a_kill_with_the_file_renamed_into_place(self):
        self.upgrade(self.server.kill, False, rename)


class Downgrade(unittest.TestCase):
    def up(self, server, program):
        return subprocess.run([program, "up", "--data", server.data, "--listen", "127.0.0.1:0"],
                              env=server.environment, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=PATIENCE)

    def test_the_older_program_goes_on_with_tables_it_knows_and_newer_shims(self):
        server = Server()
        self.addCleanup(server.close)
        server.program = os.path.join(server.root, "hearth")
        install(BIN, server.program)
        server.start()
        job = server.submit(job_text("for i in $(seq 1 100); do echo $i; sleep 0.05; done"))
        eventually(lambda: "5" in server.lines(job), "it counts")
        server.stop()
        rename(OLD, server.program)
        try:
            server.start()
        except AssertionError as ended:
            if "this program knows version" in str(ended):
                self.skipTest("the tables have a new version: the older program refuses them")
            raise
        self.assertEqual(server.wait(job)["state"], "succeeded")
        self.assertEqual(server.lines(job), [str(i) for i in range(1, 101)])

    def test_the_older_program_refuses_a_newer_database_in_words(self):
        server = Server().start()
        self.addCleanup(server.close)
        job = server.job("echo kept")["id"]
        server.stop()
        version = raise_schema(os.path.join(server.data, "state", "hearth.db"), 1000)
        for program in (OLD, BIN):
            refused = self.up(server, program)
            self.assertEqual(refused.returncode, 5, refused.stderr)
            for words in ("hearth.db has tables of version 1000", "this program knows version",
                          "run the program that wrote it or a newer one"):
                self.assertIn(words, refused.stderr)
        raise_schema(os.path.join(server.data, "state", "hearth.db"), version)
        server.start()
        self.assertEqual(server.lines(job), ["kept"])
