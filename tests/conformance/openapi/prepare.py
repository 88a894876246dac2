"""What the API is asked about: made by real tasks, then served with the mock executor."""
import glob
import json
import os

from harness import Server, eventually, job_text

SCRIPT = """
import hearth
for step in range(20):
    hearth.log(step=step, loss=1.0 / (step + 1))
with hearth.checkpoint(step=19) as d:
    (d / "w").write_text("w")
hearth.log_table("confusion", [[1, 2], [3, 4]])
open("model.bin", "w").write("weights")
print("trained")
"""
OUTPUTS = "{checkpoints: {path: ckpt}, models: [{path: model.bin, name: tiny}]}"


def folder(server, name, files):
    path = os.path.join(server.root, name)
    os.makedirs(path)
    for file, text in files.items():
        with open(os.path.join(path, file), "w", encoding="utf-8") as out:
            out.write(text)
    return path


def task_token(server, job):
    """The order that the executor gave to the job's shim: its task and its token."""
    def order():
        for path in glob.glob(os.path.join(server.data, "work", "*", "*", "task.json")):
            with open(path, encoding="utf-8") as file:
                found = json.load(file)
            if found["job_id"] == job:
                return found
        return None
    return eventually(order, "the shim's order is written")


def prepare():
    """A running server on the mock executor, and its world: what there is to ask about."""
    server = Server().start()
    try:
        return server, world_of(server)
    except BaseException:
        server.close()
        raise


def world_of(server):
    data = folder(server, "letters", {"a.txt": "alpha", "b.txt": "beta"})
    server.ok("dataset", "add", data, "--name", "letters")
    code = folder(server, "code", {"train.py": SCRIPT})
    job = server.wait(server.submit(
        job_text("python3 train.py", name="real", code=".", outputs=OUTPUTS,
                 datasets="[{name: letters, at: data}]"), folder=code))
    assert job["state"] == "succeeded", server.lines(job["id"])
    # A shim may report for days after its task: by its token that call is made too.
    held = server.submit(job_text("sleep 600", name="held"))
    order = task_token(server, held)
    server.ok("down", "--cancel", "--data", server.data)
    server.process.wait()
    server.log.close()
    server.arguments = ["--executor", "mock", "--no-webhooks"]
    server.start()
    nodes = server.http("GET", "/api/v1/nodes").json()["items"]
    files = server.http("GET", f"/api/v1/runs/{job['run_id']}/artifacts").json()["items"]
    return {
        "url": server.url, "token": server.token(), "job": job["id"],
        "job_name": job["name"], "run": job["run_id"],
        "task": order["task_id"], "task_token": order["shim_token"], "epoch": order["epoch"],
        "digest": files[0]["digest"], "size": files[0]["size_bytes"], "path": files[0]["path"],
        "model": "tiny", "dataset": "letters",
        # Jobs fill nodes from the first on: nothing runs on the last.
        "node": nodes[-1]["name"], "pool": nodes[-1]["pool"],
        "dataset_id": server.http("GET", "/api/v1/datasets/letters").json()["id"],
        # Of users and tokens there is one: the run's own.
        "user": server.http("GET", "/api/v1/whoami").json()["user"],
        "user_id": server.http("GET", "/api/v1/users").json()["items"][0]["id"],
        "token_id": server.http("GET", "/api/v1/tokens").json()["items"][0]["id"],
    }
