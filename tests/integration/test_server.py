"""The server itself: restarts, refusals, sign-in, what it leaves behind."""

import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import unittest

from harness import BIN, PATIENCE, Server, ServerCase, eventually, job_text, processes_of
from schema import raise_schema


class Restart(unittest.TestCase):
    def setUp(self):
        self.server = Server().start()
        self.addCleanup(self.server.close)

    def count_through(self, stop):
        job = self.server.submit(job_text("for i in $(seq 1 100); do echo $i; sleep 0.05; done"))
        eventually(lambda: "5" in self.server.lines(job), "it counts")
        stop()
        time.sleep(1)
        self.server.start()
        self.assertEqual(self.server.wait(job)["state"], "succeeded")
        self.assertEqual(self.server.lines(job), [str(i) for i in range(1, 101)])

    def test_a_task_outlives_a_plain_stop_and_loses_no_line(self):
        self.count_through(self.server.stop)

    def test_a_task_outlives_a_kill_and_loses_no_line(self):
        self.count_through(self.server.kill)

    def test_a_job_that_ends_while_the_server_is_away_is_known_after(self):
        job = self.server.submit(job_text("echo ready; sleep 1; exit 5"))
        eventually(lambda: "ready" in self.server.lines(job), "it runs")
        self.server.kill()
        time.sleep(3)
        self.server.start()
        ended = self.server.wait(job)
        self.assertEqual(ended["state"], "failed")
        self.assertEqual(ended["failure"]["exit_code"], 5)

    def test_down_cancel_ends_everything(self):
        whole = "{cpus: %d}" % os.cpu_count()
        job = self.server.submit(job_text("echo ready; sleep 600", resources=whole))
        eventually(lambda: "ready" in self.server.lines(job), "it runs")
        waiting = self.server.submit(job_text("sleep 600", "waiting", resources=whole))
        self.server.ok("down", "--cancel", "--data", self.server.data)
        self.server.process.wait(PATIENCE)
        self.server.start()
        for one in (job, waiting):
            self.assertEqual(self.server.json("job", "show", one)["state"], "cancelled")
        self.assertFalse(self.server.json("job", "show", waiting).get("started_at"))

    def test_a_draining_is_seen_and_can_be_ended(self):
        job = self.server.submit(job_text("echo ready; sleep 600"))
        eventually(lambda: "ready" in self.server.lines(job), "it runs")
        refused = self.server.run("down", "--resume", "--data", self.server.data)
        self.assertEqual(refused.returncode, 5, refused)
        self.assertIn("is not being drained", refused.stderr)
        self.assertFalse(self.server.json("status").get("draining"))
        drain = subprocess.Popen(
            [self.server.program, "down", "--drain", "--data", self.server.data],
            env=self.server.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(drain.communicate)
        now = eventually(lambda: (lambda said: said.get("draining") and said)(
            self.server.json("status")), "it is drained")
        self.assertEqual(now["waits_for_tasks"], 1)
        self.assertIn("when the task that runs has ended", self.server.ok("status"))
        waiting = self.server.submit(job_text("true", "waiting"))
        why = self.server.json("job", "why", waiting)
        self.assertEqual(why["code"], "draining")
        self.assertEqual(self.server.json("job", "show", waiting)["state"], "queued")
        time.sleep(2)  # whoever drains has seen that it began
        self.assertEqual(self.server.json("down", "--resume", "--data", self.server.data),
                         {"resumed": True})
        said = drain.communicate(timeout=PATIENCE)
        self.assertEqual(drain.returncode, 5, said)
        self.assertIn("--resume", said[1])
        self.assertEqual(self.server.wait(waiting)["state"], "succeeded")
        self.assertFalse(self.server.json("status").get("draining"))
        self.server.ok("job", "cancel", job)
        self.server.wait(job)
        self.assertIn("stopped", self.server.ok("down", "--drain", "--data", self.server.data))
        self.server.process.wait(PATIENCE)

    def test_down_says_when_it_cannot_ask_for_the_jobs(self):
        os.remove(os.path.join(self.server.data, "api.sock"))
        refused = self.server.run("down", "--cancel", "--data", self.server.data)
        self.assertEqual(refused.returncode, 6, refused)
        self.assertIn("no server answers", refused.stderr)
        self.assertIsNone(self.server.process.poll())
        said = self.server.ok("down", "--data", self.server.data)
        self.assertIn("which jobs run is not known", said)
        self.server.process.wait(PATIENCE)


class Versions(unittest.TestCase):
    """What a program does with the data and the tasks of another release (and tests/upgrade)."""

    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.close)

    def refused(self):
        done = subprocess.run([BIN, "up", "--data", self.server.data, "--listen", "127.0.0.1:0"],
                              env=self.server.environment, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=PATIENCE)
        self.assertNotEqual(done.returncode, 0)
        return done.stderr

    def test_a_database_of_a_later_program_is_refused(self):
        job = self.server.start().job("echo kept")["id"]
        self.server.stop()
        database = os.path.join(self.server.data, "state", "hearth.db")
        version = raise_schema(database, 1000)
        self.assertIn("hearth.db has tables of version 1000", self.refused())
        raise_schema(database, version)
        self.assertEqual(self.server.start().lines(job), ["kept"])

    def test_a_task_that_could_not_be_heard_is_a_reason_not_to_start(self):
        self.server.start()
        job = self.server.submit(job_text("echo ready; while ! test -e go; do sleep 0.05; done"))
        eventually(lambda: "ready" in self.server.lines(job), "it runs")
        task = self.server.http("GET", "/api/v1/jobs/%s/tasks" % job).json()["items"][0]
        self.server.stop()
        folder = os.path.join(self.server.data, "work", task["attempt_id"], task["id"])
        with open(os.path.join(folder, "task.json")) as file:
            order = json.load(file)
        with open(os.path.join(folder, "task.json"), "w") as file:
            json.dump(dict(order, protocol=99), file)
        said = self.refused()
        for words in ("task.json", "written in shim protocol 99, this program speaks",
                      "start the version of Hearth that started the task"):
            self.assertIn(words, said)
        with open(os.path.join(folder, "task.json"), "w") as file:
            json.dump(order, file)
        with open(os.path.join(folder, "work", "go"), "w"):
            pass
        self.server.start()
        self.assertEqual(self.server.wait(job)["state"], "succeeded")
        self.assertEqual(self.server.lines(job), ["ready"])

    def test_jobs_start_though_the_program_has_no_name_any_more(self):
        self.server.program = os.path.join(self.server.root, "hearth")
        shutil.copy2(BIN, self.server.program)
        self.server.start()
        os.unlink(self.server.program)
        self.server.program = BIN
        job = self.server.job("echo still")
        self.assertEqual(job["state"], "succeeded", job)
        self.assertEqual(self.server.lines(job["id"]), ["still"])


class Refusals(ServerCase):
    def up(self, *arguments):
        return subprocess.run([BIN, "up", *arguments], env=self.server.environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE)

    def test_a_second_server_on_the_same_data(self):
        done = self.up("--data", self.server.data, "--listen", "127.0.0.1:0")
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn(str(self.server.process.pid), done.stderr)

    def test_a_taken_port(self):
        port = int(self.server.url.rsplit(":", 1)[1])
        beside = self.up("--data", os.path.join(self.server.root, "beside"), "--detach", "--listen",
                         "127.0.0.1:%d" % port)
        self.assertEqual(beside.returncode, 5, beside.stderr)
        done = self.up("--data", os.path.join(self.server.root, "other"), "--listen",
                       "127.0.0.1:%d" % port)
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn(str(port), done.stderr)

    def test_plain_http_beyond_loopback(self):
        done = self.up("--data", os.path.join(self.server.root, "wide"), "--listen", "0.0.0.0:0")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("--insecure", done.stderr)

    def test_options_in_a_file(self):
        folder = os.path.join(self.server.root, "of-a-file")
        file = os.path.join(self.server.root, "options.yaml")
        with open(file, "w", encoding="utf-8") as f:
            f.write("data: %s\nlisten: 127.0.0.1:0\ndetach: true\nkeep-logs: 7d\n" % folder)
        done = self.up("--config", file, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        where = json.loads(done.stdout)
        self.assertTrue(where["url"].startswith("http://127.0.0.1:"), where)
        self.assertTrue(where["sign_in"].startswith(where["url"]), where)
        os.kill(where["pid"], 0)
        self.assertEqual(self.server.json("down", "--data", folder),
                         {"stopped": True, "jobs_that_go_on": []})
        with open(os.path.join(folder, ".gitignore"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "*\n")

    def test_a_token_for_the_owner_of_the_data_while_the_server_runs(self):
        token = self.server.ok("token", "add", "back", "--data", self.server.data, "-q").strip()
        self.assertEqual(self.server.http("GET", "/api/v1/whoami", token=token).status, 200)

    def test_times_to_keep(self):
        kept = self.server.json("status")["kept"]
        self.assertEqual(kept, {"deleted_runs_seconds": 30 * 86400, "events_seconds": 90 * 86400,
                                "logs_seconds": 0})
        self.assertIn("logs for ever", self.server.ok("status"))
        for option in ("--keep-logs", "--keep-events", "--keep-deleted"):
            done = self.up("--data", os.path.join(self.server.root, "kept"), "--listen",
                           "127.0.0.1:0", option, "0d")
            self.assertEqual(done.returncode, 7, done.stderr)
            self.assertIn(option + " '0d'", done.stderr)

    def test_no_token_wrong_token_foreign_host(self):
        self.assertEqual(self.server.http("GET", "/api/v1/jobs", token="").status, 401)
        self.assertEqual(self.server.http("GET", "/api/v1/jobs", token="hth_wrong").status, 401)
        self.assertEqual(self.server.http("GET", "/api/v1/jobs",
                                          headers={"Host": "evil.example"}).status, 403)

    def test_a_viewer_may_look_but_not_submit(self):
        self.server.ok("user", "add", "vera", "--role", "viewer", "--project", "default")
        token = self.server.ok("token", "add", "look", "--role", "viewer", "-q").strip()
        self.assertEqual(self.server.http("GET", "/api/v1/jobs", token=token).status, 200)
        refused = self.server.http("POST", "/api/v1/jobs", body=job_text("true").encode(),
                                   token=token, headers={"Content-Type": "application/yaml"})
        self.assertEqual(refused.status, 403, refused.body)
        problem = refused.json()
        self.assertEqual(problem["code"], "denied")
        self.assertTrue(problem["request_id"])

    def test_a_sign_in_link_is_good_once(self):
        link = self.server.json("login", "--link")["link"]
        code = link.split("#", 1)[1]
        first = self.server.http("POST", "/api/v1/sessions", body={"code": code}, token="")
        self.assertIn(first.status, (200, 201), first.body)
        cookie = first.headers["Set-Cookie"]
        self.assertIn("HttpOnly", cookie)
        self.assertIn("SameSite", cookie)
        pair = cookie.split(";")[0]
        self.assertEqual(self.server.http("GET", "/api/v1/whoami", token="",
                                          headers={"Cookie": pair}).status, 200)
        again = self.server.http("POST", "/api/v1/sessions", body={"code": code}, token="")
        self.assertEqual(again.status, 401, again.body)

    def test_a_sign_in_link_signs_in_on_the_command_line(self):
        link = self.server.ok("user", "add", "lena", "--project", "default", "-q").strip()
        elsewhere = {"XDG_CONFIG_HOME": tempfile.mkdtemp(dir=self.server.root)}
        self.server.ok("login", link, environment=elsewhere)
        who = self.server.json("whoami", environment=elsewhere)
        self.assertEqual((who["user"], who["kind"]), ("lena", "user"))
        again = self.server.run("login", link, environment=elsewhere)
        self.assertEqual(again.returncode, 4, again.stderr)
        self.assertIn("used already", again.stderr)

    def test_all_mistakes_of_a_job_file_at_once(self):
        path = os.path.join(self.server.root, "bad.yaml")
        with open(path, "w") as file:
            file.write("hearth: 1\nname: Bad Name\ncomand: true\nresources: {cpus: lots}\n")
        done = self.server.run("job", "check", path)
        self.assertEqual(done.returncode, 7)
        for words in ("name", "comand", "command", "resources.cpus", "4"):
            self.assertIn(words, done.stderr + done.stdout)

    def test_a_job_that_can_never_start_is_refused_with_the_reason(self):
        done = self.server.run("job", "submit", "--name", "huge", "--gpus", "4096", "--", "true")
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertIn("never", done.stderr)

    def test_a_task_token_touches_no_other_job(self):
        path = os.path.join(self.server.root, "token")
        script = "echo $HEARTH_TOKEN; echo $HEARTH_TOKEN > %s; sleep 60" % path
        job = self.server.submit(job_text(script))
        other = self.server.submit(job_text("sleep 60"))
        eventually(lambda: os.path.exists(path) and os.path.getsize(path) > 40, "the job's token")
        eventually(lambda: self.server.lines(job) == ["***"], "the token is blacked out in logs")
        with open(path) as file:
            token = file.read().strip()
        self.assertEqual(self.server.http("GET", "/api/v1/jobs/" + job, token=token).status, 200)
        refused = self.server.http("POST", "/api/v1/jobs/%s/cancel" % other, body={}, token=token)
        self.assertIn(refused.status, (403, 404), refused.body)
        self.server.ok("job", "cancel", job)
        self.server.ok("job", "cancel", other)
        self.server.wait(job)
        self.assertEqual(self.server.http("GET", "/api/v1/jobs/" + job, token=token).status, 401)


@unittest.skipUnless(os.geteuid() == 0, "only root can give each job a uid of its own")
class Uids(unittest.TestCase):
    def test_a_job_cannot_read_signal_or_see_into_another(self):
        # A folder that others may walk through, as /var/lib is.
        root = tempfile.mkdtemp(prefix="hearth-it-", dir="/var/tmp")
        os.chmod(root, 0o755)
        server = Server("--task-uids", "200000-200999", root=root).start()
        self.addCleanup(server.close)
        first = server.submit(job_text("echo mine > s; chmod 644 s; pwd; id -u; exec sleep 600",
                                       env="{MARK: first}"))
        folder, uid = eventually(lambda: [line for line in server.lines(first)][:2][1:] and
                                 server.lines(first), "the first job runs")
        self.assertIn(int(uid), range(200000, 201000))
        (pid,) = [p for p in processes_of("MARK=first")
                  if open("/proc/%d/comm" % p).read() == "sleep\n"]
        ended = server.job(
            "id -u; cat %s/s && echo READ; kill -0 %d && echo SIGNALLED; "
            "cat /proc/%d/environ && echo SEEN; ls %s/state && echo LISTED; true"
            % (folder, pid, pid, server.data))
        lines = server.lines(ended["id"])
        self.assertNotEqual(lines[0], uid)
        for word in ("READ", "SIGNALLED", "SEEN", "LISTED"):
            self.assertNotIn(word, lines)
        server.ok("job", "cancel", first)


class Tls(unittest.TestCase):
    def certificate(self, folder, name):
        """A self-signed one; its PEM text."""
        files = [os.path.join(folder, "key.pem"), os.path.join(folder, "certificate.pem")]
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-nodes", "-days", "2", "-subj", "/CN=" + name, "-addext",
             "subjectAltName=IP:127.0.0.1", "-keyout", files[0], "-out", files[1]],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(files[1], encoding="ascii") as file:
            return files, file.read()

    def test_a_renewed_certificate_is_taken_without_a_restart(self):
        root = tempfile.mkdtemp(prefix="hearth-it-")
        (key, file), old = self.certificate(root, "old")
        server = Server("--tls-cert", file, "--tls-key", key, root=root).start()
        self.addCleanup(server.close)
        port = int(server.url.rsplit(":", 1)[1])

        def served():
            return ssl.get_server_certificate(("127.0.0.1", port), timeout=PATIENCE)
        self.assertEqual(served(), old)
        _, new = self.certificate(root, "new")
        self.assertEqual(served(), old)
        server.process.send_signal(signal.SIGHUP)
        eventually(lambda: served() == new, "the new certificate is served")
        with open(key, "w", encoding="ascii") as broken:
            broken.write("no key")
        server.process.send_signal(signal.SIGHUP)
        eventually(lambda: "stays as it was" in server.log_text(), "the log says what is wrong")
        self.assertEqual(served(), new)


class Events(ServerCase):
    def test_events_stream_from_any_point(self):
        job = self.server.job("true")
        host, port = self.server.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=PATIENCE) as stream:
            stream.sendall(("GET /api/v1/events?since=0 HTTP/1.1\r\nHost: %s:%s\r\n"
                            "Authorization: Bearer %s\r\nAccept: text/event-stream\r\n\r\n"
                            % (host, port, self.server.token())).encode())
            seen = b""
            while b"job.succeeded" not in seen:
                piece = stream.recv(65536)
                self.assertTrue(piece, seen)
                seen += piece
        events = [json.loads(line[5:]) for line in seen.decode().splitlines()
                  if line.startswith("data:") and line.rstrip().endswith("}")]
        kinds = [event["kind"] for event in events if event["id"] == job["id"]]
        self.assertEqual(kinds[0], "job.submitted")
        self.assertEqual([e["seq"] for e in events], sorted(e["seq"] for e in events))


class Backup(unittest.TestCase):
    def test_a_backup_restores_whole(self):
        server = Server().start()
        self.addCleanup(server.close)
        server.ok("secret", "set", "KEY", stdin="value-of-it")
        job = server.job("echo hello; echo data > model.bin",
                         outputs="{models: [{path: model.bin, name: m}]}")
        file = os.path.join(server.root, "backup.tar")
        server.ok("backup", file)
        other = Server()
        self.addCleanup(other.close)
        done = other.run("restore", file, "--data", other.data, "--key-file",
                         os.path.join(server.data, "state", "secrets.key"))
        self.assertEqual(done.returncode, 0, done.stderr)
        again = other.run("restore", file, "--data", other.data)
        self.assertNotEqual(again.returncode, 0)
        other.environment["XDG_CONFIG_HOME"] = server.environment["XDG_CONFIG_HOME"]
        other.start()
        self.assertEqual(other.lines(job["id"]), ["hello"])
        self.assertEqual(other.json("model", "show", "m")["versions"], 1)


if __name__ == "__main__":
    unittest.main()
