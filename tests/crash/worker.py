"""The user's program of the crash tests: lines, metrics and checkpoints that can be counted again.

After each line has gone into the pipe it writes down, outside of Hearth, how far it is ($TRUTH)."""
import os
import sys
import time

import hearth

p = hearth.params(lines=200, pause=0.01, exit=0)
here = "%s.%s" % (os.environ["HEARTH_JOB"], os.environ["HEARTH_ATTEMPT"])
truth = os.open(os.path.join(os.environ["TRUTH"], here), os.O_WRONLY | os.O_CREAT, 0o600)
saved = hearth.resume_from()
first = 0
if saved is not None:
    text = (saved / "step").read_text()
    first = int(text.split()[0]) + 1
    if text != "%d %s\n" % (first - 1, "x" * 5000):
        print("the checkpoint is torn", flush=True)
        sys.exit(99)
print("attempt %s pid %d from %d" % (os.environ["HEARTH_ATTEMPT"], os.getpid(), first), flush=True)
for k in range(first, p.lines):
    os.write(1, b"line %d %s\n" % (k, b"." * (k * 37 % 200)))
    os.pwrite(truth, b"%012d" % (k + 1), 0)
    hearth.log(step=k, x=os.getpid() * 1000000 + k)
    if k % 40 == 39:
        with hearth.checkpoint(step=k) as d:
            (d / "step").write_text("%d %s\n" % (k, "x" * 5000))
    time.sleep(p.pause)
os.pwrite(truth, b"%012d done" % p.lines, 0)
sys.exit(p.exit)
