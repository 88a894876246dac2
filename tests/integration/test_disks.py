"""Disks that fill up, turn read-only or are no place for a database: said clearly, nothing lost."""

import contextlib
import os
import shutil
import subprocess
import tempfile
import unittest

from harness import BIN, PATIENCE, Server, eventually, job_text
from places import EmptyFuse, MountCase, done, fill, run_in_namespace

# Counts on until told to stop; how far it is stands beside the disk that fails.
COUNTING = ("i=0; while [ ! -e {0}/stop ]; do i=$((i+1)); echo line $i; echo $i > {0}/far.new; "
            "mv {0}/far.new {0}/far; sleep 0.02; done")


class Disks(MountCase):
    def server_on(self, folder):
        """A server whose data lie on the disk, and its own things beside it."""
        server = Server()
        server.data = os.path.join(folder, "data")
        self.addCleanup(server.close)
        return server

    def start_counting(self, server):
        job = server.submit(job_text(COUNTING.format(server.root), resources="{cpus: 0.05}"))
        eventually(lambda: "line 5" in server.lines(job), "it counts")
        return job

    def far(self, server):
        with open(os.path.join(server.root, "far")) as file:
            return int(file.read())

    def goes_on(self, server, lines=30):
        until = self.far(server) + lines
        eventually(lambda: self.far(server) >= until, "the job goes on")

    def stop_counting(self, server, job):
        """Ends it and holds its whole log against how far it came."""
        with open(os.path.join(server.root, "stop"), "w"):
            pass
        self.assertEqual(server.wait(job)["state"], "succeeded", server.log_text())
        self.assertEqual(server.lines(job),
                         ["line %d" % i for i in range(1, self.far(server) + 1)])

    def submit_status(self, server):
        return server.http("POST", "/api/v1/jobs",
                           body=job_text("true", resources="{cpus: 0.05}").encode(),
                           headers={"Content-Type": "application/yaml"})

    def refused(self, server, words, patience=PATIENCE):
        """Waits until a submit is refused; what it said."""
        problem = eventually(lambda: (lambda a: a.status == 503 and a.json())(
            self.submit_status(server)), "a submit is refused", patience)
        self.assertEqual(problem["code"], "unavailable")
        self.assertIn(words, problem["detail"])
        self.assertTrue(problem["mend"])
        return problem

    def test_a_full_disk(self):
        disk = self.mounted("-t", "tmpfs", "-o", "size=96m", "tmpfs")
        server = self.server_on(disk).start()
        job = self.start_counting(server)
        filler = fill(disk)
        self.refused(server, "the disk is full")
        path = os.path.join(server.root, "job.yaml")
        with open(path, "w") as file:
            file.write(job_text("true"))
        done_by_hand = server.run("job", "submit", path)
        self.assertEqual(done_by_hand.returncode, 10, done_by_hand.stderr)
        self.assertIn("free", done_by_hand.stderr)
        ready = server.http("GET", "/readyz", token="")
        self.assertEqual(ready.status, 503)
        self.assertIn("the disk is full", ready.json()["detail"])
        status = server.run("status")
        self.assertEqual(status.returncode, 10, status.stderr)
        self.assertIn("the disk is full", status.stdout)
        self.assertEqual(server.http("GET", "/api/v1/jobs/" + job).status, 200)  # reads go on
        self.goes_on(server)
        os.unlink(filler)
        eventually(lambda: self.submit_status(server).status == 201, "writes go on by themselves")
        self.assertEqual(server.http("GET", "/readyz", token="").status, 200)
        self.assertEqual(server.run("status").returncode, 0)
        self.stop_counting(server, job)

    def up(self, server, *arguments):
        return subprocess.run([BIN, "up", "--data", server.data, "--listen", "127.0.0.1:0",
                               *arguments], env=server.environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE,
                              check=False)

    def test_a_read_only_directory_is_not_started_on(self):
        disk = self.mounted("-t", "tmpfs", "-o", "size=64m", "tmpfs")
        server = self.server_on(disk)
        with self.read_only(disk):
            new = self.up(server)
        self.assertEqual(new.returncode, 10, new.stderr)
        server.start()
        server.stop()
        with self.read_only(disk):
            used = self.up(server)
        self.assertEqual(used.returncode, 10, used.stderr)
        for refused in (new, used):
            self.assertIn(server.data, refused.stderr)
            self.assertIn("--data", refused.stderr)
            self.assertRegex(refused.stderr.lower(), "read-only")
        server.start()  # nothing was hurt by the tries

    def test_a_directory_that_turns_read_only_and_back(self):
        disk = self.mounted("-t", "tmpfs", "-o", "size=96m", "tmpfs")
        server = self.server_on(disk).start()
        job = self.start_counting(server)
        with self.read_only(disk):
            other = server.submit(job_text("echo other", resources="{cpus: 0.05}",
                                           retries="{limit: 10, for: [node]}"))
            told = eventually(lambda: (lambda j: j["failure"] and j)(
                server.json("job", "show", other)), "it says why the other job does not start")
            self.assertIn("Read-only", told["failure"]["text"])
            self.goes_on(server)
        self.assertEqual(server.wait(other)["state"], "succeeded")
        self.assertEqual(server.lines(other), ["other"])
        self.stop_counting(server, job)

    def broken_disk(self):
        """An ext4 that turns read-only at its first error, as most disks do; its image."""
        if not os.path.exists("/dev/loop-control") or shutil.which("mkfs.ext4") is None:
            self.skipTest("no loop devices, or no mkfs.ext4")
        image = os.path.join(tempfile.mkdtemp(prefix="hearth-it-"), "disk")
        self.addCleanup(shutil.rmtree, os.path.dirname(image), True)
        with open(image, "wb") as file:
            file.truncate(256 << 20)
        subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
        if not done("mount", "-o", "loop,errors=remount-ro", image, os.path.dirname(image)):
            self.skipTest("no loop device can be mounted here")
        done("umount", os.path.dirname(image))
        return image

    def test_a_disk_error(self):
        image = self.broken_disk()
        disk = self.mounted("-o", "loop,errors=remount-ro", image)
        device = subprocess.run(["findmnt", "-no", "SOURCE", disk], stdout=subprocess.PIPE,
                                text=True, check=True).stdout.strip()
        trigger = "/sys/fs/ext4/%s/trigger_fs_error" % os.path.basename(device)
        if not os.access(trigger, os.W_OK):
            self.skipTest("this kernel cannot be told to meet an error")
        server = self.server_on(disk).start()
        job = self.start_counting(server)
        known = server.lines(job)
        with open(trigger, "w") as file:
            file.write("hearth-it")
        problem = self.refused(server, "Read-only file system")
        self.assertIn("disk", problem["mend"])
        self.assertEqual(server.http("GET", "/readyz", token="").status, 503)
        self.assertEqual(server.lines(job)[:len(known)], known)  # reads go on
        # As an operator would: stop, end what still uses the disk, check it, mount it again.
        task = server.http("GET", "/api/v1/jobs/%s/tasks" % job).json()["items"][0]["id"]
        server.stop()
        for pid in pids_using(disk, task):
            with contextlib.suppress(ProcessLookupError):  # it went by itself
                os.kill(pid, 9)
        eventually(lambda: done("umount", disk), "the disk is free")
        done("e2fsck", "-fy", image)
        subprocess.run(["mount", "-o", "loop", image, disk], check=True)
        server.start()
        self.assertEqual(server.lines(job)[:len(known)], known)
        with open(os.path.join(server.root, "stop"), "w"):
            pass
        ended = server.wait(job)  # lost with its shim, and tried again
        self.assertEqual(ended["state"], "succeeded", ended)
        self.assertEqual(ended["attempts"], 2)

    def test_a_fuse_file_system_is_refused_with_the_mend(self):
        if not os.access("/dev/fuse", os.R_OK | os.W_OK):
            self.skipTest("there is no /dev/fuse")
        folder = tempfile.mkdtemp(prefix="hearth-it-")
        self.addCleanup(shutil.rmtree, folder, True)
        try:
            fuse = EmptyFuse(folder)
        except OSError as error:
            self.skipTest("FUSE cannot be mounted here: %s" % error)
        self.addCleanup(fuse.close)
        server = self.server_on(folder)
        refused = self.up(server)
        self.assertEqual(refused.returncode, 7, refused.stderr)
        for words in (server.data, "FUSE", "local disk", "--data"):
            self.assertIn(words, refused.stderr)


def pids_using(folder, task):
    """Shims and tasks of a task id, and whoever works below the folder."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as file:
                words = file.read()
            with open("/proc/%s/environ" % pid, "rb") as file:
                variables = file.read()
            place = os.readlink("/proc/%s/cwd" % pid)
        except OSError:
            continue
        if task.encode() in words or b"HEARTH_TASK=" + task.encode() in variables or \
                place.startswith(folder + "/"):
            found.append(int(pid))
    return found


class DisksInNamespace(unittest.TestCase):
    def test_all_of_them(self):
        run_in_namespace(self, ["test_disks.Disks.*"])


if __name__ == "__main__":
    unittest.main()
