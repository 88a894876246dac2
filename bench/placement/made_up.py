"""Work that peers made up for their own tests: Kueue's queues, KAI's reclaims, gangs in racks."""
from measure import add_row
from simulating import QUICK, simulate, write_table


# KAI: nodes of 8 GPUs full of one project's 1-GPU jobs; another asks for what it is promised.

def reclaim(nodes, deserves, other_deserves, asks, gang="1,1,,0", kept_of=0, cluster=""):
    """(seconds of the slowest plan, evictions). `gang`: its tasks, GPUs of each, within, spread.
    `kept_of`: of so many nodes one is held by a third project, within its promise."""
    rows, kept = [], 0
    for number in range(nodes):
        if kept_of and number % kept_of == 0:
            rows.append((number / 10, 90000, "kept", "1,8,,0"))
            kept += 8
        else:
            rows += [(number / 10, 20000, "full", "1,1,,0")] * 8
    rows += [(1000, 20000, "asks", gang)] * asks
    jobs = write_table("reclaim.csv", "submit_seconds,duration_seconds,project,tasks,gpus,within,"
                       "spread", rows)
    projects = write_table("projects.csv", "project,guaranteed_gpus",
                           [("full", deserves), ("asks", other_deserves), ("kept", kept)])
    found = simulate("--format", "hearth", "--jobs", jobs, "--projects", projects, "--cluster",
                     "%dx8%s" % (nodes, cluster), "--run-to-end")
    return found["slowest_plan_seconds"], found["preemptions"]


def reclaims():
    nodes = 50 if QUICK else 500
    seconds, evictions = reclaim(nodes, 0, 8 * nodes, 8 * nodes)
    add_row("reclaim storm, %d nodes: its plan (%d evictions)" % (nodes, evictions), "s", seconds,
            None if QUICK else 165.6, "KAI, published", goal=1)
    nodes = 100 if QUICK else 1000
    seconds, evictions = reclaim(nodes, 8 * nodes - 79, 80, 1, "10,8,,0")
    add_row("reclaim that cannot succeed, %d nodes: its plan (%d evictions)" % (nodes, evictions),
            "s", seconds, goal=0.05)
    hopeless()


def hopeless():
    """Enough is promised, and could be had back, but not in the shape that is asked for."""
    rows = [
        # 100 nodes in 12 racks: none has 10 of them.
        ("one rack of 12 asked, each too small", dict(gang="10,8,rack,0", cluster=",racks=12")),
        # Ten tasks, each in a rack of its own, over 9 racks: by a node for each rack, as Hearth
        # keeps tasks apart by nodes.
        ("anti-affinity of 10 over 9", dict(nodes=9, gang="10,1,,1", deserves=62, other=10)),
        # Not hopeless on an empty cluster: in each rack of 10 one node is held by right.
        ("one rack of 10 asked, a node of each held by right",
         dict(gang="10,8,rack,0", cluster=",racks=10", kept_of=10, deserves=640)),
    ]
    for name, row in rows:
        nodes = row.pop("nodes", 100)
        deserves, other = row.pop("deserves", 8 * nodes - 80), row.pop("other", 80)
        seconds, evictions = reclaim(nodes, deserves, other, 1, **row)
        add_row("reclaim that cannot succeed, %d nodes, %s: its plan (%d evictions)" %
                (nodes, name, evictions), "s", seconds, goal=0.05)


# Kueue: each queue has quota 20 and may borrow 100 within its cohort; small, medium and large jobs
# come at their own pace.

# Its priorities 50, 100 and 200 in our range.
CLASS_OF = {"25": "small", "50": "medium", "100": "large"}


def kueue(name, cohorts, queues_each, kinds, cluster, bound_seconds, peer_rate):
    """kinds: (seconds, priority, tasks, CPUs of each, how, count, one every seconds); how: the
    fields within and balanced."""
    projects = []
    for cohort in range(cohorts):
        projects.append(("c%d" % cohort, "", 20 * queues_each, 20 * queues_each))
        projects += [("c%dq%d" % (cohort, queue), "c%d" % cohort, 20, 120)
                     for queue in range(queues_each)]
    rows = [(number * every, float(seconds), "c%dq%d" % (cohort, queue), priority, tasks, cpus, how)
            for cohort in range(cohorts) for queue in range(queues_each)
            for seconds, priority, tasks, cpus, how, count, every in kinds
            for number in range(count)]
    rows.sort()
    found = simulate(
        "--format", "hearth", "--jobs",
        write_table("queues.csv", "submit_seconds,duration_seconds,project,priority,tasks,cpus,"
                    "within,balanced", rows),
        "--projects", write_table("projects.csv", "project,parent,guaranteed_cpus,limit_cpus",
                                  projects),
        "--cluster", cluster, "--run-to-end", "--eviction-cost", "0s", "--check-waits")
    add_row("%s: waited though quota and place were free" % name, "s",
            found["needless_wait_seconds"], goal=0)
    add_row("%s: makespan" % name, "s", found["makespan_seconds"], bound_seconds,
            "the bound by quota alone")
    add_row("%s: workloads through the scheduler" % name, "1/s",
            round(len(rows) / found["plan_seconds"]), peer_rate, "Kueue, published", goal=5000,
            better="more")
    for priority, words in CLASS_OF.items():
        add_row("%s: mean time to admission, %s" % (name, words), "s",
                round(found["waits_by_priority"][priority]["mean"], 3))


def queues():
    plain = ",0"
    kueue("Kueue's queues", 1 if QUICK else 5, 6,
          [(0.2, 25, 1, 1, plain, 350, 0.1), (0.5, 50, 1, 5, plain, 100, 0.5),
           (1, 100, 1, 20, plain, 50, 1.2)], "200x0", 66, 43)
    kueue("Kueue's large", 1 if QUICK else 10, 100,
          [(0.15, 25, 1, 1, plain, 35, 0.06), (0.35, 50, 1, 5, plain, 11, 0.3),
           (0.7, 100, 1, 20, plain, 4, 0.7)], "200x0", 4.025, 42)
    # A third each: must lie in one rack; may; must, as many pods on a node as on the others.
    hows = ["rack,0", ",0", "rack,1"]
    kinds = [(seconds, priority, tasks, cpus, how, count, every)
             for seconds, priority, tasks, cpus, counts, every in [
                 (0.2, 25, 2, 0.5, (120, 120, 110), 0.1), (0.5, 50, 4, 1.25, (34, 33, 33), 0.5),
                 (1, 100, 8, 2.5, (17, 17, 16), 1.2)]
             for how, count in zip(hows, counts)]
    kueue("Kueue's topology", 1 if QUICK else 5, 6, kinds, "640x0,racks=10,cpus=96", 66, 37)


# kube-scheduler: gangs on 5,000 nodes of 4 CPUs and 32 GiB, each in one of 50 racks.

def racks():
    for pods, gangs, within, peer in [(4, 750, "rack", 630), (4, 1500, "rack", 630),
                                      (4, 2250, "rack", 630), (1000, 3, "rack", 975),
                                      (1000, 6, "rack", 975), (1000, 9, "rack", 975),
                                      (5000, 10, "", None)]:
        if QUICK and gangs > 1000:
            continue
        jobs = write_table("gangs.csv",
                           "submit_seconds,duration_seconds,tasks,cpus,memory_bytes,within",
                           [(number / 1000, 100000, pods, 0.1, 100 << 20, within)
                            for number in range(gangs)])
        found = simulate("--format", "hearth", "--jobs", jobs, "--cluster",
                         "5000x0,racks=50,cpus=4,memory=32GiB", "--run-to-end")
        name = "%d gangs of %d%s, 5,000 nodes" % (gangs, pods, ", each in a rack" if within else "")
        assert found["never_started"] == 0, name
        add_row("%s: pods placed" % name, "1/s", round(pods * gangs / found["plan_seconds"]), peer,
                "kube-scheduler, published", goal=20000, better="more")
        add_row("%s: the 99th of 100 plans" % name, "ms",
                round(1000 * found["p99_plan_seconds"], 3))
