"""A shim that is not there, slow, silent, or goes away and comes back."""

import os
import time

import support

LOG_FOR = """
    import hearth, sys, time
    for i in range(int(sys.argv[1])):
        a = time.perf_counter()
        hearth.log(step=i, x=i)
        if time.perf_counter() - a > 1: print("blocked")
        time.sleep(float(sys.argv[2]))
    print("done")
"""


class FaultTest(support.Case):
    def steps(self, shim):
        return [record["step"] for record in shim.records("metric")]

    def test_absent_shim_costs_two_seconds_and_a_word(self):
        self.env["HEARTH_SOCKET"] = self.path("nobody")
        begin = time.monotonic()
        out, err = self.run_script(LOG_FOR, "100", "0")
        self.assertLess(time.monotonic() - begin, 9)
        self.assertEqual(out, "done\n")
        self.assertEqual(err, "hearth: 100 records were not confirmed in time: "
                              "no connection to the shim\n")

    def test_a_shim_that_comes_late(self):
        self.env["HEARTH_SOCKET"] = self.path("socket")
        process = self.start(LOG_FOR, "100", "0.02")
        time.sleep(1)
        shim = self.shim()
        out, err = process.communicate(timeout=30)
        self.assertEqual((out, err), ("done\n", ""))
        self.assertEqual(self.steps(shim), list(range(100)))

    def test_a_slow_shim_does_not_block(self):
        shim = self.shim()
        shim.pause()
        process = self.start("""
            import hearth, time
            begin = time.monotonic()
            for i in range(50000):
                hearth.log(step=i, x=i)
            print("%.3f" % (time.monotonic() - begin), flush=True)
        """)
        self.assertLess(float(process.stdout.readline()), 20)
        shim.go_on()
        _, err = process.communicate(timeout=30)
        self.assertEqual(err, "")
        self.assertEqual(self.steps(shim), list(range(50000)))

    def test_past_100000_the_oldest_metrics_go_and_are_counted(self):
        shim = self.shim()
        shim.pause()
        process = self.start("""
            import hearth
            p = hearth.params(a=1)
            for i in range(130000):
                hearth.log(step=i, x=i)
                if i == 10000: hearth.log_curve("kept", [1], [2])
            print("filled", flush=True)
        """)
        self.assertEqual(process.stdout.readline(), "filled\n")
        shim.go_on()
        _, err = process.communicate(timeout=60)
        steps = self.steps(shim)
        self.assertEqual(steps, sorted(set(steps)))
        self.assertEqual(steps[-1], 129999)
        self.assertGreaterEqual(len(steps), 100000)
        self.assertLess(len(steps), 130000)
        counted = sum(int(line.split()[1]) for line in err.splitlines())
        self.assertEqual(counted, 130000 - len(steps), err)
        self.assertEqual(len(shim.records("params")), 1)
        self.assertEqual(len(shim.records("artifact")), 1)

    def test_connections_break_and_nothing_is_lost_or_doubled(self):
        shim = self.shim()
        process = self.start(LOG_FOR, "3000", "0.001")
        for _ in range(6):
            time.sleep(0.4)
            shim.stop()
            time.sleep(0.1)
            shim.start()
        out, err = process.communicate(timeout=30)
        self.assertEqual((out, err), ("done\n", ""))
        self.assertEqual(self.steps(shim), list(range(3000)))
        self.assertEqual(len(shim.sessions), 1)
        self.assertGreater(len(shim.hellos), 3)

    def test_unread_bytes_of_a_broken_connection_come_again(self):
        shim = self.shim()
        process = self.start("""
            import hearth, sys
            for i in range(500): hearth.log(step=i, x=i)
            print("ready", flush=True)
            sys.stdin.readline()
            for i in range(500, 1000): hearth.log(step=i, x=i)
        """)
        shim.wait_for(1)
        shim.pause()
        self.assertEqual(process.stdout.readline(), "ready\n")
        time.sleep(0.3)
        shim.stop()
        shim.go_on()
        time.sleep(0.3)
        shim.start()
        _, err = process.communicate("go\n", timeout=30)
        self.assertEqual(err, "")
        self.assertEqual(self.steps(shim), list(range(1000)))

    def test_a_shim_that_never_answers_gets_all_and_the_wait_ends(self):
        shim = self.shim(answers=False)
        begin = time.monotonic()
        _, err = self.run_script("""
            import hearth
            from hearth import _sender
            assert _sender.EXIT_WAIT == 10
            _sender.EXIT_WAIT = 2.5
            for i in range(100): hearth.log(step=i, x=i)
        """)
        self.assertGreater(time.monotonic() - begin, 2.5)
        self.assertLess(time.monotonic() - begin, 9)
        self.assertIn("100 records were not confirmed in time: the shim is slow", err)
        self.assertEqual(self.steps(shim), list(range(100)))

    def test_no_file_descriptor_or_thread_is_left(self):
        self.shim()
        self.run_script("""
            import hearth, os, threading
            from hearth import _process
            before = len(os.listdir("/proc/self/fd"))
            hearth.log(x=1)
            _process.sender().close()
            assert len(threading.enumerate()) == 1, threading.enumerate()
            assert len(os.listdir("/proc/self/fd")) <= before + 1
        """)
        self.assertTrue(os.path.exists(self.path("socket")))


if __name__ == "__main__":
    support.unittest.main()
