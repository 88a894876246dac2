"""The runs that bench/page looks at: RUNS x KEYS metrics, the first CURVES of them with curves.

The same in Hearth and in MLflow. Hearth is given them by MLflow's protocol and goes on where it
ended before; MLflow's database, to which that would take hours, is given rows."""
import contextlib
import json
import math
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "../.."))
sys.path.insert(0, os.path.join(ROOT, "tests/integration"))
from harness import Server  # noqa: E402

KEYS = [f"m{i:03}" for i in range(1000)]
CURVES = 100  # runs
CURVE_KEYS, STEPS = KEYS[:50], 100
PARAMS, TAGS = 10, 5
BEGAN = 1_760_000_000_000
EXPERIMENT = "page"
CONNECTIONS = 8
MLFLOW = "mlflow==3.7.0"


def last_values(number):
    chance = random.Random(number)
    return [f"{chance.random():.6f}" for _ in KEYS]


def params(number):
    return {f"p{i}": str(number % (i + 2)) for i in range(PARAMS)}


def tags(number):
    return {f"t{i}": f"v{number % (i + 3)}" for i in range(TAGS)}


def curve(number, key, last):
    """Falls to `last` in STEPS steps."""
    chance = random.Random(f"{number} {key}")
    return [float(last) + math.exp(-step / 20) + chance.random() / 50 for step in range(STEPS - 1)
            ] + [float(last)]


def points(number):
    """(key, value as text, step) of a run."""
    for key, last in zip(KEYS, last_values(number)):
        if number < CURVES and key in CURVE_KEYS:
            for step, value in enumerate(curve(number, key, last)):
                yield key, f"{value:.6f}", step
        else:
            yield key, last, 0


def pairs(of):
    return [{"key": key, "value": value} for key, value in of.items()]


# --- Hearth ---------------------------------------------------------------------------------------


class Caller:
    """One connection; tokens by turns, as what one may do in a second is bounded."""

    def __init__(self, server, tokens):
        self.tokens, self.at = tokens, 0
        self.address = server.url.rpartition(":")
        self.socket = socket.create_connection(("127.0.0.1", int(self.address[2])), timeout=600)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.read = self.socket.makefile("rb", 1 << 16)

    def post(self, call, text):
        self.at = (self.at + 1) % len(self.tokens)
        body = text.encode()
        self.socket.sendall(
            (f"POST /api/2.0/mlflow/{call} HTTP/1.1\r\nHost: localhost\r\n"
             f"Content-Type: application/json\r\nAuthorization: Bearer {self.tokens[self.at]}\r\n"
             f"Content-Length: {len(body)}\r\n\r\n").encode() + body)
        status = int(self.read.readline().split()[1])
        length = 0
        while (line := self.read.readline()) != b"\r\n":
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        said = self.read.read(length)
        if status != 200:
            raise SystemExit(f"{call}: {status} {said[:300]!r}")
        return json.loads(said or b"{}")


def log_run(caller, experiment, number):
    began = BEGAN + number * 1000
    run = caller.post("runs/create", json.dumps(
        {"experiment_id": experiment, "start_time": began, "run_name": f"run-{number:06}",
         "tags": pairs(tags(number))}))["run"]["info"]["run_id"]
    caller.post("runs/log-batch", json.dumps({"run_id": run, "params": pairs(params(number))}))
    lines = [f'{{"key":"{key}","value":{value},"step":{step},"timestamp":{began + step}}}'
             for key, value, step in points(number)]
    for at in range(0, len(lines), 1000):
        caller.post("runs/log-batch",
                    f'{{"run_id":"{run}","metrics":[{",".join(lines[at:at + 1000])}]}}')
    caller.post("runs/update", json.dumps(
        {"run_id": run, "status": "FINISHED", "end_time": began + 600_000}))


def rows_to_merge(server):
    path = os.path.join(server.data, "state", "hearth.db")
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        return database.execute(
            "SELECT COUNT(*) FROM metric_batches WHERE kind = 'metric'").fetchone()[0]


def experiment_of(server):
    found = server.http("GET", "/api/2.0/mlflow/experiments/get-by-name?experiment_name="
                        + EXPERIMENT)
    if found.status == 200:
        return found.json()["experiment"]["experiment_id"]
    return server.http("POST", "/api/2.0/mlflow/experiments/create",
                       {"name": EXPERIMENT}).json()["experiment_id"]


def runs_there(server, experiment):
    return server.http("GET", f"/api/v1/runs?limit=1&fields=id&experiment_id={experiment}"
                       ).json()["total"]


def fill_hearth(server, runs, seconds):
    """Adds what lacks of `runs`, for so many seconds at most; whether all are there and merged."""
    until = time.monotonic() + seconds
    experiment = experiment_of(server)
    tokens = [server.http("POST", "/api/v1/tokens", {"name": f"fill-{os.getpid()}-{i}"}
                          ).json()["token"] for i in range(4)]
    numbers = iter(range(runs_there(server, experiment), runs))
    lock = threading.Lock()

    def work():
        caller = Caller(server, tokens)
        while time.monotonic() < until:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            log_run(caller, experiment, number)
    threads = [threading.Thread(target=work) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    while rows_to_merge(server) > 0:
        if time.monotonic() > until + seconds:
            return False
        time.sleep(1)
    return runs_there(server, experiment) >= runs


# --- MLflow ---------------------------------------------------------------------------------------


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


class Mlflow:
    """`mlflow server` on SQLite, in the virtual environment of bench/tracking."""

    def __init__(self, folder):
        self.home = os.path.join(ROOT, "build/mlflow-bench")
        if not os.path.exists(os.path.join(self.home, "complete")):
            subprocess.run([sys.executable, "-m", "venv", "--clear", self.home], check=True)
            subprocess.run([os.path.join(self.home, "bin/pip"), "install", "--quiet", MLFLOW,
                            "sqlalchemy<2.1"], check=True)
            with open(os.path.join(self.home, "complete"), "w", encoding="utf-8"):
                pass
        self.folder = folder
        os.makedirs(folder, exist_ok=True)
        self.database = os.path.join(folder, "mlflow.db")

    def start(self):
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.process = subprocess.Popen(
                [os.path.join(self.home, "bin/mlflow"), "server", "--backend-store-uri",
                 f"sqlite:///{self.database}", "--artifacts-destination", self.folder + "/files",
                 "--host", "127.0.0.1", "--port", str(port), "--workers", "4"],
                stdout=log, stderr=log, start_new_session=True,
                env=dict(os.environ,
                         PATH=os.path.join(self.home, "bin") + ":" + os.environ["PATH"]))
        until = time.monotonic() + 120
        while time.monotonic() < until:
            with contextlib.suppress(OSError, ValueError):
                if self.ask("experiments/get?experiment_id=0"):
                    return
            time.sleep(0.2)
        raise SystemExit("mlflow server does not answer")

    def ask(self, call, body=None):
        text = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/api/2.0/mlflow/{call}", text,
                                         {"Content-Type": "application/json"})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=600) as answer:
            return json.loads(answer.read())

    def stop(self):
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait()

    def fill(self, runs):
        """By rows; the id of the experiment. It is not running before and after."""
        self.start()
        try:
            with contextlib.suppress(urllib.error.HTTPError):
                self.ask("experiments/create", {"name": EXPERIMENT})
            of = self.ask(f"experiments/get-by-name?experiment_name={EXPERIMENT}")["experiment"]
        finally:
            self.stop()
        with contextlib.closing(sqlite3.connect(self.database)) as database:
            there = database.execute("SELECT COUNT(*) FROM runs").fetchone()[0]
            database.executescript("PRAGMA synchronous = OFF; PRAGMA cache_size = -2000000;")
            for first in range(there, runs, 500):
                for number in range(first, min(first + 500, runs)):
                    add_rows(database, of, number)
                database.commit()
        return of["experiment_id"]


def add_rows(database, experiment, number):
    run, began, name = f"{number:032x}", BEGAN + number * 1000, f"run-{number:06}"
    database.execute(
        "INSERT INTO runs (run_uuid, name, source_type, source_name, entry_point_name, user_id, "
        "status, start_time, end_time, source_version, lifecycle_stage, artifact_uri, "
        "experiment_id) VALUES (?,?,'UNKNOWN','','','bench','FINISHED',?,?,'','active',?,?)",
        (run, name, began, began + 600_000,
         f"{experiment['artifact_location']}/{run}/artifacts", experiment["experiment_id"]))
    database.executemany("INSERT INTO params (key, value, run_uuid) VALUES (?,?,?)",
                         [(key, value, run) for key, value in params(number).items()])
    database.executemany(
        "INSERT INTO tags (key, value, run_uuid) VALUES (?,?,?)",
        [(key, value, run) for key, value in {**tags(number), "mlflow.runName": name}.items()])
    rows = [(key, float(value), began + step, step, run) for key, value, step in points(number)]
    database.executemany("INSERT INTO metrics (key, value, timestamp, step, run_uuid, is_nan) "
                         "VALUES (?,?,?,?,?,0)", rows)
    latest = {row[0]: row for row in rows}
    database.executemany("INSERT INTO latest_metrics (key, value, timestamp, step, run_uuid, "
                         "is_nan) VALUES (?,?,?,?,?,0)", latest.values())


def main():
    """data.py FOLDER RUNS SECONDS: fills a folder ahead, in turns."""
    folder, runs, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    os.makedirs(folder, exist_ok=True)
    server = Server(root=os.path.abspath(folder)).start()
    began = time.monotonic()
    try:
        done = fill_hearth(server, runs, seconds)
        there = runs_there(server, experiment_of(server))
        print(f"{there} of {runs} runs after {time.monotonic() - began:.0f} s; "
              f"{'all are there' if done else 'call again'}", flush=True)
    finally:
        server.stop()
    return 0 if done else 1


if __name__ == "__main__":
    sys.exit(main())
