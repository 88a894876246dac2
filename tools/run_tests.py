#!/usr/bin/env python3
"""Builds what the groups of tests/groups.txt need, runs them and sums their counts: behind ./test.

    tools/run_tests.py ci|long GROUP...
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as xml

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from testing import Counts, counts_of  # noqa: E402

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
LOGS = os.path.join(ROOT, "build", "test-logs")
kGroupSeconds = {"ci": 1200, "long": 6 * 3600}  # a part that takes longer is ended and has failed
kEndSeconds = 20                                # to clear away, once asked to end
kShownLines = 2000                              # of one failed test; the whole is in its log


class Group:
    def __init__(self, row):
        fields = [field.strip() for field in row.split("|")]
        self.name, _, self.build, parts, ci_arguments, long_arguments, _, _ = fields
        self.preset = self.build.split(":")[0]  # behind the colon: a target of it
        self.parts = parts.split()
        self.arguments = {"ci": ci_arguments.split(), "long": long_arguments.split()}


def read_groups(path):
    with open(path, encoding="utf-8") as f:
        rows = [Group(line) for line in f if line.strip() and not line.startswith("#")]
    return {group.name: group for group in rows}


def environment(preset, logs):
    build = os.path.join(ROOT, "build", preset)
    env = dict(os.environ, HEARTH_BIN=os.path.join(build, "src/app/hearth"), HEARTH_BUILD=build,
               HEARTH_PRESET=preset, HEARTH_LOGS=logs)
    env["PATH"] = os.path.join(ROOT, "build/tools/bin") + ":" + env["PATH"]
    env.setdefault("ASAN_OPTIONS", "detect_stack_use_after_return=1:strict_string_checks=1")
    env.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")
    env.setdefault("TSAN_OPTIONS", "second_deadlock_stack=1")
    symbolizer = "/usr/lib/llvm-19/bin/llvm-symbolizer"
    if os.path.exists(symbolizer):
        for name in ("ASAN", "UBSAN", "TSAN"):
            env.setdefault(name + "_SYMBOLIZER_PATH", symbolizer)
    return env


def read_junit(path):
    """The counts of a ctest run, and a text per test that failed or was skipped."""
    counts, failed, skipped = Counts(), [], []
    for case in xml.parse(path).getroot().iter("testcase"):
        status, output = case.get("status"), case.findtext("system-out") or ""
        if status == "run":
            counts.passed += 1
        elif status in ("notrun", "disabled") and case.find("failure") is None:
            counts.skipped += 1
            skipped.append((case.get("name"), output))
        else:
            counts.failed += 1
            failed.append((case.get("name"), output))
    return counts, failed, skipped


def skip_reason(output):
    """GoogleTest prints `file:line: Skipped` and then the reason."""
    match = re.search(r": Skipped\n(.+)", output)
    return match.group(1) if match else "no reason given"


def show(name, output):
    lines = output.rstrip("\n").split("\n")
    print(f"--- {name}")
    if len(lines) > kShownLines:
        half = kShownLines // 2
        lines = lines[:half] + [f"... {len(lines) - kShownLines} lines are left out ..."] + \
            lines[-half:]
    print("\n".join(lines), flush=True)


def run_ctest(part, preset, logs, limit):
    report, log = os.path.join(logs, part + ".xml"), os.path.join(logs, part + ".ctest.log")
    command = ["ctest", "--test-dir", os.path.join(ROOT, "build", preset), "-L", f"^{part}$",
               "-j", str(os.cpu_count()), "--no-tests=ignore", "--output-junit", report,
               "--output-on-failure", "--test-output-size-failed", str(4 << 20)]
    with open(log, "wb") as f:
        status, late = run(command, environment(preset, logs), limit, f.write)
    if not os.path.exists(report):
        if status == 0:
            return Counts()
        with open(log, encoding="utf-8", errors="replace") as f:
            show("ctest", f.read())
        return Counts(failed=1)
    counts, failed, skipped = read_junit(report)
    for name, output in failed:
        show(f"{name} failed", output)
    for name, output in skipped:
        print(f"skipped {name}: {skip_reason(output)}")
    if late:
        counts.failed += 1
        print(f"ctest was ended after {limit} s")
    elif status != 0 and not counts.failed:
        counts.failed += 1
        print(f"ctest exited {status}; its log is {os.path.relpath(log, ROOT)}")
    return counts


def run_script(part, arguments, preset, logs, limit):
    script = os.path.join(ROOT, "tests", part, "run")
    if not os.access(script, os.X_OK):
        return Counts()
    tail = bytearray()
    with open(os.path.join(logs, part + ".log"), "wb") as log:
        def take(chunk):
            log.write(chunk)
            sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
            tail.extend(chunk)
            del tail[:-4096]
        status, late = run([script] + arguments, environment(preset, logs), limit, take)
    lines = tail.decode("utf-8", "replace").strip().split("\n")
    counts = counts_of(lines[-1])
    if counts is None or late:
        why = f"was ended after {limit} s" if late else "did not end with its counts"
        print(f"tests/{part}/run {why} (exit status {status})")
        return Counts(failed=1)
    if status != 0 and not counts.failed:
        print(f"tests/{part}/run exited {status}")
        counts.failed += 1
    return counts


def end_group(process):
    """Asks first, as Ctrl-C does, so that servers and folders are cleared away."""
    os.killpg(process.pid, signal.SIGINT)
    try:
        process.wait(kEndSeconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)


def run(command, env, limit, take):
    """Runs a command in a session of its own; (exit status, whether it took too long)."""
    process = subprocess.Popen(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               start_new_session=True)
    late = threading.Event()

    def end():
        late.set()
        end_group(process)
    timer = threading.Timer(limit, end)
    timer.start()
    try:
        for chunk in iter(lambda: process.stdout.read1(65536), b""):
            take(chunk)
        return process.wait(), late.is_set()
    except BaseException:
        end_group(process)
        raise
    finally:
        timer.cancel()
        process.stdout.close()


def seconds(start):
    spent = round(time.monotonic() - start)
    return f"{spent // 60} m {spent % 60:02} s" if spent >= 60 else f"{spent} s"


def run_group(group, form):
    print(f"\n== {group.name}", flush=True)
    start = time.monotonic()
    logs = os.path.join(LOGS, group.name)
    shutil.rmtree(logs, ignore_errors=True)
    os.makedirs(logs)
    counts = Counts()
    for part in group.parts:
        limit = kGroupSeconds[form]
        counts += run_ctest(part, group.preset, logs, limit)
        counts += run_script(part, group.arguments[form], group.preset, logs, limit)
    if counts == Counts():
        print(f"{group.name}: there are no tests here")
    print(f"{group.name}: {counts} in {seconds(start)}", flush=True)
    if not counts.failed:
        shutil.rmtree(logs, ignore_errors=True)
    else:
        print(f"{group.name}: logs in {os.path.relpath(logs, ROOT)}")
    return counts


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that parts are ended, too
    form, names = sys.argv[1], sys.argv[2:]
    groups = read_groups(os.path.join(ROOT, "tests/groups.txt"))
    start, total, built = time.monotonic(), Counts(), {}
    rows = []
    for name in names:
        group = groups[name]
        if group.build not in built:
            command = ["tools/build.sh", *group.build.split(":")]
            built[group.build] = subprocess.run(command, cwd=ROOT,
                                                env=dict(os.environ, KEEP_GOING="1"),
                                                check=False).returncode == 0
            if not built[group.build]:
                total.failed += 1
                rows.append(f"{name}: the build of {group.build} failed")
        if not built[group.build]:
            print(f"{name}: not run, there is no build of {group.build}")
            continue
        counts = run_group(group, form)
        rows.append(f"{name}: {counts}")
        total += counts
    print("\n" + "\n".join(rows))
    print(f"All in {seconds(start)}")
    print(total, flush=True)
    return total.exit_status()


if __name__ == "__main__":
    sys.exit(main())
