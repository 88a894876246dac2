"""The buffer between the script and the shim, and the thread that empties it.

put() only appends to a deque and, at most, releases a lock: it waits for none, so it is safe in
handlers of signals and never held up by the shim, the disk or the sender thread. The thread starts
with the first record of a process; after a fork the child has a Sender of its own.
"""

import collections
import itertools
import os
import threading
import time

from . import _wire

MAX_WAITING = 100000      # records not sent yet; past it the oldest metric goes
MAX_SAVED = 10000         # other kinds that an overflow has put aside
BATCH = 1000              # records given to the socket at once
LINGER = 0.01             # seconds between two batches: the thread wakes 100 times a second at most
TICK = 0.02               # longest wait for an answer before new records are looked at
EXIT_WAIT = 10.0          # seconds at exit for the shim to confirm
CONNECT_GRACE = 2.0       # ... of which without any connection
LATE_WAIT = 1.0           # for records that come when the thread has ended
WARN_EVERY = 10.0


def warn(text):
    """One line on stderr, past Python's buffers: at exit no daemon thread may hold their locks."""
    try:
        os.write(2, ("hearth: %s\n" % text).encode("utf-8", "replace"))
    except OSError:
        pass


class _Mark:
    """Stands in the queue; done when all before it are confirmed."""

    def __init__(self):
        self.done = threading.Event()
        self.target = None


class Sender:
    def __init__(self, path, rank):
        self._link = _wire.Link(path, rank)
        self._queue = collections.deque()  # bytes: a metric; (bytes,): another record; _Mark
        self._saved = collections.deque()  # older than all in _queue
        self._marks = collections.deque()  # taken from the queue, not done
        self._drops = itertools.count(1)
        self._dropped = 0
        self._told = 0
        self._tell_at = -WARN_EVERY
        self._pump = threading.Lock()      # held by whoever works with _link
        self._starting = threading.Lock()
        self._wake = threading.Lock()      # a semaphore: locked while the thread has nothing new
        self._wake.acquire()
        self._idle = False
        self._last_give = 0.0
        self._thread = None
        self._stop = False

    def put(self, line, metric=False):
        """Takes one record; never blocks."""
        self._add(line if metric else (line,))

    def flush(self, timeout):
        """Waits until the shim has all records put before on disk; False where it did not say so in
        time, or there was no connection for CONNECT_GRACE."""
        mark = _Mark()
        self._add(mark)
        deadline = time.monotonic() + timeout
        lonely = time.monotonic() + CONNECT_GRACE
        while not mark.done.is_set():
            now = time.monotonic()
            if self._link.connected:
                lonely = now + CONNECT_GRACE
            if now >= min(deadline, lonely):
                return False
            if self._thread is None:
                self._step_here(TICK)
            else:
                mark.done.wait(0.1)
        return True

    def close(self):
        """Flushes and ends the thread. Later records are sent by their own callers."""
        if self._stop:
            return
        whole = self.flush(EXIT_WAIT)
        self._stop = True
        self._tell_dropped(0.0)
        self._release()
        thread = self._thread
        if thread is not None:
            thread.join(1.0)
        if not whole:
            self._tell_lost()

    def before_fork(self):
        """Keeps the thread from making a socket until after_fork(); waits a moment at most."""
        return self._link.making.acquire(True, 1.0)

    def after_fork(self):
        self._link.making.release()

    def forget(self):
        """In the child of a fork: lets go of the parent's connection; the parent still has it."""
        self._link.close()

    def _add(self, item):
        self._queue.append(item)
        if len(self._queue) + len(self._saved) > MAX_WAITING:
            self._drop_oldest()
        if self._thread is None:
            self._start()
        elif self._idle:
            self._idle = False
            self._release()

    def _release(self):
        try:
            self._wake.release()
        except RuntimeError:  # somebody else was first
            pass

    def _drop_oldest(self):
        """Makes room for one record: the oldest metric goes, other kinds are put aside."""
        while True:
            try:
                item = self._queue.popleft()
            except IndexError:
                return
            if isinstance(item, bytes) or len(self._saved) >= MAX_SAVED:
                self._dropped = next(self._drops)
                return
            self._saved.append(item)

    def _start(self):
        """Starts the thread. Where there can be none, at the end of the interpreter or past a limit
        of the system, the caller sends by itself what goes without waiting."""
        if self._stop:
            self._send_late()
            return
        if not self._starting.acquire(False):
            return
        try:
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="hearth-sender", daemon=True)
                self._thread = thread
                thread.start()
        except RuntimeError:
            self._thread = None
            self._step_here(0)
        finally:
            self._starting.release()

    def _send_late(self):
        deadline = time.monotonic() + LATE_WAIT
        while self._work_left() and time.monotonic() < deadline:
            self._step_here(TICK)

    def _step_here(self, pause):
        """One step in the caller's thread, unless another thread is at it."""
        if not self._pump.acquire(False):
            time.sleep(pause)
            return
        try:
            self._step(0, pause)
        finally:
            self._pump.release()

    def _work_left(self):
        return bool(self._saved or self._queue or not self._link.settled)

    def _run(self):
        try:
            while not self._stop:
                with self._pump:
                    self._step(LINGER, TICK)
                self._tell_dropped(WARN_EVERY)
                if not self._work_left() and not self._marks:
                    self._sleep(-1)
                elif self._link.connected and not self._link.waiting and not self._queue:
                    self._sleep(_wire.FLUSH_EVERY)
        finally:
            self._thread = None  # after an error the next record starts another one

    def _sleep(self, seconds):
        """Until there is a new record, or so long."""
        self._idle = True
        if not self._queue and not self._stop:
            self._wake.acquire(True, seconds)
        self._idle = False

    def _step(self, linger, pause):
        """Sends what the socket takes and reads answers. Waits for linger seconds at most before a
        small batch and pause after it; without a connection until the next try."""
        link = self._link
        if not link.open():
            if pause:
                link.wait(_wire.RETRY_LAST)
            return
        if not link.busy:
            self._give(linger)
        if self._marks or self._stop:
            link.ask()
        else:
            link.ask_if_due()
        if link.waiting:
            link.wait(pause)
        while self._marks and self._marks[0].target <= link.confirmed:
            self._marks.popleft().done.set()

    def _give(self, linger):
        pause = linger - (time.monotonic() - self._last_give)
        if pause > 0 and len(self._queue) < BATCH:
            time.sleep(pause)
        lines = []
        size = 0
        while len(lines) < BATCH and size < _wire.CHUNK:
            item = self._take()
            if item is None:
                break
            if isinstance(item, _Mark):
                item.target = self._link.sent + len(lines)
                self._marks.append(item)
                continue
            lines.append(item if isinstance(item, bytes) else item[0])
            size += len(lines[-1])
        if lines:
            self._last_give = time.monotonic()
            self._link.give(lines)

    def _take(self):
        for queue in (self._saved, self._queue):
            try:
                return queue.popleft()
            except IndexError:
                pass
        return None

    def _tell_dropped(self, every):
        now = time.monotonic()
        if self._dropped > self._told and now >= self._tell_at + every:
            count, self._told = self._dropped - self._told, self._dropped
            self._tell_at = now
            warn("%d metric records dropped: the script logs faster than they are taken, "
                 "and %d wait" % (count, MAX_WAITING))

    def _tell_lost(self):
        waiting = sum(not isinstance(item, _Mark) for item in list(self._queue) + list(self._saved))
        left = waiting + self._link.sent - self._link.confirmed
        warn("%d records were not confirmed in time: %s" % (
            left, "the shim is slow" if self._link.connected else "no connection to the shim"))
