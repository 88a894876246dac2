import os
import shutil
import subprocess
import unittest

from tree import Tree

HERE = os.path.dirname(os.path.abspath(__file__))
kPackages = """# comment
build install alpha
build install beta
train install gamma
"""
# A machine where alpha is installed; apt-get writes down what it is asked for.
kPrograms = {
    "dpkg-query": 'sed "s/$/ installed/" "$MACHINE/installed"',
    "apt-get": 'echo "$*" >>"$MACHINE/asked"; case "$*" in *"$LOCKED"*) [ -n "$LOCKED" ] &&'
               ' [ ! -e "$MACHINE/unlocked" ] && touch "$MACHINE/unlocked" &&'
               ' { echo "E: Could not get lock /var/lib"; exit 100; } ;; esac; true',
    "sudo": "exit 1",
}


@unittest.skipUnless(shutil.which("setpriv"), "setpriv makes an ordinary user of root")
class Install(unittest.TestCase):
    def run_install(self, *groups, root=False, installed="alpha", locked=""):
        files = {"tools/packages.txt": kPackages, "installed": installed.replace(" ", "\n") + "\n",
                 "asked": ""}
        files.update({f"bin/{name}": f"#!/bin/sh\n{text}\n" for name, text in kPrograms.items()})
        with Tree(files) as machine:
            for name in ("install.sh", "shell.sh"):
                shutil.copy(os.path.join(HERE, "..", name), os.path.join(machine, "tools", name))
            for folder, _, names in os.walk(machine):
                os.chmod(folder, 0o777)
                for name in names:
                    os.chmod(os.path.join(folder, name), 0o777)
            command = ["bash", os.path.join(machine, "tools/install.sh"), *groups]
            if not root and os.geteuid() == 0:
                command = ["setpriv", "--reuid=65534", "--clear-groups"] + command
            path = os.path.join(machine, "bin") + ":" + os.environ["PATH"]
            done = subprocess.run(command, env=dict(os.environ, PATH=path, MACHINE=machine,
                                                    LOCKED=locked),
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  check=False)
            with open(os.path.join(machine, "asked"), encoding="utf-8") as f:
                return done.returncode, done.stdout + done.stderr, f.read()

    def test_all_there_touches_nothing(self):
        self.assertEqual(self.run_install("build", installed="alpha beta"), (0, "", ""))

    def test_without_root_it_names_what_is_missing_and_the_one_line(self):
        status, words, asked = self.run_install("build", "train")
        self.assertEqual((status, asked), (1, ""))
        self.assertIn("Missing Debian packages: beta gamma\n", words)
        lines = [line for line in words.split("\n") if "apt-get install" in line]
        self.assertEqual(len(lines), 1)
        self.assertTrue(lines[0].endswith("--no-install-recommends beta gamma"), lines)

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_root_installs_what_is_missing_after_one_update(self):
        status, words, asked = self.run_install("build", root=True)
        self.assertEqual(status, 0, words)
        self.assertEqual(sum(" update" in line for line in asked.split("\n")), 1, asked)
        self.assertIn("install", asked)
        self.assertNotIn("alpha", asked)
        self.assertIn("beta", asked)
        self.assertIn("no-install-recommends", asked)

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_it_waits_for_a_lock(self):
        status, words, asked = self.run_install("build", root=True, locked="update")
        self.assertEqual(status, 0, words)
        self.assertIn("Another package manager is at work", words)
        self.assertEqual(sum(" update" in line for line in asked.split("\n")), 2)

    def test_an_unknown_group_is_wrong_usage(self):
        status, words, _ = self.run_install("nonsense")
        self.assertEqual(status, 2)
        self.assertIn("no group 'nonsense'", words)


if __name__ == "__main__":
    unittest.main()
