"""Registered models, versions, aliases, stages, tags; logged models; a model loaded again."""
import json
import os
import unittest
import urllib.request
import uuid

import mlflow
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException

try:
    import sklearn  # noqa: F401
except ImportError:
    sklearn = None


def name(prefix):
    return f"{prefix}-{uuid.uuid4().hex[:8]}"


def call(method, path, body=None):
    request = urllib.request.Request(
        os.environ["MLFLOW_TRACKING_URI"] + path, data=body, method=method,
        headers={"Authorization": "Bearer " + os.environ["MLFLOW_TRACKING_TOKEN"],
                 "Content-Type": "application/octet-stream"})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as answer:
        return answer.read()


def hearth(path):
    """Hearth's own API."""
    return json.loads(call("GET", path))


def erase(path):
    """Deletes files of a run, which MLflow's client has no call for."""
    call("DELETE", "/api/2.0/mlflow-artifacts/artifacts/" + path)


class Registry(unittest.TestCase):
    def setUp(self):
        self.client = MlflowClient()

    def run_with_file(self):
        run = self.client.create_run(self.client.create_experiment(name("registry")))
        self.client.log_text(run.info.run_id, "weights", "model/weights.txt")
        self.client.log_text(run.info.run_id, "more", "model/sub/more.txt")
        return run

    def test_whole_life(self):
        model = name("Model one")
        run = self.run_with_file()
        self.client.create_registered_model(model, tags={"a": "1"}, description="first")
        with self.assertRaisesRegex(MlflowException, "already exists"):
            self.client.create_registered_model(model)
        version = self.client.create_model_version(
            model, run.info.artifact_uri + "/model", run.info.run_id, tags={"k": "v"})
        self.assertEqual((version.version, version.current_stage), ("1", "None"))
        self.client.create_model_version(model, f"runs:/{run.info.run_id}/model", run.info.run_id)
        self.client.set_registered_model_alias(model, "champion", "1")
        self.assertEqual(self.client.get_model_version_by_alias(model, "champion").version, "1")
        self.client.transition_model_version_stage(model, 2, "Production")
        self.client.transition_model_version_stage(model, 1, "Production",
                                                   archive_existing_versions=True)
        stages = {v.version: v.current_stage
                  for v in self.client.search_model_versions(f"name = '{model}'")}
        self.assertEqual(stages, {"1": "Production", "2": "Archived"})
        self.client.update_model_version(model, 1, "good")
        self.client.delete_model_version_tag(model, "1", "k")
        found = self.client.get_model_version(model, 1)
        self.assertEqual((found.description, found.tags, found.aliases), ("good", {}, ["champion"]))
        self.client.delete_model_version(model, 1)
        self.assertEqual(self.client.get_registered_model(model).aliases, {})
        renamed = name("renamed")
        self.client.rename_registered_model(model, renamed)
        self.assertEqual([v.version for v in self.client.search_model_versions(
            f"name = '{renamed}'")], ["2"])
        self.client.delete_registered_model(renamed)
        with self.assertRaisesRegex(MlflowException, "not found"):
            self.client.get_registered_model(renamed)

    def test_one_noun_two_faces(self):
        model = name("two-faces")
        run = self.run_with_file()
        self.client.create_registered_model(model)
        self.client.create_model_version(model, run.info.artifact_uri + "/model", run.info.run_id)
        (version,) = hearth(f"/api/v1/models/{model}/versions")["items"]
        self.assertTrue(version["digest"].startswith("sha256:"))
        self.assertEqual(version["run_id"], run.info.run_id)
        self.assertEqual(version["size_bytes"], len("weights") + len("more"))
        self.client.set_registered_model_alias(model, "best", "1")
        self.assertEqual(hearth(f"/api/v1/models/{model}")["aliases"], {"best": "1"})
        # The version keeps its bytes when the run's files go.
        uri = self.client.get_model_version_download_uri(model, "1")
        self.assertTrue(uri.startswith("mlflow-artifacts:/"), uri)
        erase(run.info.artifact_uri.split(":/")[1] + "/model")
        self.assertEqual(self.client.list_artifacts(run.info.run_id), [])
        folder = mlflow.artifacts.download_artifacts(f"models:/{model}@best")
        with open(os.path.join(folder, "sub/more.txt"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "more")

    def test_search(self):
        prefix = name("Find")
        for i in range(5):
            self.client.create_registered_model(f"{prefix}-{i}", tags={"n": str(i)})
        found = self.client.search_registered_models(f"name LIKE '{prefix}%'", max_results=2)
        self.assertEqual([m.name for m in found], [f"{prefix}-0", f"{prefix}-1"])
        found = self.client.search_registered_models(f"name LIKE '{prefix}%'", max_results=4,
                                                     page_token=found.token)
        self.assertEqual([m.name for m in found], [f"{prefix}-{i}" for i in (2, 3, 4)])
        found = self.client.search_registered_models(
            f"name ILIKE '{prefix.lower()}%' and tags.n = '3'")
        self.assertEqual([m.name for m in found], [f"{prefix}-3"])

    def test_refusals(self):
        model = name("refusals")
        self.client.create_registered_model(model)
        for alias in ("latest", "v1"):
            with self.assertRaises(MlflowException):
                self.client.set_registered_model_alias(model, alias, "1")
        for source in ("mlflow-artifacts:/a/../../b", "mlflow-artifacts:/..%2fb", "/etc"):
            with self.assertRaises(MlflowException) as caught:
                self.client.create_model_version(model, source)
            self.assertEqual(caught.exception.error_code, "INVALID_PARAMETER_VALUE", source)
        with self.assertRaisesRegex(MlflowException, "not found"):
            self.client.get_model_version(model, "7")

    def test_prompts_are_models_apart(self):
        prompt = name("prompt")
        mlflow.genai.register_prompt(prompt, "Hello {{name}}") if hasattr(
            mlflow, "genai") else self.skipTest("no prompts in this client")
        self.assertEqual([m.name for m in self.client.search_registered_models(
            f"name = '{prompt}'")], [])
        self.assertEqual(mlflow.genai.load_prompt(f"prompts:/{prompt}/1").template,
                         "Hello {{name}}")


class LoggedModels(unittest.TestCase):
    def setUp(self):
        self.client = MlflowClient()
        self.experiment = self.client.create_experiment(name("logged"))

    def test_whole_life(self):
        run = self.client.create_run(self.experiment).info.run_id
        model = self.client.create_logged_model(self.experiment, name="m", source_run_id=run,
                                                params={"p": "1"}, tags={"t": "x"})
        self.client.log_model_params(model.model_id, {"q": "2"})
        self.client.finalize_logged_model(model.model_id, "READY")
        self.client.log_metric(run, "acc", 0.9, step=3, model_id=model.model_id,
                               dataset_name="d", dataset_digest="1")
        found = self.client.get_logged_model(model.model_id)
        self.assertEqual(found.params, {"p": "1", "q": "2"})
        self.assertEqual(str(found.status), "READY")
        self.assertEqual([(m.key, m.value, m.run_id) for m in found.metrics], [("acc", 0.9, run)])
        models = self.client.search_logged_models([self.experiment], "metrics.acc > 0.5")
        self.assertEqual([m.model_id for m in models], [model.model_id])
        self.assertEqual(len(self.client.search_logged_models([self.experiment], "name = 'x'")), 0)
        self.client.delete_logged_model_tag(model.model_id, "t")
        self.assertEqual(self.client.get_logged_model(model.model_id).tags, {})
        self.client.delete_logged_model(model.model_id)
        with self.assertRaisesRegex(MlflowException, "not found"):
            self.client.get_logged_model(model.model_id)

    def test_files(self):
        model = self.client.create_logged_model(self.experiment, name="m")
        where = "/api/2.0/mlflow-artifacts/artifacts/" + model.artifact_location.split(":/")[1]
        call("PUT", where + "/MLmodel", b"flavors: {}")
        call("PUT", where + "/data/weights", b"123")
        base = f"/ajax-api/2.0/mlflow/logged-models/{model.model_id}/artifacts/"
        self.assertEqual(json.loads(call("GET", base + "directories"))["files"], [
            {"path": "MLmodel", "is_dir": False, "file_size": 11},
            {"path": "data", "is_dir": True}])
        self.assertEqual(call("GET", base + "files?artifact_file_path=data/weights"), b"123")

    @unittest.skipIf(sklearn is None, "no scikit-learn in this environment")
    def test_autologged_scikit_learn(self):
        from sklearn.datasets import load_iris
        from sklearn.linear_model import LogisticRegression
        registered = name("iris")
        mlflow.set_experiment(experiment_id=self.experiment)
        mlflow.sklearn.autolog(registered_model_name=registered)
        try:
            data = load_iris()
            with mlflow.start_run() as run:
                model = LogisticRegression(max_iter=200).fit(data.data, data.target)
        finally:
            mlflow.sklearn.autolog(disable=True)
        found = self.client.get_run(run.info.run_id)
        self.assertIn("max_iter", found.data.params)
        self.assertIn("training_accuracy_score", found.data.metrics)
        # The version of a logged model is of that model's run.
        version = self.client.get_model_version(registered, "1")
        self.assertEqual(version.run_id, run.info.run_id)
        self.assertEqual(
            [(one.name, one.version) for one in
             self.client.search_model_versions(f"run_id = '{run.info.run_id}'")],
            [(registered, version.version)])
        loaded = mlflow.sklearn.load_model(f"models:/{registered}/1")
        self.assertEqual(list(loaded.predict(data.data[:5])), list(model.predict(data.data[:5])))


if __name__ == "__main__":
    unittest.main()
