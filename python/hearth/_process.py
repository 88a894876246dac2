"""What belongs to this process: its sender, made with the first record and again after a fork."""

import atexit
import os
import sys
import threading

from . import _sender

_senders = {}  # pid -> Sender: one, but for a moment after a fork
_forking = threading.local()  # .sender: the one that waits for this thread's fork to be over


def setting(name):
    """An environment variable that Hearth sets, or None; empty counts as not set."""
    return os.environ.get(name) or None


def rank():
    text = setting("HEARTH_RANK") or "0"
    return int(text) if text.isdigit() else 0


def inside():
    """True in a task of Hearth."""
    return setting("HEARTH_SOCKET") is not None


def sender():
    """The sender of this process, or None outside Hearth. Takes no lock: the handler of a signal
    may come in at any point."""
    pid = os.getpid()
    mine = _senders.get(pid)
    if mine is not None:
        return mine
    path = setting("HEARTH_SOCKET")
    if path is None:
        return None
    _forget_parents()  # of a fork that no hook has told us of
    made = _sender.Sender(path, rank())
    mine = _senders.setdefault(pid, made)  # atomic: one wins
    if mine is made:
        _at_exit_of_a_worker()
    return mine


def script_dir():
    """The directory of the running script; the current one where there is none."""
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    return os.path.dirname(os.path.abspath(main)) if main else os.getcwd()


def _close():
    mine = _senders.get(os.getpid())
    if mine is not None:
        mine.close()


def _at_exit_of_a_worker():
    """Workers of multiprocessing end by os._exit, past atexit, but run its own finalizers."""
    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        util.Finalize(None, _close, exitpriority=-100)


def _before_fork():
    mine = _senders.get(os.getpid())
    _forking.sender = mine if mine is not None and mine.before_fork() else None


def _after_fork_in_parent():
    if _forking.sender is not None:
        _forking.sender.after_fork()


def _forget_parents():
    """In the child of a fork: closes what belongs to the parent, which still has it."""
    for pid in list(_senders):
        if pid != os.getpid():
            parents = _senders.pop(pid, None)
            if parents is not None:
                parents.forget()


atexit.register(_close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent,
                        after_in_child=_forget_parents)
