"""Jobs that come without end while things are killed, and what is known about each of them."""
import json
import os
import random
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
kParallel = 6  # jobs at once
JOB = """hearth: 1
name: crash
code: .
command: exec python3 worker.py
params: {lines: %d, pause: %g, exit: %d}
env: {TRUTH: %s}
resources: {cpus: 0.05, memory: 256MiB}
outputs: {checkpoints: {path: ckpt, keep: 100}}
retries: {limit: 10, for: [lost, node]}
"""


class Job:
    def __init__(self, id, lines, exit):
        self.id, self.lines, self.exit = id, lines, exit
        self.seen_lines = {}        # attempt number -> what the server has shown
        self.seen_checkpoints = set()
        self.seen_points = 0
        self.killed_users = set()   # HEARTH_ATTEMPT of the attempts whose process we killed
        self.killed_shims = set()


class Load(threading.Thread):
    """Keeps kParallel jobs going until stop(). A submit that fails while the server is away is no
    promise, so nothing is written down about it."""

    def __init__(self, server, truth, seed):
        super().__init__(daemon=True)
        self.server, self.truth = server, truth
        self.random = random.Random(seed)
        self.jobs = {}
        self.lock = threading.Lock()
        self.stopping = threading.Event()
        self.folder = tempfile.mkdtemp(dir=server.root)
        with open(os.path.join(HERE, "worker.py"), encoding="utf-8") as source, \
                open(os.path.join(self.folder, "worker.py"), "w", encoding="utf-8") as copy:
            copy.write(source.read())

    def run(self):
        while not self.stopping.is_set():
            if len(live_workers(self.truth)) >= kParallel:
                self.stopping.wait(0.1)
                continue
            lines, code = self.random.randint(50, 400), self.random.choice([0, 0, 0, 3])
            path = os.path.join(self.folder, "job.yaml")
            with open(path, "w", encoding="utf-8") as f:
                f.write(JOB % (lines, self.random.choice([0.002, 0.01, 0.02]), code, self.truth))
            done = self.server.run("job", "submit", path, "--json")
            if done.returncode == 0:
                job = Job(json.loads(done.stdout)["id"], lines, code)
                with self.lock:
                    self.jobs[job.id] = job
            self.stopping.wait(0.3)

    def stop(self):
        self.stopping.set()
        self.join()

    def known(self):
        with self.lock:
            return dict(self.jobs)


def environment_of(pid):
    """The environment of a process as a dict, {} where it is gone."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as f:
            words = f.read().decode("utf-8", "replace").split("\0")
    except OSError:
        return {}
    return dict(word.split("=", 1) for word in words if "=" in word)


def command_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read().decode("utf-8", "replace").split("\0")[:-1]
    except OSError:
        return []


def is_alive(pid):
    """Neither gone nor a zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def processes():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def live_workers(truth):
    """(pid, job id, HEARTH_ATTEMPT) of the users' processes that run."""
    found = []
    for pid in processes():
        command = command_of(pid)
        if len(command) == 2 and command[1] == "worker.py" and is_alive(pid):
            env = environment_of(pid)
            if env.get("TRUTH") == truth:
                found.append((pid, env["HEARTH_JOB"], env["HEARTH_ATTEMPT"]))
    return found


def live_shims(data):
    """(pid, job id or "", directory) of the supervisors below a data directory."""
    found = []
    for pid in processes():
        command = command_of(pid)
        if len(command) > 2 and command[1] == "shim" and command[-1].startswith(data) and \
                is_alive(pid):
            job = ""
            try:
                with open(os.path.join(command[-1], "task.json"), encoding="utf-8") as f:
                    job = json.load(f)["job_id"]
            except (OSError, ValueError, KeyError):
                pass
            found.append((pid, job, command[-1]))
    return found


def wait_until(check, what, seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if check():
            return
        time.sleep(0.2)
    raise AssertionError(f"did not happen within {seconds} s: {what}")
