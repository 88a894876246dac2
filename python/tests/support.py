"""What the tests share: a stand-in for the shim, and scripts run as processes of their own."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)


class Shim:
    """Listens as the shim does and keeps the records of each session in order (PROTOCOL.md)."""

    def __init__(self, path, answers=True):
        self.path = path
        self.answers = answers
        self.sessions = {}     # session -> [record]
        self.hellos = []
        self.flushes = []
        self.torn = 0
        self._lock = threading.Lock()
        self._open = []
        self._dead = set()     # closed by stop(), unread bytes and all
        self._threads = []
        self._reading = threading.Event()
        self._reading.set()
        self.start()

    def start(self):
        if os.path.exists(self.path):
            os.unlink(self.path)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        folder = os.open(os.path.dirname(self.path), os.O_RDONLY)
        self._listener.bind("/proc/self/fd/%d/%s" % (folder, os.path.basename(self.path)))
        os.close(folder)
        self._listener.listen(128)
        self._thread = threading.Thread(target=self._accept, args=(self._listener,), daemon=True)
        self._thread.start()

    def stop(self):
        """Closes the listener and every connection, unread bytes and all."""
        if self._listener.fileno() < 0:
            return
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join(5)
        self._listener.close()
        for connection in list(self._open):
            self._dead.add(connection)
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        paused = not self._reading.is_set()
        self._reading.set()
        for thread in self._threads:
            thread.join(5)
        if paused:
            self._reading.clear()

    def pause(self):
        self._reading.clear()

    def go_on(self):
        self._reading.set()

    def records(self, kind=None):
        """All records so far, session by session."""
        with self._lock:
            every = [record for records in self.sessions.values() for record in records]
        return [record for record in every if kind is None or record["t"] == kind]

    def settle(self):
        """Waits until every connection is at its end: for processes that have ended."""
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            time.sleep(0.02)
            with self._lock:
                if not self._open:
                    return
        raise AssertionError("a connection is still open")

    def wait_for(self, count, kind=None, seconds=20):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found = self.records(kind)
            if len(found) >= count:
                return found
            time.sleep(0.01)
        raise AssertionError("%d of %d records of kind %s" % (len(found), count, kind))

    def _accept(self, listener):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with self._lock:
                self._open.append(connection)
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection):
        try:
            self._read(connection)
        except OSError:
            pass
        finally:
            with self._lock:
                self._open.remove(connection)
            connection.close()

    def _read(self, connection):
        rest = b""
        state = {"records": None, "skip": 0}
        while True:
            self._reading.wait()
            data = b"" if connection in self._dead else connection.recv(1 << 18)
            if not data:
                self.torn += bool(rest)
                return
            lines = (rest + data).split(b"\n")
            rest = lines.pop()
            for line in lines:
                assert len(line) < 1 << 20, "line too long"
                self._take(connection, state, json.loads(line.decode("utf-8")))

    def _take(self, connection, state, record):
        if record["t"] == "hello":
            assert state["records"] is None, "two hellos"
            with self._lock:
                self.hellos.append(record)
                state["records"] = self.sessions.setdefault(record["session"], [])
                state["skip"] = max(0, len(state["records"]) - record["next"])
        elif record["t"] == "flush":
            self.flushes.append(record)
            if self.answers:
                connection.sendall(b'{"t":"flushed","id":%d}\n' % record["id"])
        elif state["skip"]:
            state["skip"] -= 1
        else:
            with self._lock:
                state["records"].append(record)


class Case(unittest.TestCase):
    """A test with a directory of its own, a clean environment and, if asked, a shim."""

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="hearth-sdk-")
        self.addCleanup(shutil.rmtree, self.dir, True)
        self.env = {name: value for name, value in os.environ.items()
                    if not name.startswith("HEARTH_")}
        self.env["PYTHONPATH"] = ROOT
        self.env["PYTHONDONTWRITEBYTECODE"] = "1"

    def shim(self, **options):
        path = os.path.join(self.dir, "socket")
        self.env["HEARTH_SOCKET"] = path
        shim = Shim(path, **options)
        self.addCleanup(shim.stop)
        self.addCleanup(shim.go_on)
        return shim

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def write(self, name, text):
        """Replaces a file as the shim does."""
        with open(self.path("new"), "w") as file:
            file.write(text if isinstance(text, str) else json.dumps(text))
        os.rename(self.path("new"), self.path(name))
        return self.path(name)

    def start(self, code, *args):
        """Starts a script; stdout and stderr are pipes."""
        script = self.path("script.py")
        with open(script, "w") as file:
            file.write(textwrap.dedent(code))
        process = subprocess.Popen([sys.executable, script] + list(args), env=self.env,
                                   cwd=self.dir, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, universal_newlines=True)
        self.addCleanup(self._end, process)
        return process

    def run_script(self, code, *args, **expect):
        """Runs a script to its end; (stdout, stderr). Fails on another exit status than status."""
        process = self.start(code, *args)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, expect.get("status", 0), out + err)
        return out, err

    def _end(self, process):
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdin.close()
        process.stdout.close()
        process.stderr.close()
