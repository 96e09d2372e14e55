#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a picture of a terminal out of what commands really print.

    tools/screenshot.py OUT.svg FOLDER 'sonde info session' 'sonde check crashed' ...

The commands run in FOLDER, one after the other, in a pseudo terminal; build/ comes first in PATH.
Colours and bold are kept, everything else of a terminal is not needed here.
"""
import html
import os
import pathlib
import pty
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WIDTH, LINE, FONT = 8.4, 19, 14
COLOURS = {"30": "#6e7681", "31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "34": "#79c0ff",
           "35": "#d2a8ff", "36": "#76e3ea", "37": "#e6edf3", "90": "#8b949e"}


def output_of(command, folder, columns):
    """What a command prints on a terminal of that width."""
    leader, follower = pty.openpty()
    environment = dict(os.environ, TERM="xterm-256color", COLUMNS=str(columns),
                       PATH=f"{os.path.abspath(os.environ.get('BUILD', ROOT / 'build'))}:"
                            f"{os.environ['PATH']}")
    environment.pop("NO_COLOR", None)
    subprocess.run(["stty", "rows", "50", "cols", str(columns)], stdin=follower, check=True)
    with subprocess.Popen(["sh", "-c", command], cwd=folder, env=environment, stdin=follower,
                          stdout=follower, stderr=follower) as process:
        os.close(follower)
        data = b""
        while True:
            try:
                part = os.read(leader, 65536)
            except OSError:
                break
            if not part:
                break
            data += part
        process.wait()
    os.close(leader)
    return data.decode().replace("\r\n", "\n")


def settle(line):
    """What is left on the screen where a progress bar rewrote the line."""
    return line.split("\r")[-1]


def spans(line):
    """(text, classes) of a line with SGR escapes."""
    style = {}
    for part in re.split(r"(\x1b\[[0-9;?]*[A-Za-z])", line):
        if not part.startswith("\x1b"):
            if part:
                yield part, dict(style)
            continue
        if not part.endswith("m"):
            continue
        for code in part[2:-1].split(";"):
            if code in ("", "0"):
                style.clear()
            elif code == "1":
                style["font-weight"] = "bold"
            elif code == "2":
                style["fill"] = "#8b949e"
            elif code in ("22", "39"):
                style.pop("font-weight" if code == "22" else "fill", None)
            elif code in COLOURS:
                style["fill"] = COLOURS[code]


def svg(lines, columns):
    width, height = columns * WIDTH + 32, len(lines) * LINE + 60
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" '
           f'viewBox="0 0 {width:.0f} {height}" role="img">',
           '<rect width="100%" height="100%" rx="8" fill="#0d1117"/>']
    for number, colour in enumerate(("#ff5f57", "#febc2e", "#28c840")):
        out.append(f'<circle cx="{22 + 20 * number}" cy="20" r="6" fill="{colour}"/>')
    out.append(f'<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" '
               f'font-size="{FONT}" fill="#e6edf3">')
    for number, line in enumerate(lines):
        column, top = 0, 52 + number * LINE
        for text, style in spans(line):
            attributes = "".join(f' {name}="{value}"' for name, value in style.items())
            # Every word group is placed by its column, since fonts differ in width.
            for group in re.finditer(r"\S+( \S+)*", text):
                out.append(f'<text x="{16 + (column + group.start()) * WIDTH:.1f}" y="{top}"'
                           f' textLength="{len(group.group()) * WIDTH:.1f}"{attributes}>'
                           f'{html.escape(group.group())}</text>')
            column += len(text)
    return "\n".join(out + ["</g>", "</svg>", ""])


def main():
    target, folder, *commands = sys.argv[1:]
    lines, columns = [], 100
    for command in commands:
        if lines:
            lines.append("")
        lines.append(f"\x1b[32m$\x1b[0m \x1b[1m{command}\x1b[0m")
        text = output_of(command, folder, columns).expandtabs().rstrip("\n")
        lines += [settle(line) for line in text.split("\n")] if text else []
    widest = max(len(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line)) for line in lines)
    pathlib.Path(target).write_text(svg(lines, widest), encoding="utf-8")


if __name__ == "__main__":
    main()
