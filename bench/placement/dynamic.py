"""Work that comes and goes: openb's lists and Philly's virtual clusters at several loads."""
import csv
import math
import os

from measure import add_row
from simulating import QUICK, TRACES, simulate, write_table

LISTS = ["default", "gpushare40", "gpuspec25"]  # of those with times
CLUSTERS = ["6214e9", "6c71a0", "103959", "0e4a51", "ed69ec"]  # of Philly, above 1,000 jobs
LOADS = ["0.9", "1.0", "1.1"]
EVERY, COPIES = 40, 10  # of openb: a node of so many, so many times its pods


def largest(path, cluster):
    with open(path, encoding="utf-8") as file:
        return max(int(row["num_gpus"]) for row in csv.DictReader(file) if row["vc"] == cluster)


def waits(found, sizes):
    """(jobs, mean seconds) over the classes of GPUs."""
    rows = [row for name, row in found["waits_by_gpus"].items() if sizes(name)]
    jobs = sum(row["jobs"] for row in rows)
    return sum(row["jobs"] * row["mean"] for row in rows) / jobs if jobs else None


def one(name, load, words):
    found = simulate(*words, "--load", load, "--run-to-end", "--fragments")
    name = "%s at load %s" % (name, load)
    add_row("%s: GPUs in use while jobs come" % name, "%", round(
        100 * found["gpus_used_while_coming"], 2))
    add_row("%s: wait, mean" % name, "s", round(found["wait_seconds"]["mean"], 1))
    add_row("%s: wait, 99 of 100 under" % name, "s", round(found["wait_seconds"]["p99"], 1))
    for words, sizes in [("a share or 1 GPU", lambda n: n in ("share", "1")),
                         ("2 to 7 GPUs", lambda n: n.isdigit() and 2 <= int(n) < 8),
                         ("8 GPUs and more", lambda n: n.isdigit() and int(n) >= 8)]:
        mean = waits(found, sizes)
        if mean is not None:
            add_row("%s: wait of %s, mean" % (name, words), "s", round(mean, 1))
    add_row("%s: free GPUs that are fragments" % name, "%", round(found["frag_percent"], 2))


def small_openb(name):
    """(nodes, jobs): every fortieth node of the list, and ten times its pods; the creation times
    of each copy are moved on, round the end, by a tenth of the span. All pods of the list ask
    for less than its 6,212 GPUs and most are short: coming quicker would not load all of these."""
    with open(os.path.join(TRACES, "openb/openb_node_list_gpu_node.csv"), encoding="utf-8") as file:
        table = list(csv.reader(file))
    nodes = write_table("nodes.csv", ",".join(table[0]), table[1::EVERY])
    with open(os.path.join(TRACES, "openb/openb_pod_list_%s.csv" % name), encoding="utf-8") as file:
        pods = list(csv.DictReader(file))
    span, rows = max(float(pod["creation_time"]) for pod in pods), []
    for pod in pods:
        came, left = float(pod["creation_time"]), float(pod["deletion_time"])
        gpus, milli = int(pod["num_gpu"]), int(pod["gpu_milli"] or 0)
        if left <= came:
            continue
        for copy in range(COPIES):
            rows.append(((came + copy * span / COPIES) % span, left - came, gpus,
                         milli / 1000 if gpus == 1 else 1, int(pod["cpu_milli"]) / 1000,
                         int(pod["memory_mib"]) << 20, pod["gpu_spec"]))
    jobs = write_table("pods.csv", "submit_seconds,duration_seconds,gpus,gpu_share,cpus,"
                       "memory_bytes,gpu_model", sorted(rows))
    return nodes, jobs


def dynamic():
    for name in LISTS[:1] if QUICK else LISTS:
        nodes, jobs = small_openb(name)
        for load in LOADS[1:2] if QUICK else LOADS:
            one("openb " + name, load, ["--nodes", nodes, "--jobs", jobs])
    path = os.path.join(TRACES, "philly/philly_jobs.csv")
    for name in CLUSTERS[2:3] if QUICK else CLUSTERS:
        nodes = max(8, math.ceil(largest(path, name) / 8))
        for load in LOADS[1:2] if QUICK else LOADS:
            one("Philly %s, %d nodes" % (name, nodes), load, [
                "--format", "philly", "--jobs", path, "--vc", name, "--limit", "10000",
                "--cluster", "%dx8" % nodes])
