"""The checks of tests/crash find what they are there to find."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../tests/crash"))
import check  # noqa: E402
from load import Job  # noqa: E402


def log(first, last):
    return [f"attempt A pid 7 from {first}"] + \
        [f"line {k} {'.' * (k * 37 % 200)}" for k in range(first, last)]


class Server:
    """Answers for one job of one attempt."""

    def __init__(self, lines, state, points, checkpoints=()):
        self.log, self.state, self.points = lines, state, points
        self.checkpoints = [{"step": step} for step in checkpoints]

    def lines(self, *_):
        return self.log

    def json(self, *_):
        return self.state

    def http(self, _, path):
        body = {"items": self.checkpoints} if "checkpoints" in path else \
            {"items": [{"number": 1, "id": "A"}]} if "attempts" in path else {"points": self.points}
        return type("Answer", (), {"status": 200, "json": lambda _: body})()


class CrashCheck(unittest.TestCase):
    def judge(self, lines=None, state="succeeded", failure=None, points=10, seen=0, steps=(),
              killed=False, ended=True, values=None):
        job = Job("J", 10, 0)
        job.seen_lines[1] = log(0, seen) if seen else []
        job.seen_checkpoints = set(steps)
        if killed:
            job.killed_users.add("A")
        document = {"state": state, "failure": failure, "attempts": 1, "run_id": "R"}
        values = values or [{"step": k, "value": 7 * 1000000 + k} for k in range(points)]
        with tempfile.TemporaryDirectory() as truth:
            with open(os.path.join(truth, "J.A"), "w", encoding="utf-8") as f:
                f.write("000000000010" + (" done" if ended else ""))
            check.check_job(Server(lines or log(0, 10), document, values, [39]), job, truth)

    def broken(self, words, **options):
        with self.assertRaises(AssertionError) as caught:
            self.judge(**options)
        self.assertIn(words, str(caught.exception))

    def test_a_job_in_order(self):
        self.judge()
        self.judge(seen=5, steps=[39])
        self.judge(state="failed", failure={"class": "signal"}, killed=True, ended=False)

    def test_lines(self):
        self.broken("line 4 is wanted, 5 is there", lines=log(0, 4) + log(5, 11)[1:])
        self.broken("line 5 is wanted, 4 is there", lines=log(0, 5) + log(4, 9)[1:])
        self.broken("10 lines were written, 9 are there", lines=log(0, 9))
        self.broken("is torn", lines=log(0, 9) + ["line 9 ..."])
        self.broken("lines were shown before", lines=log(0, 10), seen=12)

    def test_points(self):
        self.broken("10 points were logged, 9 there", points=9)
        doubled = [{"step": k, "value": 7 * 1000000 + k} for k in [*range(10), 9]]
        self.broken("missing or double", values=doubled)

    def test_checkpoints_and_ends(self):
        self.broken("checkpoints {79} are gone", steps=[39, 79])
        self.broken("ended failed", state="failed", failure={"class": "exit", "exit_code": 3})
        self.broken("did not come to its end", ended=False)
        self.broken("ended succeeded", killed=True, ended=False)


if __name__ == "__main__":
    unittest.main()
