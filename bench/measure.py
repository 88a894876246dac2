"""What benches share: rows, percentiles, and the bare limits of this machine."""
import datetime
import json
import os
import socket
import threading
import time


def add_row(row, unit, hearth, peer=None, peer_name=None, goal=None, better="less"):
    """One line of the table. `better`: less or more; `goal` is a number, met when hearth is at
    least as good as it. Where there is a peer but no goal, the goal is the peer."""
    wanted = goal if goal is not None else peer
    met = None if wanted is None else bool(hearth <= wanted if better == "less" else
                                           hearth >= wanted)
    line = {"bench": os.environ["HEARTH_BENCH"], "row": row, "unit": unit, "hearth": hearth,
            "peer": peer, "peer_name": peer_name,
            "ratio": hearth / peer if peer else None, "goal": wanted, "met": met,
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")}
    with open(os.environ["HEARTH_BENCH_ROWS"], "a", encoding="utf-8") as f:
        f.write(json.dumps(line) + "\n")
    return line


def percentile(values, percent):
    """The value that `percent` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, -(-len(ordered) * percent // 100) - 1))]


def fdatasync_seconds(folder, count=500, size=4096):
    """How long each of `count` appends with fdatasync takes on the disk of `folder`."""
    path = os.path.join(folder, "fdatasync.probe")
    seconds = []
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        for _ in range(count):
            start = time.perf_counter()
            os.write(descriptor, b"x" * size)
            os.fdatasync(descriptor)
            seconds.append(time.perf_counter() - start)
    finally:
        os.close(descriptor)
        os.unlink(path)
    return seconds


def loopback_round_trips(seconds=1.0):
    """Round trips a second of one byte over one TCP connection on loopback."""
    server = socket.create_server(("127.0.0.1", 0))

    def echo():
        peer, _ = server.accept()
        with peer:
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while True:
                data = peer.recv(64)
                if not data:
                    return
                peer.sendall(data)
    thread = threading.Thread(target=echo)
    thread.start()
    count, start = 0, time.perf_counter()
    with socket.create_connection(server.getsockname()) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while time.perf_counter() - start < seconds:
            client.sendall(b"x")
            client.recv(1)
            count += 1
    thread.join()
    server.close()
    return count / (time.perf_counter() - start)


def copy_bytes_per_second(size=64 << 20, rounds=8):
    """The rate of a copy in memory."""
    source = bytearray(size)
    start = time.perf_counter()
    for _ in range(rounds):
        bytes(source)
    return size * rounds / (time.perf_counter() - start)


def memory_kib(pid):
    """What a process has of its own and its share of the rest (PSS), in KiB."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("Pss:"))
