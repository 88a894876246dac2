"""hearth.live: parameters that change while the script runs (PROTOCOL.md, section 5)."""

import json
import os
import threading
import time

from . import _log, _params, _process, _records, _sender

LOOK_EVERY = 0.05  # seconds between two looks at the file
_YOUNG = 0.1
_MAX_PENDING = 1000


class _Value:
    """One parameter: what holds now, and changes that wait for their step."""

    def __init__(self, value):
        self.value = value
        self.version = None   # of the last change seen
        self.pending = []     # [(at_step, value, version)], oldest first


class Live:
    """The live parameters of this process. No call waits for another: where two threads meet, one
    does the work and the other takes the value that stands."""

    def __init__(self):
        self._values = {}
        self._mark = None     # inode and mtime of the file last read
        self._look_at = 0.0
        self._entries = {}
        self._own()

    def _own(self):
        self._pid = os.getpid()
        self._lock = threading.Lock()

    def get(self, name, default, step):
        if self._pid != os.getpid():  # the lock may have been held while we were forked
            self._own()
        value = self._values.get(name)
        if not self._lock.acquire(False):
            return default if value is None else value.value
        try:
            if value is None:
                value = self._values[name] = _Value(_start(name, default))
            self._look()
            self._see(name, value, default)
            if value.pending:
                self._apply(name, value, step)
            return value.value
        finally:
            self._lock.release()

    def _look(self):
        """Reads the file again if it may have changed."""
        now = time.monotonic()
        path = _process.setting("HEARTH_LIVE")
        if path is None or now < self._look_at:
            return
        self._look_at = now + LOOK_EVERY
        try:
            stat = os.stat(path)
            mark = (stat.st_ino, stat.st_mtime_ns)
            if mark == self._mark:
                return
            with open(path, "rb") as file:
                entries = json.loads(file.read().decode("utf-8"))["values"]
            self._entries = {name: entry for name, entry in entries.items()
                             if isinstance(entry, dict) and "value" in entry}
            # A file this young may be replaced within the same tick of its clock: look again.
            self._mark = mark if time.time() - stat.st_mtime > _YOUNG else None
        except OSError:
            pass  # not there yet
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            self._mark = mark
            _sender.warn("%s is no file of live parameters: %s" % (path, error))

    def _see(self, name, value, default):
        """Takes over what the file says of one value, if that is new."""
        entry = self._entries.get(name)
        if entry is None or entry.get("version") == value.version:
            return
        value.version = entry.get("version")
        try:
            wanted = _like(name, entry.get("value"), default)
        except ValueError as error:
            _sender.warn("live %s; %r stays" % (error, value.value))
            return
        value.pending.append((entry.get("at_step"), wanted, value.version))
        del value.pending[:-_MAX_PENDING]

    def _apply(self, name, value, step):
        """Changes to all values whose step has come."""
        while value.pending:
            at_step, wanted, version = value.pending[0]
            if step is not None and at_step is not None and step < at_step:
                return
            value.value = wanted
            del value.pending[0]
            sender = _process.sender()
            if sender is not None:
                sender.put(_records.line({"t": "live_applied", "name": name, "value": wanted,
                                          "version": version,
                                          "step": _log.last_step() if step is None else step}))


def _start(name, default):
    given = _params.given()
    return _like(name, given[name], default) if name in given else default


def _like(name, value, default):
    """As for params, but an int default does not forbid 0.5: the change may be meant so."""
    if type(default) is int and type(value) is float and not value.is_integer():
        return value
    return _params.like(name, value, default)


_live = Live()


def live(name, default=None, step=None):
    """The value of a parameter that may change while the script runs.

    ``lr = live("lr", 0.01)`` is cheap enough for each step: the file behind it is looked at every
    50 ms at most. In a gang give step=: all ranks then change at the same step. Outside Hearth, and
    where neither the job file nor anybody set it, it is the default, or None without one.
    """
    return _live.get(name, default, _records.whole_step(step))
