"""What the parts of this bench share: `hearth simulate` and where its files lie."""
import json
import os
import subprocess
import sys

QUICK = "--quick" in sys.argv
TRACES = os.environ.get("HEARTH_BENCH_TRACES", os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "../../../shared/traces"))


def simulate(*words):
    done = subprocess.run([os.environ["HEARTH_BIN"], "simulate", *words, "--json"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    return json.loads(done.stdout)


def write_table(name, header, rows):
    """The path of a CSV file in the scratch folder."""
    path = os.path.join(os.environ["HEARTH_BENCH_SCRATCH"], name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(header + "\n")
        for row in rows:
            file.write(",".join("%.3f" % field if isinstance(field, float) else str(field)
                                for field in row) + "\n")
    return path
