"""The example on real data, small: 20 steps an epoch. Needs torch and Debian's dataset."""

import os
import re
import shutil
import subprocess

import support

EXAMPLE = os.path.join(support.ROOT, "..", "examples", "fashion-mnist")
DATA = "/usr/share/datasets/fashion-mnist"
try:
    import torch
except ImportError:
    torch = None


@support.unittest.skipUnless(torch and os.path.isdir(DATA), "no torch or no dataset-fashion-mnist")
class FashionTest(support.Case):
    def begin(self, name, **env):
        """Starts the example in a directory of its own, as the shim would."""
        folder = self.path(name)
        shutil.copytree(EXAMPLE, folder)
        os.symlink(DATA, os.path.join(folder, "data"))
        self.env.update(env, HEARTH_OUTPUT_DIR=folder, OMP_NUM_THREADS="1",
                        HEARTH_CHECKPOINT_DIR=self.path("ckpt", name),
                        HEARTH_PARAMS=self.write(
                            "params.json", {"epochs": 2, "train_images": 2560}))
        process = subprocess.Popen([support.sys.executable, "train.py"], env=self.env, cwd=folder,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, universal_newlines=True)
        process.stderr = process.stdin
        self.addCleanup(self._end, process)
        return process

    def finish(self, process):
        out = process.communicate(timeout=300)[0]
        self.assertEqual(process.returncode, 0, out)
        return float(re.search(r"test accuracy ([\d.]+) %", out).group(1)), out

    def test_whole_and_resumed_runs_end_alike(self):
        shim = self.shim()
        accuracy, _ = self.finish(self.begin("whole"))
        self.assertGreater(accuracy, 30)
        metrics = shim.records("metric")
        reports = [r for r in metrics if "loss" in r["values"]]
        self.assertEqual([r["step"] for r in reports], [20, 40])
        for name in ("accuracy", "images_per_second", "lr", "epoch"):
            self.assertIn(name, reports[0]["values"])
        tests = [r["values"]["test_accuracy"] for r in metrics if "test_accuracy" in r["values"]]
        self.assertEqual(len(tests), 2)
        self.assertAlmostEqual(100 * tests[1], accuracy, places=1)
        self.assertEqual(shim.records("params")[0]["values"]["epochs"], 2)
        self.assertEqual([r["step"] for r in shim.records("checkpoint")], [20, 40])
        self.assertEqual([r["name"] for r in shim.records("artifact")], ["samples", "confusion"])
        self.check_model(tests[1])

        shim.sessions.clear()
        process = self.begin("killed")
        path = shim.wait_for(1, "checkpoint", seconds=120)[0]["path"]
        process.kill()
        process.communicate()
        again, out = self.finish(self.begin("resumed", HEARTH_RESUME_FROM=path))
        self.assertIn("resumed after epoch 0", out)
        self.assertEqual(again, accuracy)
        first, second = [torch.load(self.path("ckpt", name, "step-0000000040", "state.pt"))["model"]
                         for name in ("whole", "resumed")]
        self.assertTrue(all(torch.equal(first[key], second[key]) for key in first))

    def check_model(self, accuracy):
        model = torch.jit.load(self.path("whole", "out", "model.pt"))
        import importlib.util
        spec = importlib.util.spec_from_file_location("train", os.path.join(EXAMPLE, "train.py"))
        train = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(train)
        images, labels = train.load(train.pathlib.Path(DATA), "t10k", 2000)
        found = train.evaluate(model, images, labels)[0]
        self.assertLess(abs(found - accuracy), 0.05)


if __name__ == "__main__":
    support.unittest.main()
