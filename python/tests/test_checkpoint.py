import os
import re
import shutil
import signal
import subprocess
import time

import support


class CheckpointTest(support.Case):
    def setUp(self):
        super().setUp()
        self.env["HEARTH_CHECKPOINT_DIR"] = self.path("a", "ckpt")

    def names(self):
        return sorted(os.listdir(self.path("a", "ckpt")))

    def test_complete_then_announced(self):
        shim = self.shim()
        self.run_script("""
            import hearth
            hearth.log(step=4, x=1)
            with hearth.checkpoint(step=4) as d:
                (d / "model.pt").write_text("weights")
                (d / "deep").mkdir()
                (d / "deep" / "more").write_text("x")
            hearth.log(step=5, x=1)
        """)
        self.assertEqual(self.names(), ["step-0000000004"])
        path = self.path("a", "ckpt", "step-0000000004")
        with open(os.path.join(path, "model.pt")) as file:
            self.assertEqual(file.read(), "weights")
        self.assertEqual([record["t"] for record in shim.records()],
                         ["metric", "checkpoint", "metric"])
        self.assertEqual(shim.records("checkpoint"), [{"t": "checkpoint", "step": 4, "path": path}])
        self.assertGreaterEqual(len(shim.flushes), 2)  # one of its own, one at exit

    def test_when_the_block_ends_the_shim_has_it(self):
        shim = self.shim()
        process = self.start("""
            import hearth, os, signal
            for i in range(5000): hearth.log(step=i, x=1)
            with hearth.checkpoint(step=1) as d: (d / "f").write_text("x")
            os.kill(os.getpid(), signal.SIGKILL)
        """)
        process.communicate(timeout=30)
        shim.settle()
        self.assertEqual(len(shim.records("metric")), 5000)
        self.assertEqual(len(shim.records("checkpoint")), 1)

    def test_a_block_that_raises_leaves_nothing(self):
        shim = self.shim()
        self.run_script("""
            import hearth, sys
            for error in (ValueError, KeyboardInterrupt, SystemExit):
                try:
                    with hearth.checkpoint(step=1) as d:
                        (d / "f").write_text("x")
                        raise error()
                except error:
                    pass
        """)
        self.assertEqual(self.names(), [])
        self.assertEqual(shim.records(), [])

    def test_a_step_saved_again_replaces_the_first(self):
        shim = self.shim()
        self.run_script("""
            import hearth
            for text in ("one", "two"):
                with hearth.checkpoint(step=1) as d: (d / text).write_text(text)
        """)
        self.assertEqual(self.names(), ["step-0000000001"])
        self.assertEqual(os.listdir(self.path("a", "ckpt", "step-0000000001")), ["two"])
        self.assertEqual(len(shim.records("checkpoint")), 2)

    def test_other_ranks_have_names_of_their_own(self):
        self.env["HEARTH_RANK"] = "2"
        self.run_script("""
            import hearth
            with hearth.checkpoint(step=1) as d: pass
        """)
        self.assertEqual(self.names(), ["step-0000000001-rank-2"])

    def test_outside_hearth_beside_the_script(self):
        del self.env["HEARTH_CHECKPOINT_DIR"]
        self.run_script("""
            import hearth
            with hearth.checkpoint(step=1) as d: (d / "f").write_text("x")
            assert hearth.resume_from() is None
        """)
        self.assertTrue(os.path.exists(self.path("checkpoints", "step-0000000001", "f")))

    def test_a_step_is_needed(self):
        self.run_script("""
            import hearth
            for wrong in (None, -1, 1.5):
                try:
                    with hearth.checkpoint(step=wrong): raise AssertionError("inside")
                except ValueError: pass
        """)

    def test_killed_at_any_moment_only_whole_ones_have_a_name(self):
        for delay in (0.02, 0.05, 0.08, 0.1, 0.15):
            process = self.start("""
                import hearth, itertools
                for step in itertools.count():
                    if step == 1: print("on", flush=True)
                    with hearth.checkpoint(step=step % 3) as d:
                        for i in range(5): (d / str(i)).write_text("x" * 10000)
            """)
            process.stdout.readline()
            time.sleep(delay)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            for name in self.names():
                self.assertRegex(name, r"^(step-\d{10}|\.tmp-.*)$")
                if name.startswith("step-"):
                    folder = self.path("a", "ckpt", name)
                    self.assertEqual([os.path.getsize(os.path.join(folder, str(i)))
                                      for i in range(5)], [10000] * 5)

    @support.unittest.skipUnless(shutil.which("strace"), "no strace")
    def test_order_of_syncs(self):
        """Files, then directories, then the name, then the directory that holds it."""
        self.run_script("import hearth, os; os.makedirs(os.environ['HEARTH_CHECKPOINT_DIR'])")
        with open(self.path("script.py"), "w") as file:
            file.write("import hearth\nwith hearth.checkpoint(step=1) as d:\n"
                       "    (d / 'f').write_text('x')\n    (d / 'g').mkdir()\n")
        trace = subprocess.run(
            ["strace", "-f", "-y", "-e", "trace=fsync,rename,renameat,renameat2",
             support.sys.executable, self.path("script.py")], env=self.env, cwd=self.dir,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
        if trace.returncode:
            self.skipTest("strace does not run here")
        calls = re.findall(r"(fsync|rename)\w*\((?:\d+<)?\"?([^\">]*)", trace.stderr)
        short = [(call, re.sub(r".*/ckpt/?(\.tmp-[^/]*)?", lambda m: "T" if m.group(1) else "top",
                               path)) for call, path in calls]
        self.assertEqual(short[-5:], [("fsync", "T/g"), ("fsync", "T/f"), ("fsync", "T"),
                                      ("rename", "T"), ("fsync", "top")])

    def test_resume(self):
        os.makedirs(self.path("step-0000000003"))
        self.env["HEARTH_RESUME_FROM"] = self.path("step-0000000003")
        out, _ = self.run_script("import hearth; print(repr(hearth.resume_from()))")
        self.assertEqual(out.strip(), "PosixPath(%r)" % self.path("step-0000000003"))
        self.env["HEARTH_RESUME_FROM"] = self.path("gone")
        _, err = self.run_script("import hearth; hearth.resume_from()", status=1)
        self.assertIn("FileNotFoundError: HEARTH_RESUME_FROM is no directory", err)
        self.env["HEARTH_RESUME_FROM"] = ""
        self.run_script("import hearth; assert hearth.resume_from() is None")

    def test_model(self):
        shim = self.shim()
        self.run_script("""
            import hearth, pathlib
            pathlib.Path("m.pt").write_text("x")
            hearth.register_model("m.pt")
            hearth.register_model(pathlib.Path("m.pt"), name="net")
            try: hearth.register_model("gone")
            except FileNotFoundError: pass
            else: raise AssertionError
            for name in ("Bad Name!", "x/y", ".x", "", "x" * 129):
                try: hearth.register_model("m.pt", name=name)
                except ValueError: pass
                else: raise AssertionError(name)
        """)
        path = self.path("m.pt")
        self.assertEqual(shim.records(), [{"t": "model", "path": path, "name": None},
                                          {"t": "model", "path": path, "name": "net"}])


if __name__ == "__main__":
    support.unittest.main()
