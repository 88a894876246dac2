"""A real server in a temporary directory, spoken to by the real command line and plain HTTP."""

import contextlib
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

BIN = os.environ["HEARTH_BIN"]
# Sanitizers slow everything; a wait is a bound on a hang, never a measure of speed.
PATIENCE = 120


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)


class Server:
    """`hearth up` on a directory of its own, with a configuration of its own."""

    def __init__(self, *arguments, root=None, data=None, program=BIN):
        self.root = root or tempfile.mkdtemp(prefix="hearth-it-")
        self.data = data or os.path.join(self.root, "data")
        self.program = program  # of the server and of its command line
        self.arguments = list(arguments)
        self.process = None
        self.environment = dict(
            os.environ,
            XDG_CONFIG_HOME=os.path.join(self.root, "config"),
            XDG_DATA_HOME=os.path.join(self.root, "share"),
            NO_COLOR="1",
        )
        self.environment.pop("HEARTH_URL", None)
        self.environment.pop("HEARTH_TOKEN", None)

    def start(self):
        self.log = open(os.path.join(self.root, "server.log"), "ab")
        self.process = subprocess.Popen(
            [self.program, "up", "--data", self.data, "--listen", "127.0.0.1:0", *self.arguments],
            env=self.environment, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if self.process.poll() is not None:
                raise AssertionError("the server ended at once:\n" + self.log_text())
            try:
                with open(os.path.join(self.data, "server.json")) as file:
                    state = json.load(file)
                if state["pid"] == self.process.pid:
                    self.url = state["url"]
                    self.environment["HEARTH_URL"] = self.url
                    return self
            except (FileNotFoundError, ValueError, KeyError):
                pass
            time.sleep(0.02)
        raise AssertionError("the server is not ready:\n" + self.log_text())

    def log_text(self):
        with open(os.path.join(self.root, "server.log"), errors="replace") as file:
            return file.read()[-8000:]

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(PATIENCE)
        self.log.close()

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.log.close()

    def close(self):
        """Cancels what runs, stops, and removes everything."""
        if self.process and self.process.poll() is None:
            subprocess.run([self.program, "down", "--cancel", "--data", self.data],
                           env=self.environment, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, timeout=PATIENCE)
            self.stop()
        self.end_tasks()
        shutil.rmtree(self.root, ignore_errors=True)

    def end_tasks(self):
        """What could not be cancelled in order, as after damage: shims of this directory, and all
        that bears the mark of their tasks."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                with open("/proc/%s/cmdline" % pid, "rb") as file:
                    words = file.read().decode(errors="replace").split("\0")
                if words[1:2] == ["shim"] and words[-2].startswith(self.data + "/"):
                    os.kill(int(pid), signal.SIGKILL)
                    for task in processes_of("HEARTH_TASK=" + os.path.basename(words[-2])):
                        os.kill(task, signal.SIGKILL)

    def run(self, *arguments, stdin=None, cwd=None, environment=None):
        """The finished CLI process, output as text."""
        return subprocess.run(
            [self.program, *arguments], env=dict(self.environment, **(environment or {})),
            input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            errors="replace", cwd=cwd or self.root, timeout=PATIENCE)

    def ok(self, *arguments, **options):
        done = self.run(*arguments, **options)
        if done.returncode != 0:
            raise AssertionError("hearth %s ended with %d\n%s%s\n--- server\n%s" % (
                " ".join(arguments), done.returncode, done.stdout, done.stderr, self.log_text()))
        return done.stdout

    def json(self, *arguments, **options):
        return json.loads(self.ok(*arguments, "--json", **options))

    def submit(self, text, *arguments, folder=None):
        """Submits a job file's text; its id."""
        folder = folder or tempfile.mkdtemp(dir=self.root)
        path = os.path.join(folder, "job.yaml")
        with open(path, "w") as file:
            file.write(text)
        return self.json("job", "submit", path, *arguments)["id"]

    def wait(self, *jobs):
        """Waits for their ends; the last one as JSON."""
        self.run("job", "wait", *jobs, "--timeout", "%ds" % PATIENCE)
        return self.json("job", "show", jobs[-1])

    def job(self, command, name="it", folder=None, **fields):
        """Submits a job of one shell command and returns it ended."""
        return self.wait(self.submit(job_text(command, name, **fields), folder=folder))

    def lines(self, job, *arguments):
        return self.ok("job", "logs", job, *arguments).splitlines()

    def token(self):
        path = os.path.join(self.environment["XDG_CONFIG_HOME"], "hearth", "contexts.json")
        with open(path) as file:
            contexts = json.load(file)["contexts"].values()
        # A copy of a server that runs has one beside that one's.
        (context,) = [one for one in contexts if one["url"] == self.url] or contexts
        return context["token"]

    def http(self, method, path, body=None, token=None, headers=None):
        """A plain request; any status is an answer. token: None = the admin's, "" = none."""
        headers = dict(headers or {})
        token = self.token() if token is None else token
        if token:
            headers.setdefault("Authorization", "Bearer " + token)
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        request = urllib.request.Request(self.url + path, data=body, method=method, headers=headers)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=PATIENCE) as answer:
                return Answer(answer.status, answer.headers, answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, error.headers, error.read())


class Events:
    """All events of a server as they come, read by a thread until the server goes."""

    def __init__(self, server):
        self.seen = []
        request = urllib.request.Request(
            server.url + "/api/v1/events?since=0",
            headers={"Authorization": "Bearer " + server.token(), "Accept": "text/event-stream"})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        self.stream = opener.open(request, timeout=PATIENCE)
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        with contextlib.suppress(OSError, ValueError, http.client.HTTPException):
            for line in self.stream:
                if line.startswith(b"data:"):
                    self.seen.append(json.loads(line[5:]))

    def of(self, kind):
        return [event for event in self.seen if event.get("kind") == kind]


def job_text(command, name="it", **fields):
    text = "hearth: 1\nname: %s\ncommand: %s\n" % (name, json.dumps(command))
    for key, value in fields.items():
        text += "%s: %s\n" % (key, value if isinstance(value, str) else json.dumps(value))
    return text


def processes_of(marker):
    """Processes whose environment bears the marker."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/environ" % pid, "rb") as file:
                if marker.encode() in file.read().split(b"\0"):
                    found.append(int(pid))
        except OSError:
            pass
    return found


def shim_of(task):
    """The pid of a task's supervisor, None where there is none."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if b"shim" in words and any(task.encode() in word for word in words):
            return int(pid)
    return None


def eventually(check, what, patience=PATIENCE):
    until = time.monotonic() + patience
    while time.monotonic() < until:
        value = check()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError("did not happen: " + what)


def run_cases(folder, words):
    """Runs folder/test_*.py, those tests alone whose name has one of the words; the counts."""
    from testing import Counts  # of tools/, which those that only want a server need not have
    loader = unittest.TestLoader()
    loader.testNamePatterns = ["*%s*" % word for word in words] or None
    suite = loader.discover(folder, "test_*.py")
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2, buffer=False).run(suite)
    failed = len(result.failures) + len(result.errors)
    for test, why in result.skipped:
        print("skipped %s: %s" % (test, why))
    skipped = len(result.skipped)
    return Counts(max(0, result.testsRun - failed - skipped), failed, skipped)


class ServerCase(unittest.TestCase):
    """A class with one server for all its tests."""

    arguments = ()

    @classmethod
    def setUpClass(cls):
        cls.server = Server(*cls.arguments).start()

    @classmethod
    def tearDownClass(cls):
        cls.server.close()
