"""Metrics of programs that know nothing of Hearth, and parameters that change while they run."""

import calendar
import os
import struct
import tempfile
import time

from harness import ServerCase, eventually, job_text, shim_of

# What the programs printed, on the stream and with the buffering they have.
PYTORCH = r"""
for epoch in (1, 2):
    for i in (0, 6400, 12800):
        print('Train Epoch: %d [%d/60000 (%d%%)]\tLoss: %.6f'
              % (epoch, i, i // 600, 1 / (epoch + i)))
    print('\nTest set: Average loss: 0.4149, Accuracy: 8490/10000 (85%)\n')
"""
KERAS = r"""
import sys, time
for epoch in (1, 2):
    print('Epoch %d/2' % epoch)
    for k in range(1, 939):
        line = ('\x1b[1m%d/938\x1b[0m \x1b[32m' % k + '━' * (k // 47) + '\x1b[0m\x1b[37m━\x1b[0m '
                '\x1b[1m0s\x1b[0m 1ms/step - accuracy: 0.8211 - loss: %.4f' % (1 / k))
        sys.stdout.write('\r' + line + '\b' * 40)
    sys.stdout.write('\r\x1b[1m938/938\x1b[0m \x1b[32m━━━\x1b[0m \x1b[1m2s\x1b[0m 2ms/step - '
                     'accuracy: 0.8211 - loss: 0.0011 - val_accuracy: 0.85%d0 - val_loss: 0.42\n'
                     % epoch)
sys.stdout.flush()
"""
MXNET = r"""
import logging
logging.basicConfig(level=logging.INFO)
for epoch in (0, 1):
    for k in (300, 600):
        logging.info('Epoch[%d] Batch [%d-%d]\tSpeed: 45360.68 samples/sec\taccuracy=0.%d', epoch,
                     k - 300, k, 700 + k + epoch)
    logging.info('Epoch[%d] Train-accuracy=0.8%d', epoch, epoch)
    logging.info('Epoch[%d] Time cost=1.353', epoch)
    logging.info('Epoch[%d] Validation-accuracy=0.85%d', epoch, epoch)
"""
CAFFE = r"""
import os
def line(text):
    os.write(2, ('I1120 05:37:58.272187  4332 solver.cpp:218] ' + text + '\n').encode())
for i in range(276):
    line('layer { name: "conv%d" top: "conv" lr_mult: 1 }' % i)
for iteration in (0, 500, 1000):
    line('Iteration %d, Testing net (#0)' % iteration)
    line('    Test net output #0: accuracy = 0.8%d' % iteration)
    line('Iteration %d (1250 iter/s, 0.08s/100 iters), loss = 0.570934' % iteration)
    line('    Train net output #0: loss = 0.570934 (* 1 = 0.570934 loss)')
    line('Iteration %d, lr = 0.01' % iteration)
"""


# The lines (real ones; the numbers alone change from step to step) and all the points they give.
XGBOOST = (r"""
for i in range(10):
    print('[%d]\ttrain-mlogloss:%.5f\ttrain-merror:0.14%d\tvalidation-mlogloss:0.47\t'
          'validation-merror:0.16340' % (i, 1 / (i + 1), i), flush=True)
""", {"train/mlogloss": [(i, round(1 / (i + 1), 5)) for i in range(10)],
      "train/merror": [(i, round(0.14 + i / 1000, 3)) for i in range(10)],
      "validation/mlogloss": [(i, 0.47) for i in range(10)],
      "validation/merror": [(i, 0.1634) for i in range(10)]})
XGBOOST_TRACKER = (r"""
for i in range(3):
    print('[05:45:0%d] [%d]\ttrain-logloss:0.4491%d' % (i, i, i))
""", {"train/logloss": [(0, 0.4491), (1, 0.44911), (2, 0.44912)]})
LIGHTGBM = (r"""
print('[LightGBM] [Info] Total Bins 4711')
for i in (10, 20, 30):
    print("[%d]\ttraining's multi_logloss: 0.54484%d\ttraining's multi_error: 0.12\t"
          "valid_1's multi_logloss: 0.6\tvalid_1's multi_error: 0.1502" % (i, i // 10))
""", {"training/multi_logloss": [(10, 0.544841), (20, 0.544842), (30, 0.544843)],
      "training/multi_error": [(10, 0.12), (20, 0.12), (30, 0.12)],
      "valid_1/multi_logloss": [(10, 0.6), (20, 0.6), (30, 0.6)],
      "valid_1/multi_error": [(10, 0.1502), (20, 0.1502), (30, 0.1502)]})
PADDLE = (r"""
import sys
for epoch in (1, 2):
    print('Epoch %d/2' % epoch)
    line = ('step 300/938 [========>.....................] - loss: 0.5386 - acc: 0.7709 - '
            'ETA: 2s - 4ms/step')
    sys.stdout.write('\r' + line + '\b' * len(line))
    sys.stdout.write('\rstep 938/938 [==============================] - loss: 0.295%d - '
                     'acc: 0.8639 - 2ms/step\n' % epoch)
    print('Eval begin...')
    print('step 157/157 - loss: 0.3%d - acc: 0.8528 - 1ms/step' % epoch)
    print('Eval samples: 10000')
""", {"loss": [(300, 0.5386), (938, 0.2951), (1238, 0.5386), (1876, 0.2952)],
      "acc": [(300, 0.7709), (938, 0.8639), (1238, 0.7709), (1876, 0.8639)],
      "eval/loss": [(938, 0.31), (1876, 0.32)], "eval/acc": [(938, 0.8528), (1876, 0.8528)]})
CNTK = (r"""
for epoch in (1, 2):
    for first in (1, 301, 601):
        print(' Minibatch[%4d-%4d]: loss = 0.810874 * 19200, metric = 2%d.62%% * 19200;'
              % (first, first + 299, epoch))
    print('Finished Epoch[%d of 2]: [Training] loss = 0.877388 * 59968, metric = 27.19%% * 59968 '
          '1.808s (33168.1 samples/s);' % epoch)
""", {"loss": [(step, 0.810874) for step in (300, 600, 900, 1237, 1537, 1837)],
      "metric": [(step, 21.62) for step in (300, 600, 900)]
      + [(step, 22.62) for step in (1237, 1537, 1837)],
      "training/loss": [(937, 0.877388), (1874, 0.877388)],
      "training/metric": [(937, 27.19), (1874, 27.19)]})
HUGGING_FACE = (r"""
import sys
for epoch in (1, 2):
    sys.stderr.write('\r %d%%|#####     | %d/40 [00:01<00:01, 20.00it/s]'
                     % (50 * epoch, 20 * epoch))
    print({'loss': 0.6222, 'grad_norm': 1.431056022644043, 'learning_rate': 0.0005 / epoch,
           'epoch': float(epoch)})
    print({'eval_loss': 0.5946990847587585, 'eval_runtime': 1.5, 'epoch': float(epoch)})
""", {"loss": [(1, 0.6222), (2, 0.6222)], "learning_rate": [(1, 0.0005), (2, 0.00025)],
      "grad_norm": [(1, 1.431056022644043), (2, 1.431056022644043)],
      "eval_loss": [(1, 0.5946990847587585), (2, 0.5946990847587585)],
      "eval_runtime": [(1, 1.5), (2, 1.5)], "epoch": [(1, 1), (2, 2)]})
KEY_VALUE = (r"""
for i in range(3):
    print('step=%d loss=0.5%d lr=1e-3 tokens=4096' % (100 * i, i))
print('listening host=10.0.0.1 port=8080')
""", {"loss": [(0, 0.5), (100, 0.51), (200, 0.52)], "lr": [(0, 0.001), (100, 0.001), (200, 0.001)],
      "tokens": [(0, 4096), (100, 4096), (200, 4096)]})
SCIKIT_LEARN = ("for i in (1, 2): print('Iteration %d, loss = 0.3829662%d' % (i, i))\n",
                {"loss": [(1, 0.38296621), (2, 0.38296622)]})


class Scripts(ServerCase):
    def run_script(self, text, **fields):
        """Submits a script and waits; its job."""
        folder = tempfile.mkdtemp(dir=self.server.root)
        with open(os.path.join(folder, "train.py"), "w", encoding="utf-8") as file:
            file.write(text)
        job = self.server.wait(self.server.submit(
            job_text("python3 train.py", code=".", **fields), folder=folder))
        self.assertEqual(job["state"], "succeeded", self.server.lines(job["id"]))
        return job["id"]

    def metrics(self, job):
        run = self.server.json("run", "show", job)
        return {key for key in run.get("metrics", {}) if not key.startswith("system/")}

    def points(self, job, key):
        run = self.server.json("run", "show", job)
        answer = self.server.http(
            "GET", "/api/v1/runs/%s/metrics?points=0&key=%s" % (run["id"], key)).json()
        return [(point["step"], point["value"]) for point in answer.get("points", [])]


class PlainLogs(Scripts):
    def test_pytorch(self):
        job = self.run_script(PYTORCH)
        self.assertEqual(self.metrics(job), {"train/loss", "test/loss", "test/accuracy"})
        self.assertEqual([step for step, _ in self.points(job, "train/loss")],
                         [0, 6400, 12800, 60000, 66400, 72800])
        self.assertEqual(self.points(job, "test/accuracy"), [(60000, 0.849), (120000, 0.849)])

    def test_keras_with_its_bars(self):
        job = self.run_script(KERAS)
        self.assertEqual(self.metrics(job), {"accuracy", "loss", "val_accuracy", "val_loss"})
        self.assertEqual(self.points(job, "val_accuracy"), [(938, 0.851), (1876, 0.852)])
        self.assertIn((1876, 0.0011), self.points(job, "loss"))

    def test_mxnet(self):
        job = self.run_script(MXNET)
        self.assertEqual(self.metrics(job), {"samples_per_second", "accuracy", "train/accuracy",
                                             "validation/accuracy"})
        self.assertEqual([step for step, _ in self.points(job, "accuracy")], [300, 600, 900, 1200])
        self.assertEqual(self.points(job, "validation/accuracy"), [(600, 0.85), (1200, 0.851)])

    def test_caffe(self):
        job = self.run_script(CAFFE)
        self.assertEqual(self.metrics(job), {"loss", "lr", "train/loss", "test/accuracy"})
        self.assertEqual(self.points(job, "test/accuracy"), [(0, 0.8), (500, 0.85), (1000, 0.81)])

    def charted(self, script):
        """Exactly these series are there, with nothing said about metrics in the job file."""
        text, wanted = script
        job = self.run_script(text)
        self.assertEqual({key: self.points(job, key) for key in self.metrics(job)}, wanted)
        # The chart's call has them too.
        run = self.server.json("run", "show", job)["id"]
        chart = self.server.http("POST", "/api/v1/metrics/query",
                                 {"runs": [run], "keys": sorted(wanted), "columns": 10000}).json()
        self.assertEqual({one["key"]: list(zip(one["x"], one["last"])) for one in chart["series"]},
                         wanted)

    def test_xgboost(self):
        self.charted(XGBOOST)

    def test_xgboost_under_a_tracker(self):
        self.charted(XGBOOST_TRACKER)

    def test_lightgbm(self):
        self.charted(LIGHTGBM)

    def test_paddle(self):
        self.charted(PADDLE)

    def test_cntk(self):
        self.charted(CNTK)

    def test_hugging_face(self):
        self.charted(HUGGING_FACE)

    def test_key_value(self):
        self.charted(KEY_VALUE)

    def test_scikit_learn(self):
        self.charted(SCIKIT_LEARN)

    def test_own_patterns_and_wrong_ones(self):
        text = "for i in range(3): print('at %d: reward %d.5' % (10 * i, i))\n"
        job = self.run_script(
            text, metrics=r"{patterns: ['at (?P<step>\d+): reward (?P<reward>\S+)']}")
        self.assertEqual(self.points(job, "reward"), [(0, 0.5), (10, 1.5), (20, 2.5)])
        folder = tempfile.mkdtemp(dir=self.server.root)
        path = os.path.join(folder, "job.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(job_text("true", metrics="{patterns: ['reward (']}"))
        refused = self.server.run("job", "submit", path)
        self.assertEqual(refused.returncode, 7, refused.stderr)
        self.assertIn("metrics.patterns[0]", refused.stderr)

    def test_they_can_be_turned_off(self):
        job = self.run_script(PYTORCH, metrics="{from_logs: never}")
        self.assertEqual(self.metrics(job), set())

    def test_what_the_script_logs_itself_is_not_charted_twice(self):
        text = ("import hearth\n"
                "for i in range(5):\n"
                "    hearth.log(step=i, train_loss=0.5)\n"
                "    print('step=%d loss=0.5' % i, flush=True)\n")
        self.assertEqual(self.metrics(self.run_script(text)), {"train_loss"})
        self.assertEqual(self.metrics(self.run_script(text, metrics="{from_logs: always}")),
                         {"train_loss", "loss"})


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def masked(data):
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff)


def record(data):
    length = struct.pack("<Q", len(data))
    return length + masked(length) + data + masked(data)


def field(number, data):
    return bytes([number << 3 | 2, len(data)]) + data


def scalar(tag, step, value, wall_time=1.7e9):
    """An event with one simple_value; step below 128."""
    summary = field(1, field(1, tag.encode()) + b"\x15" + struct.pack("<f", value))
    return record(b"\x09" + struct.pack("<d", wall_time + step) + b"\x10" + bytes([step])
                  + field(5, summary))


EVENTS = r"""
import os, sys, time
os.makedirs('runs/a')
records = [bytes.fromhex(line) for line in open('records.txt')]
with open('runs/a/events.out.tfevents.1.host', 'wb', buffering=0) as file:
    for data in records[:3]: file.write(data)
    file.write(records[3][:10])
    print('half', flush=True)
    while not os.path.exists('go'): time.sleep(0.02)
    file.write(records[3][10:])
    file.write(records[4][:-1])   # torn for good
"""


class EventFiles(Scripts):
    def submit_events(self, **fields):
        folder = tempfile.mkdtemp(dir=self.server.root)
        with open(os.path.join(folder, "train.py"), "w", encoding="utf-8") as file:
            file.write(EVENTS)
        with open(os.path.join(folder, "records.txt"), "w", encoding="utf-8") as file:
            for i in range(5):
                file.write(scalar("loss", i, i / 2).hex() + "\n")
        return self.server.submit(job_text("python3 train.py", code=".", **fields), folder=folder)

    def let_go(self, job):
        """Lets the script write the rest."""
        tasks = self.server.http("GET", "/api/v1/jobs/%s/tasks" % job).json()["items"]
        for root, _, names in os.walk(self.server.data):
            if tasks[0]["id"] in root and "records.txt" in names:
                open(os.path.join(root, "go"), "w").close()
                return True
        return False

    def test_they_are_read_as_they_grow(self):
        job = self.submit_events()
        eventually(lambda: len(self.points(job, "loss")) == 3, "three points while it runs")
        self.assertTrue(self.let_go(job))
        self.assertEqual(self.server.wait(job)["state"], "succeeded")
        self.assertEqual(self.points(job, "loss"), [(0, 0), (1, 0.5), (2, 1), (3, 1.5)])

    def test_a_killed_shim_loses_none(self):
        job = self.submit_events(retries="{limit: 0}")
        eventually(lambda: "half" in self.server.lines(job), "the script runs")
        task = self.server.http("GET", "/api/v1/jobs/%s/tasks" % job).json()["items"][0]
        os.kill(shim_of(task["id"]), 9)
        self.assertEqual(self.server.wait(job)["state"], "failed")
        self.assertEqual(self.points(job, "loss"), [(0, 0), (1, 0.5), (2, 1)])

    def test_they_can_be_turned_off(self):
        job = self.submit_events(metrics="{event_files: false}")
        eventually(lambda: "half" in self.server.lines(job), "the script runs")
        self.assertTrue(self.let_go(job))
        self.server.wait(job)
        self.assertEqual(self.metrics(job), set())

    def test_other_directories_are_left_alone(self):
        job = self.submit_events(metrics="{event_directories: [logs]}")
        eventually(lambda: "half" in self.server.lines(job), "the script runs")
        self.assertTrue(self.let_go(job))
        self.server.wait(job)
        self.assertEqual(self.metrics(job), set())

    def test_a_run_goes_out_as_an_event_file(self):
        job = self.submit_events()
        eventually(lambda: "half" in self.server.lines(job), "the script runs")
        self.assertTrue(self.let_go(job))
        self.server.wait(job)
        folder = os.path.join(self.server.root, "exported")
        path = self.server.ok("run", "export", job, "--tensorboard", folder).strip()
        self.assertIn("tfevents", os.path.basename(path))
        with open(path, "rb") as file:
            data = file.read()
        self.assertIn(b"brain.Event:2", data)
        # The very bytes of the writer: the tag, and the value in 32 bits.
        self.assertIn(field(1, b"loss") + b"\x15" + struct.pack("<f", 1.5), data)


TRAINING = r"""
# A small linear model trained by gradient descent, its rate asked for at each step.
import time, hearth
class Optimizer:
    lr = 0.0
optimizer = Optimizer()
weight, step, seen = 0.0, 0, 0.1
print('start', flush=True)
while seen == 0.1 or step < done:
    optimizer.lr = hearth.live('lr', 0.1, step=step)
    if optimizer.lr != seen:
        print('lr %g at step %d, time %.6f' % (optimizer.lr, step, time.time()), flush=True)
        seen, done = optimizer.lr, step + 5
    weight -= optimizer.lr * 2 * (weight - 3.0)
    hearth.log(step=step, loss=(weight - 3.0) ** 2, lr=optimizer.lr)
    step += 1
    time.sleep(0.01)
"""


class LiveParameters(Scripts):
    LIVE = "{lr: {value: 0.1, live: true, min: 0.001, max: 1}, name: x}"

    def start(self, text, params=LIVE):
        folder = tempfile.mkdtemp(dir=self.server.root)
        with open(os.path.join(folder, "train.py"), "w", encoding="utf-8") as file:
            file.write(text)
        job = self.server.submit(job_text("python3 train.py", code=".", params=params),
                                 folder=folder)
        eventually(lambda: "start" in self.server.lines(job), "the script runs")
        return job

    def test_the_optimizer_changes_within_a_second_and_the_history_says_so(self):
        tries = [self.change_once()]
        while tries[-1] >= 1 and len(tries) < 5:  # the machine may have been held up
            tries.append(self.change_once())
        self.assertLess(tries[-1], 1, tries)

    def change_once(self):
        """How long after the server had a new rate the optimizer had it, in seconds."""
        job = self.start(TRAINING)
        # Timed from the moment at which the server had it: the command line alone may take long.
        self.server.ok("run", "set", job, "lr=0.5")
        self.assertEqual(self.server.wait(job)["state"], "succeeded")
        (line,) = [line for line in self.server.lines(job) if line.startswith("lr ")]
        words = line.replace(",", "").split()
        self.assertEqual(words[1], "0.5")
        run = self.server.json("run", "show", job)
        (change,) = self.server.http("GET", "/api/v1/runs/%s/live" % run["id"]).json()["items"]
        self.assertEqual((change["name"], change["before"], change["value"]), ("lr", 0.1, 0.5))
        self.assertEqual(change["asked_by"], self.server.json("whoami")["user"])
        self.assertEqual(change["step"], int(words[4]))
        self.assertEqual(change["applied_by"], 1)
        taken = float(words[6]) - seconds(change["asked_at"])
        shown = self.server.ok("run", "show", job)
        self.assertRegex(shown, r"lr\s+0.1\s+0.5\s+.*\s%s\b" % words[4])
        kinds = [point for point in self.points(job, "lr") if point[0] == int(words[4])]
        self.assertEqual(kinds, [(int(words[4]), 0.5)])
        return taken

    def test_bounds_and_types_hold_on_the_run_too(self):
        job = self.start("import time\nprint('start', flush=True)\ntime.sleep(600)\n")
        run = self.server.json("run", "show", job)["id"]
        path = "/api/v1/runs/%s/live" % run
        for values in ({"lr": 7}, {"lr": "fast"}, {"name": "y"}, {"nothing": 1}, {}):
            answer = self.server.http("PATCH", path, {"values": values})
            self.assertEqual(answer.status, 400, values)
        self.assertEqual(self.server.http("GET", path).json()["items"], [])
        answer = self.server.http("PATCH", path, {"values": {"lr": 0.2}})
        self.assertEqual(answer.status, 200, answer.body)
        (change,) = answer.json()["items"]
        self.assertEqual((change["value"], change.get("step")), (0.2, None))
        self.assertEqual(self.server.http("PATCH", path, {"values": {"lr": 0.2}}, token="").status,
                         401)
        self.server.ok("job", "cancel", job)
        self.server.wait(job)
        self.assertEqual(self.server.http("PATCH", path, {"values": {"lr": 0.3}}).status, 409)


def seconds(text):
    """RFC 3339 in UTC as a number."""
    whole, _, part = text.rstrip("Z").partition(".")
    parsed = time.strptime(whole, "%Y-%m-%dT%H:%M:%S")
    return calendar.timegm(parsed) + float("0." + (part or "0"))
