#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes C texts out of files, for scripts and styles that the command puts into what it writes.

    tools/embed.py OUT.c NAME=FILE...

Each becomes `const char NAME[]`, in the order given; the same files always give the same bytes.
"""
import sys


def quoted(line):
    escaped = line.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")
    return f'\t"{escaped}\\n"'


def text_of(name, path):
    with open(path, encoding="ascii") as file:
        lines = file.read().splitlines()
    return "\n".join([f"extern const char {name}[];", f"const char {name}[] ="]
                     + [quoted(line) for line in lines] + ["\t;", ""])


def main():
    texts = [text_of(*argument.split("=", 1)) for argument in sys.argv[2:]]
    with open(sys.argv[1], "w", encoding="ascii") as file:
        file.write("\n".join(texts))


if __name__ == "__main__":
    main()
