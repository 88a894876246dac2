"""The pytest plugin of `upstream`: Hearth where MLflow's tests launch MLflow's server."""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
REASONS = os.path.join(HERE, "../../../docs/conformance.md")
PATIENCE = 120
state = {"artifact_root": ""}


class Hearth:
    """`hearth up` on an empty directory; requests and MLflow's client get its token."""

    def __init__(self, address="127.0.0.1:0", artifact_root=""):
        self.root = tempfile.mkdtemp(dir=os.environ["HEARTH_SCRATCH"])
        environment = dict(os.environ, XDG_CONFIG_HOME=self.root + "/config",
                           XDG_DATA_HOME=self.root + "/share")
        self.log = open(self.root + "/server.log", "ab")
        root = ["--mlflow-artifact-root", artifact_root] if artifact_root else []
        self.process = subprocess.Popen(
            [os.environ["HEARTH_BIN"], "up", "--data", self.root + "/data", "--listen", address,
             "--executor", "mock", "--no-webhooks", *root], env=environment,
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.url = self.wait()
        with open(self.root + "/config/hearth/contexts.json", encoding="utf-8") as file:
            contexts = json.load(file)["contexts"]
        (context,) = contexts.values() if isinstance(contexts, dict) else contexts
        # requests sends it by itself to whoever is called so.
        with open(os.environ["NETRC"], "w", encoding="utf-8") as file:
            for machine in ("127.0.0.1", "localhost"):
                file.write(f"machine {machine} login hearth password {context['token']}\n")
        os.environ["MLFLOW_TRACKING_TOKEN"] = context["token"]

    def wait(self):
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            with contextlib.suppress(OSError, ValueError, KeyError):
                with open(self.root + "/data/server.json", encoding="utf-8") as file:
                    found = json.load(file)
                if found["pid"] == self.process.pid:
                    return found["url"]
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        with open(self.root + "/server.log", encoding="utf-8") as file:
            raise AssertionError("hearth did not start:\n" + file.read()[-4000:])

    def poll(self):
        return self.process.poll()

    def kill(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(PATIENCE)
        self.log.close()
        with open(self.root + "/server.log", encoding="utf-8", errors="replace") as file:
            for line in file:
                if "ERROR: AddressSanitizer" in line or "runtime error" in line:
                    raise AssertionError(line)
        shutil.rmtree(self.root, ignore_errors=True)

    terminate = kill


class HearthThread:
    """In place of ServerThread(app, port)."""

    def __init__(self, app, port):
        self.server = None

    def __enter__(self):
        self.server = Hearth(artifact_root=state["artifact_root"])
        return self.server.url

    def __exit__(self, *error):
        self.server.kill()


@contextlib.contextmanager
def init_server(backend_uri="", root_artifact_uri="", *rest, **more):
    server = Hearth(artifact_root=root_artifact_uri)
    try:
        yield server.url
    finally:
        server.kill()


def launch_server(host, port, backend_store_uri, default_artifact_root, artifacts_destination):
    return Hearth(f"{host}:{port}")


def initialize_backend_stores(*arguments, default_artifact_root="", **more):
    state["artifact_root"] = default_artifact_root or ""


def pytest_configure(config):
    from mlflow.server import handlers
    from tests.tracking import integration_test_utils
    handlers.initialize_backend_stores = initialize_backend_stores
    integration_test_utils.ServerThread = HearthThread
    integration_test_utils._init_server = init_server


def reasons():
    """Test name (without its parameters) to reason: the rows of docs/conformance.md."""
    found = {}
    with open(REASONS, encoding="utf-8") as file:
        for line in file:
            row = re.match(r"\| `(test_\w+(?:\[[^`]*\])?)` \| ([^|]+) \|$", line.strip())
            if row:
                found[row.group(1)] = row.group(2).strip()
    return found


def pytest_collection_modifyitems(config, items):
    known = reasons()
    kept = []
    for item in items:
        if hasattr(item.module, "_launch_server"):
            item.module._launch_server = launch_server
        parameters = item.name[len(item.originalname):]
        # The same test runs against MLflow's database store; ours is one.
        if re.search(r"\[(.*-)?file(-.*)?\]", parameters):
            continue
        for name in (item.name, item.originalname):
            if name in known and not os.environ.get("HEARTH_UPSTREAM_ALL"):
                item.add_marker(pytest.mark.skip(reason=known[name]))
                break
        kept.append(item)
    config.hook.pytest_deselected(items=[i for i in items if i not in kept])
    items[:] = kept
