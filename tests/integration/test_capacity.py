"""Quotas, pools, nodes and reservations: from the command line down to where processes run."""

import json
import os
import tempfile
import unittest

from harness import Events, Server, ServerCase, eventually, job_text
from test_gangs import topology_file

LONG = "sleep 300"


def gpu_job(command, gpus=1, name="it", **fields):
    return job_text(command, name, resources="{cpus: 0.1, memory: 64MiB, gpus: %s}" % gpus,
                    **fields)


class CapacityCase(ServerCase):
    """Two nodes of two GPUs each; jobs may be stopped for others at once."""

    @classmethod
    def setUpClass(cls):
        root = tempfile.mkdtemp(prefix="hearth-it-")
        cls.server = Server("--topology", topology_file(root), root=root).start()
        cls.pool = cls.server.json("pool", "list")[0]["pool"]["name"]
        cls.server.ok("pool", "set", cls.pool, "--minimum-run", "0s")

    def tearDown(self):
        for name in self.nodes():
            self.server.ok("node", "uncordon", name)
        for job in self.server.json("job", "list"):
            if job["state"] not in ("succeeded", "failed", "cancelled"):
                self.server.ok("job", "cancel", job["id"])
        eventually(lambda: all(not node.get("tasks") for node in self.nodes().values()),
                   "nothing runs any more")

    def nodes(self):
        return {one["node"]["name"]: one for one in self.server.json("node", "list")}

    def state(self, job):
        return self.server.json("job", "show", job)["state"]

    def running(self, job):
        return eventually(lambda: self.state(job) == "running", "%s runs" % job)

    def reason(self, job, code):
        def found():
            reason = self.server.json("job", "show", job).get("reason")
            return reason if reason and reason["code"] == code else None
        return eventually(found, "%s waits by %s" % (job, code))

    def node_of(self, job):
        for name, one in self.nodes().items():
            if any(task["job_id"] == job for task in one.get("tasks", [])):
                return name
        return None


class Starts(CapacityCase):
    def test_jobs_that_tell_how_far_they_are_tell_when_the_next_starts(self):
        # Nothing is known of how long such jobs run but what they say: 4000 steps of 50 ms.
        tells = """python3 - <<'END'
import hearth, time
for step in range(4000):
    hearth.log(step=step, progress=step / 4000)
    time.sleep(0.05)
END"""
        for name in ("one", "other"):
            self.running(self.server.submit(gpu_job(tells, gpus=2, name=name)))
        waits = self.server.submit(gpu_job("true", gpus=2, name="next"))

        def told():
            numbers = self.server.json("job", "why", waits).get("numbers", {})
            return numbers if "starts_in_seconds" in numbers else None
        numbers = eventually(told, "it is told when it starts")
        self.assertLess(numbers["starts_in_seconds"], 600)
        self.assertGreaterEqual(numbers["starts_to_seconds"], numbers["starts_in_seconds"])
        self.assertRegex(self.server.ok("job", "why", waits),
                         r"expected to start in .* \(roughly between .* and .*\)")


class Quotas(CapacityCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name in ("vision", "speech"):
            cls.server.ok("project", "add", name)

    def test_a_slip_in_a_quota_is_no_gpu_model(self):
        for what in ("gpu", "GPUS", "memry"):
            done = self.server.run("quota", "set", "vision", "--limit", what + "=2")
            self.assertEqual(done.returncode, 7, done)
            self.assertIn("did you mean", done.stderr)
        self.server.ok("quota", "set", "vision", "--limit", "H100=2")
        self.server.ok("quota", "set", "vision", "--limit", "H100=none")

    def test_a_guarantee_is_lent_and_taken_back(self):
        self.server.ok("quota", "set", "vision", "--guarantee", "gpus=2")
        speech = [self.server.submit(gpu_job(LONG, name="s%d" % i, project="speech"))
                  for i in range(4)]
        for job in speech:
            self.running(job)
        mine = self.server.submit(gpu_job(LONG, 2, "v", project="vision"))
        self.running(mine)
        states = sorted(self.state(job) for job in speech)
        self.assertEqual(states, ["queued", "queued", "running", "running"])
        quota = self.server.json("quota", "show", "vision")
        self.assertEqual(quota["used"]["gpus"], 2)
        self.assertNotIn("gpus", quota.get("borrowed", {}))
        # Those that had to go say for whom, and come back by themselves.
        gone = next(job for job in speech if self.state(job) == "queued")
        attempts = self.server.http("GET", "/api/v1/jobs/%s/attempts" % gone).json()["items"]
        self.assertEqual(attempts[0]["failure"]["class"], "preemption")
        self.assertIn("v-1", attempts[0]["failure"]["text"])
        self.server.ok("job", "cancel", mine)
        for job in speech:
            self.running(job)
        why = self.server.ok("job", "why", gone)
        self.assertTrue(why.startswith("the job is running; the attempt before: "), why)
        shown = self.server.ok("job", "show", gone)
        self.assertRegex(shown, r"(?m)^attempt before +preemption: ")
        self.assertRegex(shown, r"(?m)^asks for +\d+ GPU")
        self.server.ok("quota", "delete", "vision")

    def test_a_limit_holds_and_says_so(self):
        self.server.ok("quota", "set", "speech", "--limit", "gpus=1")
        first = self.server.submit(gpu_job(LONG, name="one", project="speech"))
        self.running(first)
        second = self.server.submit(gpu_job(LONG, name="two", project="speech"))
        reason = self.reason(second, "quota_short")
        self.assertEqual(reason["names"]["project"], "speech")
        self.assertEqual(reason["numbers"]["limit"], 1)
        self.assertIn("limit", self.server.ok("job", "why", second))
        refused = self.server.run("job", "submit", "--project", "speech", "--gpus", "2", "--",
                                  "true")
        self.assertEqual(refused.returncode, 7, refused.stderr)
        self.assertIn("limit of project speech", refused.stderr)
        # Another project is not bound by it.
        other = self.server.submit(gpu_job(LONG, name="other", project="vision"))
        self.running(other)
        self.server.ok("quota", "set", "speech", "--limit", "gpus=2")
        self.running(second)
        events = self.server.http("GET", "/api/v1/quotas").json()["items"]
        self.assertEqual(next(q for q in events if q["quota"]["project"] == "speech")["running"], 2)
        self.server.ok("quota", "delete", "speech")

    def test_quota_and_pool_outlive_the_server(self):
        self.server.ok("quota", "set", "speech", "--limit", "gpus=1,memory=1TiB")
        self.server.stop()
        self.server.start()
        first = self.server.submit(gpu_job(LONG, name="one", project="speech"))
        self.running(first)
        second = self.server.submit(gpu_job(LONG, name="two", project="speech"))
        self.reason(second, "quota_short")
        self.server.ok("quota", "delete", "speech")
        self.running(second)

    def test_bad_quotas_are_refused_in_words(self):
        for words, said in ((("--guarantee", "gpus=4", "--limit", "gpus=2"), "at most limit.gpus"),
                            (("--limit", "gpus"), "what=amount"),
                            (("--limit", "gpus=many"), "gpus=many"),
                            ((), "nothing to set")):
            refused = self.server.run("quota", "set", "speech", *words)
            self.assertEqual(refused.returncode, 7, refused.stderr)
            self.assertIn(said, refused.stderr)
        missing = self.server.run("quota", "set", "nothere", "--limit", "gpus=1")
        self.assertEqual(missing.returncode, 3, missing.stderr)
        what_if = self.server.run("simulate", "--what-if", "--guarantee-of", "speech:gpus=4",
                                  "--limit-of", "speech:gpus=2")
        self.assertEqual(what_if.returncode, 7, what_if.stderr)
        self.assertIn("at most quotas.speech.limit.gpus: 2", what_if.stderr)

    def test_more_may_be_guaranteed_than_there_is_but_not_silently(self):
        self.server.ok("quota", "set", "vision", "--guarantee", "gpus=2")
        for more in ((), ("--json",)):
            done = self.server.run("quota", "set", "speech", "--guarantee", "gpus=100", *more)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("guaranteed 102 GPUs in all, and the cluster has 4 GPUs now",
                          done.stderr)
        self.assertNotIn("Warning", self.server.run("quota", "set", "speech", "--guarantee",
                                                    "gpus=2").stderr)
        for name in ("vision", "speech"):
            self.server.ok("quota", "delete", name)

    def test_opportunistic_jobs_are_outside_of_quotas_and_go_first(self):
        self.server.ok("quota", "set", "speech", "--limit", "gpus=0")
        idle = self.server.submit(gpu_job(LONG, 4 // 2, "idle", project="speech",
                                          opportunistic="true"))
        self.running(idle)
        wants = [self.server.submit(gpu_job(LONG, 2, "w%d" % i)) for i in range(2)]
        for job in wants:
            self.running(job)
        self.assertEqual(self.state(idle), "queued")
        self.server.ok("quota", "delete", "speech")


class Nodes(CapacityCase):
    def test_a_cordoned_node_takes_nothing_new(self):
        first = self.server.submit(gpu_job(LONG, 2, "first"))
        self.running(first)
        at = self.node_of(first)
        other = "b" if at == "a" else "a"
        self.server.ok("node", "cordon", other, "--reason", "new disk")
        second = self.server.submit(gpu_job(LONG, 1, "second"))
        self.reason(second, "gpus_short")
        listed = self.nodes()[other]
        self.assertEqual(listed["reason"], "new disk")
        self.assertTrue(listed["node"]["cordoned"])
        self.assertIn("cordoned", self.server.ok("node", "list"))
        self.server.ok("node", "uncordon", other)
        self.running(second)
        self.assertEqual(self.node_of(second), other)

    def test_a_drained_node_is_left_and_its_jobs_go_on(self):
        events = Events(self.server)
        job = self.server.submit(gpu_job(LONG, 1, "goes-on"))
        self.running(job)
        at = self.node_of(job)
        self.server.ok("node", "drain", at, "--reason", "fan")
        eventually(lambda: self.node_of(job) not in (None, at), "it runs elsewhere")
        self.running(job)
        attempts = self.server.http("GET", "/api/v1/jobs/%s/attempts" % job).json()["items"]
        first = min(attempts, key=lambda one: one["number"])
        self.assertEqual(first["failure"]["class"], "preemption")
        self.assertIn(at, first["failure"]["text"])
        self.assertNotIn("tasks", self.nodes()[at])
        self.server.ok("node", "drain", at)  # again, without a reason
        self.assertIn("drained by", self.server.ok("node", "show", at))
        self.assertIn("fan", self.server.ok("node", "show", at))
        self.server.ok("node", "uncordon", at)
        for kind in ("node.drained", "node.uncordoned"):
            said = eventually(lambda kind=kind: events.of(kind), kind)[-1]
            self.assertEqual(said["changed"]["node"], at)
            self.assertEqual(said["actor"]["kind"], "user")

    def test_a_pool_by_name_takes_only_those_that_name_it(self):
        self.server.ok("pool", "set", "serving", "--by-name-only", "yes", "--minimum-run", "0s")
        self.server.ok("node", "move", "b", "--pool", "serving")
        eventually(lambda: self.nodes()["b"]["node"]["pool"] == "serving", "it has moved")
        plain = [self.server.submit(gpu_job(LONG, 1, "plain%d" % i)) for i in range(3)]
        for job in plain[:2]:
            self.running(job)
        self.reason(plain[2], "gpus_short")
        named = self.server.submit(gpu_job(LONG, 1, "named", pool="serving"))
        self.running(named)
        self.assertEqual(self.node_of(named), "b")
        busy = self.server.run("node", "move", "b")
        self.assertEqual(busy.returncode, 5, busy.stderr)
        self.assertIn("drain", busy.stderr)
        self.server.ok("job", "cancel", named)
        eventually(lambda: self.node_of(named) is None, "it has ended")
        self.server.ok("node", "move", "b")
        self.running(plain[2])
        self.server.ok("pool", "delete", "serving")

    def test_maintenance_lets_in_only_what_ends_before(self):
        self.server.ok("reservation", "add", "fans", "--pool", self.pool, "--maintenance",
                       "--from", "+10m", "--for", "1h", "--reason", "new fans")
        late = self.server.submit(gpu_job(LONG, 1, "late"))
        reason = self.reason(late, "node_closes")
        self.assertIn("new fans", reason["text"])
        self.assertIn("time_limit", reason["mend"])
        path = os.path.join(self.server.root, "short.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(gpu_job(LONG, 1, "short"))
        for limit, code in (("5m", "now"), ("2h", "node_closes")):
            said = self.server.run("job", "check", path, "--set", "time_limit=" + limit, "--json")
            self.assertEqual(json.loads(said.stdout)["reason"]["code"], code, said.stderr)
        # It may start when the hour is over.
        numbers = eventually(lambda: (lambda said: "starts_in_seconds" in said and said)(
            self.server.json("job", "why", late)["numbers"]), "it is told when")
        self.assertAlmostEqual(numbers["starts_in_seconds"], 70 * 60, delta=120)
        self.server.ok("reservation", "delete", "fans")
        self.running(late)

    def test_reserved_nodes_are_for_their_project(self):
        self.server.ok("project", "add", "team")
        stays = self.server.submit(gpu_job(LONG, 2, "stays", project="team"))
        goes = self.server.submit(gpu_job(LONG, 2, "goes"))
        self.running(stays)
        self.running(goes)
        self.server.ok("reservation", "add", "demo", "--node", "a", "--node", "b",
                       "--for-project", "team", "--for", "1h")
        self.reason(goes, "node_closes")
        self.assertEqual(self.state(stays), "running")
        taken = self.server.run("reservation", "add", "again", "--node", "a", "--for-project",
                                "default", "--for", "1h")
        self.assertEqual(taken.returncode, 5, taken.stderr)
        self.assertIn("reserved as demo", taken.stderr)
        self.server.ok("reservation", "delete", "demo")
        self.running(goes)

    def test_halves_share_a_gpu(self):
        text = "echo GPU=$CUDA_VISIBLE_DEVICES SHARE=$HEARTH_GPU_SHARE; sleep 300"
        halves = [self.server.submit(job_text(
            text, "half%d" % i, resources="{cpus: 0.1, memory: 64MiB, gpus: 1, gpu_share: 0.5}"))
            for i in range(2)]
        for job in halves:
            self.running(job)
        gpus = [eventually(lambda job=job: [line for line in self.server.lines(job)
                                            if line.startswith("GPU=")], "it says its GPU")[0]
                for job in halves]
        self.assertEqual(gpus[0], gpus[1])
        node = self.nodes()[self.node_of(halves[0])]
        self.assertEqual(node["free_gpus"], 1)
        self.assertEqual([task["gpu_share"] for task in node["tasks"]], [0.5, 0.5])

    def test_past_jobs_on_more_machines(self):
        first = [self.server.submit(gpu_job("sleep 2", 2, "past%d" % i)) for i in range(4)]
        for job in first:
            self.server.wait(job)
        answer = self.server.json("simulate", "--what-if", "--add", "a=2", "--days", "1")
        self.assertGreaterEqual(answer["jobs"], 4)
        self.assertEqual((answer["now"]["gpus"], answer["then"]["gpus"]), (4, 8))
        self.assertLessEqual(answer["then"]["waits"]["mean"], answer["now"]["waits"]["mean"])
        said = self.server.ok("simulate", "--what-if", "--limit-of", "default:gpus=2")
        self.assertIn("as it is: 4 GPUs", said)
        for words, code in ((["--add", "nothere=1"], 3), ([], 7), (["--limit-of", "gpus=1"], 3)):
            refused = self.server.run("simulate", "--what-if", *words)
            self.assertEqual(refused.returncode, code, refused.stderr)

    def test_only_admins_change_what_there_is(self):
        token = self.server.ok("token", "add", "m", "--role", "member", "--project", "default",
                               "-q").strip()
        for method, path in (("POST", "/api/v1/nodes/a/cordon"), ("PUT", "/api/v1/pools/p"),
                             ("DELETE", "/api/v1/reservations/x"),
                             ("PUT", "/api/v1/projects/default/quota")):
            answer = self.server.http(method, path, body=b"{}", token=token,
                                      headers={"Content-Type": "application/json"})
            self.assertEqual(answer.status, 403, (path, answer.body))


if __name__ == "__main__":
    unittest.main()
