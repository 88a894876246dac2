import ast
import os
import re
import sys
import unittest

import support

PACKAGE = os.path.join(support.ROOT, "hearth")


class SyntaxTest(unittest.TestCase):
    def sources(self):
        names = sorted(name for name in os.listdir(PACKAGE) if name.endswith(".py"))
        self.assertGreater(len(names), 5)
        for name in names:
            with open(os.path.join(PACKAGE, name), encoding="utf-8") as file:
                yield name, file.read()

    @unittest.skipIf(sys.version_info < (3, 8), "feature_version came with 3.8")
    def test_syntax_of_python_3_6(self):
        for name, text in self.sources():
            ast.parse(text, name, feature_version=(3, 6))
        if sys.version_info >= (3, 10):  # the check can fail
            with self.assertRaises(SyntaxError):
                ast.parse("if (x := 1): pass", feature_version=(3, 6))

    def test_only_the_standard_library(self):
        allowed = {"atexit", "collections", "collections.abc", "contextlib", "itertools", "json",
                   "math", "operator", "os", "pathlib", "select", "shutil", "socket", "struct",
                   "sys", "threading", "time", "zlib"}
        for name, text in self.sources():
            for node in ast.walk(ast.parse(text, name)):
                if isinstance(node, ast.Import):
                    for alias in node.names:
                        self.assertIn(alias.name, allowed, name)
                elif isinstance(node, ast.ImportFrom):
                    self.assertGreater(node.level, 0, "%s imports from %s" % (name, node.module))

    def test_size(self):
        for name, text in self.sources():
            lines = text.splitlines()
            self.assertLessEqual(len(lines), 600, name)
            for number, line in enumerate(lines, 1):
                self.assertLessEqual(len(line), 100, "%s:%d" % (name, number))

    def test_the_public_names_are_those_of_the_manual(self):
        import hearth
        with open(os.path.join(PACKAGE, "..", "README.md"), encoding="utf-8") as file:
            manual = file.read()
        for name in hearth.__all__:
            if name != "Params":
                self.assertTrue(re.search(r"`hearth\.%s\(" % name, manual), name)


if __name__ == "__main__":
    unittest.main()
