"""Lines that are well formed and cannot be meant: each is told what is wrong, and what there is."""

import json
import os
import tempfile

from harness import ServerCase


class Mistakes(ServerCase):
    def refused(self, code, said, *arguments, **options):
        """Runs a command that has to fail with this exit code and these words."""
        done = self.server.run(*arguments, **options)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertEqual(done.stdout, "")
        for words in said:
            self.assertEqual(done.stderr.count(words), 1, "%s in\n%s" % (words, done.stderr))
        return done

    def test_runs_and_logs_that_are_not_there(self):
        job = self.server.job("echo loss=0.5 step=1", name="one")["name"]
        self.refused(7, ["two runs at least"], "run", "compare", job)
        self.refused(3, ["no metric 'los'", "did you mean 'loss'?"],
                     "run", "export", job, "--metric", "los")
        for more in ([], ["--tail", "5"], ["--follow"]):
            self.refused(3, ["has no attempt 7", "its only attempt is 1"],
                         "job", "logs", job, "--attempt", "7", *more)
            self.refused(3, ["has no rank 3", "its only task is rank 0"],
                         "job", "logs", job, "--rank", "3", *more)
        self.assertEqual(self.server.lines(job, "--attempt", "1", "--rank", "0"),
                         ["loss=0.5 step=1"])

    def test_the_mend_is_said_once(self):
        text = "hearth: 1\nname: it\ncomand: x\ncommand: 'true'\n"
        for verb in ("check", "submit"):
            self.refused(7, ["did you mean"], "job", verb, "-", stdin=text)

    def test_a_command_says_what_it_takes_along(self):
        folder = tempfile.mkdtemp(dir=self.server.root)
        for name, text in (("one.py", "1"), ("left.bin", "12345"), (".gitignore", "left.bin\n")):
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)
        done = self.server.run("job", "submit", "--json", "--", "true", cwd=folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Packing %s: 2 files and folders, 10 B." % folder, done.stderr)
        self.server.wait(json.loads(done.stdout)["id"])

    def test_a_new_server_says_that_it_became_the_default(self):
        folder = tempfile.mkdtemp(dir=self.server.root)
        mine = {"XDG_CONFIG_HOME": os.path.join(folder, "config"), "HEARTH_URL": ""}

        def up(name):
            place = os.path.join(folder, name)
            self.addCleanup(self.server.run, "down", "--data", place, environment=mine)
            return self.server.run("up", "--detach", "--data", place, "--listen", "127.0.0.1:0",
                                   environment=mine)

        def current():
            listed = json.loads(self.server.ok("context", "list", "--json", environment=mine))
            return next(one["name"] for one in listed if one["current"])

        first = up("first")
        self.assertEqual((first.returncode, first.stderr), (0, ""))
        before = current()
        second = up("second")
        self.assertEqual(second.returncode, 0, second.stderr)
        self.assertNotEqual(current(), before)
        for words in ("context " + current(), "no longer to " + before,
                      "hearth context use " + before):
            self.assertIn(words, second.stderr)
        self.server.ok("context", "use", before, environment=mine)
        self.assertEqual(current(), before)
        self.server.ok("down", "--data", os.path.join(folder, "second"), environment=mine)
        self.assertEqual(up("second").stderr, "")  # no new one: nothing is switched
        self.assertEqual(current(), before)
