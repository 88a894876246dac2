"""The program of the previous release: built once from the commit that `previous` names."""
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "../.."))


class Missing(Exception):
    """There is no way to the program, and why."""


def git(*arguments):
    return subprocess.run(["git", "-C", ROOT, *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False)


def commit():
    """The full hash of what `previous` names (a tag or a commit)."""
    with open(os.path.join(HERE, "previous"), encoding="utf-8") as file:
        name = file.read().strip()
    found = git("rev-parse", "--verify", "--quiet", name + "^{commit}")
    if found.returncode != 0:
        raise Missing(f"the history has no {name} (a shallow clone?): `git fetch --unshallow "
                      "--tags`, or give its program as HEARTH_OLD_BIN")
    return found.stdout.strip()


def build(hash_, program):
    source = os.path.join(os.path.dirname(program), "source")
    shutil.rmtree(source, ignore_errors=True)
    os.makedirs(source)
    print(f"building {hash_[:12]}, the previous release (once, some minutes)", flush=True)
    with subprocess.Popen(["git", "-C", ROOT, "archive", hash_], stdout=subprocess.PIPE) as tar:
        subprocess.run(["tar", "-x", "-C", source], stdin=tar.stdout, check=True)
    subprocess.run(["nice", "-n", "10", "tools/build.sh", "release", "hearth"], cwd=source,
                   stdout=sys.stdout, stderr=subprocess.STDOUT, check=True)
    # Under its last name once it is whole.
    shutil.copy2(os.path.join(source, "build/release/src/app/hearth"), program + ".part")
    os.rename(program + ".part", program)
    shutil.rmtree(source)


def program():
    """An absolute path. HEARTH_OLD_BIN, where it is set; else build/upgrade/COMMIT/hearth."""
    given = os.environ.get("HEARTH_OLD_BIN")
    if given:
        if not os.access(given, os.X_OK):
            raise Missing(f"HEARTH_OLD_BIN={given} is no program")
        return os.path.abspath(given)
    hash_ = commit()
    built = os.path.join(ROOT, "build/upgrade", hash_, "hearth")
    if not os.access(built, os.X_OK):
        build(hash_, built)
    return built
