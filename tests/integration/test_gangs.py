"""Jobs of more than one process, on nodes and GPUs that a topology file lends."""

import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from harness import Server, ServerCase, eventually, processes_of, shim_of
from test_examples import PYTHON, has_torch

HERE = os.path.dirname(os.path.abspath(__file__))
TWO_RANKS = os.path.join(HERE, "../../examples/two-ranks")
# Two nodes of two GPUs each: a gang of three lies on both.
TOPOLOGY = """hearth: 1
nodes:
  - name: a
    rack: r0
    cpus: 8
    memory: 16GiB
    numa: [{name: numa0, cpus: 8, memory: 16GiB}]
    gpus:
      - {uuid: GPU-lent-a0, model: H100, memory: 80GiB, numa: numa0, link: nvlink0}
      - {uuid: GPU-lent-a1, model: H100, memory: 80GiB, numa: numa0, link: nvlink0}
    gpu_bandwidth: [[0, 300], [300, 0]]
  - name: b
    rack: r0
    cpus: 8
    memory: 16GiB
    gpus:
      - {uuid: GPU-lent-b0, model: H100, memory: 80GiB}
      - {uuid: GPU-lent-b1, model: H100, memory: 80GiB}
"""
GPUS = {"GPU-lent-a0", "GPU-lent-a1", "GPU-lent-b0", "GPU-lent-b1"}


def topology_file(folder, text=TOPOLOGY):
    path = os.path.join(folder, "topology.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def gang_text(command, replicas=2, name="gang", launch="plain", resources="{cpus: 0.1}", **fields):
    text = "hearth: 1\nname: %s\nlaunch: %s\n" % (name, launch)
    text += "roles:\n  worker:\n    replicas: %d\n    command: %s\n    resources: %s\n" % (
        replicas, json.dumps(command), resources)
    for key, value in fields.items():
        text += "%s: %s\n" % (key, value if isinstance(value, str) else json.dumps(value))
    return text


class GangCase(ServerCase):
    @classmethod
    def setUpClass(cls):
        root = tempfile.mkdtemp(prefix="hearth-it-")
        cls.server = Server("--topology", topology_file(root), root=root).start()

    def tasks(self, job, attempt=None):
        """Of the last attempt, by rank."""
        shown = self.server.json("job", "show", job)
        items = self.server.http("GET", "/api/v1/jobs/%s/tasks" % shown["id"]).json()["items"]
        number = attempt or shown["attempts"]
        return sorted((t for t in items if t["attempt_number"] == number), key=lambda t: t["rank"])

    def by_rank(self, job, ranks, *arguments):
        return [self.server.lines(job, "--rank", str(rank), *arguments) for rank in range(ranks)]

    def variables(self, job, ranks):
        return [dict(line.split("=", 1) for line in lines if "=" in line)
                for lines in self.by_rank(job, ranks)]


class Topology(GangCase):
    def test_everybody_is_told_that_nothing_of_it_is_real(self):
        words = "2 nodes with 4 GPUs lent by a topology file: they are not real"
        self.assertIn(words, self.server.ok("status"))
        self.assertEqual(self.server.json("status")["lent"], words)
        self.assertIn(words, self.server.ok("doctor", "--data", self.server.data))
        self.assertIn("2 H100 (lent)", self.server.ok("node", "list"))
        nodes = {node["name"]: node for node in
                 self.server.http("GET", "/api/v1/nodes").json()["items"]}
        self.assertEqual(set(nodes), {"a", "b"})
        self.assertTrue(nodes["a"]["lent"])
        self.assertEqual(nodes["a"]["gpu_bandwidth"], [[0, 300], [300, 0]])
        self.assertNotIn("gpu_bandwidth", nodes["b"], "nobody measured it")
        self.assertEqual(nodes["a"]["gpus"][1]["link"], "nvlink0")

    def test_a_wrong_file_is_refused_with_every_mistake(self):
        root = tempfile.mkdtemp(prefix="hearth-it-")
        self.addCleanup(shutil.rmtree, root, True)
        wrong = TOPOLOGY.replace("GPU-lent-b1", "GPU-lent-a0").replace("rack: r0", "rak: r0", 1)
        other = Server("--topology", topology_file(root, wrong), root=root)
        done = subprocess.run(
            [other.program, "up", "--data", other.data, "--listen", "127.0.0.1:0",
             *other.arguments], env=other.environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertIn("line 4: nodes[0].rak", done.stderr)
        self.assertIn("did you mean 'rack'?", done.stderr)
        self.assertIn("line 18: nodes[1].gpus[1].uuid", done.stderr)
        self.assertFalse(os.path.exists(other.data), "nothing was made")

    def test_each_task_sees_its_own_gpus_and_jobs_share_none(self):
        hold = os.path.join(self.server.root, "go")
        text = gang_text("echo gpus=$CUDA_VISIBLE_DEVICES node=$HEARTH_NODE; "
                         "while [ ! -e %s ]; do sleep 0.05; done" % hold,
                         resources="{cpus: 0.1, gpus: 1}")
        first, second = self.server.submit(text), self.server.submit(text)
        third = self.server.submit(text)
        seen = []
        for job in first, second:
            for rank in range(2):
                (line,) = eventually(lambda: self.server.lines(job, "--rank", str(rank)), "runs")
                seen.append(re.fullmatch(r"gpus=(\S+) node=([ab])", line).groups())
        self.assertEqual({gpu for gpu, _ in seen}, GPUS, "each was given once")
        for gpu, node in seen:
            self.assertEqual(gpu[-2], node, "a task's GPUs hang on its node")
        told = [gpu for job in (first, second) for task in self.tasks(job) for gpu in task["gpus"]]
        self.assertEqual(told, [gpu for gpu, _ in seen], "the API says the same")
        # The third waits, and says for what.
        why = self.server.ok("job", "why", third)
        self.assertIn("GPU", why)
        self.assertEqual(self.server.json("job", "show", third)["state"], "queued")
        with open(hold, "w", encoding="utf-8"):
            pass
        self.assertEqual(self.server.wait(first, second, third)["state"], "succeeded")

    def test_what_this_cluster_can_never_give_is_refused_with_the_reason(self):
        path = os.path.join(self.server.root, "never.yaml")
        for resources, words in (("{gpus: 3}", "GPU"), ("{gpus: 1, gpu_model: [B200]}", "model")):
            with open(path, "w", encoding="utf-8") as file:
                file.write(gang_text("true", resources=resources))
            done = self.server.run("job", "submit", path)
            self.assertNotEqual(done.returncode, 0, done.stdout)
            self.assertIn(words, done.stderr)


class Gangs(GangCase):
    def test_every_rank_knows_itself_and_the_others(self):
        job = self.server.wait(self.server.submit(gang_text("env", replicas=3)))
        self.assertEqual(job["state"], "succeeded", job)
        found = self.variables(job["id"], 3)
        for rank, variables in enumerate(found):
            self.assertEqual(variables["HEARTH_ROLE"], "worker")
            self.assertEqual(variables["HEARTH_RANK"], str(rank))
            self.assertEqual(variables["HEARTH_WORLD_SIZE"], "3")
            peers = variables["HEARTH_PEERS"].split(",")
            self.assertEqual(peers, found[0]["HEARTH_PEERS"].split(","))
            self.assertEqual(len(set(peers)), 3)
            self.assertEqual(variables["HEARTH_COORDINATOR"], peers[0])
            self.assertEqual(variables["HEARTH_PORTS"].split("-")[0], peers[rank].split(":")[1])
            self.assertEqual(variables["HEARTH_GANG_SECRET"], "***", "blacked out in logs")
            self.assertNotIn("MASTER_ADDR", variables)
        lines = self.server.lines(job["id"])
        self.assertTrue(any(line.startswith("[2] HEARTH_RANK=2") for line in lines))
        shown = self.server.ok("job", "show", job["id"])
        self.assertEqual(len(re.findall(r"^[012]\s+worker\s+[ab]\s", shown, re.M)), 3, shown)

    def test_roles_count_ranks_together(self):
        say = "'echo $HEARTH_ROLE $HEARTH_RANK $HEARTH_ROLE_RANK'"
        text = ("hearth: 1\nname: two-roles\nroles:\n  chief: {command: %s}\n"
                "  ps: {replicas: 2, command: %s}\n" % (say, say))
        job = self.server.wait(self.server.submit(text))
        self.assertEqual(self.by_rank(job["id"], 3), [["chief 0 0"], ["ps 1 0"], ["ps 2 1"]])

    def test_contracts_of_later_versions_say_so(self):
        path = os.path.join(self.server.root, "later.yaml")
        for launch in "tf", "dmlc", "jax", "paddle":
            with open(path, "w", encoding="utf-8") as file:
                file.write(gang_text("true", launch=launch))
            done = self.server.run("job", "submit", path)
            self.assertEqual(done.returncode, 7)
            self.assertIn("'%s', which this version does not run" % launch, done.stderr)

    def test_one_that_has_finished_waits_for_the_others(self):
        hold = os.path.join(self.server.root, "finish")
        job = self.server.submit(gang_text(
            "[ $HEARTH_RANK = 0 ] || while [ ! -e %s ]; do sleep 0.05; done" % hold))
        eventually(lambda: self.tasks(job)[0]["state"] == "succeeded", "rank 0 has finished")
        self.assertEqual(self.server.json("job", "show", job)["state"], "running")
        self.assertEqual(self.tasks(job)[1]["state"], "running")
        with open(hold, "w", encoding="utf-8"):
            pass
        self.assertEqual(self.server.wait(job)["state"], "succeeded")

    def test_the_death_of_one_ends_all_and_is_named(self):
        job = self.server.submit(gang_text(
            "trap '' TERM; if [ $HEARTH_RANK = 1 ]; then echo about to fail; echo step 7; exit 3; "
            "fi; setsid sh -c \"trap '' TERM; sleep 600\" & sleep 600; sleep 600", replicas=3))
        ended = self.server.wait(job)
        self.assertEqual(ended["state"], "failed")
        failure = ended["failure"]
        self.assertEqual((failure["class"], failure["role"], failure["rank"],
                          failure["exit_code"]), ("exit", "worker", 1, 3), failure)
        self.assertEqual(failure["lines"], ["about to fail", "step 7"])
        self.assertTrue(failure["text"].startswith("worker (rank 1): exit code 3"), failure)
        shown = self.server.ok("job", "show", job)
        self.assertIn("| step 7", shown)
        self.assertIn("ended with its gang", shown)
        for task in self.tasks(job):
            self.assertEqual(processes_of("HEARTH_TASK=" + task["id"]), [])
        self.assertEqual(ended["attempts"], 1, "an exit code is no reason to try again")

    def test_a_supervisor_that_dies_is_the_cause_and_the_gang_is_tried_again(self):
        job = self.server.submit(gang_text(
            "echo attempt; "
            "if [ -e %s ]; then exit 0; fi; sleep 600" % os.path.join(self.server.root, "again")))
        eventually(lambda: all(task["state"] == "running" for task in self.tasks(job)), "runs")
        with open(os.path.join(self.server.root, "again"), "w", encoding="utf-8"):
            pass
        os.kill(shim_of(self.tasks(job)[1]["id"]), signal.SIGKILL)
        ended = self.server.wait(job)
        self.assertEqual((ended["state"], ended["attempts"]), ("succeeded", 2), ended)
        attempts = self.server.http("GET", "/api/v1/jobs/%s/attempts" % job).json()["items"]
        first = min(attempts, key=lambda one: one["number"])
        self.assertEqual((first["failure"]["class"], first["failure"]["rank"]), ("lost", 1))
        for task in self.tasks(job, attempt=1):
            self.assertEqual(processes_of("HEARTH_TASK=" + task["id"]), [])

    def test_a_port_that_somebody_took_costs_an_attempt_and_not_the_job(self):
        folder = tempfile.mkdtemp(dir=self.server.root)
        with open(os.path.join(folder, "listen.py"), "w", encoding="utf-8") as file:
            file.write("import os, socket, time\n"
                       "print(os.environ['HEARTH_PORTS'], flush=True)\n"
                       "while not os.path.exists(os.environ['GO']): time.sleep(0.05)\n"
                       "if os.environ['HEARTH_RANK'] == '0':\n"
                       "    at = socket.socket()\n"
                       "    at.bind(('127.0.0.1', int(os.environ['HEARTH_PORTS'][:5])))\n")
        go = os.path.join(folder, "go")
        job = self.server.submit(
            gang_text("python3 listen.py", code=".", env=json.dumps({"GO": go})), folder=folder)
        (line,) = eventually(lambda: self.server.lines(job, "--rank", "0"), "says its ports")
        taken = int(line.split("-")[0])
        with socket.socket() as other:
            other.bind(("0.0.0.0", taken))
            other.listen()
            with open(go, "w", encoding="utf-8"):
                pass
            ended = self.server.wait(job)
        self.assertEqual((ended["state"], ended["attempts"]), ("succeeded", 2), ended)
        again = self.server.lines(job, "--rank", "0")
        self.assertNotEqual(again[0], line)
        attempts = self.server.http("GET", "/api/v1/jobs/%s/attempts" % job).json()["items"]
        failure = min(attempts, key=lambda one: one["number"])["failure"]
        self.assertEqual(failure["class"], "node")
        self.assertIn("port %d" % taken, failure["text"])

    def test_a_live_parameter_changes_at_one_step_on_all_ranks(self):
        folder = tempfile.mkdtemp(dir=self.server.root)
        with open(os.path.join(folder, "train.py"), "w", encoding="utf-8") as file:
            file.write("import os, time, hearth\n"
                       "rank, seen = int(os.environ['HEARTH_RANK']), 0.1\n"
                       "for step in range(100000):\n"
                       "    lr = hearth.live('lr', 0.1, step=step)\n"
                       "    hearth.log(step=step, loss=1.0 / (1 + step))\n"
                       "    if lr != seen:\n"
                       "        print('changed', step, lr, flush=True)\n"
                       "        break\n"
                       "    time.sleep(0.004 if rank else 0.007)\n")  # each at its own pace
        job = self.server.submit(
            gang_text("python3 train.py", code=".", params="{lr: {value: 0.1, live: true}}"),
            folder=folder)
        run = self.server.json("job", "show", job)["run_id"]
        points = "/api/v1/runs/%s/metrics?key=loss&points=0" % run
        eventually(lambda: self.server.http("GET", points).json().get("points"), "both log")
        self.server.ok("run", "set", job, "lr=0.5")
        self.assertEqual(self.server.wait(job)["state"], "succeeded")
        zero, one = self.by_rank(job, 2)
        self.assertEqual(len(zero), 1, zero)
        self.assertEqual(zero, one, "both changed at the same step")
        history = self.server.http("GET", "/api/v1/runs/%s/live" % run).json()["items"]
        self.assertEqual([item["step"] for item in history if "step" in item],
                         [int(zero[0].split()[1])])


@unittest.skipUnless(shutil.which("mpirun"), "openmpi-bin is not installed")
class Mpi(GangCase):
    RANK = ("sh -c 'echo mpi $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE in task $HEARTH_RANK "
            "gpus $CUDA_VISIBLE_DEVICES'")

    def test_mpirun_starts_its_ranks_inside_the_tasks(self):
        job = self.server.submit(gang_text(
            "mpirun %s && echo first done && mpirun true" % self.RANK, replicas=3, launch="mpi",
            resources="{cpus: 0.1, gpus: 1}"))
        ended = self.server.wait(job)
        lines = self.server.lines(job)
        self.assertEqual(ended["state"], "succeeded", lines)
        self.assertIn("[0] first done", lines)
        said = sorted(line[4:] for line in lines if " mpi " in line)
        gpus = {task["rank"]: task["gpus"][0] for task in self.tasks(job)}
        self.assertEqual(said, ["mpi %d of 3 in task %d gpus %s" % (rank, rank, gpus[rank])
                                for rank in range(3)])

    def test_a_rank_that_dies_ends_the_gang(self):
        job = self.server.submit(gang_text(
            "mpirun sh -c 'echo up $$; [ $OMPI_COMM_WORLD_RANK = 1 ] && kill -9 $$; sleep 600'",
            launch="mpi"))
        ended = self.server.wait(job)
        self.assertEqual(ended["state"], "failed")
        self.assertEqual(ended["failure"]["rank"], 0, "mpirun's own words")
        # Its second word, which names the rank and the signal, mpirun 4.1 loses one time in four.
        said = " ".join(ended["failure"]["lines"])
        self.assertIn("1 process returned a non-zero exit code", said)
        self.assertEqual(ended["failure"]["exit_code"], 128 + signal.SIGKILL)
        for task in self.tasks(job):
            self.assertEqual(processes_of("HEARTH_TASK=" + task["id"]), [])

    def test_a_command_without_mpirun_keeps_nobody_waiting(self):
        job = self.server.wait(self.server.submit(gang_text("echo alone", launch="mpi")))
        self.assertEqual(job["state"], "succeeded")


@unittest.skipUnless(has_torch(), "python3-torch is not installed")
class Torch(GangCase):
    WORDS = ["--set", "params.train_images=2560", "--set", "params.epochs=2"]

    def copy(self):
        folder = os.path.join(tempfile.mkdtemp(dir=self.server.root), "two-ranks")
        shutil.copytree(TWO_RANKS, folder)
        return os.path.join(folder, "job.yaml")

    def submit(self, command, replicas, *words):
        return self.server.json(
            "job", "submit", self.copy(), "--set", "roles.worker.command=" + command, "--set",
            "roles.worker.replicas=%d" % replicas, *self.WORDS, *words)["id"]

    def losses(self, job):
        run = self.server.json("job", "show", job)["run_id"]
        points = self.server.http(
            "GET", "/api/v1/runs/%s/metrics?key=loss&points=0" % run).json()["points"]
        return {point["step"]: point["value"] for point in points}

    def test_two_ranks_have_the_loss_of_one_at_equal_batch(self):
        plain = PYTHON + " train.py"
        launcher = PYTHON + " -m torch.distributed.run --redirects=9:1 --tee=9:1 train.py"
        gpus = ["--set", "roles.worker.resources.gpus=1"]
        one = self.submit(plain, 1)
        two = self.submit(plain, 2, *gpus)
        launched = self.submit(launcher, 2)
        for job in one, two, launched:
            self.assertEqual(self.server.wait(job)["state"], "succeeded", self.server.lines(job))
        wanted = self.losses(one)
        self.assertEqual(len(wanted), 8)
        self.assertLess(wanted[40], wanted[5], "it learns")
        for job in two, launched:
            found = self.losses(job)
            self.assertEqual(set(found), set(wanted))
            for step, loss in wanted.items():
                self.assertAlmostEqual(found[step], loss, delta=2e-4)
        heads = [lines[0] for lines in self.by_rank(two, 2)]
        given = [task["gpus"][0] for task in self.tasks(two)]
        self.assertEqual(len(set(given)), 2)
        self.assertEqual(heads, ["rank %d of 2: GPUs '%s'" % (rank, given[rank])
                                 for rank in range(2)])
        self.assertEqual(self.by_rank(launched, 2)[1][0].split("]:")[-1],
                         "rank 1 of 2: GPUs ''")

    def test_a_killed_rank_ends_the_gang_which_goes_on_from_its_checkpoint(self):
        job = self.submit(PYTHON + " train.py", 2, "--set", "params.epochs=400", "--set",
                          "retries.for[0]=signal")
        checkpoints = "/api/v1/jobs/%s/checkpoints" % job
        eventually(lambda: self.server.http("GET", checkpoints).json()["items"], "it saves")
        task = self.tasks(job)[1]
        for pid in processes_of("HEARTH_TASK=" + task["id"]):
            with open("/proc/%d/cmdline" % pid, "rb") as file:
                if b"train.py" in file.read():  # its supervisor's helpers bear the mark, too
                    os.kill(pid, signal.SIGKILL)
        eventually(lambda: self.server.json("job", "show", job)["attempts"] == 2 and
                   any("goes on after" in line for line in self.server.lines(job)),
                   "the gang is tried again: %s" % self.server.json("job", "show", job))
        first = min(self.server.http("GET", "/api/v1/jobs/%s/attempts" % job).json()["items"],
                    key=lambda one: one["number"])
        failure = first["failure"]
        self.assertEqual((failure["class"], failure["rank"], failure["signal"]),
                         ("signal", 1, signal.SIGKILL), failure)
        steps = [int(re.search(r"after step (\d+)", lines[1]).group(1)) for lines in
                 eventually(lambda: [lines for lines in self.by_rank(job, 2) if len(lines) > 1]
                            if all(len(lines) > 1 for lines in self.by_rank(job, 2)) else None,
                            "both ranks go on")]
        self.assertEqual(steps[0], steps[1])
        self.assertGreaterEqual(steps[0], 20)
        for task in self.tasks(job, attempt=1):
            self.assertEqual(processes_of("HEARTH_TASK=" + task["id"]), [])
        self.server.ok("job", "cancel", job)
        self.assertEqual(self.server.wait(job)["state"], "cancelled")


# Counts on from its last checkpoint; one step takes 0.1 s, one in ten is saved.
COUNTS = """
import os, time, hearth
resumed = os.environ.get("HEARTH_RESUME_FROM")
step = int(open(os.path.join(resumed, "step")).read()) + 1 if resumed else 0
while True:
    print("step", step, flush=True)
    if step % 10 == 9:
        with hearth.checkpoint(step=step) as d:
            (d / "step").write_text(str(step))
    step += 1
    time.sleep(0.1)
"""


class Eviction(GangCase):
    MINIMUM_RUN = 60  # seconds; of a pool that says nothing else

    def test_a_gang_makes_room_for_one_of_higher_priority_and_goes_on(self):
        folder = tempfile.mkdtemp(dir=self.server.root)
        with open(os.path.join(folder, "counts.py"), "w", encoding="utf-8") as file:
            file.write(COUNTS)
        low = self.server.submit(gang_text(
            "exec python3 counts.py", 2, "low", resources="{cpus: 0.1, gpus: 2}", priority=10,
            code=".", outputs="{checkpoints: {path: ckpt, keep: 3}}"), folder=folder)
        eventually(lambda: self.server.json("job", "show", low)["state"] == "running", "it runs")
        began = time.time()
        high = self.server.submit(gang_text("sleep 1", 1, "high", priority=90,
                                            resources="{cpus: 0.1, gpus: 2}"))
        # Not before its minimum run; until then the other says what it lacks.
        reason = self.server.json("job", "show", high)["reason"]
        self.assertEqual(reason["code"], "gpus_short", reason)
        eventually(lambda: self.server.json("job", "show", low)["attempts"] == 2,
                   "it was evicted, and goes on", 120 + self.MINIMUM_RUN)
        self.assertGreater(time.time() - began, self.MINIMUM_RUN - 10)
        self.assertEqual(self.server.wait(high)["state"], "succeeded")
        attempts = self.server.http("GET", "/api/v1/jobs/%s/attempts" % low).json()["items"]
        first = min(attempts, key=lambda one: one["number"])
        self.assertEqual(first["failure"]["class"], "preemption", first)
        before = self.steps(low, 1)
        after = eventually(lambda: self.steps(low, 2), "it counts on")
        # What it did since its last checkpoint is done again, and no more.
        self.assertGreater(after[0], 0)
        self.assertEqual(after[0] % 10, 0)
        self.assertLessEqual(before[-1] - after[0], 2 * 10, (before[-1], after[0]))
        self.server.ok("job", "cancel", low)
        self.assertEqual(self.server.wait(low)["state"], "cancelled")

    def steps(self, job, attempt):
        lines = self.server.lines(job, "--attempt", str(attempt), "--rank", "0")
        return [int(line.split()[-1]) for line in lines if "step" in line]


class ServerDeath(GangCase):
    POINTS = 8

    def test_a_server_killed_while_gangs_start_starts_none_twice(self):
        # At random moments: each task of each attempt is one process at most, every gang ends well.
        truth = os.path.join(self.server.root, "truth")
        seed = int(time.time())
        dice = random.Random(seed)
        text = gang_text("echo $HEARTH_ATTEMPT $HEARTH_RANK $$ >>%s; sleep 0.3" % truth, replicas=3,
                         retries="{limit: 20, for: [lost, node]}")
        jobs = []
        for _ in range(self.POINTS):
            jobs.append(self.server.submit(text))
            time.sleep(dice.uniform(0, 0.25))
            self.server.kill()
            self.server.start()
        for job in jobs:
            self.assertEqual(self.server.wait(job)["state"], "succeeded", "seed %d" % seed)
        with open(truth, encoding="utf-8") as file:
            begun = [tuple(line.split()[:2]) for line in file]
        self.assertEqual(len(begun), len(set(begun)), "seed %d: one was started twice" % seed)
        for job in jobs:
            attempt = self.server.json("job", "show", job)["attempt_id"]
            self.assertEqual(sorted(rank for name, rank in begun if name == attempt),
                             ["0", "1", "2"], "seed %d" % seed)


if __name__ == "__main__":
    unittest.main()
