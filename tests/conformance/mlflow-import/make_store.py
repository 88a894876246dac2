"""Fills an MLflow store (file:, sqlite:, http:) with one of everything, by MLflow's own client.

    python make_store.py TRACKING_URI [RUNS]
"""
import math
import os
import sys
import tempfile

import mlflow
from mlflow import MlflowClient
from mlflow.entities import (Dataset, DatasetInput, InputTag, LoggedModelOutput, Metric, Param,
                             RunTag)

POINTS = 1500  # more than one batch of MLflow's
RUN_START = 1_600_000_000_000


def write_files(client, run_id):
    # MLflow's server answers 500 for a name that is no ASCII.
    plot = "plot.txt" if client.tracking_uri.startswith("http") else "plot-ä.txt"
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(os.path.join(folder, "model", "sub dir"))
        for path, content in (("model/MLmodel", b"flavors: {}\n"),
                              ("model/weights.bin", bytes(range(256)) * 40),
                              ("model/sub dir/empty.txt", b""), (plot, "ü".encode())):
            with open(os.path.join(folder, path), "wb") as file:
                file.write(content + (run_id.encode() if content else b""))
        client.log_artifacts(run_id, folder)


def fill_run(client, experiment, index, parent=None):
    tags = {"kind": "test", "mlflow.source.name": "train.py", "long": "x" * 4000}
    if parent:
        tags["mlflow.parentRunId"] = parent
    run = client.create_run(experiment, start_time=RUN_START + index * 1000, tags=tags,
                            run_name=f"run {index} ä")
    run_id = run.info.run_id
    params = [Param(f"group/p{i}", "two\nlines" if i == 3 else str(i)) for i in range(12)]
    params.append(Param("empty", ""))
    client.log_batch(run_id, params=params, tags=[RunTag("late", "ünicode")])
    points = [Metric("loss", 1 / (step + 1), RUN_START + step, step) for step in range(POINTS)]
    points += [Metric("val/acc", step / 7, RUN_START + step, step) for step in range(50)]
    points += [Metric("odd", math.nan, RUN_START, 0), Metric("odd", math.inf, RUN_START + 1, 1),
               Metric("odd", -math.inf, RUN_START + 2, 2), Metric("odd", 1e-300, RUN_START + 3, -5),
               Metric("odd", 0.1 + 0.2, RUN_START + 4, 3)]
    for start in range(0, len(points), 1000):
        client.log_batch(run_id, metrics=points[start:start + 1000])
    data = Dataset("iris", f"d{index % 3}", "local", '{"uri": "iris.csv"}', '{"columns": ["a"]}',
                   '{"rows": 150}')
    client.log_inputs(run_id, [DatasetInput(data, [InputTag("mlflow.data.context", "training")])])
    return run_id


def registry(client, run_ids):
    client.create_registered_model("clas sifier", tags={"team": "vision"},
                                   description="Of irises.\nTwo lines.")
    for number, run_id in enumerate(run_ids[:4], 1):
        source = client.get_run(run_id).info.artifact_uri + "/model"
        client.create_model_version("clas sifier", source, run_id, tags={"n": str(number)},
                                    description=f"version {number}")
    client.delete_model_version("clas sifier", "2")
    client.set_registered_model_alias("clas sifier", "champion", "3")
    client.set_registered_model_alias("clas sifier", "older", "1")
    client.transition_model_version_stage("clas sifier", "1", "Archived")
    client.transition_model_version_stage("clas sifier", "4", "Production")
    client.create_registered_model("empty-model")


def logged_model(client, experiment, run_id):
    model = client.create_logged_model(experiment, name="net", source_run_id=run_id,
                                       model_type="Classifier", params={"depth": "3"},
                                       tags={"a": "b"})
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "MLmodel"), "w", encoding="utf-8") as file:
            file.write("flavors: {}\n")
        client.log_model_artifacts(model.model_id, folder)
    client.finalize_logged_model(model.model_id, "READY")
    client.log_outputs(run_id, [LoggedModelOutput(model.model_id, 7)])
    client.log_metric(run_id, "f1", 0.75, timestamp=RUN_START + 9, step=4, model_id=model.model_id,
                      dataset_name="iris", dataset_digest="d0")
    return model.model_id


def main():
    uri, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 6
    mlflow.set_tracking_uri(uri)
    client = MlflowClient()
    first = client.create_experiment("vision/first", tags={"owner": "ann", "empty": ""})
    second = client.create_experiment("second")
    gone = client.create_experiment("gone")
    run_ids = [fill_run(client, first, 0)]
    run_ids += [fill_run(client, first, i, run_ids[0] if i == 1 else None)
                for i in range(1, count - 2)]
    run_ids += [fill_run(client, second, count - 2), fill_run(client, gone, count - 1)]
    bare = client.create_run("0", start_time=RUN_START).info.run_id
    for run_id, status in zip(run_ids, ("FINISHED", "FAILED", "KILLED", "RUNNING")):
        client.set_terminated(run_id, status, end_time=RUN_START + 5_000_000)
    for run_id in run_ids[:2] + run_ids[-2:]:
        write_files(client, run_id)
    logged_model(client, first, run_ids[0])
    registry(client, run_ids)
    client.delete_run(run_ids[2])
    client.delete_experiment(gone)
    print(bare, *run_ids)


if __name__ == "__main__":
    main()
