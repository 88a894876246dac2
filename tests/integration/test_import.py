"""`hearth import mlflow` a second time: what was logged or changed here since stays."""

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from harness import ServerCase

RUN = "0123456789abcdef0123456789abcdef"
OTHER = "fedcba9876543210fedcba9876543210"


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def points(first, count):
    return "".join("%d %d.5 %d\n" % (1600000000000 + step, step, step)
                   for step in range(first, first + count))


class Mlflow(BaseHTTPRequestHandler):
    """As much of a live server as one run with one file needs."""

    data = b""

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.split("?")[0]
        found = {}
        if path.endswith("experiments/search"):
            found = {"experiments": [{"experiment_id": "77", "name": "live"}]}
        elif path.endswith("runs/search"):
            found = {"runs": [{"info": {"run_id": OTHER, "experiment_id": "77",
                                        "status": "FINISHED", "start_time": 1600000000000},
                               "data": {}}]}
        elif path.endswith("artifacts/list"):
            found = {"files": [{"path": "w", "is_dir": False, "file_size": len(self.data)}]}
        body = self.data if path == "/get-artifact" else json.dumps(found).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer

    def log_message(self, format, *arguments):  # pylint: disable=redefined-builtin
        pass


class ImportTest(ServerCase):
    arguments = ("--no-webhooks",)

    def bring(self, source):
        done = self.server.run("import", "mlflow", source, "--json")
        self.assertTrue(done.stdout, done.stderr)
        return done.returncode, json.loads(done.stdout)

    def log_here(self, first, count):
        answer = self.server.http("POST", "/api/2.0/mlflow/runs/log-batch", {
            "run_id": RUN, "metrics": [{"key": "loss", "value": 1, "timestamp": 17 * 10**11 + step,
                                        "step": step} for step in range(first, first + count)]})
        self.assertEqual(answer.status, 200, answer.body)

    def history(self):
        answer = self.server.http(
            "GET", "/api/2.0/mlflow/metrics/get-history?run_id=%s&metric_key=loss" % RUN)
        return [point["timestamp"] for point in answer.json()["metrics"]]

    def test_points_that_were_logged_here_hide_none_of_the_source(self):
        store = os.path.join(self.server.root, "mlruns")
        write(store + "/5/meta.yaml", "experiment_id: '5'\nname: moved\nlifecycle_stage: active\n")
        write("%s/5/%s/meta.yaml" % (store, RUN),
              "run_id: %s\nexperiment_id: '5'\nstatus: 3\nlifecycle_stage: active\n"
              "start_time: 1600000000000\n" % RUN)
        metric = "%s/5/%s/metrics/loss" % (store, RUN)
        write(metric, points(0, 100))
        status, report = self.bring(store)
        self.assertEqual((status, report["more_here"]), (0, []), report)
        self.log_here(1000, 10)
        write(metric, points(0, 105))
        status, report = self.bring(store)
        times = self.history()
        self.assertEqual(len(times), 115)
        self.assertIn(1600000000104, times)
        self.assertEqual(status, 0, report)
        self.assertEqual(report["counts"]["points"],
                         {"source": 105, "brought": 105, "verified": 105})
        self.assertEqual(report["problems"], [])
        self.assertEqual(len(report["more_here"]), 1, report)
        self.assertIn("115 points", report["more_here"][0])

    def test_a_project_that_is_not_there_is_said_before_anything_is_read(self):
        store = os.path.join(self.server.root, "nowhere")
        write(store + "/5/meta.yaml", "experiment_id: '5'\nname: x\nlifecycle_stage: active\n")
        done = self.server.run("import", "mlflow", store, "--project", "nosuch")
        self.assertEqual(done.returncode, 3, done)
        self.assertEqual(done.stderr.count("nosuch"), 1, done.stderr)

    def test_a_live_servers_files_are_compared(self):
        handler = type("Handler", (Mlflow,), {"data": b"first"})
        with ThreadingHTTPServer(("127.0.0.1", 0), handler) as source:
            thread = threading.Thread(target=source.serve_forever)
            thread.start()
            try:
                url = "http://127.0.0.1:%d" % source.server_address[1]
                for data in (b"first", b"other"):
                    handler.data = data
                    status, report = self.bring(url)
                    self.assertEqual(status, 0, report)
                    self.assertEqual(report["counts"]["files"]["verified"], 1)
                    answer = self.server.http(
                        "GET", "/get-artifact?run_uuid=%s&path=w" % OTHER)
                    self.assertEqual(answer.body, data)
            finally:
                source.shutdown()
                thread.join()
