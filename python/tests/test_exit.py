"""Ways for a process to fork and to end, and what the shim then has."""

import signal
import time

import support


class ExitTest(support.Case):
    def steps(self, shim, name="x"):
        return [record["step"] for record in shim.records("metric") if name in record["values"]]

    def test_normal_ends_lose_nothing(self):
        for end in ("pass", "import sys; sys.exit(3)", "raise ValueError('x')"):
            with self.subTest(end=end):
                shim = self.shim()
                process = self.start("""
                    import hearth, sys
                    for i in range(20000): hearth.log(step=i, x=i)
                    exec(sys.argv[1])
                """, end)
                process.communicate(timeout=30)
                self.assertEqual(self.steps(shim), list(range(20000)))
                shim.stop()

    def test_records_of_exit_handlers_arrive(self):
        shim = self.shim()
        _, err = self.run_script("""
            import atexit
            atexit.register(lambda: hearth.log(step=2, x=1))   # runs after the SDK's own
            import hearth
            atexit.register(lambda: hearth.log(step=1, x=1))   # runs before it
            hearth.log(step=0, x=1)
        """)
        self.assertEqual(err, "")
        shim.settle()
        self.assertEqual(self.steps(shim), [0, 1, 2])

    def test_first_record_in_an_exit_handler(self):
        shim = self.shim()
        _, err = self.run_script("""
            import atexit, hearth
            atexit.register(lambda: hearth.log(step=1, x=1))
        """)
        self.assertEqual(err, "")
        shim.settle()
        self.assertEqual(self.steps(shim), [1])

    def test_kill_9_keeps_what_was_handed_over(self):
        shim = self.shim()
        shim.pause()  # the bytes lie in the kernel when the process dies
        process = self.start("""
            import hearth, os, signal, time
            for i in range(100): hearth.log(step=i, x=i)
            time.sleep(1)
            os.kill(os.getpid(), signal.SIGKILL)
        """)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, -signal.SIGKILL)
        shim.go_on()
        shim.settle()
        self.assertEqual(self.steps(shim), list(range(100)))

    def test_kill_9_at_any_moment_leaves_a_prefix(self):
        for delay in (0.0, 0.01, 0.03, 0.07, 0.15):
            shim = self.shim()
            process = self.start("""
                import hearth
                i = 0
                while True:
                    hearth.log(step=i, x=i)
                    i += 1
            """)
            shim.wait_for(1)
            time.sleep(delay)
            process.kill()
            process.communicate()
            shim.settle()
            steps = self.steps(shim)
            self.assertEqual(steps, list(range(len(steps))))
            shim.stop()

    def test_os_exit_after_a_moment(self):
        shim = self.shim()
        self.run_script("""
            import hearth, os, time
            hearth.log(step=1, x=1)
            time.sleep(1)
            os._exit(0)
        """)
        shim.settle()
        self.assertEqual(self.steps(shim), [1])

    def test_sigterm(self):
        shim = self.shim()
        process = self.start("""
            import hearth, time
            for i in range(100): hearth.log(step=i, x=i)
            time.sleep(1)
            print("ready", flush=True)
            time.sleep(60)
        """)
        self.assertEqual(process.stdout.readline(), "ready\n")
        process.terminate()
        process.communicate(timeout=10)
        self.assertEqual(process.returncode, -signal.SIGTERM)
        shim.settle()
        self.assertEqual(self.steps(shim), list(range(100)))

    def test_sigterm_with_a_handler_that_exits(self):
        shim = self.shim()
        process = self.start("""
            import hearth, signal, sys, time
            def handler(*_):
                hearth.log(step=-1, x=1)
                sys.exit(5)
            signal.signal(signal.SIGTERM, handler)
            print("ready", flush=True)
            i = 0
            while True:
                hearth.log(step=i, x=i)
                i += 1
                time.sleep(0.0001)
        """)
        self.assertEqual(process.stdout.readline(), "ready\n")
        time.sleep(0.3)
        process.terminate()
        process.communicate(timeout=20)
        self.assertEqual(process.returncode, 5)
        steps = self.steps(shim)
        self.assertEqual(steps, list(range(len(steps) - 1)) + [-1])

    def test_fork_in_the_middle(self):
        """Parent and children each have a session, whole and in order, and no record twice."""
        shim = self.shim()
        self.run_script("""
            import hearth, os, sys
            for i in range(3000):
                hearth.log(step=i, parent=1)
                if i % 500 == 250:
                    pid = os.fork()
                    if pid == 0:
                        for j in range(1000): hearth.log(step=j, **{"child%d" % (i // 500): 1})
                        sys.exit(0)
                    hearth.log(step=i, forks=1)
            status = [os.wait()[1] for _ in range(6)]
            assert status == [0] * 6, status
        """)
        shim.settle()
        self.assertEqual(self.steps(shim, "parent"), list(range(3000)))
        for child in range(6):
            self.assertEqual(self.steps(shim, "child%d" % child), list(range(1000)))
        self.assertEqual(len(shim.sessions), 7)
        self.assertEqual(len({hello["pid"] for hello in shim.hellos}), 7)
        for records in shim.sessions.values():
            self.assertEqual(len({tuple(set(r["values"]) - {"forks"}) for r in records} - {()}), 1)

    def test_workers_of_multiprocessing(self):
        for method in ("fork", "spawn", "forkserver"):
            with self.subTest(method=method):
                shim = self.shim()
                self.run_script("""
                    import hearth, multiprocessing, sys
                    def work(rank):
                        for i in range(500): hearth.log(step=i, **{"w%d" % rank: 1})
                    if __name__ == "__main__":
                        context = multiprocessing.get_context(sys.argv[1])
                        hearth.log(step=0, main=1)
                        workers = [context.Process(target=work, args=(i,)) for i in range(3)]
                        [w.start() for w in workers]
                        hearth.log(step=1, main=1)
                        [w.join() for w in workers]
                        hearth.log(step=2, main=1)
                        assert [w.exitcode for w in workers] == [0, 0, 0]
                """, method)
                shim.settle()
                self.assertEqual(self.steps(shim, "main"), [0, 1, 2])
                for rank in range(3):
                    self.assertEqual(self.steps(shim, "w%d" % rank), list(range(500)))
                shim.stop()

    def test_a_pool(self):
        shim = self.shim()
        self.run_script("""
            import hearth
            from concurrent.futures import ProcessPoolExecutor
            def work(i):
                hearth.log(step=i, x=i)
                return i
            if __name__ == "__main__":
                hearth.log(start=1)
                with ProcessPoolExecutor(2) as pool:
                    assert sum(pool.map(work, range(200))) == 19900
        """)
        shim.settle()
        self.assertEqual(sorted(self.steps(shim)), list(range(200)))

    def test_a_child_that_lives_on_does_not_hold_the_connection(self):
        shim = self.shim()
        self.run_script("""
            import hearth, os, time
            hearth.log(step=1, x=1)
            if os.fork() == 0:
                os.close(1); os.close(2)
                time.sleep(20)
                os._exit(0)
        """)
        begin = time.monotonic()
        if hasattr(support.os, "register_at_fork"):
            shim.settle()
            self.assertLess(time.monotonic() - begin, 15)
        self.assertEqual(self.steps(shim), [1])


if __name__ == "__main__":
    support.unittest.main()
