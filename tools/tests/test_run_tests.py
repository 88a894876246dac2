import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import run_tests  # noqa: E402
from testing import Counts, counts_of  # noqa: E402
from tree import Tree  # noqa: E402

kReport = """<?xml version="1.0"?><testsuite tests="4">
<testcase name="a" status="run"/>
<testcase name="b" status="fail"><failure message=""/><system-out>b said no</system-out></testcase>
<testcase name="c" status="notrun"><skipped/><system-out>x.cc:3: Skipped
no cgroup here
</system-out></testcase>
<testcase name="d" status="notrun"><failure message="no such program"/></testcase>
</testsuite>"""


class Runner(unittest.TestCase):
    def setUp(self):
        self.root = run_tests.ROOT
        self.addCleanup(setattr, run_tests, "ROOT", self.root)

    def script(self, text, limit=20):
        with Tree({"tests/x/run": "#!/bin/sh\n" + text}) as root:
            os.chmod(os.path.join(root, "tests/x/run"), 0o755)
            run_tests.ROOT = root
            with open(os.devnull, "w", encoding="utf-8") as quiet:
                kept, sys.stdout = sys.stdout, quiet
                try:
                    return run_tests.run_script("x", ["--points", "3"], "asan", root, limit)
                finally:
                    sys.stdout = kept

    def test_junit(self):
        with Tree({"r.xml": kReport}) as root:
            counts, failed, skipped = run_tests.read_junit(os.path.join(root, "r.xml"))
        self.assertEqual(str(counts), "1 passed, 2 failed, 1 skipped")
        self.assertEqual(failed[0], ("b", "b said no"))
        self.assertEqual(run_tests.skip_reason(skipped[0][1]), "no cgroup here")

    def test_a_script_is_counted_by_its_last_line(self):
        self.assertEqual(self.script("echo $2 passed, 0 failed, 1 skipped"), Counts(3, 0, 1))
        self.assertEqual(self.script("echo 2 passed, 1 failed, 0 skipped; exit 1"), Counts(2, 1, 0))

    def test_a_script_that_breaks_the_contract_has_failed(self):
        self.assertEqual(self.script("echo fine"), Counts(0, 1, 0))
        self.assertEqual(self.script("echo 3 passed, 0 failed, 0 skipped; exit 4"), Counts(3, 1, 0))
        self.assertEqual(self.script("echo 3 passed, 0 failed, 0 skipped; sleep 60", 1),
                         Counts(0, 1, 0))

    def test_nothing_run_is_no_success(self):
        self.assertEqual(Counts().exit_status(), 1)
        self.assertEqual(Counts(skipped=3).exit_status(), 1)
        self.assertEqual(Counts(passed=1).exit_status(), 0)
        self.assertEqual(Counts(passed=9, failed=1).exit_status(), 1)

    def test_counts_are_read_back(self):
        self.assertEqual(counts_of(str(Counts(1, 2, 3))), Counts(1, 2, 3))
        self.assertIsNone(counts_of("about 3 passed, 0 failed, 0 skipped"))

    def test_the_groups_can_be_read(self):
        groups = run_tests.read_groups(os.path.join(self.root, "tests/groups.txt"))
        self.assertEqual(groups["crash"].arguments["ci"], ["--points", "30"])
        self.assertEqual(groups["tsan"].parts, ["unit", "contract", "integration"])


if __name__ == "__main__":
    unittest.main()
