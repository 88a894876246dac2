"""Runs that MLflow's clients log to while the server is killed again and again, and what must hold
of them: every acknowledged point once, summaries that say the same, deleted runs whole or not at
all.

Every fourth run has so many batches that they are merged while it runs; runs end and are merged
once more, and half of them are deleted and collected a second later, so that kills fall into all of
that.
"""
import http.client
import random
import threading
import time

kWriters = 3
kBatches, kMany = 12, 90  # of a run
kKeys = ("loss", "acc", "n")
kSecondsAway = 60       # for a server to be back
API = "/api/2.0/mlflow/"


class Run:
    def __init__(self, id, number):
        self.id, self.number = id, number
        self.points = {key: [] for key in kKeys}   # key -> [(step, time, value)], acknowledged
        self.params = 0
        self.deleting = self.deleted = False


class Gone(Exception):
    """The load is over."""


class TrackingLoad:
    """kWriters threads until stop(). What got no answer is sent again, as a client would."""

    def __init__(self, server, seed):
        self.server, self.seed = server, seed
        self.runs, self.failures = [], []
        self.repeated = 0
        self.lock = threading.Lock()
        self.stopping = threading.Event()
        self.threads = [threading.Thread(target=self.write, args=(i,), daemon=True)
                        for i in range(kWriters)]

    def start(self):
        self.token = self.server.token()
        for thread in self.threads:
            thread.start()

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join()

    def known(self):
        with self.lock:
            return list(self.runs)

    def call(self, name, body):
        """The answer of a call that was acknowledged, however often the server went meanwhile."""
        until = time.monotonic() + kSecondsAway
        while time.monotonic() < until:
            try:
                answer = self.server.http("POST", API + name, body, token=self.token)
            except (OSError, http.client.HTTPException):
                self.repeated += 1
                if self.stopping.wait(0.05):
                    raise Gone() from None
                continue
            # What a call sent again finds done already.
            if answer.status == 200 or answer.status == 400 and name == "runs/delete":
                return answer.json()
            raise AssertionError("%s: %d %s" % (name, answer.status, answer.body))
        raise AssertionError("%s: the server did not come back" % name)

    def write(self, writer):
        chance = random.Random("%s/%s" % (self.seed, writer))
        try:
            number = 0
            while not self.stopping.is_set():
                self.one_run(chance, number)
                number += 1
        except Gone:
            pass
        except Exception as error:  # told at the end, as a failure
            self.failures.append("writer %d: %r" % (writer, error))

    def one_run(self, chance, number):
        made = self.call("runs/create", {"experiment_id": "0", "run_name": "tracked",
                                         "start_time": 1})
        run = Run(made["run"]["info"]["run_id"], number)
        with self.lock:
            self.runs.append(run)
        now = 1700000000000
        for batch in range(kMany if number % 4 == 3 else chance.randint(1, kBatches)):
            points = []
            for key in kKeys:
                for i in range(1 if key == "n" else 2):
                    now += 1
                    value = float(batch) if key == "n" else chance.uniform(-100, 100)
                    points.append((key, 2 * batch + i, now, value))
            self.call("runs/log-batch", {
                "run_id": run.id,
                "metrics": [{"key": k, "value": v, "timestamp": t, "step": s}
                            for k, s, t, v in points],
                "params": [{"key": "p%d" % batch, "value": "1"}]})
            with self.lock:
                for key, step, stamp, value in points:
                    run.points[key].append((step, stamp, value))
                run.params += 1
            if self.stopping.is_set():
                return
        if number % 8 == 0:
            return
        self.call("runs/update", {"run_id": run.id, "status": "FINISHED", "end_time": 2})
        if number % 2 == 1:
            run.deleting = True
            self.call("runs/delete", {"run_id": run.id})
            run.deleted = True


def history_of(server, run, key):
    answer = server.http("GET", "%smetrics/get-history?run_id=%s&metric_key=%s"
                         % (API, run.id, key))
    assert answer.status == 200, "run %s: %s" % (run.id, answer.body)
    return [(point["step"], point["timestamp"], point["value"])
            for point in answer.json().get("metrics", [])]


def is_collected(server, run):
    """Whether it is gone, as it was to be; all of it then."""
    if not run.deleting:
        return False
    answers = [server.http("GET", "%sruns/get?run_id=%s" % (API, run.id)),
               server.http("GET", "/api/v1/runs/" + run.id),
               server.http("GET", "%smetrics/get-history?run_id=%s&metric_key=n" % (API, run.id))]
    return all(answer.status == 404 for answer in answers)


def check_run(server, load, run):
    """What was acknowledged before this call. More may be there: the load goes on."""
    with load.lock:
        wanted, params = {key: list(points) for key, points in run.points.items()}, run.params
    try:
        check_acknowledged(server, run, wanted, params)
    except AssertionError:
        if not is_collected(server, run):
            raise


def check_acknowledged(server, run, wanted, params):
    answer = server.http("GET", "%sruns/get?run_id=%s" % (API, run.id))
    assert answer.status == 200, "run %s: %d %s" % (run.id, answer.status, answer.body)
    data = answer.json()["run"]["data"]
    latest = {metric["key"]: (metric["step"], metric["timestamp"], metric["value"])
              for metric in data.get("metrics", [])}
    for key in kKeys:
        found = history_of(server, run, key)
        count = len(wanted[key])
        assert found[:count] == wanted[key], \
            "run %s: of %d points of %s %d are there, or others" % (run.id, count, key, len(found))
        assert found == sorted(set(found)), "run %s: points of %s twice" % (run.id, key)
        if count:
            assert latest[key] in found and latest[key] >= wanted[key][-1], \
                "run %s: the latest %s is %s" % (run.id, key, latest[key])
    assert len(data.get("params", [])) >= params, "run %s: params are missing" % run.id


def check_settled(server, run):
    """When nothing is under way any more: the last batch whole or not at all, and summaries that
    say what the points say."""
    answer = server.http("POST", "/api/v1/metrics/query",
                         {"runs": [run.id], "keys": list(kKeys), "columns": 1}).json()
    assert not answer.get("damaged"), answer["damaged"]
    series = {one["key"]: one for one in answer["series"]}
    search = {"experiment_ids": ["0"], "filter": "attributes.run_id = '%s'" % run.id}
    (listed,) = server.http("POST", API + "runs/search", search).json()["runs"]
    batches = len(history_of(server, run, "n"))
    assert 0 <= batches - run.params <= 1, "run %s: %d batches" % (run.id, batches)
    params = listed["data"].get("params", [])
    assert len(params) == batches, "run %s: %d batches, %d params" % (run.id, batches, len(params))
    latest = {metric["key"]: metric for metric in listed["data"].get("metrics", [])}
    for key in kKeys:
        found = history_of(server, run, key)
        assert len(found) == batches * (1 if key == "n" else 2), "run %s: half a batch" % run.id
        if not found:
            continue
        values = [value for _, _, value in found]
        assert sum(series[key]["count"]) == len(values), "run %s: %s" % (run.id, series[key])
        assert (min(series[key]["min"]), max(series[key]["max"])) == (min(values), max(values)), \
            "run %s: %s" % (run.id, series[key])
        assert latest[key]["value"] == found[-1][2], "run %s: %s" % (run.id, latest[key])
