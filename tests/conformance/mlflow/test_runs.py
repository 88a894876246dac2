"""Experiments, runs, metrics, params, tags, search: through mlflow's fluent and client APIs."""
import math
import time
import unittest
import uuid

import mlflow
from mlflow import MlflowClient
from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param, RunTag, ViewType
from mlflow.exceptions import MlflowException


def name(prefix):
    return f"{prefix}-{uuid.uuid4().hex[:8]}"


class Runs(unittest.TestCase):
    def setUp(self):
        self.client = MlflowClient()

    def experiment(self, prefix="e"):
        return self.client.create_experiment(name(prefix))

    def test_fluent(self):
        mlflow.set_experiment(name("fluent"))
        with mlflow.start_run(run_name="first") as run:
            mlflow.log_params({"lr": 0.1, "layers": 3})
            for step in range(5):
                mlflow.log_metric("loss", 1 / (step + 1), step=step)
            mlflow.log_metrics({"a/b": 1.5, "c d": 2}, step=4)
            mlflow.set_tag("team", "vision")
        with mlflow.start_run() as other:
            mlflow.log_metric("loss", 0.01)
        self.assertNotEqual(run.info.run_id, other.info.run_id)
        found = mlflow.get_run(run.info.run_id)
        self.assertEqual(found.info.status, "FINISHED")
        self.assertEqual(found.info.run_name, "first")
        self.assertEqual(found.data.tags["mlflow.runName"], "first")
        self.assertEqual(found.data.params, {"lr": "0.1", "layers": "3"})
        self.assertEqual(found.data.metrics, {"loss": 0.2, "a/b": 1.5, "c d": 2})
        self.assertEqual(found.data.tags["team"], "vision")
        history = self.client.get_metric_history(run.info.run_id, "loss")
        self.assertEqual([m.step for m in history], [0, 1, 2, 3, 4])
        runs = self.client.search_runs([run.info.experiment_id], order_by=["metrics.loss ASC"])
        self.assertEqual([r.info.run_id for r in runs], [other.info.run_id, run.info.run_id])

    def test_default_experiment(self):
        self.assertEqual(self.client.get_experiment("0").name, "Default")
        run = self.client.create_run("0")
        self.assertEqual(run.info.experiment_id, "0")
        self.assertTrue(run.info.artifact_uri.startswith("mlflow-artifacts:/0/"))

    def test_nested(self):
        mlflow.set_experiment(name("nested"))
        with mlflow.start_run() as parent:
            with mlflow.start_run(nested=True) as child:
                mlflow.log_metric("x", 1)
        found = self.client.get_run(child.info.run_id)
        self.assertEqual(found.data.tags["mlflow.parentRunId"], parent.info.run_id)

    def test_failed_run(self):
        mlflow.set_experiment(name("failed"))
        with self.assertRaises(ZeroDivisionError):
            with mlflow.start_run() as run:
                1 / 0
        self.assertEqual(self.client.get_run(run.info.run_id).info.status, "FAILED")

    def test_numbers_that_are_none(self):
        run = self.client.create_run(self.experiment()).info.run_id
        self.client.log_metric(run, "nan", math.nan)
        self.client.log_metric(run, "inf", math.inf)
        self.client.log_metric(run, "minus", -math.inf)
        metrics = self.client.get_run(run).data.metrics
        self.assertTrue(math.isnan(metrics["nan"]))
        self.assertGreaterEqual(metrics["inf"], 1.7976931348623157e308)
        self.assertLessEqual(metrics["minus"], -1.7976931348623157e308)

    def test_log_batch_and_its_bounds(self):
        run = self.client.create_run(self.experiment()).info.run_id
        now = int(time.time() * 1000)
        self.client.log_batch(run, metrics=[Metric("m", i * 0.5, now + i, i) for i in range(1000)])
        self.client.log_batch(run, params=[Param("p", "1")], tags=[RunTag("t", "x")])
        self.assertEqual(len(self.client.get_metric_history(run, "m")), 1000)
        with self.assertRaisesRegex(MlflowException, "at most 100 params"):
            mlflow.tracking._tracking_service.utils._get_store().log_batch(
                run, [], [Param(f"p{i}", "1") for i in range(101)], [])
        # The same again is the same; another value of a param is refused.
        self.client.log_batch(run, params=[Param("p", "1")])
        with self.assertRaisesRegex(MlflowException, "Changing param values is not allowed"):
            self.client.log_param(run, "p", "2")

    def test_points_come_once(self):
        run = self.client.create_run(self.experiment()).info.run_id
        for _ in range(3):
            self.client.log_metric(run, "m", 1.0, timestamp=1000, step=1)
        self.assertEqual(len(self.client.get_metric_history(run, "m")), 1)

    def test_latest_is_the_greatest_step(self):
        run = self.client.create_run(self.experiment()).info.run_id
        for step, value in ((5, 50.0), (2, 20.0), (5, 40.0)):
            self.client.log_metric(run, "m", value, timestamp=1000, step=step)
        self.assertEqual(self.client.get_run(run).data.metrics["m"], 50.0)

    def test_long_values_are_cut(self):
        run = self.client.create_run(self.experiment()).info.run_id
        self.client.log_param(run, "p", "x" * 7000)
        self.client.set_tag(run, "t", "y" * 9000)
        data = self.client.get_run(run).data
        self.assertEqual((len(data.params["p"]), len(data.tags["t"])), (6000, 8000))

    def test_bad_names(self):
        run = self.client.create_run(self.experiment()).info.run_id
        store = mlflow.tracking._tracking_service.utils._get_store()
        for bad in ("../x", "/x", "a?b"):
            with self.assertRaises(MlflowException) as caught:
                store.log_metric(run, Metric(bad, 1.0, 1, 0))
            self.assertEqual(caught.exception.error_code, "INVALID_PARAMETER_VALUE")

    def test_tags(self):
        run = self.client.create_run(self.experiment()).info.run_id
        self.client.set_tag(run, "a", "1")
        self.client.set_tag(run, "a", "2")
        self.assertEqual(self.client.get_run(run).data.tags["a"], "2")
        self.client.delete_tag(run, "a")
        self.assertNotIn("a", self.client.get_run(run).data.tags)
        with self.assertRaisesRegex(MlflowException, "No tag with name: a"):
            self.client.delete_tag(run, "a")
        self.client.set_tag(run, "mlflow.runName", "renamed")
        self.assertEqual(self.client.get_run(run).info.run_name, "renamed")

    def test_update_delete_restore(self):
        experiment = self.experiment()
        run = self.client.create_run(experiment).info.run_id
        self.client.update_run(run, name="n")
        self.client.set_terminated(run, "KILLED")
        info = self.client.get_run(run).info
        self.assertEqual((info.status, info.run_name), ("KILLED", "n"))
        self.client.delete_run(run)
        self.assertEqual(self.client.get_run(run).info.lifecycle_stage, "deleted")
        self.assertEqual(len(self.client.search_runs([experiment])), 0)
        self.assertEqual(
            len(self.client.search_runs([experiment], run_view_type=ViewType.DELETED_ONLY)), 1)
        with self.assertRaisesRegex(MlflowException, "must be in the 'active' state"):
            self.client.log_metric(run, "m", 1)
        self.client.restore_run(run)
        self.assertEqual(len(self.client.search_runs([experiment])), 1)

    def test_missing(self):
        with self.assertRaises(MlflowException) as caught:
            self.client.get_run("0" * 32)
        self.assertEqual(caught.exception.error_code, "RESOURCE_DOES_NOT_EXIST")
        self.assertIsNone(self.client.get_experiment_by_name(name("nobody")))
        with self.assertRaises(MlflowException):
            self.client.get_experiment("123456")


class Search(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = MlflowClient()
        cls.experiment = cls.client.create_experiment(name("search"))
        cls.runs = []
        for i in range(12):
            run = cls.client.create_run(cls.experiment, start_time=1000 + i, run_name=f"run-{i}")
            cls.runs.append(run.info.run_id)
            cls.client.log_metric(run.info.run_id, "acc", i / 10)
            cls.client.log_param(run.info.run_id, "kind", "even" if i % 2 == 0 else "odd")
            if i < 3:
                cls.client.set_tag(run.info.run_id, "some key", f"Value {i}")
                cls.client.log_metric(run.info.run_id, "rare", math.nan if i == 1 else i)

    def found(self, text, **more):
        runs = self.client.search_runs([self.experiment], filter_string=text, **more)
        return [self.runs.index(run.info.run_id) for run in runs]

    def test_filters(self):
        self.assertEqual(self.found("metrics.acc > 0.95"), [11, 10])
        self.assertEqual(self.found("metrics.acc >= 0.2 and metrics.acc < 0.4"), [3, 2])
        self.assertEqual(self.found("params.kind = 'odd' and metrics.acc < 0.4"), [3, 1])
        self.assertEqual(self.found("tags.`some key` LIKE 'Value%'"), [2, 1, 0])
        self.assertEqual(self.found("tags.`some key` ILIKE 'vALUE 1'"), [1])
        self.assertEqual(self.found("tags.`some key` != 'Value 1'"), [2, 0])
        self.assertEqual(self.found(f"attributes.run_id IN ('{self.runs[4]}', 'nobody')"), [4])
        self.assertEqual(self.found("attributes.run_name = 'run-7'"), [7])
        self.assertEqual(self.found("start_time <= 1001"), [1, 0])
        self.assertEqual(self.found("status = 'FINISHED'"), [])
        self.assertEqual(len(self.found("status = 'RUNNING'")), 12)

    def test_orders(self):
        self.assertEqual(self.found("", order_by=["metrics.acc DESC"], max_results=2), [11, 10])
        self.assertEqual(self.found("", order_by=["params.kind", "metrics.acc"])[:3], [0, 2, 4])
        # Numbers, then NaN, then missing, in both directions.
        self.assertEqual(self.found("", order_by=["metrics.rare ASC"])[:3], [0, 2, 1])
        self.assertEqual(self.found("", order_by=["metrics.rare DESC"])[:3], [2, 0, 1])

    def test_pages(self):
        seen, token = [], None
        while True:
            page = self.client.search_runs([self.experiment], max_results=5, page_token=token)
            seen += [self.runs.index(run.info.run_id) for run in page]
            token = page.token
            if not token:
                break
        self.assertEqual(seen, list(range(11, -1, -1)))

    def test_refusals(self):
        for bad in ("metrics.acc = 'a'", "params.kind = 5", "colour = 'x'", "a OR b", "metrics.a"):
            with self.assertRaises(MlflowException) as caught:
                self.found(bad)
            self.assertEqual(caught.exception.error_code, "INVALID_PARAMETER_VALUE", bad)
        with self.assertRaisesRegex(MlflowException, "max_results"):
            self.found("", max_results=123456789)


class Experiments(unittest.TestCase):
    def setUp(self):
        self.client = MlflowClient()

    def test_whole_life(self):
        first, tag = name("life"), name("tag")
        experiment = self.client.create_experiment(first, tags={tag: "1"})
        with self.assertRaises(MlflowException) as caught:
            self.client.create_experiment(first)
        self.assertEqual(caught.exception.error_code, "RESOURCE_ALREADY_EXISTS")
        self.client.rename_experiment(experiment, first + "-b")
        self.client.set_experiment_tag(experiment, "x", "2")
        found = self.client.get_experiment_by_name(first + "-b")
        self.assertEqual(found.tags, {tag: "1", "x": "2"})
        self.assertEqual([e.experiment_id for e in self.client.search_experiments(
            filter_string=f"tags.`{tag}` = '1'")], [experiment])
        self.client.delete_experiment(experiment)
        self.assertEqual(self.client.get_experiment(experiment).lifecycle_stage, "deleted")
        with self.assertRaises(MlflowException):
            self.client.create_run(experiment)
        self.client.restore_experiment(experiment)
        self.client.create_run(experiment)

    def test_set_experiment_twice(self):
        wanted = name("twice")
        first = mlflow.set_experiment(wanted)
        self.assertEqual(mlflow.set_experiment(wanted).experiment_id, first.experiment_id)


class Inputs(unittest.TestCase):
    def test_datasets(self):
        client = MlflowClient()
        experiment = client.create_experiment(name("inputs"))
        run = client.create_run(experiment).info.run_id
        dataset = Dataset(name="mnist", digest="abc", source_type="local", source="/data",
                          schema="{}", profile='{"rows": 3}')
        client.log_inputs(run, [DatasetInput(dataset, [InputTag("mlflow.data.context", "train")])])
        (found,) = client.get_run(run).inputs.dataset_inputs
        self.assertEqual(found.dataset.name, "mnist")
        self.assertEqual(found.dataset.profile, '{"rows": 3}')
        self.assertEqual(found.tags[0].value, "train")
        runs = client.search_runs([experiment], filter_string="dataset.name = 'mnist'")
        self.assertEqual([r.info.run_id for r in runs], [run])
        self.assertEqual(len(client.search_runs([experiment], "dataset.context = 'test'")), 0)


if __name__ == "__main__":
    unittest.main()
