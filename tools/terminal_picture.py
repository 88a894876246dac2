#!/usr/bin/env python3
"""Draws a transcript of a terminal as an SVG: tools/terminal_picture.py TITLE <text >picture.svg

Carriage returns and the erasing of a line are obeyed, so that what is drawn is what stood there at
the end; other escapes are left out.
"""
import html
import re
import sys

kColumns = 108
kLineHeight, kCharWidth, kMargin, kBar = 18, 7.8, 16, 30
kSize = 13
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[=>]")


def screen(text):
    """Lines as they stand at the end."""
    lines = []
    for line in text.replace("\r\n", "\n").split("\n"):
        shown = ""
        for part in line.split("\r"):
            part = ESCAPE.sub("", part.split("\x1b[K")[-1])
            shown = part + shown[len(part):] if "\x1b[K" not in line else part
        lines.append(shown.rstrip()[:kColumns])
    while lines and not lines[-1]:
        lines.pop()
    return lines


def draw(title, lines):
    width = int(kColumns * kCharWidth + 2 * kMargin)
    height = kBar + 2 * kMargin + len(lines) * kLineHeight
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
           f"<title>{html.escape(title)}</title>",
           f'<rect width="{width}" height="{height}" rx="8" fill="#16181d"/>',
           f'<text x="{width / 2}" y="20" fill="#8b93a1" text-anchor="middle" '
           f'font-family="monospace" font-size="{kSize}">{html.escape(title)}</text>']
    for number, line in enumerate(lines):
        if not line:
            continue
        y = kBar + kMargin + number * kLineHeight
        colour = "#7ee787" if line.startswith("$ ") else "#e6e9ef"
        out.append(f'<text x="{kMargin}" y="{y}" fill="{colour}" font-family="monospace" '
                   f'font-size="{kSize}" xml:space="preserve">{html.escape(line)}</text>')
    return "\n".join(out + ["</svg>", ""])


if __name__ == "__main__":
    sys.stdout.write(draw(sys.argv[1], screen(sys.stdin.read())))
