"""Backups made under load, restored elsewhere and started there."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import tarfile
import tempfile
import threading
import time
import unittest

from harness import BIN, PATIENCE, Server, eventually, job_text

kBackups = 3
kWorkers = 2
kPause = 0.5  # seconds between two models
kBigBytes = 48 << 20  # of a dataset, so that backup and restore take a while
kTries = 10           # to stop a backup before it is done

# Numbered lines, metrics, checkpoints and artifacts until the file STOP is there.
WORKER = """
import os, time, hearth
k = 0
while not os.path.exists(os.environ["STOP"]):
    os.write(1, b"line %d %s\\n" % (k, b"." * (k * 37 % 200)))
    hearth.log(step=k, x=k)
    k += 1
    if k % 100 == 10:
        hearth.log_table("counts", [[k, k * k]], step=k)
    if k % 100 == 60:
        with hearth.checkpoint(step=k) as d:
            (d / "state").write_text("%d %s" % (k, "x" * 3000))
    time.sleep(0.01)
"""


def digest_of(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Load(threading.Thread):
    """Registers models and adds datasets without end; knows what was acknowledged."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.stopping = server, threading.Event()
        self.models, self.datasets, self.error = {}, {}, None

    def run(self):
        try:
            number = 0
            while not self.stopping.is_set():
                number += 1
                self.add(number)
                self.stopping.wait(kPause)
        except Exception as error:  # told by who joins it
            self.error = error

    def add(self, number):
        text = "weights of %d " % number * 5000
        folder = tempfile.mkdtemp(dir=self.server.root)
        for name in ("a", "b"):
            with open(os.path.join(folder, name), "w") as file:
                file.write(name + text)
        self.server.ok("dataset", "add", folder, "--name", "set-%d" % number)
        self.datasets["set-%d" % number] = {digest_of((name + text).encode()) for name in "ab"}
        job = self.server.job("cp a model.bin", "maker", code=".", resources="{cpus: 0.05}",
                              outputs="{models: [{path: model.bin, name: m-%d}]}" % number,
                              folder=folder)
        assert job["state"] == "succeeded", job
        self.models["m-%d" % number] = digest_of(("a" + text).encode())

    def stop(self):
        self.stopping.set()
        self.join()
        if self.error:
            raise self.error


class UnderLoad(unittest.TestCase):
    def setUp(self):
        self.server = Server().start()
        self.addCleanup(self.server.close)
        self.stop_file = os.path.join(self.server.root, "stop")
        self.load = Load(self.server)
        self.addCleanup(self.load.stopping.set)

    def start_workers(self):
        folder = tempfile.mkdtemp(dir=self.server.root)
        with open(os.path.join(folder, "worker.py"), "w") as file:
            file.write(WORKER)
        env = json.dumps({"STOP": self.stop_file})
        return [self.server.submit(job_text(
            "exec python3 worker.py", "worker", code=".", env=env, resources="{cpus: 0.05}",
            outputs="{checkpoints: {path: ckpt, keep: 3}}",
            # The points of a second attempt would take the place of those that are counted here.
            retries="{limit: 0}"), folder=folder)
            for _ in range(kWorkers)]

    def acknowledged(self, workers):
        """What the server has shown so far: it has to be in every later backup."""
        return {"lines": {job: self.server.lines(job) for job in workers},
                "points": {job: len(self.points(self.server, job)) for job in workers},
                "models": dict(self.load.models), "datasets": dict(self.load.datasets)}

    def points(self, server, job):
        run = server.json("job", "show", job)["run_id"]
        answer = server.http("GET", "/api/v1/runs/%s/metrics?key=x&points=0" % run)
        return answer.json().get("points", []) if answer.status == 200 else []

    def restored(self, file):
        """A server of the backup, in a place of its own."""
        server = Server(data=tempfile.mkdtemp(prefix="hearth-it-restored-"))
        self.addCleanup(shutil.rmtree, server.data, True)
        self.addCleanup(server.close)
        shutil.copytree(os.path.join(self.server.root, "config"),
                        os.path.join(server.root, "config"))
        said = server.ok("restore", file, "--data", server.data)
        self.assertIn("every digest is right", said)
        self.check_objects(server, file)
        server.start()
        self.assertNotEqual(server.url, self.server.url)
        return server

    def contexts(self, server):
        return {one["name"]: one for one in server.json("context", "list")}

    def check_contexts(self, server):
        """While both run, what commands mean stays where it was; the copy is named beside it."""
        (live,) = [one for one in self.contexts(self.server).values() if one["current"]]
        copy = live["name"] + "-copy"
        both = self.contexts(server)
        self.assertTrue(both[live["name"]]["current"])
        for name, url in ((live["name"], self.server.url), (copy, server.url)):
            self.assertEqual(both[name]["url"], url)
            told = json.loads(server.ok("status", "--json", "--context", name,
                                        environment={"HEARTH_URL": ""}))
            self.assertTrue(told["ready"])
            self.assertEqual(told["url"], url)

    def objects(self, server):
        return {name: os.path.join(folder, name)
                for folder, _, names in os.walk(os.path.join(server.data, "objects"))
                for name in names if len(name) == 64}

    def check_objects(self, server, file):
        """Hashed here, not by Hearth: the members of the archive and the restored objects."""
        with tarfile.open(file) as tar:
            index = json.load(tar.extractfile("index.json"))
            for entry in index["files"]:
                self.assertEqual(digest_of(tar.extractfile(entry["name"]).read()),
                                 entry["digest"], entry["name"])
        objects = self.objects(server)
        wanted = {f["name"].split("/")[1] for f in index["files"] if f["name"].startswith("obj")}
        self.assertEqual(set(objects), wanted)
        self.assertGreater(len(wanted), 10)
        for name, path in objects.items():
            self.assertEqual(hashlib.sha256(read(path)).hexdigest(), name)

    def check_job(self, server, job, shown, points):
        lines = server.lines(job, "--attempt", "1")
        self.assertEqual(lines[:len(shown)], shown)
        self.assertEqual(lines, ["line %d %s" % (k, "." * (k * 37 % 200))
                                 for k in range(len(lines))])
        values = [p["value"] for p in self.points(server, job)]
        self.assertGreaterEqual(len(values), points)
        self.assertGreaterEqual(set(values), set(range(points)))

    def check_references(self, server, job):
        """Every digest that the restored database names is there."""
        run = server.json("job", "show", job)["run_id"]
        kept = server.http("GET", "/api/v1/jobs/%s/checkpoints" % job).json()["items"]
        artifacts = server.http("GET", "/api/v1/runs/%s/artifacts" % run).json()["items"]
        objects = self.objects(server)  # now: a new attempt adds some
        manifests = [c["manifest_digest"] for c in kept]
        files = [f["digest"] for digest in manifests
                 for f in json.loads(read(objects[digest[7:]]))["files"]]
        named = manifests + files + [artifact["digest"] for artifact in artifacts]
        self.assertTrue(kept and artifacts)
        for digest in named:
            self.assertIn(digest[7:], objects)

    def check_registered(self, server, before):
        objects = self.objects(server)
        for name, digest in before["models"].items():
            version = server.http("GET", "/api/v1/models/%s/versions/1" % name).json()
            self.assertEqual(version["digest"], digest)
            served = server.http("GET", "/api/v1/objects/" + digest)
            self.assertEqual(digest_of(served.body), digest)
        out = os.path.join(server.root, "model")
        server.ok("model", "get", name, "--out", out)
        self.assertEqual(digest_of(read(out if os.path.isfile(out) else
                                        os.path.join(out, "model.bin"))), digest)
        for name, digests in before["datasets"].items():
            version = server.http("GET", "/api/v1/datasets/%s/versions/1" % name).json()
            manifest = json.loads(read(objects[version["manifest_digest"][7:]]))
            self.assertEqual({f["digest"] for f in manifest["files"]}, digests)
            for digest in digests:
                self.assertIn(digest[7:], objects)

    def check(self, file, before):
        server = self.restored(file)
        self.check_contexts(server)
        for job, shown in before["lines"].items():
            self.check_job(server, job, shown, before["points"][job])
            self.check_references(server, job)
        self.check_registered(server, before)
        server.close()

    def test_all_that_was_acknowledged_is_in_each_backup(self):
        workers = self.start_workers()
        self.load.start()
        eventually(lambda: len(self.load.models) >= 2, "the load is on")
        eventually(lambda: all(len(self.server.lines(job)) > 100 for job in workers), "they write")
        backups = []
        for number in range(kBackups):
            before = self.acknowledged(workers)
            file = os.path.join(self.server.root, "backup-%d.tar" % number)
            self.server.ok("backup", file)
            backups.append((file, before))
        self.load.stop()
        # Once while the jobs go on here: nobody disturbs the other.
        self.check(*backups[0])
        with open(self.stop_file, "w"):
            pass
        for job in workers:
            self.assertEqual(self.server.wait(job)["state"], "succeeded")
            self.assertEqual(self.server.json("job", "show", job)["attempts"], 1)
        self.assertEqual(os.listdir(os.path.join(self.server.data, "tmp")), [])
        for file, before in backups[1:]:
            self.check(file, before)


class Kills(unittest.TestCase):
    """kill -9 in the middle of a backup and of a restore."""

    def setUp(self):
        self.server = Server().start()
        self.addCleanup(self.server.close)
        folder = os.path.join(self.server.root, "big")
        os.mkdir(folder)
        with open(os.path.join(folder, "data"), "wb") as file:
            file.write(os.urandom(kBigBytes))
        self.server.ok("dataset", "add", folder, "--name", "big")
        self.out = os.path.join(self.server.root, "out")
        os.mkdir(self.out)
        self.file = os.path.join(self.out, "backup.tar")

    def begin(self, *arguments):
        return subprocess.Popen([BIN, *arguments], env=self.server.environment,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def part(self):
        """The file that a backup is being written to, once some of it is there."""
        for folder, _, names in os.walk(os.path.join(self.server.data, "tmp")):
            for path in (os.path.join(folder, name) for name in names if name == "backup.tar"):
                try:
                    if os.path.getsize(path) > 1 << 20:
                        return path
                except FileNotFoundError:
                    pass
        return None

    def half_a_backup(self):
        """A copy of one that is not whole yet; its server stands still, its client waits."""
        half = os.path.join(self.server.root, "half.tar")
        for _ in range(kTries):
            asked = self.begin("backup", self.file)
            part = until_there(self.part, asked)
            self.server.process.send_signal(signal.SIGSTOP)
            if os.path.exists(part) and os.path.getsize(part) < kBigBytes:
                shutil.copy(part, half)
                return asked, half
            self.server.process.send_signal(signal.SIGCONT)  # it was quicker
            asked.communicate()
            os.unlink(self.file)
        raise AssertionError("%d backups were quicker than this test" % kTries)

    def up(self, data):
        return subprocess.run([BIN, "up", "--data", data, "--listen", "127.0.0.1:0"],
                              env=self.server.environment, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=PATIENCE)

    def test_a_backup_that_is_cut_off_leaves_nothing_that_restore_takes(self):
        asked, half = self.half_a_backup()
        self.server.kill()
        asked.communicate()
        self.assertNotEqual(asked.returncode, 0)
        self.assertEqual(os.listdir(self.out), [])
        target = os.path.join(self.server.root, "target")
        refused = self.server.run("restore", half, "--data", target)
        self.assertEqual(refused.returncode, 7, refused.stderr)
        self.assertIn("is cut off", refused.stderr)
        self.assertEqual(os.listdir(target), [])
        self.server.start()
        self.assertEqual(os.listdir(os.path.join(self.server.data, "tmp")), [])
        self.server.ok("backup", self.file)
        self.server.ok("restore", self.file, "--data", target)

    def test_a_restore_that_is_killed_is_neither_started_nor_gone_on_with(self):
        self.server.ok("backup", self.file)
        target = os.path.join(self.server.root, "target")
        mark = os.path.join(target, "restore.unfinished")
        restoring = self.begin("restore", self.file, "--data", target)
        until_there(lambda: os.path.exists(mark), restoring)
        restoring.kill()
        restoring.communicate()
        self.assertTrue(os.path.exists(mark))
        again = self.server.run("restore", self.file, "--data", target)
        for refused in (self.up(target), again,
                        self.server.run("token", "add", "x", "--data", target)):
            self.assertEqual(refused.returncode, 5, refused.stderr)
            self.assertIn("holds a part of a backup", refused.stderr)
            self.assertIn("rm -r " + target, refused.stderr)
        shutil.rmtree(target)
        self.server.ok("restore", self.file, "--data", target)
        self.assertFalse(os.path.exists(mark))

    def test_a_restore_that_fails_leaves_an_empty_directory(self):
        self.server.ok("backup", self.file)
        with open(self.file, "r+b") as file:
            file.truncate(os.path.getsize(self.file) // 2)
        target = os.path.join(self.server.root, "target")
        refused = self.server.run("restore", self.file, "--data", target)
        self.assertEqual(refused.returncode, 7, refused.stderr)
        self.assertIn("is cut off", refused.stderr)
        self.assertEqual(os.listdir(target), [])


def until_there(check, process):
    """As eventually(), without a pause: what is looked for does not stay."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        found = check()
        if found:
            return found
        if process.poll() is not None:
            raise AssertionError("it ended first: %s" % process.stderr.read())
    raise AssertionError("did not happen")
