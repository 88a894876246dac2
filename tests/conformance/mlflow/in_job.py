"""A script with MLflow's client inside a real job, which set nothing: the shim did."""
import json
import os
import textwrap
import traceback

from testing import Counts

SCRIPT = textwrap.dedent("""
    import os, mlflow
    assert "MLFLOW_RUN_ID" not in os.environ
    mlflow.set_experiment("chosen-in-the-script")
    with mlflow.start_run() as first:
        # As the job file has them, in Python's words.
        mlflow.log_params({"lr": 0.001, "flag": True, "layers": [64, 10], "epochs": 3})
        try:
            mlflow.log_param("lr", 0.1)
        except mlflow.MlflowException:
            pass
        else:
            raise AssertionError("a param was logged twice")
        for step in range(3):
            mlflow.log_metric("loss", 1.0 / (step + 1), step=step)
        with open("notes.txt", "w") as file:
            file.write("hello")
        mlflow.log_artifact("notes.txt", "docs")
    with mlflow.start_run(run_name="second") as second:
        mlflow.log_metric("loss", 7.0)
    print("RUNS", first.info.run_id, second.info.run_id, flush=True)
""")


def check(server, python):
    prefix = os.path.dirname(os.path.dirname(python))
    folder = os.path.join(server.root, "mlflow-job")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "train.py"), "w", encoding="utf-8") as file:
        file.write(SCRIPT)
    job = server.submit(
        "hearth: 1\nname: with-mlflow\nexperiment: from-the-file\ncode: .\n"
        "command: python3 train.py\nenvironment: {prefix: %s}\n"
        "env: {MLFLOW_DISABLE_TELEMETRY: \"true\", GIT_PYTHON_REFRESH: quiet, "
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES: \"0\"}\n"
        "params: {lr: 1e-3, flag: true, layers: [64, 10], seed: 7}\n"
        "resources: {cpus: 0.5, memory: 2GiB}\n"
        % json.dumps(prefix), folder=folder)
    for _ in range(5):  # importing mlflow takes long on a loaded machine
        ended = server.wait(job)
        if ended["state"] in ("succeeded", "failed", "cancelled"):
            break
    lines = server.lines(job)
    assert ended["state"] == "succeeded", (ended, lines[-30:])
    first, second = next(line for line in lines if line.startswith("RUNS")).split()[1:]
    assert first == ended["run_id"], "the first run is the job's own"
    run = server.http("GET", "/api/v1/runs/" + first).json()
    assert run["experiment"] == "chosen-in-the-script", run
    assert run["params"] == {"lr": "0.001", "flag": "True", "layers": "[64, 10]", "epochs": "3",
                             "seed": "7"}, run
    assert run["metrics"]["loss"]["step"] == 2, run
    # The end of a job's own run is the job's alone.
    assert run["status"] == "finished", run
    files = server.http("GET", f"/api/v1/runs/{first}/artifacts").json()["items"]
    assert [file["path"] for file in files] == ["docs/notes.txt"], files
    child = server.http("GET", "/api/v1/runs/" + second).json()
    assert child["parent_id"] == first and child["job_id"] == ended["id"], child
    assert child["status"] == "finished", child


def run(server, python, title):
    try:
        check(server, python)
    except Exception:
        traceback.print_exc()
        print(f"{title}: in a job ... FAIL")
        return Counts(failed=1)
    print(f"{title}: in a job ... ok")
    return Counts(passed=1)
