"""One connection to the shim, without blocking and without threads of its own.

Link turns lines into bytes on the socket, keeps what the shim has not confirmed, and after a broken
connection goes on where the last answer ended (PROTOCOL.md, section 4). One thread at a time.
"""

import collections
import math
import os
import select
import socket
import threading
import time

from . import _records

CHUNK = 1 << 16               # bytes given to one send()
MAX_KEPT = 8 << 20            # unconfirmed bytes kept for another connection
MAX_ANSWER = 1 << 16          # bytes of one answer line
FLUSH_EVERY = 2.0             # seconds between questions while records flow
FLUSH_BYTES = MAX_KEPT // 4   # ... and bytes
RETRY_FIRST, RETRY_LAST = 0.05, 0.5
_LONGEST_PATH = 100           # sun_path has 108 bytes, the rest is for /proc/self/fd/N/


def connect(sock, path):
    """Connects a socket without waiting, or raises OSError. Works for paths of any length."""
    if len(os.fsencode(path)) <= _LONGEST_PATH:
        sock.connect(path)
        return
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)
    try:
        sock.connect("/proc/self/fd/%d/%s" % (folder, os.path.basename(path)))
    finally:
        os.close(folder)


class Link:
    def __init__(self, path, rank):
        self._path = path
        self._rank = rank
        self._session = "%016x" % int.from_bytes(os.urandom(8), "big")
        self._socket = None
        self.making = threading.Lock()    # held for the moment in which a socket is made
        self._opening = None              # the same socket, from before it is connected
        self._kept = collections.deque()  # lines given to the socket, not confirmed
        self._kept_bytes = 0
        self._first = 0                   # number of _kept[0]
        self._out = b""                   # bytes for the socket ...
        self._at = 0                      # ... of which so many are in the kernel
        self._answer = b""
        self._asked = collections.deque()  # (id, number of records it covers)
        self._next_id = 1
        self._last_ask = time.monotonic()
        self._last_ask_covers = 0
        self._retry_at = 0.0
        self._retry_after = RETRY_FIRST
        self.confirmed = 0                # records from 0 to here are in the shim's spool

    @property
    def sent(self):
        """The number of records taken so far."""
        return self._first + len(self._kept)

    @property
    def connected(self):
        return self._socket is not None

    @property
    def busy(self):
        """True while bytes wait for the socket: no more lines now."""
        return bool(self._out) or self._socket is None

    @property
    def waiting(self):
        """True while the socket has something to do: bytes to take or an answer to give."""
        return bool(self._out or self._asked)

    @property
    def settled(self):
        """True when the shim has confirmed all it was given."""
        return self.confirmed == self.sent

    def close(self):
        self._socket = None
        if self._opening is not None:
            self._opening.close()
            self._opening = None

    def open(self):
        """Connects if it is time to try; True when connected."""
        if self._socket is not None:
            return True
        now = time.monotonic()
        if now < self._retry_at:
            return False
        # Kept before it is connected, and not made while somebody forks: a child has to find it, to
        # close it, or the shim would not see the end of this process before that of the child.
        with self.making:
            self._opening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._opening.setblocking(False)
            connect(self._opening, self._path)
        except OSError:
            self._broken()
            return False
        self._socket = self._opening
        self._answer = b""
        self._asked.clear()
        self._last_ask_covers = self._first
        self._send(_records.line({
            "t": "hello", "v": 1, "pid": os.getpid(), "rank": self._rank,
            "session": self._session, "next": self._first}) + b"".join(self._kept))
        return self._socket is not None

    def give(self, lines):
        """Takes lines, in order, and sends what the socket takes now. Call when not busy."""
        self._kept.extend(lines)
        self._kept_bytes += sum(map(len, lines))
        self._send(b"".join(lines))
        while self._kept_bytes > MAX_KEPT and len(self._kept) > 1:  # a shim that never answers
            self._kept_bytes -= len(self._kept.popleft())
            self._first += 1

    def ask(self):
        """Asks the shim to confirm what it was given, unless it is asked already."""
        if self._socket is None or self._last_ask_covers >= self.sent:
            return
        self._last_ask = time.monotonic()
        self._last_ask_covers = self.sent
        self._asked.append((self._next_id, self.sent))
        question = _records.line({"t": "flush", "id": self._next_id})
        self._next_id += 1
        self._send(question)

    def ask_if_due(self):
        """Asks now and then, one question at a time."""
        if not self._asked and (time.monotonic() - self._last_ask >= FLUSH_EVERY
                                or self._kept_bytes >= FLUSH_BYTES):
            self.ask()

    def wait(self, seconds):
        """Waits until the socket has an answer or takes more, at most so long; handles both."""
        if self._socket is None:
            time.sleep(min(seconds, max(0.0, self._retry_at - time.monotonic())))
            return
        poll = select.poll()
        poll.register(self._socket, select.POLLIN | (select.POLLOUT if self._out else 0))
        for _, events in poll.poll(math.ceil(1000 * seconds)):
            if events & (select.POLLIN | select.POLLHUP | select.POLLERR):
                self._read()
        if self._socket is not None:
            self._push()

    def _send(self, data):
        """Adds bytes and pushes; where there is no connection the lines wait in _kept alone."""
        if self._socket is not None:
            self._out = self._out[self._at:] + data
            self._at = 0
            self._push()

    def _push(self):
        view = memoryview(self._out)
        try:
            while self._at < len(view):
                chunk = view[self._at:self._at + CHUNK]
                self._at += self._socket.send(chunk, socket.MSG_NOSIGNAL)
            self._out, self._at = b"", 0
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            self._broken()

    def _read(self):
        try:
            data = self._socket.recv(CHUNK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            self._broken()
            return
        lines = (self._answer + data).split(b"\n")
        self._answer = lines.pop()
        if len(self._answer) > MAX_ANSWER:
            self._broken()
            return
        for answer in lines:
            self._answered(answer)

    def _answered(self, answer):
        try:
            message = _records.parse(answer)
        except ValueError:
            return
        if not isinstance(message, dict) or message.get("t") != "flushed":
            return
        self._retry_after = RETRY_FIRST
        while self._asked and isinstance(message.get("id"), int) \
                and self._asked[0][0] <= message["id"]:
            self.confirmed = max(self.confirmed, self._asked.popleft()[1])
        while self._first < self.confirmed and self._kept:
            self._kept_bytes -= len(self._kept.popleft())
            self._first += 1

    def _broken(self):
        self.close()
        self._out, self._at = b"", 0
        self._retry_at = time.monotonic() + self._retry_after
        self._retry_after = min(2 * self._retry_after, RETRY_LAST)
