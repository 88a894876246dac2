#!/usr/bin/env python3
"""Reads every #include of the C++ sources and fails on one that its room may not have.

    tools/check_layers.py [ROOT]

The tables below are the include rule of docs/adr/0001: a folder under src/ is a room, it
includes itself, the rooms its row names, and the libraries its row names. Another neighbour for
a room is a decision: change the row here and write down why.
"""
import os
import re
import sys

# room: (level, rooms it may include, libraries it may include)
ROOMS = {
    "base": (0, "", "fmt libcrypto"),
    "domain": (1, "base", "Boost.JSON yaml-cpp"),
    "os": (1, "base", "libarchive"),
    "sched": (2, "base domain", ""),
    "tune": (2, "base domain", "Eigen"),
    "advise": (2, "base domain", ""),
    "track": (2, "base domain", "zstd re2"),
    "hw": (2, "base domain os", "hwloc"),
    "net": (2, "base os", "Asio Beast OpenSSL libcrypto libcurl"),
    "db": (2, "base domain", "sqlite3 libpq"),
    "objects": (3, "base domain os net", ""),
    "executors": (3, "base domain os net hw", ""),
    "datasets": (3, "base domain os objects", "codecs"),
    "ps": (3, "base domain os", ""),
    "serve": (3, "base domain os net", ""),
    "control": (4, "base domain os sched tune advise track hw net db objects executors datasets "
                   "ps serve", ""),
    "shim": (4, "base domain os hw net track objects datasets", ""),
    "api": (5, "base domain net db control", ""),
    "client": (5, "base domain net", ""),
    "cli": (6, "base domain os track client", "CLI11"),
    "app": (6, "*", "CLI11 spdlog prometheus-cpp"),
}

# A library by the beginning of its header's name.
LIBRARIES = {
    "fmt/": "fmt", "boost/json": "Boost.JSON", "boost/asio": "Asio", "boost/beast": "Beast",
    "boost/system": "Asio", "yaml-cpp/": "yaml-cpp", "archive.h": "libarchive",
    "archive_entry.h": "libarchive", "zstd.h": "zstd", "re2/": "re2", "hwloc": "hwloc",
    "sqlite3.h": "sqlite3", "libpq-fe.h": "libpq", "curl/": "libcurl", "CLI/": "CLI11",
    "spdlog/": "spdlog", "prometheus/": "prometheus-cpp", "Eigen/": "Eigen",
    "gtest/": "GoogleTest", "gmock/": "GoogleTest",
    # Digests and ciphers alone; the rest of openssl/ is the TLS library.
    "openssl/crypto.h": "libcrypto", "openssl/evp.h": "libcrypto", "openssl/hmac.h": "libcrypto",
    "openssl/rand.h": "libcrypto", "openssl/sha.h": "libcrypto", "openssl/": "OpenSSL",
}
# Headers of C++, C, POSIX and Linux need no row.
SYSTEM_FOLDERS = ("sys/", "linux/", "netinet/", "arpa/", "net/", "asm/", "bits/")
SYSTEM_HEADERS = set("""
    dirent.h dlfcn.h elf.h endian.h errno.h fcntl.h fnmatch.h ftw.h getopt.h glob.h grp.h ifaddrs.h
    langinfo.h limits.h link.h locale.h mntent.h netdb.h poll.h pthread.h pty.h pwd.h sched.h
    semaphore.h signal.h spawn.h stdint.h stdio.h stdlib.h string.h strings.h syslog.h termios.h
    time.h ucontext.h unistd.h utime.h wait.h wordexp.h shadow.h execinfo.h malloc.h""".split())

# Services of src/control meet in the database and its events. A few have functions that run inside
# the caller's own transaction (rights, outbox rows, the hold on collection): those who need them.
CONTROL = {
    "access": "", "notify": "access", "ingest": "access", "records": "access",
    "retention": "access", "tracking": "access", "capacity": "access",
    "jobs": "access notify", "backup": "access retention",
}

# One implementation of an interface each; only src/app wires them, and tests run them.
IMPLEMENTATIONS = ("db/sqlite", "db/postgres", "executors/local", "executors/kubernetes",
                   "executors/slurm", "objects/directory", "objects/s3")
# For the tests of every room above the interface, and for `hearth up --executor mock`.
MOCKS = ("executors/mock",)

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)
ROOM_CALL = re.compile(r"hearth_room\(\s*(\w+)([^)]*)\)", re.S)
TOP_FOLDERS = ("src", "tests", "bench")


class Checker:
    def __init__(self, root, rooms=None):
        self.root = root
        self.rooms = rooms or ROOMS
        self.errors = []
        self.included = {}  # header, relative to the root -> files that include it

    def fail(self, path, line, what, mend):
        self.errors.append(f"{path}:{line}: {what}\n    {mend}")

    def run(self):
        self.check_table()
        headers = []
        for path in self.sources():
            if path.endswith(".h"):
                headers.append(path)
            self.check_file(path)
        for header in headers:
            if not self.included.get(header):
                self.fail(header, 1, "nobody includes this header",
                          "delete it, or include it where it is needed")
        self.check_cmake()
        return self.errors

    def check_table(self):
        """A row names rooms that stand above it alone: that keeps the graph free of cycles."""
        seen = []
        for room, (_, neighbours, _) in self.rooms.items():
            for other in neighbours.split():
                if other != "*" and other not in seen:
                    self.fail("tools/check_layers.py", 1, f"{room} names {other}, which does not "
                              "stand above it in the table", "move one of the two rows")
            seen.append(room)

    def sources(self):
        for top in TOP_FOLDERS:
            for folder, folders, files in os.walk(os.path.join(self.root, top)):
                folders[:] = sorted(f for f in folders if not f.startswith("."))
                for name in sorted(files):
                    if name.endswith((".cc", ".h")):
                        yield os.path.relpath(os.path.join(folder, name), self.root)

    def check_file(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as f:
            text = f.read()
        room = path.split("/")[1] if path.startswith("src/") else None
        if room is not None and room not in self.rooms:
            self.fail(path, 1, f"the room '{room}' is not in the table",
                      "give it a row, with a reason")
            return
        for match in INCLUDE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            if match.group(1) == "<":
                self.check_library(path, line, room, match.group(2))
            else:
                self.check_own(path, line, room, match.group(2))

    def check_library(self, path, line, room, name):
        library = library_of(name)
        if library == "":
            return
        if library is None:
            self.fail(path, line, f"<{name}> belongs to no library of the table",
                      "a new library is a decision: add it to LIBRARIES and to the room's row")
            return
        if library == "GoogleTest":
            if not is_test(path):
                self.fail(path, line, "GoogleTest outside tests",
                          "only *_test.cc and tests/ use it")
            return
        if room is None or is_test(path) and library in self.reachable(room):
            return
        if library not in self.rooms[room][2].split():
            allowed = self.rooms[room][2] or "none"
            self.fail(path, line, f"<{name}> ({library}) is not for the room {room}",
                      f"libraries of {room}: {allowed}. fmt comes by base/format.h, "
                      f"Boost.JSON by domain/json.h")

    def reachable(self, room):
        """Libraries of the room and of its neighbours: a test may look behind a facade."""
        names = set(self.rooms[room][2].split())
        for other in self.neighbours(room):
            names |= set(self.rooms[other][2].split())
        return names

    def neighbours(self, room):
        named = self.rooms[room][1].split()
        return list(self.rooms) if named == ["*"] else named

    def check_own(self, path, line, room, name):
        target = self.resolve(name)
        if target is None:
            self.fail(path, line, f'"{name}" is not there', 'write paths from src/: "room/file.h"')
            return
        if target != path:
            self.included.setdefault(target, set()).add(path)
        if room is None or not target.startswith("src/"):
            return
        other = target.split("/")[1]
        allowed = set(self.neighbours(room))
        if is_test(path):  # a test puts together what the room's neighbours stand on
            allowed.update(*(self.neighbours(n) for n in list(allowed)))
        if other != room and other not in allowed:
            self.fail(path, line, f'the room {room} may not include "{name}"',
                      f"rooms of {room}: {self.rooms[room][1] or 'none'}")
        self.check_implementation(path, line, room, name)
        self.check_sideways(path, line, name)

    def check_implementation(self, path, line, room, name):
        for folder in IMPLEMENTATIONS + MOCKS:
            if not name.startswith(folder + "/"):
                continue
            if path.startswith(f"src/{folder}/") or room == "app" or is_test(path):
                return
            self.fail(path, line, f'"{name}" is an implementation',
                      "include the interface; src/app alone wires implementations")

    def check_sideways(self, path, line, name):
        """The services of control do not know each other, but for what CONTROL names."""
        mine, its = path.split("/"), name.split("/")
        if mine[:2] != ["src", "control"] or its[0] != "control" or is_test(path):
            return
        if len(mine) > 3 and len(its) > 2 and mine[2] != its[1] and \
                its[1] not in CONTROL.get(mine[2], "").split():
            self.fail(path, line, f'control/{mine[2]} includes its neighbour "{name}"',
                      f"control/{mine[2]} may include: {CONTROL.get(mine[2]) or 'none'}; what is "
                      "shared stands in control/ itself, the rest goes by the database")

    def resolve(self, name):
        for candidate in (f"src/{name}", name):
            if os.path.isfile(os.path.join(self.root, candidate)):
                return candidate
        return None

    def check_cmake(self):
        """What a room links is no more than what it may include."""
        for room in sorted(self.rooms):
            path = f"src/{room}/CMakeLists.txt"
            if not os.path.isfile(os.path.join(self.root, path)):
                continue
            with open(os.path.join(self.root, path), encoding="utf-8") as f:
                text = f.read()
            for match in ROOM_CALL.finditer(text):
                words = match.group(2).split()
                linked = []
                if "ROOMS" in words:
                    for word in words[words.index("ROOMS") + 1:]:
                        if word.isupper():
                            break
                        linked.append(word)
                for other in linked:
                    if other not in self.neighbours(match.group(1)):
                        self.fail(path, text.count("\n", 0, match.start()) + 1,
                                  f"{match.group(1)} links the room {other}",
                                  f"rooms of {room}: {self.rooms[room][1] or 'none'}")


def library_of(name):
    """The library of <name>; "" for the system's own, None where nobody knows."""
    for prefix, library in LIBRARIES.items():
        if name.startswith(prefix):
            return library
    if "." not in name and "/" not in name:
        return ""  # <vector>
    if name in SYSTEM_HEADERS or name.startswith(SYSTEM_FOLDERS):
        return ""
    return None


def is_test(path):
    return (path.endswith(("_test.cc", "_fuzz.cc", "_test.h")) or
            path.startswith(("tests/", "bench/")))


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..")
    errors = Checker(os.path.abspath(root)).run()
    for error in errors:
        print(error)
    print(f"layers: {len(errors)} breaches" if errors else "layers: every include is in its place")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
