"""The wall clock is set anew under a running server: nothing ends early, hangs or changes order."""

import os
import time
import unittest

from harness import Events, Server, eventually, job_text
from places import Clock

DAY = 86400
# True seconds: far above what a loaded machine needs, far below any jump.
LONG = 600


def seconds_of(text):
    return time.mktime(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S"))


class Jumps(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.close)
        self.clock = Clock(self.server.root)
        self.server.environment.update(self.clock.environment)
        self.server.start()
        for name in self.clock.environment:  # the command line keeps the true time
            del self.server.environment[name]
        self.events = Events(self.server)

    def start_waiting(self, **fields):
        """A job that writes a line whenever it is asked to, until it is told to end."""
        self.lines_asked = 0
        job = self.server.submit(job_text(
            "n=0; while [ ! -e {0}/stop ]; do if [ -e {0}/go.$n ]; then echo line $n; n=$((n+1)); "
            "else sleep 0.05; fi; done".format(self.server.root), **fields))
        self.line(job)
        return job

    def line(self, job):
        with open(os.path.join(self.server.root, "go.%d" % self.lines_asked), "w"):
            pass
        self.lines_asked += 1
        words = "line %d" % (self.lines_asked - 1)
        eventually(lambda: words in self.server.lines(job), "the job writes " + words)

    def end(self, job):
        with open(os.path.join(self.server.root, "stop"), "w"):
            pass
        return self.server.wait(job)

    def jumped(self, seconds):
        """The jump was noticed and is told."""
        def told():
            found = [e["changed"]["seconds"] for e in self.events.of("server.clock_jumped")]
            return found and abs(found[-1] - seconds) < LONG
        eventually(told, "an event tells of a jump by %d s" % seconds)

    def test_a_running_job(self):
        begin = time.monotonic()
        job = self.start_waiting(time_limit="1h")
        token = self.server.ok("token", "add", "hour", "--expires", "1h", "-q").strip()
        link = self.server.json("login", "--link")["link"].split("#", 1)[1]
        at = 0
        for jump in (DAY, -2 * DAY, DAY - 365 * DAY, 365 * DAY):
            at += jump
            self.clock.set(at)
            self.jumped(jump)
            self.line(job)
            self.assertEqual(self.server.json("job", "show", job)["state"], "running")
            self.assertEqual(self.server.http("GET", "/api/v1/whoami", token=token).status, 200)
            self.assertEqual(self.server.http("GET", "/api/v1/whoami", token="hth_no").status, 401)
        self.assertIn("was set", self.server.log_text())
        # Links are good once, after a jump as before.
        signed_in = self.server.http("POST", "/api/v1/sessions", body={"code": link}, token="")
        self.assertIn(signed_in.status, (200, 201), signed_in.body)
        again = self.server.http("POST", "/api/v1/sessions", body={"code": link}, token="")
        self.assertEqual(again.status, 401)
        ended = self.end(job)
        lasted = time.monotonic() - begin
        self.assertEqual(ended["state"], "succeeded", ended)
        self.assertEqual(self.server.lines(job),
                         ["line %d" % i for i in range(self.lines_asked)])
        times = [line.split()[0] for line in self.server.lines(job, "--timestamps")]
        self.assertEqual(times, sorted(times))
        run = seconds_of(ended["finished_at"]) - seconds_of(ended["started_at"])
        self.assertTrue(0 <= run <= lasted + 2, (run, lasted))
        for phase in ended["phases"]:
            self.assertTrue(0 <= phase["seconds"] <= lasted + 2, ended["phases"])

    def test_a_clock_that_stays_wrong_is_followed_once_nothing_runs(self):
        job = self.start_waiting()
        self.clock.set(DAY)
        self.jumped(DAY)
        self.assertIn("clock", self.server.ok("status"))
        self.assertLess(self.server.json("status")["clock_ahead_seconds"], -DAY / 2)
        self.end(job)
        eventually(lambda: self.server.json("status")["clock_ahead_seconds"] == 0,
                   "the clock is followed")
        after = self.server.job("echo after")
        self.assertEqual(after["state"], "succeeded")
        ahead = seconds_of(after["created_at"]) - time.mktime(time.gmtime())
        self.assertTrue(DAY - LONG < ahead < DAY + LONG, ahead)
        self.clock.set(-DAY)  # while nothing runs
        self.jumped(-2 * DAY)
        self.assertEqual(self.server.job("echo later")["state"], "succeeded")
        self.assertEqual(self.server.http("GET", "/api/v1/whoami").status, 200)

    def back_off(self, jump):
        """Jumps while a job waits for its third try (4 s, give or take a quarter) or fourth."""
        job = self.server.submit(job_text("exit 3", retries="{limit: 3, for: [exit]}"))
        def waits():
            seen = self.server.http("GET", "/api/v1/jobs/" + job).json()
            return seen if seen["state"] == "queued" and seen["attempts"] in (2, 3) else None
        waiting = eventually(waits, "it waits for its third try")
        self.assertTrue(waiting["next_attempt_at"])
        self.clock.set(jump)
        ended = self.server.wait(job)
        self.assertEqual((ended["state"], ended["attempts"]), ("failed", 4), ended)
        queued = [phase["seconds"] for phase in ended["phases"] if phase["name"] == "queued"]
        tries = waiting["attempts"]
        self.assertTrue(0.7 * 2 ** tries <= queued[tries] <= LONG, ended["phases"])

    def test_back_off_when_the_clock_is_set_back_a_year(self):
        self.back_off(-365 * DAY)

    def test_back_off_when_the_clock_is_set_forward_a_day(self):
        self.back_off(DAY)

    def test_a_time_limit_still_ends_a_job(self):
        job = self.server.submit(job_text("echo ready; sleep 600", time_limit="8s"))
        eventually(lambda: "ready" in self.server.lines(job), "it runs")
        self.clock.set(-365 * DAY)
        ended = self.server.wait(job)
        self.assertEqual(ended["failure"]["class"], "time_limit", ended)
        running = [p for p in ended["phases"] if p["name"] == "running"][-1]
        self.assertTrue(7 <= running["seconds"] <= LONG, ended["phases"])


if __name__ == "__main__":
    unittest.main()
