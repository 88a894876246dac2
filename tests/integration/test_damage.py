"""Flipped bits in a data directory: found at the first read, never served, said what they hurt; the
server writes nothing any more, names the last backup, and the rest can be saved."""

import contextlib
import json
import os
import random
import re
import shutil
import socket
import sqlite3
import tarfile
import tempfile
import unittest

from harness import Server, eventually, job_text

PAGE = 4096
JOBS = 12
LINES = 200
POINTS = 500  # of a batch
MLFLOW = "/api/2.0/mlflow/"


def flip(path, at, bits=1):
    """Flips one bit of each of so many bytes from there on."""
    os.chmod(path, 0o600)
    with open(path, "r+b") as file:
        file.seek(at)
        before = file.read(bits)
        file.seek(at)
        file.write(bytes(byte ^ 0x10 for byte in before))


class Damage(unittest.TestCase):
    """One server with jobs, a log, a model and a backup; each test hurts a copy of it."""

    @classmethod
    def setUpClass(cls):
        cls.whole = server = Server().start()
        try:
            cls.make(server)
        except BaseException:
            server.close()
            raise

    @classmethod
    def make(cls, server):
        for i in range(JOBS):
            server.job("true", name="filler", params=json.dumps({"mark": "%d " % i + "x" * 700}))
        cls.job = server.job(
            "for i in $(seq 1 %d); do echo needle $i; done; echo weights-of-it > model.bin" % LINES,
            name="hurt", params=json.dumps({"mark": "secret-mark-" + "y" * 700}),
            outputs="{models: [{path: model.bin, name: m}]}")
        assert cls.job["state"] == "succeeded", cls.job
        for i in range(3):
            server.job("true", name="filler", params=json.dumps({"mark": "%d " % i + "x" * 700}))
        logs = os.path.join(server.data, "state", "logs")
        eventually(lambda: not os.listdir(logs), "all logs are sealed")
        cls.open_run, cls.packed_run = cls.logged(server, end=False), cls.logged(server, end=True)
        cls.model = server.http("GET", "/api/v1/models/m/versions").json()["items"][0]["digest"]
        cls.backup = os.path.join(server.root, "backup.tar")
        server.ok("backup", cls.backup)
        server.stop()
        with sqlite3.connect("file:%s?mode=ro" % cls.database(server), uri=True) as database:
            cls.segment = database.execute(
                "SELECT s.digest FROM log_segments s JOIN tasks t ON t.id = s.task_id "
                "WHERE t.job_id = ?", (cls.job["id"],)).fetchone()[0]
        database.close()

    @classmethod
    def logged(cls, server, end):
        """A run with four batches of points, each with a key of its own; merged into one row if it
        ends."""
        def call(name, **body):
            answer = server.http("POST", MLFLOW + name, body)
            assert answer.status == 200, answer.body
            return answer.json()
        run = call("runs/create", experiment_id="0", start_time=1)["run"]["info"]["run_id"]
        chance = random.Random(end)
        for part in range(4):
            metrics = [{"key": "loss", "value": chance.random(), "timestamp": 1000 + i, "step": i}
                       for i in range(POINTS * part, POINTS * (part + 1))]
            metrics.append({"key": "part%d" % part, "value": part, "timestamp": 1, "step": 1})
            call("runs/log-batch", run_id=run, metrics=metrics,
                 params=[{"key": "part", "value": "all"}])
        if end:
            call("runs/update", run_id=run, status="FINISHED", end_time=2)

        def rows():
            with contextlib.closing(cls.reader(server)) as database:
                return [kind for (kind,) in database.execute(
                    "SELECT kind FROM metric_batches WHERE run_id = ?", (run,))]
        eventually(lambda: rows() == (["metric_pack"] if end else ["metric"] * 4), "%s" % rows())
        return run

    @classmethod
    def reader(cls, server):
        return sqlite3.connect("file:%s?mode=ro" % cls.database(server), uri=True)

    @classmethod
    def tearDownClass(cls):
        cls.whole.close()

    @staticmethod
    def database(server):
        return os.path.join(server.data, "state", "hearth.db")

    @staticmethod
    def object(server, digest):
        name = digest.split(":")[1]
        return os.path.join(server.data, "objects", name[:2], name)

    def copy(self):
        """A server on a copy of the data, not started."""
        server = Server(root=tempfile.mkdtemp(prefix="hearth-it-"))
        self.addCleanup(server.close)
        os.rmdir(server.root)
        shutil.copytree(self.whole.root, server.root, symlinks=True)
        return server

    def refuses(self, server, *hurt):
        """Every write is refused with what is hurt, the last backup and what saves the rest."""
        problem = server.http("POST", "/api/v1/jobs", body=job_text("true").encode(),
                              headers={"Content-Type": "application/yaml"})
        self.assertEqual(problem.status, 503, problem.body)
        problem = problem.json()
        self.assertEqual(problem["code"], "unavailable")
        for words in hurt:
            self.assertIn(words, problem["detail"])
        self.names_the_mend(server, problem["mend"])
        path = os.path.join(server.root, "job.yaml")
        with open(path, "w") as file:
            file.write(job_text("true"))
        submit = server.run("job", "submit", path)
        self.assertEqual(submit.returncode, 10, submit.stderr)
        self.assertIn(self.backup, submit.stderr)
        self.assertEqual(server.run("secret", "set", "KEY", stdin="value").returncode, 10)
        ready = server.http("GET", "/readyz", token="")
        self.assertEqual(ready.status, 503)
        self.assertIn("damaged", ready.json()["detail"])
        self.assertNotIn("hurt-1", ready.json()["detail"])  # anybody may read it
        status = server.run("status")
        self.assertEqual(status.returncode, 10, status.stderr)
        for words in (*hurt, self.backup, "--salvage"):
            self.assertIn(words, status.stdout + status.stderr)
        again = server.run("backup", os.path.join(server.root, "again.tar"))
        self.assertEqual(again.returncode, 8, again.stderr)  # a backup is whole, or it is none
        self.assertIn("--salvage", again.stderr)
        return problem

    def names_the_mend(self, server, text):
        for words in (socket.gethostname() + ":" + self.backup, "hearth down", server.data,
                      "hearth backup --salvage", "hearth restore"):
            self.assertIn(words, text)

    def salvage(self, server):
        """What the command says; the restored server, started."""
        file = os.path.join(server.root, "saved.tar")
        refused = server.run("backup", "--salvage", file, "--data", server.data)
        self.assertEqual(refused.returncode, 5, refused.stderr)  # it runs
        self.assertIn("hearth down", refused.stderr)
        server.stop()
        said = server.ok("backup", "--salvage", file, "--data", server.data)
        other = Server()
        self.addCleanup(other.close)
        other.environment["XDG_CONFIG_HOME"] = server.environment["XDG_CONFIG_HOME"]
        restored = other.ok("restore", file, "--data", other.data, "--key-file",
                            os.path.join(server.data, "state", "secrets.key"))
        return said, restored, other.start()

    def page_of_job(self, server):
        """The number of the page that holds the job's row, and where in the file its mark is."""
        with open(self.database(server), "rb") as file:
            content = file.read()
        # The row, not the run's: the body of a job has its state.
        places = [found.start() for found in re.finditer(b"secret-mark-", content)]
        with sqlite3.connect("file:%s?mode=ro" % self.database(server), uri=True) as database:
            pages = {number for (number,) in database.execute(
                "SELECT pageno FROM dbstat WHERE name = 'jobs'")}
        database.close()
        at = next(place for place in places if place // PAGE + 1 in pages)
        return at // PAGE + 1, at

    def read_job(self, server, page):
        answer = server.http("GET", "/api/v1/jobs/" + self.job["id"])
        self.assertEqual(answer.status, 500, answer.body)
        problem = answer.json()
        self.assertEqual(problem["code"], "internal")
        for words in (self.database(server), "page %d" % page, "table jobs"):
            self.assertIn(words, problem["detail"])
        self.names_the_mend(server, problem["mend"])
        self.assertNotIn(b"secret-mark", answer.body)
        show = server.run("job", "show", self.job["id"])
        self.assertEqual(show.returncode, 8, show.stderr)

    def test_one_bit_of_a_database_page(self):
        server = self.copy()
        page, at = self.page_of_job(server)
        flip(self.database(server), at + 20)
        server.start()
        # Found at the start already, which reads how long jobs took.
        self.assertEqual(server.http("GET", "/readyz", token="").status, 503)
        self.read_job(server, page)
        self.refuses(server, "page %d" % page, "table jobs")
        self.assertEqual(server.json("model", "show", "m")["versions"], 1)  # the rest is read
        server.stop()
        server.start()
        self.read_job(server, page)
        self.refuses(server, "page %d" % page)
        said, _, restored = self.salvage(server)
        self.assertIn("page %d: one bit was put right" % page, said)
        self.assertNotIn("left out", said)
        self.assertIn("secret-mark", json.dumps(restored.json("job", "show", self.job["id"])))
        self.assertEqual(len(restored.json("job", "list", "--limit", "100")), JOBS + 4)
        self.assertEqual(restored.job("echo on", name="hurt")["name"], "hurt-2")

    def test_a_database_page_that_cannot_be_mended(self):
        server = self.copy()
        page, at = self.page_of_job(server)
        flip(self.database(server), at + 20, bits=64)
        server.start()
        self.read_job(server, page)
        self.refuses(server, "page %d" % page, "table jobs")
        said, restored_words, restored = self.salvage(server)
        left_out = next(line for line in said.splitlines() if "table jobs" in line)
        self.assertIn("hurt-1", left_out)
        self.assertIn("hurt-1", restored_words)
        jobs = {job["name"] for job in restored.json("job", "list", "--limit", "100")}
        lost = set(re.findall(r"(?:filler|hurt)-\d+", left_out))
        everything = {"hurt-1"} | {"filler-%d" % i for i in range(1, JOBS + 4)}
        self.assertEqual(jobs, everything - lost)
        self.assertLess(len(lost), 8, left_out)
        # What belongs to it and lies elsewhere is there.
        self.assertEqual(restored.json("run", "show", self.job["run_id"])["name"], "hurt-1")
        self.assertEqual(restored.json("model", "show", "m")["versions"], 1)
        self.assertEqual(restored.job("echo on", name="filler")["name"], "filler-%d" % (JOBS + 4))

    def hurt_points(self, server, run, row):
        """Flips a bit of one row of points; the row's id."""
        with contextlib.closing(self.reader(server)) as database:
            name, body = database.execute(
                "SELECT id, body FROM metric_batches WHERE run_id = ? ORDER BY id LIMIT 1 OFFSET ?",
                (run, row)).fetchone()
        with open(self.database(server), "rb") as file:
            at = file.read().index(body[len(body) // 2:][:64])
        flip(self.database(server), at + 32)
        return name

    def chart(self, server, run, *keys):
        """How many points of each key are shown, and what is said to be damaged."""
        answer = server.http("POST", "/api/v1/metrics/query", {"runs": [run], "keys": keys})
        self.assertEqual(answer.status, 200, answer.body)
        answer = answer.json()
        return ({one["key"]: sum(one["count"]) for one in answer["series"]},
                answer.get("damaged", []))

    def test_a_row_of_points(self):
        server = self.copy()
        row = self.hurt_points(server, self.open_run, 1)
        server.start()
        found, damaged = self.chart(server, self.open_run)
        self.assertEqual(found, {"loss": 3 * POINTS, "part0": 1, "part2": 1, "part3": 1})
        (said,) = damaged
        self.assertTrue(said.startswith("run %s, metric row %s: " % (self.open_run, row)), said)
        for words in (self.database(server), "page ", "table metric_batches"):
            self.assertIn(words, said)
        self.assertIn(said, server.log_text())
        self.refuses(server, "table metric_batches")
        # Who asks for all points of a key is not given a part; the rest of the run is read.
        # MLflow's client asks again for minutes when it is answered 500.
        history = MLFLOW + "metrics/get-history?metric_key=loss&run_id=" + self.open_run
        for path, status in (("/api/v1/runs/%s/metrics?points=0&key=loss" % self.open_run, 500),
                             (history, 422)):
            answer = server.http("GET", path)
            self.assertEqual(answer.status, status, answer.body)
            self.assertIn("run %s, metric row %s" % (self.open_run, row), str(answer.body))
        data = server.http("GET", MLFLOW + "runs/get?run_id=" + self.open_run).json()["run"]["data"]
        self.assertEqual(data["params"], [{"key": "part", "value": "all"}])
        self.assertEqual({metric["key"] for metric in data["metrics"]},
                         {"loss", "part0", "part2", "part3"})
        self.assertEqual(self.chart(server, self.packed_run)[1], [])
        self.assertEqual(len(server.lines(self.job["id"])), LINES)
        server.stop()
        server.start()
        (again,) = self.chart(server, self.open_run)[1]
        self.assertTrue(again.startswith("run %s, metric row %s: " % (self.open_run, row)), again)
        said, _, restored = self.salvage(server)
        self.assertIn("one bit was put right", said)
        self.assertEqual(self.chart(restored, self.open_run, "loss"), ({"loss": 4 * POINTS}, []))

    def test_merged_points(self):
        server = self.copy()
        row = self.hurt_points(server, self.packed_run, 0)
        server.start()
        found, (said,) = self.chart(server, self.packed_run)
        self.assertEqual(found, {})
        self.assertTrue(said.startswith("run %s, metric row %s: " % (self.packed_run, row)), said)
        # The summary of the run lies elsewhere: lists and orders go on.
        listed = server.http("POST", MLFLOW + "runs/search",
                             {"experiment_ids": ["0"], "order_by": ["metrics.loss"]}).json()["runs"]
        metrics = {one["info"]["run_id"]: {metric["key"] for metric in one["data"]["metrics"]}
                   for one in listed if one["data"].get("metrics")}
        keys = {"loss"} | {"part%d" % part for part in range(4)}
        self.assertEqual(metrics, {self.open_run: keys, self.packed_run: keys})
        self.assertEqual(self.chart(server, self.open_run, "loss"), ({"loss": 4 * POINTS}, []))

    def test_the_first_page(self):
        server = self.copy()
        flip(self.database(server), 2000)
        failed = server.run("up", "--data", server.data, "--listen", "127.0.0.1:0")
        self.assertEqual(failed.returncode, 8, failed.stderr)
        self.assertIn(self.database(server), failed.stderr)
        self.names_the_mend(server, failed.stderr)
        file = os.path.join(server.root, "saved.tar")
        self.assertIn("page 1: one bit", server.ok("backup", "--salvage", file, "--data",
                                                   server.data))
        other = Server()
        self.addCleanup(other.close)
        other.environment["XDG_CONFIG_HOME"] = server.environment["XDG_CONFIG_HOME"]
        other.ok("restore", file, "--data", other.data)
        other.start()
        self.assertEqual(len(other.lines(self.job["id"])), LINES)

    def test_a_sealed_log_segment(self):
        server = self.copy()
        path = self.object(server, self.segment)
        flip(path, os.path.getsize(path) // 2)
        server.start()
        lines = server.lines(self.job["id"])
        self.assertEqual(len(lines), 1, lines)  # stands for those that cannot be shown
        for words in ("lines 1 to %d" % LINES, self.segment, "log of job hurt-1"):
            self.assertIn(words, lines[0])
        self.assertNotIn("needle", lines[0])
        self.refuses(server, self.segment, "log of job hurt-1, lines 1 to %d" % LINES)
        said, restored_words, restored = self.salvage(server)
        told = "object %s: log of job hurt-1, lines 1 to %d" % (self.segment, LINES)
        for text in (said, restored_words):
            self.assertIn(told, text)
        self.assertEqual(restored.json("job", "show", self.job["id"])["state"], "succeeded")
        self.assertEqual(restored.json("model", "show", "m")["versions"], 1)
        self.assertEqual(restored.job("echo on")["state"], "succeeded")

    def test_an_object(self):
        server = self.copy()
        flip(self.object(server, self.model), 3)
        server.start()
        answer = server.http("GET", "/api/v1/objects/" + self.model)
        self.assertEqual(answer.status, 500, answer.body)
        self.assertNotIn(b"weights", answer.body)
        for words in (self.model, "model m 1"):
            self.assertIn(words.encode(), answer.body)
        self.names_the_mend(server, answer.json()["mend"])
        got = server.run("model", "get", "m@1", "--out", os.path.join(server.root, "got"))
        self.assertNotEqual(got.returncode, 0)
        self.refuses(server, self.model, "model m 1")
        self.assertEqual(len(server.lines(self.job["id"])), LINES)  # the rest is read
        server.stop()
        server.start()  # a restart forgets nothing
        self.refuses(server, self.model, "model m 1")
        server.stop()
        # The last backup has it whole: put back in its place it is served again.
        with tarfile.open(self.backup) as tar, \
                open(self.object(server, self.model), "wb") as file:
            file.write(tar.extractfile("objects/" + self.model.split(":")[1]).read())
        server.start()
        self.assertEqual(server.http("GET", "/api/v1/objects/" + self.model).body,
                         b"weights-of-it\n")
        self.assertEqual(server.http("GET", "/readyz", token="").status, 200)
        server.stop()
        os.unlink(self.object(server, self.model))
        # Whoever would go on without it takes what is left of it away.
        damaged = os.path.join(server.data, "objects", "damaged")
        shutil.move(os.path.join(damaged, os.listdir(damaged)[0]), server.root)
        server.start()
        self.assertEqual(server.job("echo on")["state"], "succeeded")
        self.assertEqual(server.http("GET", "/api/v1/objects/" + self.model).status, 404)
        said, _, restored = self.salvage(server)
        self.assertRegex(said, "object %s: .*model m 1" % self.model)
        self.assertEqual(len(restored.lines(self.job["id"])), LINES)

    def test_a_running_job_loses_no_line(self):
        server = self.copy()
        server.start()
        counting = ("i=0; while [ ! -e {0}/stop ]; do i=$((i+1)); echo line $i; "
                    "echo $i > {0}/far.new; mv {0}/far.new {0}/far; sleep 0.02; done")
        job = server.submit(job_text(counting.format(server.root)))
        eventually(lambda: "line 5" in server.lines(job), "it counts")
        flip(self.object(server, self.model), 3)
        self.assertEqual(server.http("GET", "/api/v1/objects/" + self.model).status, 500)
        self.refuses(server, "model m 1")

        def far():
            with open(os.path.join(server.root, "far")) as file:
                return int(file.read())
        until = far() + 30
        eventually(lambda: far() >= until, "the job goes on")
        server.stop()
        server.start()
        self.refuses(server, "model m 1")
        self.assertIn("line 5", server.lines(job))
        server.stop()
        shutil.rmtree(os.path.join(server.data, "objects", "damaged"))
        server.start()
        with open(os.path.join(server.root, "stop"), "w"):
            pass
        self.assertEqual(server.wait(job)["state"], "succeeded")
        self.assertEqual(server.lines(job), ["line %d" % i for i in range(1, far() + 1)])

    def test_no_backup_is_said_so(self):
        server = self.copy()
        os.unlink(os.path.join(server.data, "state", "last_backup.json"))
        flip(self.object(server, self.model), 3)
        server.start()
        self.assertRegex(server.ok("status"), "last backup *none")
        mend = server.http("GET", "/api/v1/objects/" + self.model).json()["mend"]
        self.assertIn("no backup of this server is known", mend)

    def test_the_last_backup_is_remembered(self):
        server = self.copy()
        server.start()
        kept = server.json("status")["last_backup"]
        self.assertEqual(kept["path"], self.backup)
        self.assertEqual(kept["host"], socket.gethostname())
        self.assertEqual(kept["size_bytes"], os.path.getsize(self.backup))
        newer = os.path.join(server.root, "newer.tar")
        server.ok("backup", newer)
        self.assertEqual(server.json("status")["last_backup"]["path"], newer)
        self.assertIn(newer, server.ok("status"))
        eventually(lambda: not os.listdir(os.path.join(server.data, "tmp")), "nothing is left")
        unknown = server.http("POST", "/api/v1/backup", body={"id": "01NONE", "path": "/x"})
        self.assertEqual(unknown.status, 404, unknown.body)


if __name__ == "__main__":
    unittest.main()
