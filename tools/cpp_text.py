"""Reads C++ (and, roughly, TypeScript) well enough for checks: blanks comments and literals, and
finds functions."""
import re

TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/"""
    r"""|R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)\""""
    r"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`""", re.S)
BRACE = re.compile(r"[{}]")
# What stands before a brace that opens no function.
SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern|interface|concept)\b[^;(]*$")


def strip(text):
    """The text with comments and the insides of literals blanked; lines stay in place."""
    def blank(match):
        found = match.group(0)
        if found[0] == "'" and match.start() and text[match.start() - 1].isalnum():
            return found  # 1'000'000
        quote = found[0] if found[0] in "\"'`" else ""
        kept = re.sub(r"[^\n]", " ", found)
        if quote and len(found) > 1:
            kept = quote + kept[1:-1] + quote
        return kept
    # A digit separator would open a literal: blank those first.
    text = re.sub(r"(?<=[0-9A-Fa-f])'(?=[0-9A-Fa-f])", "_", text)
    return TOKEN.sub(blank, text)


def functions(stripped):
    """(name, first line, last line) of each function outside other functions."""
    found = []
    depth = 0          # of braces inside the function being read
    begin = 0          # where the text before the next brace begins
    first = None
    name = ""
    for match in BRACE.finditer(stripped):
        at = match.start()
        if first is not None:
            depth += 1 if match.group() == "{" else -1
            if depth == 0:
                found.append((name, first, stripped.count("\n", 0, at) + 1))
                first = None
            begin = at + 1 if first is None else begin
            continue
        if match.group() == "{":
            head = re.sub(r"^\s*#.*$", lambda m: " " * len(m.group()), stripped[begin:at],
                          flags=re.M)
            head = head[head.rfind(";") + 1:]
            if "(" in head and not SCOPE.search(head) and not head.rstrip().endswith("="):
                first = stripped.count("\n", 0, at - len(head.lstrip())) + 1
                called = re.search(r"([\w:~]+|operator\S+)\s*\(", head)
                name = called.group(1) if called else "?"
                depth = 1
        begin = at + 1
    return found
