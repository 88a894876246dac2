#!/usr/bin/env python3
"""The style that a machine can check: sizes, banned calls, coroutines, leftovers, READMEs.

    tools/check_tidy.py [ROOT]

Each rule names what to write instead. The why is in docs/adr and docs/style.md.
"""
import ast
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cpp_text  # noqa: E402

kMaxFileLines = 600
kMaxFunctionLines = 70
kMaxColumns = 100
SIZED = (".cc", ".h", ".py", ".ts", ".tsx")
CPP = (".cc", ".h")

TESTS = re.compile(r"(_test|_fuzz)\.(cc|h)$|^bench/|(^|/)tests?/")

# (what must not be written, what to write instead, where it may stand all the same)
BANNED = [(re.compile(pattern), mend, re.compile(allowed)) for pattern, mend, allowed in [
    (r"(?<![\w.>])v?fork\s*\(", "os/process.h starts processes",
     r"^src/os/|" + TESTS.pattern),
    (r"(?<![\w.>:])system\s*\(|(?<![\w.>])std::system\s*\(|\bpopen\s*\(",
     "os/process.h runs programs without a shell", TESTS.pattern),
    (r"\bv?sprintf\s*\(|\bstrn?cpy\s*\(|\bstrn?cat\s*\(|(?<![\w.>])gets\s*\(",
     "format() of base/format.h, or std::string", r"^$"),
    (r"\b(gmtime|localtime|asctime|ctime)\s*\(", "to_rfc3339() of base/clock.h (or gmtime_r)",
     r"^$"),
    (r"\bstrtok\s*\(", "split() of base/units.h", r"^$"),
    (r"\b(atoi|atol|atoll|atof)\s*\(", "std::from_chars, which tells of errors", r"^$"),
    (r"(?<![\w.>])s?rand\s*\(|\brandom_device\b|\bmt19937", "a Random& of base/clock.h",
     r"^src/base/"),
    (r"\bstd::w?regex\b|<regex>", "re2, in src/track", r"^$"),
    (r"\bRLIMIT_AS\b", "a cgroup, or watch the tree's PSS: RLIMIT_AS breaks CUDA", r"^$"),
    (r"(?<![\w.>])u?sleep\s*\(|\bnanosleep\s*\(|\bsleep_(for|until)\s*\(",
     "wait on what you wait for, with a time-out (condition variable, poll, Signals)",
     # Who asks a server again and again has nothing to wait on.
     r"^src/(app|cli|client)/|" + TESTS.pattern),
    (r"\b(system|steady|high_resolution)_clock::now\b|\bclock_gettime\s*\(|\bgettimeofday\s*\("
     r"|(?<![\w.>])time\s*\(\s*(nullptr|NULL|0|&)", "a Clock& of base/clock.h",
     r"^src/base/|" + TESTS.pattern),
    (r"\.detach\s*\(\s*\)", "keep the thread and join it", r"^$"),
    (r"\busing\s+namespace\s+std\s*;", "write std::", r"^$"),
    (r"(?<![\w.>:])(std::)?(malloc|calloc|realloc)\s*\(",
     "a container or std::make_unique", r"^$"),
]]
# Owning pointers only; a private constructor goes by std::unique_ptr<T>(new T...).
NEW = re.compile(r"(?<!operator )\bnew\b(?!\s*\()\s*[\w:]")
OWNED_NEW = re.compile(
    r"(unique_ptr|shared_ptr)\s*<[^;]*>\s*(\w+\s*)?[({]\s*new\b|\breset\s*\(\s*new\b")
DELETE = re.compile(r"(?<!operator )(?<!=)(?<!= )\bdelete\b(\s*\[\s*\])?\s*[\w(*]")
# Where a C library's handles make them unavoidable.
ADAPTERS = re.compile(r"^src/(db/sqlite|db/postgres)/")

# With a bracket in each word, so that this file is no breach itself.
LEFTOVER = re.compile(r"\b(TO[D]O|FIX[M]E|XX[X]|HA[C]K)\b")
MACHINE_PATH = re.compile(r"(?<![\w}\]/.$)>*-])/(wor[k]|roo[t]|home/[a-z]\w*)/\w")
REGISTRY = re.compile(r"https?://[a-z0-9.-]*(debia[n]|pyp[i]|pythonhoste[d]|npmj[s]|golan[g]|"
                      r"crate[s]|mave[n])", re.I)

# `x = co_await f(a);`, `co_return co_await f(a);`, `CO_TRY(auto x, co_await f(a));` or alone.
AWAIT_FORM = re.compile(
    r"^\s*(case\b[^:]*:|default:|else|try)?\s*(\{\s*)?"
    r"((const\s+)?[\w:<>,&*\s\[\].\->()]+=\s*|co_return\s+|CO_TRY\s*\((?:[^()]|\([^()]*\))*?,\s*)?"
    r"(\(void\)\s*)?co_await\s+[^{}?]*$", re.S)


class Checker:
    def __init__(self, root):
        self.root = root
        self.errors = []

    def fail(self, path, line, what, mend):
        self.errors.append(f"{path}:{line}: {what}\n    {mend}")

    def run(self):
        for path in tracked_files(self.root):
            try:
                with open(os.path.join(self.root, path), encoding="utf-8") as f:
                    text = f.read()
            except (UnicodeDecodeError, IsADirectoryError, FileNotFoundError):
                continue
            self.check_words(path, text)
            if path.endswith(SIZED) and not generated(text):
                self.check_size(path, text)
            if path.endswith(CPP):
                self.check_cpp(path, text)
            elif path.endswith(".py"):
                self.check_python(path, text)
            elif path.endswith((".ts", ".tsx")):
                self.check_functions(path, cpp_text.strip(text))
        self.check_readmes()
        return self.errors

    def check_words(self, path, text):
        for rule, what, mend in (
                (LEFTOVER, "leftover", "finish it now, or open an issue"),
                (MACHINE_PATH, "path of one machine", "take it as an argument or make it relative"),
                (REGISTRY, "host of a package registry", "use what the machine is set to")):
            for match in rule.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                self.fail(path, line, f"{what}: '{match.group(0)}'", mend)

    def check_size(self, path, text):
        lines = text.split("\n")
        count = len(lines) - (lines[-1] == "")
        if count > kMaxFileLines:
            self.fail(path, count, f"{count} lines, at most {kMaxFileLines}",
                      "split it by what it does")
        for number, line in enumerate(lines, 1):
            if len(line) > kMaxColumns:
                self.fail(path, number, f"{len(line)} columns, at most {kMaxColumns}",
                          "break the line")
        if text and not text.endswith("\n"):
            self.fail(path, count, "no newline at the end", "add one")

    def check_functions(self, path, stripped):
        for name, first, last in cpp_text.functions(stripped):
            self.check_length(path, name, first, last)

    def check_length(self, path, name, first, last):
        if last - first + 1 > kMaxFunctionLines:
            self.fail(path, first,
                      f"{name} has {last - first + 1} lines, at most {kMaxFunctionLines}",
                      "move its parts into functions with names of their own")

    def check_cpp(self, path, text):
        stripped = cpp_text.strip(text)
        self.check_functions(path, stripped)
        if path.endswith(".h") and "#pragma once" not in text:
            self.fail(path, 1, "no #pragma once", "add it below the head comment")
        for rule, mend, allowed in BANNED:
            if allowed.pattern != "^$" and allowed.search(path):
                continue
            for match in rule.finditer(stripped):
                self.fail(path, stripped.count("\n", 0, match.start()) + 1,
                          f"banned: '{match.group(0).strip()}'", mend)
        self.check_ownership(path, stripped)
        self.check_coroutines(path, stripped)

    def check_ownership(self, path, stripped):
        if ADAPTERS.search(path):
            return
        owned = {m.end() for m in OWNED_NEW.finditer(stripped)}
        for match in NEW.finditer(stripped):
            if match.start() + len("new") not in owned:
                self.fail(path, stripped.count("\n", 0, match.start()) + 1, "banned: raw new",
                          "std::make_unique, or std::unique_ptr<T>(new T...) where it is private")
        for match in DELETE.finditer(stripped):
            self.fail(path, stripped.count("\n", 0, match.start()) + 1, "banned: raw delete",
                      "let a std::unique_ptr own it")

    def check_coroutines(self, path, stripped):
        """g++ 12 miscompiles other shapes (docs/adr/0006)."""
        word = re.search(r"\bco_(await|return|yield)\b", stripped)
        if word and not path.startswith("src/net/"):
            self.fail(path, stripped.count("\n", 0, word.start()) + 1,
                      "a coroutine outside src/net", "blocking code on a worker pool")
            return
        if "co_await" not in stripped:
            return
        start = 0
        for end in statement_ends(stripped):
            statement = stripped[start:end]
            lead = len(statement) - len(statement.lstrip())
            line = stripped.count("\n", 0, start + lead) + 1
            start = end + 1
            count = len(re.findall(r"\bco_await\b", statement))
            if count > 1:
                self.fail(path, line, "two co_await in one statement",
                          "one a statement, with a name each")
            elif count == 1:
                bad = re.search(r"\b(if|while|for|switch)\s*\(.*co_await|&&|\|\||\?", statement,
                                re.S)
                if bad or not AWAIT_FORM.match(statement):
                    self.fail(path, line, "co_await inside a larger expression",
                              "`const auto x = co_await f(a, b);` with names as arguments")

    def check_python(self, path, text):
        try:
            tree = ast.parse(text)
        except SyntaxError as error:
            self.fail(path, error.lineno or 1, f"not Python: {error.msg}", "mend it")
            return
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.check_length(path, node.name, node.lineno, node.end_lineno)

    def check_readmes(self):
        src = os.path.join(self.root, "src")
        for room in sorted(os.listdir(src)) if os.path.isdir(src) else []:
            if os.path.isdir(os.path.join(src, room)) and \
                    not os.path.isfile(os.path.join(src, room, "README.md")):
                self.fail(f"src/{room}", 1, "the room has no README.md",
                          "purpose, API, threading, what it may include")


def statement_ends(stripped):
    """Positions of ; and braces that end a statement: those inside parentheses end none."""
    depth = 0
    for at, c in enumerate(stripped):
        if c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        elif c == ";" and depth == 0:
            yield at
        elif c in "{}" and depth == 0:
            # A brace behind `co_await f` belongs to the statement: it is refused there.
            yield at


def generated(text):
    return "generated" in text[:300] and "do not edit" in text[:300].lower()


def tracked_files(root):
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=root,
                            capture_output=True, text=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        return sorted(p for p in listed.stdout.split("\0") if p)
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = [f for f in folders
                      if f not in (".git", "build", "node_modules", "__pycache__")]
        found += [os.path.relpath(os.path.join(folder, name), root) for name in files]
    return sorted(found)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..")
    errors = Checker(os.path.abspath(root)).run()
    for error in errors:
        print(error)
    print(f"tidy: {len(errors)} things to mend" if errors else "tidy: nothing to mend")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
