"""Jobs of every kind of end, through the command line."""

import json
import os
import signal
import subprocess
import time

from harness import PATIENCE, ServerCase, eventually, job_text, processes_of, shim_of


class Ends(ServerCase):
    def failure(self, job, failure_class):
        self.assertEqual(job["state"], "failed", job)
        self.assertEqual(job["failure"]["class"], failure_class, job["failure"])
        self.assertTrue(job["failure"]["text"], "a failure is said in words")
        return job["failure"]

    def test_success_with_its_output_in_order(self):
        job = self.server.job("for i in 1 2 3; do echo line $i; done; echo oops >&2")
        self.assertEqual(job["state"], "succeeded")
        lines = self.server.lines(job["id"])
        self.assertEqual([line for line in lines if line.startswith("line")],
                         ["line 1", "line 2", "line 3"])
        self.assertIn("oops", lines)
        names = [phase["name"] for phase in job["phases"]]
        self.assertEqual(names[0], "queued")
        self.assertIn("running", names)

    def test_exit_code(self):
        job = self.server.job("echo the cause; exit 3")
        failure = self.failure(job, "exit")
        self.assertEqual(failure["exit_code"], 3)
        self.assertIn("| the cause", self.server.ok("job", "why", job["id"]))

    def test_signal(self):
        failure = self.failure(self.server.job("kill -SEGV $$"), "signal")
        self.assertEqual(failure["signal"], signal.SIGSEGV)

    def test_missing_command(self):
        text = "hearth: 1\nname: it\ncommand: [no-such-program, --x]\n"
        failure = self.failure(self.server.wait(self.server.submit(text)), "start")
        self.assertIn("no-such-program", failure["text"])

    def test_out_of_memory(self):
        # It stays: where no limit can be set, the supervisor looks from time to time.
        job = self.server.job("python3 -c 'import time; x = bytearray(400 << 20); time.sleep(60)'",
                              resources="{memory: 100MiB}")
        self.failure(job, "oom")

    def test_time_limit(self):
        self.failure(self.server.job("sleep 600", time_limit="1s"), "time_limit")

    def test_cancel_ends_even_what_ignores_signals(self):
        job = self.server.submit(job_text(
            "trap '' TERM; setsid sh -c \"trap '' TERM; sleep 600\" & echo ready; sleep 600"))
        eventually(lambda: "ready" in self.server.lines(job), "the job runs")
        task = self.server.http("GET", "/api/v1/jobs/%s/tasks" % job).json()["items"][0]
        self.assertTrue(processes_of("HEARTH_TASK=" + task["id"]))
        self.server.ok("job", "cancel", job)
        self.assertEqual(self.server.wait(job)["state"], "cancelled")
        self.assertEqual(processes_of("HEARTH_TASK=" + task["id"]), [])

    def test_wait_and_follow_tell_the_end_by_their_exit_code(self):
        good = self.server.submit(job_text("true"))
        bad = self.server.submit(job_text("false"))
        self.assertEqual(self.server.run("job", "wait", good).returncode, 0)
        self.assertEqual(self.server.run("job", "wait", good, bad).returncode, 1)
        slow = self.server.submit(job_text("sleep 60"))
        self.assertEqual(self.server.run("job", "wait", slow, "--timeout", "1s").returncode, 9)
        self.server.ok("job", "cancel", slow)
        folder = os.path.join(self.server.root, "empty")
        os.makedirs(folder)
        done = self.server.run("job", "submit", "--name", "bare", "--follow", "--", "echo", "a b",
                               cwd=folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("a b", done.stdout)


class Environments(ServerCase):
    def variables(self, **fields):
        job = self.server.job("env", **fields)
        lines = self.server.lines(job["id"])
        return dict(line.split("=", 1) for line in lines if "=" in line)

    def test_the_environment_is_clean_and_tells_what_the_job_is(self):
        os.environ["HEARTH_IT_LEAK"] = "1"
        found = self.variables(env='{GREETING: "a b"}', params="{lr: 0.5}")
        self.assertNotIn("HEARTH_IT_LEAK", found)
        self.assertEqual(found["GREETING"], "a b")
        self.assertEqual(found["CUDA_VISIBLE_DEVICES"], "")
        self.assertEqual(found["HEARTH_RANK"], "0")
        self.assertEqual(found["HEARTH_WORLD_SIZE"], "1")
        self.assertEqual(found["PYTHONUNBUFFERED"], "1")
        self.assertEqual(found["OMP_NUM_THREADS"], "1")
        self.assertTrue(found["PATH"].startswith("/usr/local/sbin:"))
        for name in ("HEARTH_URL", "HEARTH_TOKEN", "HEARTH_SOCKET", "HEARTH_PARAMS", "HEARTH_RUN",
                     "MLFLOW_TRACKING_URI"):
            self.assertIn(name, found)

    def test_parameters_never_meet_the_shell(self):
        nasty = "a'; touch /tmp/pwned; echo \"$(id)"
        text = job_text("printf '%s|' ${params.x} \"${params.x}\" '${params.x}'",
                        params=json.dumps({"x": nasty}))
        job = self.server.wait(self.server.submit(text))
        self.assertEqual(self.server.lines(job["id"]), [(nasty + "|") * 3])

    def test_secrets_are_given_and_blacked_out(self):
        self.server.ok("secret", "set", "API_KEY", stdin="s3cr3t-value-42")
        job = self.server.job("echo got $API_KEY; printf %s $API_KEY | wc -c", secrets="[API_KEY]")
        lines = self.server.lines(job["id"])
        self.assertEqual(lines, ["got ***", "15"])
        self.assertNotIn("s3cr3t", json.dumps(self.server.json("job", "show", job["id"])))
        path = self.write(job_text("true", secrets="[NOPE]"))
        missing = self.server.run("job", "submit", "--json", path)
        self.assertEqual(missing.returncode, 3, missing.stderr)
        self.assertIn("NOPE", missing.stderr)

    def write(self, text):
        path = os.path.join(self.server.root, "job-%d.yaml" % time.monotonic_ns())
        with open(path, "w") as file:
            file.write(text)
        return path

    def test_a_check_finds_what_is_not_there(self):
        folder = os.path.join(self.server.root, "checked")
        os.makedirs(folder)
        path = os.path.join(folder, "job.yaml")
        for fields, said in (({"secrets": ["KEY"]}, "no secret KEY"),
                             ({"datasets": [{"name": "mnist@1"}]}, "mnist"),
                             ({"code": "nowhere"}, "nowhere"), ({"pool": "nope"}, "pool nope")):
            with open(path, "w", encoding="utf-8") as file:
                file.write(job_text("true", **fields))
            for more in ((), ("--json",)):
                done = self.server.run("job", "check", folder, *more)
                self.assertNotEqual(done.returncode, 0, (fields, done))
                self.assertIn(said, done.stderr + done.stdout)
        done = self.server.run("job", "check", self.server.root)
        self.assertEqual(done.returncode, 7, done)
        self.assertIn("job.yaml", done.stderr)

    def test_code_is_bundled_without_what_is_ignored(self):
        folder = os.path.join(self.server.root, "code")
        os.makedirs(os.path.join(folder, "sub"))
        for name, text in (("main.py", "import os\nprint(sorted(os.listdir('.')))\n"),
                           (".gitignore", "*.log\n"), ("x.log", "no"), (".hearthignore", "big\n"),
                           ("big", "no"), ("sub/a.txt", "yes")):
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)
        subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
        job = self.server.wait(self.server.submit(
            job_text("python3 main.py", code="."), folder=folder))
        (line,) = self.server.lines(job["id"])
        self.assertIn("main.py", line)
        self.assertIn("sub", line)
        self.assertNotIn("x.log", line)
        self.assertNotIn("'big'", line)
        self.assertTrue(job["code_digest"].startswith("sha256:"))

    def test_data_is_linked_or_fetched_and_its_version_is_in_the_run(self):
        folder = os.path.join(self.server.root, "data-%d" % time.monotonic_ns())
        os.makedirs(folder)
        with open(os.path.join(folder, "a.txt"), "w") as file:
            file.write("alpha")
        self.server.ok("dataset", "add", folder, "--name", "letters")
        datasets = "[{name: letters, at: named}, {path: %s, at: linked}]" % folder
        job = self.server.job("cat named/a.txt linked/a.txt; ls $HEARTH_DATA_LETTERS",
                              datasets=datasets)
        self.assertEqual(self.server.lines(job["id"]), ["alphaalphaa.txt"])
        run = self.server.json("run", "show", job["run_id"])
        self.assertEqual(run["datasets"][0]["version"], "1")
        self.assertTrue(run["datasets"][1]["digest"])

    def test_binary_output_and_a_line_of_a_megabyte_survive(self):
        job = self.server.job("python3 -c \"print('x' * 1000000)\"; printf 'a\\000b\\377\\n'")
        done = subprocess.run([self.bin(), "job", "logs", job["id"]], env=self.server.environment,
                              stdout=subprocess.PIPE, timeout=PATIENCE)
        self.assertEqual(done.stdout, b"x" * 1000000 + b"\na\0b\377\n")

    def test_lines_for_programs(self):
        job = self.server.job("echo one; echo two >&2; echo three")
        for words in ((), ("--follow",), ("--tail", "3", "--follow")):
            lines = [json.loads(line) for line in self.server.lines(job["id"], "--json", *words)]
            self.assertEqual(sorted((line["stream"], line["text"]) for line in lines),
                             [("stderr", "two"), ("stdout", "one"), ("stdout", "three")], words)
            self.assertEqual({(line["rank"], line["attempt"]) for line in lines}, {(0, 1)}, words)
        found = self.server.json("job", "logs", job["id"], "--grep", "thr")
        self.assertEqual((found["text"], found["rank"], found["attempt"]), ("three", 0, 1))
        self.assertEqual(len(self.server.json("job", "logs", job["id"], "--tail", "2")["lines"]), 2)

    def bin(self):
        return os.environ["HEARTH_BIN"]


class Sdk(ServerCase):
    SCRIPT = """
import time, hearth
p = hearth.params(epochs=3, lr=0.1)
for epoch in range(p.epochs):
    hearth.log(step=epoch, loss=1.0 / (epoch + 1), nan=float("nan"))
    with hearth.checkpoint(step=epoch) as d:
        (d / "w").write_text("x" * (epoch + 1))
open("model.bin", "w").write("weights")
hearth.log_table("confusion", [[1, 2], [3, 4]])
"""

    def test_metrics_checkpoints_models_and_artifacts(self):
        folder = os.path.join(self.server.root, "sdk")
        os.makedirs(folder)
        with open(os.path.join(folder, "train.py"), "w") as file:
            file.write(self.SCRIPT)
        job = self.server.wait(self.server.submit(job_text(
            "python3 train.py", code=".", params="{epochs: 4}",
            outputs="{checkpoints: {path: ckpt, keep: 2},"
                    " models: [{path: model.bin, name: tiny}]}"), folder=folder))
        self.assertEqual(job["state"], "succeeded", self.server.lines(job["id"]))
        run = self.server.json("run", "show", job["run_id"])
        self.assertEqual(run["metrics"]["loss"]["value"], 0.25)
        self.assertEqual(run["metrics"]["nan"]["value"], "NaN")
        self.server.ok("run", "tag", job["name"], "stage=best", "note=gone soon")
        tagged = self.server.json("run", "tag", job["run_id"], "note=")
        self.assertEqual(tagged["tags"], {"stage": "best"})
        self.assertEqual(run["params"]["epochs"], "4")
        self.server.ok("run", "delete", job["run_id"])

        def listed(*more):
            return [one["id"] for one in self.server.json("run", "list", *more)]
        self.assertNotIn(run["id"], listed())
        self.assertIn(run["id"], listed("--deleted"))
        self.assertIn("deleted", self.server.ok("run", "show", job["run_id"]))
        self.server.ok("run", "restore", job["run_id"])
        self.assertIn(run["id"], listed())
        kept = self.server.http("GET", "/api/v1/jobs/%s/checkpoints" % job["id"]).json()["items"]
        self.assertEqual([c["step"] for c in kept], [2, 3])
        model = self.server.json("model", "show", "tiny")
        self.assertEqual(model["versions"], 1)
        lineage = self.server.json("lineage", "tiny")
        self.assertIn({"from": "run:" + run["id"], "to": lineage["root"], "how": "made"},
                      lineage["edges"])
        out = os.path.join(folder, "got")
        self.server.ok("model", "get", "tiny", "--out", out)
        got = out if os.path.isfile(out) else os.path.join(out, "model.bin")
        with open(got) as file:
            self.assertEqual(file.read(), "weights")
        self.server.ok("model", "get", "tiny", "--out", out)  # the same is no conflict
        with open(got, "w") as file:
            file.write("mine")
        refused = self.server.run("model", "get", "tiny", "--out", out)
        self.assertEqual(refused.returncode, 5, refused.stderr)
        self.assertIn("--force", refused.stderr)
        with open(got) as file:
            self.assertEqual(file.read(), "mine")
        self.server.ok("model", "get", "tiny", "--out", out, "--force")
        with open(got) as file:
            self.assertEqual(file.read(), "weights")

    def test_a_live_parameter_reaches_the_script(self):
        folder = os.path.join(self.server.root, "live")
        os.makedirs(folder)
        with open(os.path.join(folder, "live.py"), "w") as file:
            file.write("import time, hearth\nprint('start', flush=True)\n"
                       "while hearth.live('lr', 0.1) == 0.1: time.sleep(0.02)\n"
                       "print('lr is', hearth.live('lr', 0.1))\n")
        live = "{lr: {value: 0.1, live: true, min: 0.001, max: 1}}"
        job = self.server.submit(job_text("python3 live.py", code=".", params=live), folder=folder)
        eventually(lambda: "start" in self.server.lines(job), "the script runs")
        refused = self.server.run("run", "set", job, "lr=7")
        self.assertEqual(refused.returncode, 7, refused.stderr)
        self.assertIn("at most 1", refused.stderr)
        self.server.ok("run", "set", job, "lr=0.5")
        self.assertEqual(self.server.wait(job)["state"], "succeeded")
        self.assertIn("lr is 0.5", self.server.lines(job))


class Retries(ServerCase):
    def test_a_job_resumes_from_its_last_whole_checkpoint(self):
        folder = os.path.join(self.server.root, "resume")
        os.makedirs(folder)
        with open(os.path.join(folder, "train.py"), "w") as file:
            file.write(
                "import os, sys, hearth\n"
                "start = hearth.resume_from()\n"
                "print('from', open(os.path.join(str(start), 'n')).read() if start else None)\n"
                "if not start:\n"
                "    with hearth.checkpoint(step=7) as d:\n"
                "        (d / 'n').write_text('7')\n"
                "    os.kill(os.getpid(), 9)\n")
        job = self.server.wait(self.server.submit(job_text(
            "exec python3 train.py", code=".", outputs="{checkpoints: {path: ckpt}}",
            retries="{limit: 1, for: [signal]}"), folder=folder))
        self.assertEqual(job["state"], "succeeded", job)
        self.assertEqual(job["attempts"], 2)
        self.assertEqual(self.server.lines(job["id"]), ["from 7"])
        self.assertEqual(self.server.lines(job["id"], "--attempt", "1"), ["from None"])

    def test_a_killed_shim_is_a_lost_task_and_tried_again(self):
        job = self.server.submit(job_text("echo attempt; sleep 600"))
        eventually(lambda: "attempt" in self.server.lines(job), "it runs")
        task = self.server.http("GET", "/api/v1/jobs/%s/tasks" % job).json()["items"][-1]
        shim = eventually(lambda: shim_of(task["id"]), "the shim is found")
        os.kill(shim, signal.SIGKILL)
        eventually(lambda: self.server.json("job", "show", job)["attempts"] == 2, "a new attempt")
        eventually(lambda: processes_of("HEARTH_TASK=" + task["id"]) == [],
                   "nothing of the first attempt is left")
        self.server.ok("job", "cancel", job)
        self.assertEqual(self.server.wait(job)["state"], "cancelled")
