"""Kills of the server while gangs are stopped for others: nobody is started twice, no GPU is two
tasks', no victim is lost, and what is done again is what came after the last whole checkpoint: at
most two intervals, as one may be on its way when its attempt is told to end."""
import http.client
import os
import random
import re
import threading
import time
import urllib.parse

from harness import Server

kPause = 0.2       # seconds between two submits
kLongestWork = 2.5     # seconds between two kills
kLongestAbsence = 0.3  # of the server
kMostLive = 14     # jobs that are not over
kStepSeconds = 0.05
kSaveEvery = 10    # steps

TOPOLOGY = "hearth: 1\nnodes:\n" + "".join(
    "  - name: n%d\n    cpus: 16\n    memory: 64GiB\n    gpus:\n" % node + "".join(
        "      - {uuid: GPU-lent-%d-%d, model: H100, memory: 80GiB}\n" % (node, gpu)
        for gpu in range(2))
    for node in range(2))

# Holds a lock for each GPU that it was given, says so, then counts, with checkpoints.
WORKER = """import fcntl, os, sys, time
import hearth
truth, me = os.environ["TRUTH"], os.environ["HEARTH_ATTEMPT"] + "." + os.environ["HEARTH_RANK"]
def say(words):
    with open(os.path.join(truth, "said"), "a") as file:
        file.write("%%s %%s\\n" %% (me, words))
held = []
for gpu in os.environ["CUDA_VISIBLE_DEVICES"].split(","):
    file = open(os.path.join(truth, gpu), "w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        say("overlap " + gpu)
    held.append(file)
p = hearth.params(steps=40)
saved = hearth.resume_from()
first = int((saved / "step").read_text()) + 1 if saved is not None else 0
say("begins %%d" %% first)
for step in range(first, p.steps):
    time.sleep(%g)
    say("step %%d" %% step)
    if os.environ["HEARTH_RANK"] == "0" and step %% %d == %d:
        with hearth.checkpoint(step=step) as d:
            (d / "step").write_text(str(step))
say("ends")
""" % (kStepSeconds, kSaveEvery, kSaveEvery - 1)


class EvictionLoad(threading.Thread):
    """Gangs of four kinds: low and high priority, within a guarantee, opportunistic."""

    def __init__(self, server, truth, seed):
        super().__init__(daemon=True)
        self.server, self.truth = server, truth
        self.random = random.Random(seed)
        self.stopping = threading.Event()
        self.jobs = []
        self.away = 0  # how often the server did not answer

    def run(self):
        while not self.stopping.is_set():
            try:
                if len(self.live()) < kMostLive:
                    self.jobs.append(self.submit())
            except (AssertionError, OSError, ValueError, KeyError, http.client.HTTPException):
                self.away += 1
            self.stopping.wait(self.random.uniform(0, 2 * kPause))

    def live(self):
        return self.server.http("GET", "/api/v1/jobs?limit=1000&filter=" + urllib.parse.quote(
            "state in (queued, preparing, running, saving)")).json()["items"]

    def submit(self):
        kind = self.random.choice(["low", "low", "high", "owner", "idle"])
        replicas, gpus = self.random.choice([(1, 1), (2, 1), (1, 2), (2, 2)])
        if kind == "owner":
            replicas, gpus = 1, self.random.choice([1, 2])
        text = ("hearth: 1\nname: %s\nproject: %s\nlaunch: plain\nroles: {worker: {replicas: %d, "
                "command: exec python3 %s, resources: {cpus: 0.1, memory: 128MiB, "
                "gpus: %d}}}\n" % (kind, "owner" if kind == "owner" else "default", replicas,
                                  os.path.join(self.truth, "worker.py"), gpus))
        text += "env: {TRUTH: %s}\n" % self.truth
        text += "outputs: {checkpoints: {path: ckpt}}\nparams: {steps: %d}\n" % (
            self.random.randint(20, 80))
        text += "retries: {limit: 100, for: [node, preemption, lost]}\n"
        text += "priority: %d\n" % {"low": 10, "high": 90}.get(kind, 50)
        text += "opportunistic: %s\n" % ("true" if kind == "idle" else "false")
        answer = self.server.http("POST", "/api/v1/jobs", text.encode(),
                                  headers={"Content-Type": "application/yaml"})
        if answer.status != 201:
            raise AssertionError(answer.body)
        return answer.json()["id"]


class EvictionCrash:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.server = Server("--topology", "topology.yaml")
        path = os.path.join(self.server.root, "topology.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(TOPOLOGY)
        self.server.arguments = [path if word == "topology.yaml" else word
                                 for word in self.server.arguments]
        self.truth = os.path.join(self.server.root, "truth")
        os.makedirs(self.truth)
        with open(os.path.join(self.truth, "worker.py"), "w", encoding="utf-8") as file:
            file.write(WORKER)
        self.load = EvictionLoad(self.server, self.truth, seed)

    def start(self):
        self.server.start()
        pool = self.server.json("pool", "list")[0]["pool"]["name"]
        self.server.ok("pool", "set", pool, "--minimum-run", "0s")
        self.server.ok("project", "add", "owner")
        self.server.ok("quota", "set", "owner", "--guarantee", "gpus=2")
        self.load.start()

    def point(self):
        time.sleep(self.random.uniform(0, kLongestWork))
        self.server.kill()
        time.sleep(self.random.uniform(0, kLongestAbsence))
        self.server.start()

    def said(self):
        """By attempt and rank: what it said, in order."""
        found = {}
        with open(os.path.join(self.truth, "said"), encoding="utf-8") as file:
            for line in file:
                who, words = line.rstrip("\n").split(" ", 1)
                found.setdefault(tuple(who.rsplit(".", 1)), []).append(words)
        return found

    def check(self, counts):
        said = self.said()
        for who, words in said.items():
            begins = [word for word in words if word.startswith("begins")]
            if len(begins) != 1 or any(word.startswith("overlap") for word in words):
                self.fail(counts, "%s: %s" % (who, words[:6]))
            else:
                counts.passed += 1
        evicted = 0
        for job in self.load.jobs:
            shown = self.server.json("job", "show", job)
            attempts = self.server.http("GET", "/api/v1/jobs/%s/attempts" % job).json()["items"]
            attempts.sort(key=lambda one: one["number"])
            evicted += sum(one.get("failure", {}).get("class") == "preemption" for one in attempts)
            if shown["state"] != "succeeded":
                self.fail(counts, "job %s: %s" % (job, shown))
                continue
            again = self.repeated(said, attempts)
            if again > 2 * kSaveEvery:
                self.fail(counts, "job %s did %d steps again" % (job, again))
            else:
                counts.passed += 1
        print("%d jobs, %d attempts, %d evictions" % (len(self.load.jobs), len(said), evicted),
              flush=True)
        if evicted == 0:
            self.fail(counts, "nobody was evicted: this run shows nothing")

    @staticmethod
    def repeated(said, attempts):
        """The most steps that rank 0 of an attempt did again: those since the last checkpoint, and
        one whole interval where the next checkpoint was on its way."""
        most, reached = 0, -1
        for attempt in attempts:
            words = said.get((attempt["id"], "0"), [])
            first = next((int(w.split()[1]) for w in words if w.startswith("begins")), None)
            if first is None:
                continue
            most = max(most, reached + 1 - first)
            steps = [int(re.sub("[^0-9]", "", w)) for w in words if w.startswith("step")]
            reached = max([reached] + steps)
        return most

    @staticmethod
    def fail(counts, words):
        counts.failed += 1
        print("FAILED " + words, flush=True)
