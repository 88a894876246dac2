"""Files that are there whole or not at all: written beside, synced, renamed."""

import os
import zlib

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/")


def sync_path(path):
    """fsync of a file or directory."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_tree(top):
    """fsync of every regular file and directory below top, and of top."""
    for folder, _, names in os.walk(top, topdown=False):
        for name in names:
            path = os.path.join(folder, name)
            if not os.path.islink(path) and os.path.isfile(path):
                sync_path(path)
        sync_path(folder)


def make_dirs(path):
    """Makes a directory with its parents, each of them on disk."""
    if os.path.isdir(path):
        return
    parent = os.path.dirname(path)
    if parent and parent != path:
        make_dirs(parent)
    try:
        os.mkdir(path)
    except FileExistsError:
        return
    sync_path(parent or ".")


def temporary_name(what=""):
    """A name that nobody has and that says: not finished."""
    return ".tmp-%s%d-%s" % (what, os.getpid(), os.urandom(6).hex())


def write_whole(path, data):
    """Replaces the file by one with these bytes."""
    folder = os.path.dirname(path)
    make_dirs(folder)
    temporary = os.path.join(folder, temporary_name())
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.rename(temporary, path)
    except BaseException:
        try:
            os.unlink(temporary)
        except OSError:
            pass
        raise
    sync_path(folder)


def file_name(name):
    """A relative path for a name that users chose; different names give different paths."""
    text = "".join(char if char in _PLAIN else "_" for char in name)
    parts = [part for part in text.split("/") if part.strip(".")]
    safe = "/".join(parts)[:150] or "unnamed"
    if safe == name:
        return safe
    return "%s-%08x" % (safe, zlib.crc32(name.encode("utf-8", "replace")))
