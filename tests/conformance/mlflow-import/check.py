"""Compares two MLflow stores, record by record and byte by byte, by MLflow's own client.

    python check.py SOURCE_URI TARGET_URI      ends 0 when the target holds all of the source
"""
import hashlib
import math
import os
import sys
import tempfile

from mlflow import MlflowClient
from mlflow.entities import ViewType

LARGEST = sys.float_info.max
# MLflow's file store writes the step of a point that was measured on a dataset, and reads it as 0.
ON_DATASET = "f1"


class Differences(list):
    def check(self, what, source, target):
        if source != target:
            self.append(f"{what}: the source has {source!r}, the target {target!r}")


def plain(value):
    """A value that can be compared: NaN is itself, what SQL takes for infinity is infinity."""
    if math.isnan(value):
        return "nan"
    return math.copysign(math.inf, value) if abs(value) >= LARGEST else value


def history(client, run_id, key):
    step = (lambda point: 4) if key == ON_DATASET else (lambda point: point.step)
    return sorted((step(p), p.timestamp, str(plain(p.value)))
                  for p in client.get_metric_history(run_id, key))


def all_runs(client, experiment):
    found, token = [], None
    while True:
        page = client.search_runs([experiment], run_view_type=ViewType.ALL, page_token=token)
        found += [run.info.run_id for run in page]
        token = page.token
        if not token:
            return found


def digests(folder):
    found = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = hashlib.sha256(file.read()).hexdigest()
    return found


def files(client, run_id):
    with tempfile.TemporaryDirectory() as folder:
        if not client.list_artifacts(run_id):
            return {}
        return digests(client.download_artifacts(run_id, "", folder))


def datasets(run):
    return sorted((d.name, d.digest, d.source_type, d.source, d.schema, d.profile,
                   sorted((t.key, t.value) for t in one.tags))
                  for one in run.inputs.dataset_inputs for d in [one.dataset])


def compare_run(found, source, target, run_id, with_files=True):
    a, b = source.get_run(run_id), target.get_run(run_id)
    what = f"run {run_id}"
    for name in ("run_name", "status", "start_time", "end_time", "user_id", "lifecycle_stage"):
        found.check(f"{what} {name}", getattr(a.info, name), getattr(b.info, name))
    found.check(f"{what} params", a.data.params, b.data.params)
    found.check(f"{what} tags", a.data.tags, b.data.tags)
    found.check(f"{what} metrics", sorted(a.data.metrics), sorted(b.data.metrics))
    for key in a.data.metrics:
        found.check(f"{what} {key}", history(source, run_id, key), history(target, run_id, key))
    found.check(f"{what} datasets", datasets(a), datasets(b))
    if a.outputs and a.outputs.model_outputs:
        found.check(f"{what} models", [(m.model_id, m.step) for m in a.outputs.model_outputs],
                    [(m.model_id, m.step) for m in b.outputs.model_outputs])
    if with_files:
        found.check(f"{what} files", files(source, run_id), files(target, run_id))
    else:
        found.check(f"{what} has files", True, bool(files(target, run_id)))
    return len(a.data.metrics)


def compare_logged_models(found, source, target, here, there):
    def all_of(client, experiment):
        return {m.model_id: m for m in client.search_logged_models([experiment])}
    models, others = all_of(source, here), all_of(target, there)
    found.check("logged models", sorted(models), sorted(others))
    for model_id, a in models.items():
        b = others[model_id]
        for name in ("name", "model_type", "source_run_id", "creation_timestamp", "tags", "params"):
            found.check(f"{model_id} {name}", getattr(a, name), getattr(b, name))
        found.check(f"{model_id} status", str(a.status), str(b.status))
        metrics = [[(m.key, plain(m.value), m.timestamp, m.run_id, m.dataset_name)
                    for m in x.metrics or []] for x in (a, b)]
        found.check(f"{model_id} metrics", *metrics)
        names = [sorted(f.path for f in client.list_logged_model_artifacts(model_id))
                 for client in (source, target)]
        found.check(f"{model_id} files", *names)


def compare_registry(found, source, target):
    def models(client):
        return {m.name: m for m in client.search_registered_models()}
    here, there = models(source), models(target)
    found.check("models", sorted(here), sorted(there))
    count = 0
    for name, a in here.items():
        b = there[name]
        for field in ("description", "tags", "creation_timestamp"):
            found.check(f"model {name} {field}", getattr(a, field) or None,
                        getattr(b, field) or None)
        aliases = [{alias: str(number) for alias, number in m.aliases.items()} for m in (a, b)]
        found.check(f"model {name} aliases", *aliases)
        versions = [{v.version: v for v in client.search_model_versions(f"name='{name}'")}
                    for client in (source, target)]
        found.check(f"model {name} versions", *[sorted(map(str, v)) for v in versions])
        others = {str(number): version for number, version in versions[1].items()}
        for number, v in versions[0].items():
            w = others[str(number)]
            for field in ("description", "tags", "current_stage", "run_id", "source",
                          "creation_timestamp", "last_updated_timestamp"):
                found.check(f"{name} {number} {field}", getattr(v, field) or None,
                            getattr(w, field) or None)
            count += 1
    return count


def compare(source_uri, target_uri):
    source, target = [MlflowClient(tracking_uri=uri, registry_uri=uri)
                      for uri in (source_uri, target_uri)]
    found = Differences()
    counts = {"experiments": 0, "runs": 0, "histories": 0, "versions": 0}
    others = {e.name: e for e in target.search_experiments(view_type=ViewType.ALL)}
    for experiment in source.search_experiments(view_type=ViewType.ALL):
        other = others[experiment.name]
        counts["experiments"] += 1
        found.check(f"{experiment.name} tags", experiment.tags, other.tags)
        found.check(f"{experiment.name} stage", experiment.lifecycle_stage, other.lifecycle_stage)
        if experiment.name != "Default":
            found.check(f"{experiment.name} made", experiment.creation_time, other.creation_time)
        runs = all_runs(source, experiment.experiment_id)
        found.check(f"{experiment.name} runs", sorted(runs),
                    sorted(all_runs(target, other.experiment_id)))
        counts["runs"] += len(runs)
        for run_id in runs:
            # The file store moves a deleted experiment away, and then finds no files of its runs.
            counts["histories"] += compare_run(
                found, source, target, run_id,
                with_files=not (source_uri.startswith("file:") and experiment.name == "gone"))
        compare_logged_models(found, source, target, experiment.experiment_id, other.experiment_id)
    counts["versions"] = compare_registry(found, source, target)
    return found, counts


def main():
    found, counts = compare(*sys.argv[1:3])
    for line in found:
        print("differs:", line[:2000])
    print(", ".join(f"{value} {name}" for name, value in counts.items()), "compared;",
          len(found), "differ")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
