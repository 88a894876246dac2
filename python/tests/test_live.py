import os
import threading
import time

import support
from hearth import _live


class LiveTest(support.Case):
    def setUp(self):
        super().setUp()
        self.version = 0
        self.values = {}
        self.live = _live.Live()
        self.addCleanup(os.environ.pop, "HEARTH_LIVE", None)
        self.addCleanup(os.environ.pop, "HEARTH_PARAMS", None)

    def change(self, name, value, at_step=None):
        self.version += 1
        self.values[name] = {"value": value, "version": self.version, "at_step": at_step}
        os.environ["HEARTH_LIVE"] = self.write(
            "live.json", {"version": self.version, "values": self.values})
        time.sleep(1.2 * _live.LOOK_EVERY)

    def test_default_params_then_changes(self):
        self.assertEqual(self.live.get("lr", 0.5, None), 0.5)
        os.environ["HEARTH_PARAMS"] = self.write("params.json", {"wd": "0.25"})
        self.assertEqual(self.live.get("wd", 0.5, None), 0.25)
        self.change("lr", 1)
        found = self.live.get("lr", 0.5, None)
        self.assertEqual((found, type(found)), (1.0, float))
        self.assertEqual(self.live.get("wd", 0.5, None), 0.25)
        self.change("wd", 0.125)
        self.assertEqual(self.live.get("wd", 0.5, None), 0.125)

    def test_ranks_change_at_one_step(self):
        self.change("lr", 0.1)
        ranks = [self.live, _live.Live()]
        self.assertEqual([rank.get("lr", 0.5, 3) for rank in ranks], [0.1, 0.1])
        self.change("lr", 0.2, at_step=10)
        self.assertEqual([rank.get("lr", 0.5, step) for rank in ranks for step in (8, 9, 10, 11)],
                         [0.1, 0.1, 0.2, 0.2] * 2)

    def test_changes_that_wait_come_in_order(self):
        self.change("lr", 0.1, at_step=10)
        self.assertEqual(self.live.get("lr", 0.5, 5), 0.5)
        self.change("lr", 0.2, at_step=20)
        found = [self.live.get("lr", 0.5, step) for step in (9, 10, 19, 20)]
        self.assertEqual(found, [0.5, 0.1, 0.1, 0.2])

    def test_a_jump_over_several_changes_takes_the_last(self):
        for at_step in (10, 20, 30):
            self.change("lr", at_step / 100, at_step=at_step)
            self.live.get("lr", 0.5, 1)
        self.assertEqual(self.live.get("lr", 0.5, 100), 0.3)

    def test_without_step_at_once(self):
        self.change("lr", 0.1, at_step=10)
        self.assertEqual(self.live.get("lr", 0.5, None), 0.1)

    def test_the_file_is_looked_at_every_50_ms_at_most(self):
        self.change("lr", 0.1)
        count = [0]
        real = os.stat

        def counted(*args, **kwargs):
            count[0] += 1
            return real(*args, **kwargs)
        os.stat = counted
        try:
            begin = time.monotonic()
            while time.monotonic() < begin + 0.5 or (
                    count[0] < 3 and time.monotonic() < begin + 60):
                self.live.get("lr", 0.5, None)
            taken = time.monotonic() - begin
        finally:
            os.stat = real
        self.assertLessEqual(count[0], taken / 0.05 + 2)
        self.assertGreater(count[0], 2)

    def test_quick_changes_are_not_missed(self):
        for value in range(50):
            self.version += 1
            self.values["n"] = {"value": value, "version": self.version, "at_step": None}
            os.environ["HEARTH_LIVE"] = self.write(
                "live.json", {"version": self.version, "values": self.values})
            self.live.get("n", -1, None)
            time.sleep(0.002)
        time.sleep(0.06)
        self.assertEqual(self.live.get("n", -1, None), 49)

    def test_a_broken_file_or_value_changes_nothing(self):
        self.change("lr", 0.1)
        self.assertEqual(self.live.get("lr", 0.5, None), 0.1)
        said = []
        self.addCleanup(setattr, _live._sender, "warn", _live._sender.warn)
        _live._sender.warn = said.append
        for text in ("{", "[]", "{}", '{"values": 3}', '{"values": {"lr": 3}}', "\xff"):
            self.write("live.json", text)
            time.sleep(0.06)
            self.assertEqual(self.live.get("lr", 0.5, None), 0.1)
        self.change("lr", "many")
        self.assertEqual(self.live.get("lr", 0.5, None), 0.1)
        self.assertIn("live parameter lr: 'many' does not fit", said[-1])
        self.assertGreaterEqual(len(said), 6)
        os.unlink(self.path("live.json"))
        time.sleep(0.06)
        self.assertEqual(self.live.get("lr", 0.5, None), 0.1)

    def test_threads_do_not_wait_for_each_other(self):
        self.change("lr", 0.1)
        self.live.get("lr", 0.5, None)
        self.live._lock.acquire()
        self.assertEqual(self.live.get("lr", 0.5, None), 0.1)
        self.live._lock.release()
        found = set()
        threads = [threading.Thread(target=lambda: found.update(
            self.live.get("lr", 0.5, None) for _ in range(2000))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, {0.1})

    def test_each_change_is_reported_once_with_its_step(self):
        shim = self.shim()
        self.change("lr", 0.1)
        self.change("wd", 3)
        self.env["HEARTH_LIVE"] = os.environ["HEARTH_LIVE"]
        process = self.start("""
            import hearth, time
            for step in range(10000):
                if hearth.live("lr", 0.5, step=step) == 0.2: break
                hearth.live("wd", 1)
                hearth.live("other", 1)
                time.sleep(0.001)
            print(step)
        """)
        shim.wait_for(2)
        self.change("lr", 0.2)
        out, _ = process.communicate(timeout=30)
        records = sorted(shim.records(), key=lambda record: record["version"])
        self.assertEqual(records, [
            {"t": "live_applied", "name": "lr", "value": 0.1, "version": 1, "step": 0},
            {"t": "live_applied", "name": "wd", "value": 3, "version": 2, "step": None},
            {"t": "live_applied", "name": "lr", "value": 0.2, "version": 3, "step": int(out)}])

    def test_without_a_step_it_is_that_of_the_last_log(self):
        shim = self.shim()
        self.change("lr", 0.1)
        self.env["HEARTH_LIVE"] = os.environ["HEARTH_LIVE"]
        process = self.start("""
            import hearth
            hearth.log(step=41, loss=1)
            hearth.log(loss=1)
            print(hearth.live("lr"), hearth.live("absent"))
        """)
        out, _ = process.communicate(timeout=30)
        self.assertEqual(out.split(), ["0.1", "None"])
        applied = [record for record in shim.records() if record["t"] == "live_applied"]
        self.assertEqual(applied, [
            {"t": "live_applied", "name": "lr", "value": 0.1, "version": 1, "step": 41}])

    def test_speed(self):
        self.change("lr", 0.1)
        begin = time.process_time()
        for step in range(20000):
            self.live.get("lr", 0.5, step)
        self.assertLess((time.process_time() - begin) / 20000, 200e-6)


if __name__ == "__main__":
    support.unittest.main()
