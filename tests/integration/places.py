"""Places that fail: a disk that fills up, one that turns read-only, a FUSE file system; and a wall
clock that jumps. Mounts need root; another user's tests run as the root of a namespace."""

import contextlib
import ctypes
import errno
import mmap
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

INNER = "HEARTH_IT_NAMESPACE"
HERE = os.path.dirname(os.path.abspath(__file__))


def done(*command):
    """Whether a command succeeds; never a shell."""
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, timeout=60, check=False).returncode == 0
    except OSError:
        return False


def why_no_mounts():
    """"" when this process may mount, else why not."""
    if os.geteuid() != 0:
        return "mounting needs root"
    folder = tempfile.mkdtemp(prefix="hearth-it-")
    try:
        if not done("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder):
            return "root may not mount here"
        done("umount", folder)
        return ""
    finally:
        os.rmdir(folder)


class MountCase(unittest.TestCase):
    """Skipped with the reason where nothing can be mounted."""

    @classmethod
    def setUpClass(cls):
        why = why_no_mounts()
        if why:
            raise unittest.SkipTest(why)

    def mounted(self, *arguments):
        """Mounts on a new folder until the end of the test; the folder."""
        folder = tempfile.mkdtemp(prefix="hearth-it-")
        self.addCleanup(shutil.rmtree, folder, True)
        subprocess.run(["mount", *arguments, folder], check=True)
        # Lazily: what a test left open must not keep the place.
        self.addCleanup(done, "umount", "-l", folder)
        return folder

    @contextlib.contextmanager
    def read_only(self, folder):
        """The folder read-only for everything that is opened from now on."""
        subprocess.run(["mount", "--bind", folder, folder], check=True)
        try:
            subprocess.run(["mount", "-o", "remount,ro,bind", folder], check=True)
            yield
        finally:
            # Lazily: what reads there at this moment must not keep it.
            subprocess.run(["umount", "-l", folder], check=True)


def run_in_namespace(test, words):
    """The named tests as root of a user namespace of their own."""
    if os.geteuid() == 0 or INNER in os.environ:
        test.skipTest("the tests themselves run here")
    if not done("unshare", "-rm", "true"):
        test.skipTest("an ordinary user may not make a namespace here")
    inner = subprocess.run(
        ["unshare", "-rm", sys.executable, os.path.join(HERE, "run"), *words],
        env=dict(os.environ, **{INNER: "1"}), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=False)
    test.assertEqual(inner.returncode, 0, inner.stdout)


def fill(folder):
    """Fills the disk of the folder to the last byte; the file to remove."""
    path = os.path.join(folder, "filler")
    file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        for size in (1 << 20, 4096, 1):
            with contextlib.suppress(OSError):
                while os.write(file, b"x" * size):
                    pass
    finally:
        os.close(file)
    return path


# --- a wall clock that jumps ------------------------------------------------------------------

CLOCK_C = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
// Loaded before the C library: the wall clock, moved by the seconds that stand in a file. The
// steady clocks go on as they are, as when somebody sets the clock of a machine.
static volatile int64_t* moved(void) {
  static volatile int64_t* seconds;
  static int64_t none;
  if (seconds != 0) return seconds;
  const char* path = getenv("HEARTH_IT_CLOCK");
  const int file = path == 0 ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  void* at = file < 0 ? MAP_FAILED : mmap(0, 8, PROT_READ, MAP_SHARED, file, 0);
  if (file >= 0) close(file);
  return seconds = at == MAP_FAILED ? &none : at;
}
int clock_gettime(clockid_t id, struct timespec* t) {
  const long failed = syscall(SYS_clock_gettime, id, t);
  if (failed == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) t->tv_sec += *moved();
  return (int)failed;
}
int gettimeofday(struct timeval* restrict t, void* restrict zone) {
  struct timespec now;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  t->tv_sec = now.tv_sec;
  t->tv_usec = now.tv_nsec / 1000;
  return 0;
}
time_t time(time_t* t) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (t != 0) *t = now.tv_sec;
  return now.tv_sec;
}
"""


class Clock:
    """The wall clock of a server and its shims. libfaketime would do, but not under ASan."""

    def __init__(self, root):
        compiler = shutil.which("clang-19") or shutil.which("cc")
        if compiler is None:
            raise unittest.SkipTest("no C compiler")
        library, path = os.path.join(root, "clock.so"), os.path.join(root, "clock")
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, "-x", "c", "-"],
                       input=CLOCK_C, text=True, check=True)
        with open(path, "wb") as file:
            file.write(bytes(8))
        with open(path, "r+b") as file:
            self.seconds = mmap.mmap(file.fileno(), 8)
        self.environment = {"LD_PRELOAD": library, "HEARTH_IT_CLOCK": path}

    def set(self, seconds):
        """So many seconds off the true time."""
        self.seconds[:] = struct.pack("=q", seconds)


# --- FUSE -------------------------------------------------------------------------------------

class EmptyFuse:
    """A FUSE file system with an empty root, spoken in the kernel's own protocol."""

    INIT, GETATTR, STATFS, FORGET, BATCH_FORGET = 26, 3, 17, 2, 42

    def __init__(self, folder):
        self.folder = folder
        self.device = os.open("/dev/fuse", os.O_RDWR)
        options = "fd=%d,rootmode=40000,user_id=%d,group_id=%d" % (
            self.device, os.geteuid(), os.getegid())
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"hearth-it", folder.encode(), b"fuse", 0, options.encode()) != 0:
            os.close(self.device)
            raise OSError(ctypes.get_errno(), "mounting FUSE")
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                request = os.read(self.device, 1 << 18)
            except OSError:
                return  # unmounted
            _, opcode, unique = struct.unpack_from("=IIQ", request)
            if opcode in (self.FORGET, self.BATCH_FORGET):
                continue
            error, body = self.answer(opcode)
            head = struct.pack("=IiQ", 16 + len(body), -error, unique)
            with contextlib.suppress(OSError):
                os.write(self.device, head + body)

    def answer(self, opcode):
        if opcode == self.INIT:
            return 0, struct.pack("=IIIIHHIIHHI28x", 7, 31, 0, 0, 1, 1, 65536, 1, 1, 0, 0)
        if opcode == self.GETATTR:
            return 0, struct.pack("=QII6Q10I", 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0o40755, 2,
                                  os.geteuid(), os.getegid(), 0, 4096, 0)
        if opcode == self.STATFS:
            return 0, struct.pack("=5Q10I", 1000, 1000, 1000, 1000, 1000, 4096, 255, 4096,
                                  0, 0, 0, 0, 0, 0, 0)
        return errno.ENOENT, b""

    def close(self):
        done("umount", "-l", self.folder)
        self.thread.join(10)
        with contextlib.suppress(OSError):
            os.close(self.device)
