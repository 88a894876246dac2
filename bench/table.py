"""Runs benches and prints their rows as a table: behind ./bench/run."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(ROOT, "tools"))
from testing import Counts  # noqa: E402

COLUMNS = ("row", "unit", "hearth", "peer", "peer_name", "ratio", "goal", "met")


def number(value):
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, (int, float)):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return str(value)


def table(rows):
    """Lines of text, the columns as wide as they need to be."""
    cells = [list(COLUMNS)] + [[number(row.get(name)) for name in COLUMNS] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(COLUMNS))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip()
            for line in cells]


def run_bench(name, quick, traces):
    """(rows, exit status) of one bench; its own words go through as it goes."""
    with tempfile.TemporaryDirectory(prefix="hearth-bench-") as scratch:
        rows_file = os.path.join(scratch, "rows.jsonl")
        env = dict(os.environ, HEARTH_BENCH=name, HEARTH_BENCH_ROWS=rows_file,
                   HEARTH_BENCH_SCRATCH=scratch)
        if traces:
            env["HEARTH_BENCH_TRACES"] = os.path.abspath(traces)
        command = [os.path.join(HERE, name, "run")] + (["--quick"] if quick else [])
        status = subprocess.run(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL,
                                check=False).returncode
        rows = []
        if os.path.exists(rows_file):
            with open(rows_file, encoding="utf-8") as f:
                rows = [json.loads(line) for line in f]
        return rows, status


def main():
    parser = argparse.ArgumentParser(prog="./bench/run")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--traces")
    parser.add_argument("--counts", action="store_true", help="for ./test: end with the counts")
    arguments = parser.parse_args()
    there = sorted(name for name in os.listdir(HERE)
                   if os.access(os.path.join(HERE, name, "run"), os.X_OK))
    for name in arguments.names:
        if name not in there:
            parser.error(f"no bench '{name}'; there are: {', '.join(there) or 'none'}")
    counts = Counts()
    for name in arguments.names or there:
        print(f"== {name}", flush=True)
        rows, status = run_bench(name, arguments.quick, arguments.traces)
        print("\n".join(table(rows)), flush=True)
        if status != 0 or not rows:
            print(f"{name}: broke (exit status {status}, {len(rows)} rows)")
            counts.failed += 1
        else:
            counts.passed += 1
        if arguments.json:
            with open(arguments.json, "a", encoding="utf-8") as f:
                f.writelines(json.dumps(row) + "\n" for row in rows)
    if arguments.counts:
        print(counts)
    return 1 if counts.failed else 0


if __name__ == "__main__":
    sys.exit(main())
