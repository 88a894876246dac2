import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../bench"))
import measure  # noqa: E402
import table  # noqa: E402


class Bench(unittest.TestCase):
    def add(self, *arguments, **options):
        with tempfile.TemporaryDirectory() as folder:
            rows = os.path.join(folder, "rows")
            os.environ.update(HEARTH_BENCH="x", HEARTH_BENCH_ROWS=rows)
            measure.add_row(*arguments, **options)
            with open(rows, encoding="utf-8") as f:
                return json.loads(f.read())

    def test_a_row_says_whether_its_goal_is_met(self):
        self.assertTrue(self.add("p99", "ms", 90, goal=100)["met"])
        self.assertFalse(self.add("p99", "ms", 110, goal=100)["met"])
        self.assertTrue(self.add("rate", "1/s", 110, goal=100, better="more")["met"])
        row = self.add("rate", "1/s", 50, peer=100, peer_name="nginx", better="more")
        self.assertEqual((row["ratio"], row["goal"], row["met"]), (0.5, 100, False))
        self.assertIsNone(self.add("size", "B", 1)["met"])
        self.assertEqual(set(row), {"bench", "row", "unit", "hearth", "peer", "peer_name", "ratio",
                                    "goal", "met", "date"})

    def test_percentiles(self):
        values = list(range(1, 101))
        self.assertEqual(measure.percentile(values, 99), 99)
        self.assertEqual(measure.percentile(values, 50), 50)
        self.assertEqual(measure.percentile(values, 100), 100)
        self.assertEqual(measure.percentile([7], 99), 7)

    def test_the_table_lines_up(self):
        lines = table.table([{"row": "a", "unit": "ms", "hearth": 1234.5, "met": True},
                             {"row": "longer", "unit": "ms", "hearth": 0.1234, "met": False}])
        self.assertIn("1,234", lines[1])
        self.assertIn("0.123", lines[2])
        self.assertTrue(lines[1].endswith("yes"))
        self.assertTrue(lines[2].endswith("NO"))


if __name__ == "__main__":
    unittest.main()
