"""Tiresias' 2D-LAS and FIFO, replayed: how long jobs take, and how often a running one is stopped.

Written anew from the rules of the simulator that the authors published (SymbioticLab/Tiresias, at
959f9b0), to have its count of preemptions; its means, medians and 99th percentiles come out to the
second.

- A job's service is its GPUs times the seconds it has run. There are three queues: it begins in the
  first, and falls to the next when it has had 3,250 and then 7,200 GPU-seconds.
- At each arrival, end and fall the queues are gone through in their order, and a job runs if it
  fits into the GPUs that are left: nodes do not matter, to be stopped costs nothing. Afterwards
  those that run stand before those that wait, in each queue.
- When the next one falls, the simulator reckons as seconds minus GPU-seconds: jobs of several GPUs
  fall late, unless something else happens before. So it is here, as it would be another count
  otherwise (780 for 732, with a mean of 71,477 s).
- FIFO starts jobs in their order and lets none pass; each lies in the first node that has room.
"""
import collections
import csv
import datetime
import heapq
import math

FALLS_AT = (3250, 7200)  # GPU-seconds
GPUS_OF_NODE = 8


class Job:
    def __init__(self, comes, runs, gpus):
        self.comes, self.runs, self.gpus = comes, runs, gpus
        self.ran = self.ended = self.stopped = self.queue = 0
        self.running = False

    def looked_at_in(self):
        """Seconds of running after which it ends or may fall."""
        ends = self.runs - self.ran
        if self.queue == len(FALLS_AT):
            return ends
        return min(ends, math.ceil((FALLS_AT[self.queue] - self.ran) / self.gpus))

    def falls(self):
        return self.queue < len(FALLS_AT) and self.ran * self.gpus >= FALLS_AT[self.queue]


def philly(path, virtual_cluster, limit):
    """Its first jobs by the time of submit, in seconds since the first."""
    with open(path, encoding="utf-8") as file:
        rows = [(datetime.datetime.fromisoformat(row["submit_time"]), int(row["duration_s"]),
                 int(row["num_gpus"]))
                for row in csv.DictReader(file) if row["vc"] == virtual_cluster]
    rows = sorted(rows, key=lambda row: row[0])[:limit]
    return [Job(int((comes - rows[0][0]).total_seconds()), runs, gpus)
            for comes, runs, gpus in rows]


def fifo(jobs, nodes):
    """Seconds from submit to end of each job."""
    free, running, waiting = [GPUS_OF_NODE] * nodes, [], collections.deque()
    coming = list(reversed(jobs))
    while coming or running:
        now = min(coming[-1].comes if coming else math.inf, running[0][0] if running else math.inf)
        while running and running[0][0] <= now:
            _, node, gpus = heapq.heappop(running)
            free[node] += gpus
        while coming and coming[-1].comes <= now:
            waiting.append(coming.pop())
        while waiting:
            job = waiting[0]
            node = next((n for n in range(nodes) if job.gpus <= free[n]), None)
            if node is None:
                break
            waiting.popleft()
            free[node] -= job.gpus
            job.ended = now + job.runs
            heapq.heappush(running, (job.ended, node, job.gpus))
    return [job.ended - job.comes for job in jobs]


def two_dimensional_las(jobs, nodes):
    """(seconds from submit to end of each job, how often a running one was stopped)."""
    queues, coming, now = [[] for _ in range(len(FALLS_AT) + 1)], list(reversed(jobs)), 0
    while coming or any(queues):
        running = [job for queue in queues for job in queue if job.running]
        looks = [now + job.looked_at_in() for job in running]
        last, now = now, min(looks + [job.comes for job in coming[-1:]])
        for job in running:
            job.ran += now - last
            if job.ran == job.runs:
                job.ended = now
                queues[job.queue].remove(job)
        while coming and coming[-1].comes <= now:
            queues[0].append(coming.pop())
        for job in running:
            if job.ran < job.runs and job.falls():
                queues[job.queue].remove(job)
                job.queue += 1
                queues[job.queue].append(job)
        free = nodes * GPUS_OF_NODE
        for queue in queues:
            for job in queue:
                runs = job.gpus <= free
                free -= job.gpus if runs else 0
                job.stopped += job.running and not runs
                job.running = runs
            queue.sort(key=lambda job: not job.running)
    return [job.ended - job.comes for job in jobs], sum(job.stopped for job in jobs)
