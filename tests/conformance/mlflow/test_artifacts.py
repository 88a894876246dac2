"""Files of runs, through the proxy: up, down, listed, deleted, and what is refused."""
import os
import tempfile
import unittest
import urllib.error
import urllib.request
import uuid

import mlflow
from mlflow import MlflowClient


def call(method, path, body=None):
    """Any answer of the server as (status, body)."""
    kind = "application/octet-stream" if method == "PUT" else "application/json"
    request = urllib.request.Request(
        os.environ["MLFLOW_TRACKING_URI"] + path, data=body, method=method,
        headers={"Authorization": "Bearer " + os.environ["MLFLOW_TRACKING_TOKEN"],
                 "Content-Type": kind})
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


class Artifacts(unittest.TestCase):
    def setUp(self):
        self.client = MlflowClient()
        experiment = self.client.create_experiment("files-" + uuid.uuid4().hex[:8])
        self.run_info = self.client.create_run(experiment).info
        self.run_id = self.run_info.run_id
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, path, text):
        full = os.path.join(self.folder.name, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)
        return full

    def paths(self, path=None):
        return sorted((f.path, f.is_dir, f.file_size)
                      for f in self.client.list_artifacts(self.run_id, path))

    def test_up_and_down(self):
        self.write("d/a.txt", "hello")
        self.write("d/sub/b c.txt", "x" * 100_000)
        self.client.log_artifacts(self.run_id, os.path.join(self.folder.name, "d"), "out")
        self.client.log_artifact(self.run_id, self.write("empty", ""))
        self.client.log_text(self.run_id, "text", "notes/100%.txt")
        self.client.log_dict(self.run_id, {"a": 1}, "dict.json")
        self.assertEqual(self.paths(), [("dict.json", False, 12), ("empty", False, 0),
                                        ("notes", True, None), ("out", True, None)])
        self.assertEqual(self.paths("out"), [("out/a.txt", False, 5), ("out/sub", True, None)])
        # A file's own path lists nothing: so clients tell it from a folder.
        self.assertEqual(self.paths("out/a.txt"), [])
        self.assertEqual(self.paths("nothing"), [])
        whole = self.client.download_artifacts(self.run_id, "", self.folder.name)
        with open(os.path.join(whole, "out/sub/b c.txt"), encoding="utf-8") as file:
            self.assertEqual(len(file.read()), 100_000)
        with open(os.path.join(whole, "notes/100%.txt"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "text")
        self.assertEqual(mlflow.artifacts.load_dict(self.run_info.artifact_uri + "/dict.json"),
                         {"a": 1})

    def test_written_again(self):
        for text in ("one", "other"):
            self.client.log_text(self.run_id, text, "a.txt")
        self.assertEqual(self.paths(), [("a.txt", False, 5)])
        self.assertEqual(mlflow.artifacts.load_text(self.run_info.artifact_uri + "/a.txt"), "other")

    def test_deleted(self):
        self.client.log_text(self.run_id, "x", "d/a.txt")
        self.client.log_text(self.run_id, "x", "d/b.txt")
        base = "/api/2.0/mlflow-artifacts/artifacts/" + self.run_info.artifact_uri.split(":/")[1]
        self.assertEqual(call("DELETE", base + "/d/a.txt")[0], 200)
        self.assertEqual([p[0] for p in self.paths("d")], ["d/b.txt"])
        self.assertEqual(call("DELETE", base + "/d")[0], 200)
        self.assertEqual(self.paths(), [])
        self.assertEqual(call("DELETE", base + "/d")[0], 404)

    def test_escapes(self):
        base = "/api/2.0/mlflow-artifacts/artifacts/" + self.run_info.artifact_uri.split(":/")[1]
        for path in ("/../x", "/%2e%2e/x", "/..%2fx", "/%252e%252e%252fx", "/a%5cb", "/a%00b"):
            for method, body in (("PUT", b"x"), ("GET", None), ("DELETE", None)):
                status, answer = call(method, base + path, body)
                self.assertIn(status, (400, 404), (method, path, answer))
        for path in ("../x", "%2e%2e/x", "/etc/passwd", "file:///etc/passwd"):
            status, answer = call("GET", f"/get-artifact?run_id={self.run_id}&path={path}")
            self.assertEqual(status, 400, (path, answer))
            self.assertIn(b"Invalid path", answer)
        self.assertEqual(self.paths(), [])

    def test_a_stranger_gets_nothing(self):
        self.client.log_text(self.run_id, "secret", "a.txt")
        url = (os.environ["MLFLOW_TRACKING_URI"] + "/api/2.0/mlflow-artifacts/artifacts/"
               + self.run_info.artifact_uri.split(":/")[1] + "/a.txt")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with self.assertRaises(urllib.error.HTTPError) as caught:
            opener.open(url)
        self.assertEqual(caught.exception.code, 401)
        caught.exception.close()


class Others(unittest.TestCase):
    def test_health_and_version(self):
        self.assertEqual(call("GET", "/health"), (200, b"OK"))
        status, version = call("GET", "/version")
        self.assertEqual(status, 200)
        self.assertRegex(version.decode(), r"^\d+\.\d+\.\d+$")

    def test_what_is_not_built_is_not_tried_again(self):
        for method, path in (("GET", "/api/2.0/mlflow/webhooks"), ("POST", "/graphql"),
                             ("POST", "/api/3.0/mlflow/traces"),
                             ("GET", "/api/2.0/mlflow/no/such/call"),
                             ("POST", "/api/2.0/mlflow-artifacts/mpu/create/x")):
            status, answer = call(method, path, b"{}" if method == "POST" else None)
            self.assertIn(status, (404, 501), path)
            self.assertIn(b"error_code", answer)

    def test_basic_authentication(self):
        token = os.environ.pop("MLFLOW_TRACKING_TOKEN")
        os.environ.update(MLFLOW_TRACKING_USERNAME="anyone", MLFLOW_TRACKING_PASSWORD=token)
        try:
            self.assertEqual(MlflowClient().get_experiment("0").name, "Default")
        finally:
            del os.environ["MLFLOW_TRACKING_USERNAME"], os.environ["MLFLOW_TRACKING_PASSWORD"]
            os.environ["MLFLOW_TRACKING_TOKEN"] = token
