"""What must hold of each job after everything was killed: nothing that was acknowledged is missing,
nothing is there twice or out of order, and the end is the true one."""
import os
import re

HEAD = re.compile(r"attempt (\S+) pid (\d+) from (\d+)$")
LINE = re.compile(r"line (\d+) (\.*)$")


def parse_lines(lines, where):
    """(HEARTH_ATTEMPT, pid, first, number of lines) of one attempt's log, whose lines must follow
    one another."""
    if not lines:
        return None, 0, 0, 0
    head = HEAD.match(lines[0])
    assert head, f"{where}: the first line is {lines[0]!r}"
    first = int(head.group(3))
    for at, line in enumerate(lines[1:]):
        match = LINE.match(line)
        assert match, f"{where}: line {at + 2} is {line!r}"
        k = int(match.group(1))
        assert k == first + at, f"{where}: line {first + at} is wanted, {k} is there"
        assert len(match.group(2)) == k * 37 % 200, f"{where}: line {k} is torn"
    return head.group(1), int(head.group(2)), first, len(lines) - 1


def truth_of(folder, job, attempt):
    """(lines that went into the pipe, whether it came to its end)"""
    try:
        with open(os.path.join(folder, f"{job}.{attempt}"), encoding="utf-8") as f:
            words = f.read().split()
    except FileNotFoundError:
        return 0, False
    return (int(words[0]) if words else 0), len(words) > 1


def check_attempt(server, job, number, attempt_id, truth, shown):
    """Checks the log of one attempt; adds (id, pid, first, lines, whether it came to its end)."""
    lines = server.lines(job.id, "--attempt", str(number))
    where = f"job {job.id}, attempt {number}"
    seen = job.seen_lines.get(number, [])
    assert lines[:len(seen)] == seen, \
        f"{where}: {len(seen)} lines were shown before, now there are {len(lines)}"
    name, pid, first, count = parse_lines(lines, where)
    if name is None:  # it was ended before its first line, or with its shim's last lines
        assert attempt_id in job.killed_shims or not truth_of(truth, job.id, attempt_id)[0], \
            f"{where}: lines were written, none is there"
        shown.append((attempt_id, 0, 0, 0, False))
        return
    assert name == attempt_id, f"{where}: these are the lines of {name}"
    written, ended = truth_of(truth, job.id, name)
    if name not in job.killed_shims and written:
        wanted = written - first
        # One line more may have gone into the pipe before its number was written down.
        assert wanted <= count <= wanted + 1, \
            f"{where}: {wanted} lines were written, {count} are there"
        assert not ended or count == wanted, f"{where}: {count} lines, {wanted} were written"
    shown.append((name, pid, first, count, ended))


def check_job(server, job, truth):
    state = server.json("job", "show", job.id)
    shown = []
    attempts = server.http("GET", f"/api/v1/jobs/{job.id}/attempts").json()["items"]
    assert len(attempts) == state["attempts"], f"job {job.id}: {len(attempts)} attempts are listed"
    for attempt in sorted(attempts, key=lambda a: a["number"]):
        check_attempt(server, job, attempt["number"], attempt["id"], truth, shown)
    check_end(job, state, shown)
    check_metrics(server, job, state, shown)
    kept = {c["step"] for c in
            server.http("GET", f"/api/v1/jobs/{job.id}/checkpoints").json()["items"]}
    assert job.seen_checkpoints <= kept, \
        f"job {job.id}: the checkpoints {job.seen_checkpoints - kept} are gone"


def check_end(job, state, shown):
    """The last attempt decides."""
    failure = state.get("failure") or {}
    what = (f"job {job.id} ended {state['state']} {failure}, attempts {state['attempts']}, "
            f"our kills: process {sorted(job.killed_users)}, shim {sorted(job.killed_shims)}")
    last, ended = (shown[-1][0], shown[-1][4]) if shown else (None, False)
    killed = last in job.killed_users
    planned = "succeeded" if job.exit == 0 else "failed"
    if killed and not ended:
        assert state["state"] == "failed" and failure.get("class") == "signal", what
    elif not killed:
        assert ended, f"{what}, but its program did not come to its end"
        assert state["state"] == planned, what
        assert job.exit == 0 or failure.get("exit_code") == job.exit, what


def points_of(server, run):
    """Every point of the metric x."""
    answer = server.http("GET", f"/api/v1/runs/{run}/metrics?key=x&points=0")
    return answer.json().get("points", []) if answer.status == 200 else []


def check_metrics(server, job, state, shown):
    """Values bear the process that logged them, so that each can be told from its repetition."""
    by_pid = {}
    points = points_of(server, state["run_id"])
    for point in points:
        pid, k = divmod(int(point["value"]), 1000000)
        assert k == point.get("step", 0), f"job {job.id}: point {point}"
        by_pid.setdefault(pid, []).append(k)
    # A later attempt has overtaken all points behind the first one that it logged itself.
    later = {pid for _, pid, *_ in shown[1:]}
    again = [min(steps) + 1 for pid, steps in by_pid.items() if pid in later]
    assert len(points) >= min([job.seen_points] + again), \
        f"job {job.id}: {job.seen_points} points were shown before, now there are {len(points)}"
    for name, pid, first, count, ended in shown:
        if not pid:
            continue
        found = sorted(by_pid.pop(pid, []))
        where = f"job {job.id}, attempt {name}"
        assert found == list(range(first, first + len(found))), \
            f"{where}: points are missing or double: {found[:5]}...{found[-5:]}"
        if ended and name not in job.killed_shims:
            assert len(found) == count, f"{where}: {count} points were logged, {len(found)} there"
    silent = [attempt for attempt in shown if not attempt[1] and attempt[0] in job.killed_shims]
    assert len(by_pid) <= len(silent), f"job {job.id}: points of unknown processes {list(by_pid)}"
