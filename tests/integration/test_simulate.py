"""`hearth simulate`: recorded work through the scheduler, and its answers for programs."""

import json
import os
import random
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

from harness import BIN


class Simulate(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hearth-it-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def simulate(self, *words):
        return subprocess.run([BIN, "simulate", *words], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=120, check=False)

    def answer(self, *words):
        done = self.simulate(*words, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_a_replay_says_how_long_jobs_waited(self):
        jobs = self.file("jobs.csv", "submit_seconds,duration_seconds,gpus\n0,100,8\n10,50,8\n")
        found = self.answer("--jobs", jobs, "--cluster", "1x8")
        self.assertEqual(found["jct_seconds"]["mean"], (100 + 140) / 2)
        self.assertEqual(found["wait_seconds"]["p99"], 90)
        self.assertEqual((found["preemptions"], found["makespan_seconds"]), (0, 150))
        for_people = self.simulate("--jobs", jobs, "--cluster", "1x8")
        self.assertIn("2 jobs in 2 m 30 s", for_people.stdout)

    def test_starts_are_told_better_when_jobs_tell_their_ends(self):
        # Minutes to half a day each, a little more of them than the GPUs can do.
        chance = random.Random(7)
        lines = "".join("%d,%d,1\n" % (800 * i, 60 * 2 ** chance.uniform(0, 10))
                        for i in range(200))
        jobs = self.file("jobs.csv", "submit_seconds,duration_seconds,gpus\n" + lines)
        words = ("--jobs", jobs, "--cluster", "1x8", "--run-to-end", "--forecast")
        silent, told = (self.answer(*words, *more)["forecast"] for more in ((), ("--tell", "100")))
        self.assertGreater(silent["jobs"], 50)
        for found in (silent, told):
            self.assertGreater(found["any_time"]["within_percent"], 30)  # it has learnt little yet
            self.assertLess(found["any_time"]["median_width_seconds"],
                            found["median_width_seconds"])
        self.assertLess(told["median_width_seconds"], silent["median_width_seconds"])
        refused = self.simulate(*words, "--tell", "101")
        self.assertEqual(refused.returncode, 7, refused.stderr)
        self.assertIn("0 to 100", refused.stderr)

    def test_a_replay_is_drawn(self):
        jobs = self.file("jobs.csv", "submit_seconds,duration_seconds,gpus\n0,100,8\n10,50,4\n")
        path = os.path.join(self.folder, "plot.svg")
        self.answer("--jobs", jobs, "--cluster", "1x8", "--svg", path)
        root = xml.etree.ElementTree.parse(path).getroot()
        words = [element.text for element in root.iter() if element.tag.endswith("}text")]
        self.assertIn("GPUs in use", words)
        self.assertIn("2-4 GPUs (1 job)", words)
        drawn = [element for element in root.iter() if element.tag.endswith("}path")]
        self.assertEqual(len(drawn), 4)  # use, queue, two sizes of jobs
        self.assertFalse([e for e in root.iter() if e.tag.endswith("}script")])

    def test_a_file_that_is_not_there(self):
        done = self.simulate("--jobs", os.path.join(self.folder, "none.csv"), "--cluster", "1x8")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("--jobs", done.stderr)

    def test_options_that_would_do_nothing_are_refused(self):
        for words, said in ((("--add", "n=1"), "--what-if"),
                            (("--fill", "1.3", "--svg", "x"), "--fill"),
                            (("--jobs", "x", "--cluster", "1x8", "--tell", "5"), "--forecast"),
                            (("--what-if", "--cluster", "1x8"), "--what-if")):
            done = self.simulate(*words)
            self.assertEqual(done.returncode, 7, done.stderr)
            self.assertIn(said, done.stderr)

    def test_jobs_lie_inside_a_switch(self):
        jobs = self.file("jobs.csv", "submit_seconds,duration_seconds,gpus\n0,9,2\n1,9,3\n2,9,2\n")
        found = self.answer("--jobs", jobs, "--cluster", "1x8/2")
        self.assertEqual(found["one_switch_percent"], 100)
        self.assertNotIn("one_switch_percent", self.answer("--jobs", jobs, "--cluster", "1x8"))

    def test_gangs_of_whole_nodes(self):
        jobs = self.file("gangs.csv", "count,replicas,ttl\n1,2,2m\n2,1,2m\n")
        found = self.answer("--format", "gang", "--jobs", jobs, "--cluster", "2x8")
        self.assertEqual((found["makespan_seconds"], found["ideal_seconds"]), (240, 240))

    def test_a_fill_counts_what_was_asked_for(self):
        nodes = self.file("nodes.csv", "sn,cpu_milli,memory_mib,gpu,model\na,64000,262144,4,T4\n")
        jobs = self.file("pods.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"
                         "p,1000,1024,1,500,\nq,1000,1024,1,1000,T4\n")
        found = self.answer("--format", "openb", "--nodes", nodes, "--jobs", jobs, "--fill", "1.3",
                            "--seeds", "42-44")
        self.assertEqual(found["seeds"], [42, 43, 44])
        self.assertEqual(sorted(found["allocated_percent"]), ["100", "130", "95"])
        self.assertLessEqual(found["allocated_percent"]["130"]["mean"], 100)
        self.assertGreater(found["decisions_per_second"], 0)

    def test_what_is_wrong_is_told_with_its_place(self):
        bad = self.file("bad.csv", "submit_seconds,duration_seconds\n0,soon\n")
        done = self.simulate("--jobs", bad, "--cluster", "1x8")
        self.assertEqual(done.returncode, 7)
        self.assertIn("bad.csv:2: duration_seconds is 'soon', allowed is a number", done.stderr)
        done = self.simulate("--jobs", bad, "--cluster", "8")
        self.assertEqual(done.returncode, 7)
        self.assertIn("a cluster is NODESxGPUS", done.stderr)
        self.assertEqual(self.simulate("--jobs", bad).returncode, 7)


if __name__ == "__main__":
    unittest.main()
