"""A real Slurm of four nodes with eight slots each on this machine, for the time of a bench."""

import os
import shutil
import socket
import subprocess
import time

PACKAGES = ("slurmctld", "slurmd", "munged", "sbatch")


def free_ports(count):
    """The first of `count` ports in a row that nobody listens on."""
    for first in range(26800, 30000, count):
        try:
            for port in range(first, first + count):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
    raise RuntimeError("no free ports")


class Cluster:
    """with Cluster(scratch) as c: if c.usable: c.throughput(300)"""

    def __init__(self, scratch):
        self.base = os.path.join(scratch, "slurm")
        self.processes = []
        self.why = ""
        missing = [name for name in PACKAGES if not shutil.which(name)]
        if missing:
            self.why = "not installed: " + ", ".join(missing)
        elif os.geteuid() != 0:
            self.why = "needs root"
        self.usable = not self.why

    def __enter__(self):
        if self.usable:
            self.configure()
            self.start()
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
        shutil.rmtree(self.base, ignore_errors=True)

    def configure(self):
        port = free_ports(8)
        host = socket.gethostname().split(".")[0]
        for folder in ("etc", "state", "log", "run", "out", "munge"):
            os.makedirs(os.path.join(self.base, folder), mode=0o755)
        for n in range(1, 5):
            os.makedirs(os.path.join(self.base, "spool", "h%d" % n))
        # munge and the jobs' user walk through every folder above.
        folder = self.base
        while folder != "/":
            os.chmod(folder, os.stat(folder).st_mode | 0o055)
            folder = os.path.dirname(folder)
        self.config = os.path.join(self.base, "etc", "slurm.conf")
        with open(self.config, "w") as file:
            file.write(CONFIG % dict(base=self.base, host=host, port=port, first=port + 1,
                                     last=port + 4))
        self.environment = dict(os.environ, SLURM_CONF=self.config)

    def spawn(self, name, *command):
        log = open(os.path.join(self.base, "log", name + ".out"), "wb")
        self.processes.append(subprocess.Popen(command, env=self.environment, stdout=log,
                                               stderr=log, stdin=subprocess.DEVNULL,
                                               start_new_session=True))
        log.close()

    def start(self):
        munge = os.path.join(self.base, "munge")
        key = os.path.join(munge, "key")
        with open(key, "wb") as file:
            file.write(os.urandom(128))
        shutil.chown(munge, "munge")
        shutil.chown(key, "munge")
        os.chmod(key, 0o400)
        self.spawn("munged", "runuser", "-u", "munge", "--", "munged", "--foreground", "--force",
                   "--key-file=" + key, "--socket=" + os.path.join(munge, "munge.sock"),
                   "--pid-file=" + os.path.join(munge, "munged.pid"),
                   "--log-file=" + os.path.join(munge, "munged.log"),
                   "--seed-file=" + os.path.join(munge, "seed"))
        time.sleep(1)
        self.spawn("slurmctld", "slurmctld", "-c", "-D")
        time.sleep(2)
        for n in range(1, 5):
            self.spawn("h%d" % n, "slurmd", "-D", "-N", "h%d" % n)
        until = time.monotonic() + 30
        while time.monotonic() < until:
            done = subprocess.run(["sinfo", "-h", "-o", "%D %t"], env=self.environment, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            if done.stdout.strip() == "4 idle":
                return
            time.sleep(0.2)
        self.usable = False
        self.why = "its nodes did not come up"

    def submit_seconds(self):
        """From exec of srun to what its process says of the time."""
        began = time.time_ns()
        done = subprocess.run(["srun", "-n1", "--mem=16", "date", "+%s%N"], env=self.environment,
                              cwd=os.path.join(self.base, "out"), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise SystemExit("srun failed: " + done.stderr)
        return (int(done.stdout) - began) / 1e9

    def throughput(self, jobs):
        """Jobs a second of an array of no-ops, one slot each."""
        began = time.monotonic()
        subprocess.run(["sbatch", "-W", "-o", "/dev/null", "-n1", "--mem=16",
                        "--array=1-%d" % jobs, "--wrap", "/bin/true"], env=self.environment,
                       cwd=os.path.join(self.base, "out"), check=True, stdout=subprocess.DEVNULL)
        return jobs / (time.monotonic() - began)


CONFIG = """ClusterName=bench
SlurmctldHost=%(host)s(127.0.0.1)
SlurmctldPort=%(port)d
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=%(base)s/munge/munge.sock
CredType=cred/munge
StateSaveLocation=%(base)s/state
SlurmdSpoolDir=%(base)s/spool/%%n
SlurmctldPidFile=%(base)s/run/slurmctld.pid
SlurmdPidFile=%(base)s/run/slurmd-%%n.pid
SlurmctldLogFile=%(base)s/log/slurmctld.log
SlurmdLogFile=%(base)s/log/slurmd-%%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
MaxArraySize=5001
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=5,sched_min_interval=0,batch_sched_delay=0
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
NodeName=h[1-4] NodeHostname=%(host)s NodeAddr=127.0.0.1 Port=[%(first)d-%(last)d] Sockets=1 \
CoresPerSocket=8 ThreadsPerCore=1 RealMemory=8000 State=UNKNOWN
PartitionName=main Nodes=h[1-4] Default=YES MaxTime=INFINITE State=UP
"""
