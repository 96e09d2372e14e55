#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Folded stacks: summed as flame graphs do it, they give what `sonde report` says; what stackcollapse programs write is
read with the same sums.
"""
import collections
import gzip
import os
import re
import unittest

import tap
from profile_case import HARD_NAMES, ProfileCase
from sonde_case import GOLDEN

# As flamegraph programs take a line apart; all else is a comment or a mistake.
LINE = re.compile(r"^(.*) (\d+)$")


def read_folded(path):
    stacks = collections.Counter()
    with open(path, encoding="utf-8", newline="\n") as file:
        for line in file.read().split("\n"):
            if not line or line.startswith("#"):
                continue
            match = LINE.match(line)
            assert match, line
            assert int(match[2]) > 0, line
            stacks[tuple(match[1].split(";"))] += int(match[2])
    return stacks


def sum_up(stacks):
    """Self and total by frame; of a recursive one the total once."""
    own, total = collections.Counter(), collections.Counter()
    for stack, count in stacks.items():
        own[stack[-1]] += count
        for frame in set(stack):
            total[frame] += count
    return own, total


class Written(ProfileCase):
    def test_same_as_report(self):
        for source in self.sources():
            with self.subTest(source=source):
                stacks = read_folded(self.convert(source, os.path.basename(source) + ".folded"))
                own, total = sum_up(stacks)
                for name, (_, own_ns, total_ns) in self.functions(source).items():
                    self.assertLessEqual(abs(own[name] - own_ns), 1, name)
                    self.assertLessEqual(abs(total[name] - total_ns), len(stacks), name)

    def test_same_as_flame(self):
        for source in self.sources():
            with self.subTest(source=source):
                path = self.convert(source, os.path.basename(source) + ".folded")
                flame = self.path("flame")
                with open(flame, "w", encoding="utf-8") as file:
                    file.write(self.sonde("flame", "--folded", source))
                self.assertEqual(read_folded(path), read_folded(flame))

    def test_calls(self):
        source = os.path.join(GOLDEN, "normal")
        own, _ = sum_up(read_folded(self.convert(source, "calls.folded", "--style", "calls")))
        for name, (calls, _, _) in self.functions(source).items():
            self.assertEqual(own[name], calls, name)
        by_name = self.convert(source, "named.folded", "--style", "metric=calls")
        self.assertEqual(sum_up(read_folded(by_name))[0], own)

    def test_threads(self):
        source = os.path.join(GOLDEN, "normal")
        plain = read_folded(self.convert(source, "plain.folded"))
        stacks = read_folded(self.convert(source, "threads.folded", "--style", "threads"))
        self.assertEqual({stack[0] for stack in stacks}, {f"thread {i}" for i in range(4)})
        together = collections.Counter()
        for stack, count in stacks.items():
            together[stack[1:]] += count
        self.assertEqual(together, plain)

    def test_hard_names(self):
        source = self.hard_session()
        path = self.convert(source, "hard.folded")
        stacks = read_folded(path)
        self.assertEqual(max(map(len, stacks)), len(HARD_NAMES) + 1)
        frames = max(stacks, key=len)[1:]
        self.assertEqual(frames[:3], ("main", "a:b:c", "# hash"))
        self.assertIn("line\\nfeed", frames)
        self.assertIn("x" * 10_000, frames)
        self.assertEqual(sum(stacks.values()), sum(row[1] for row in self.functions(source).values()))
        changed = {what: count for (what, _), count in self.lost(source, "lost.folded").items()}
        self.assertEqual(changed["names as they are"], 5)
        # read again: the same numbers below other names
        self.assertEqual(sorted(row[1:] for row in self.functions(path).values()),
                         sorted(row[1:] for row in self.functions(source).values()))

    def test_deep(self):
        path = self.convert(self.deep_session(), "deep.folded")
        stacks = read_folded(path)
        self.assertEqual(max(map(len, stacks)), 100_001)  # and the entry
        self.assertEqual(sum(stacks.values()), 10 * (2 * 100_000 - 1))
        lost = self.lost(self.path("deep"), "lost.folded")
        self.assertEqual([count for (what, reason), count in lost.items()
                          if what == "stacks" and "too deep" in reason], [100_000 - len(stacks)])
        self.assertLess(os.path.getsize(path), 200 << 20)
        self.assertGreater(sum(len(stack) > 5000 for stack in stacks), 50)

    def test_empty(self):
        path = self.convert(self.empty_session(), "empty.folded")
        self.assertEqual(read_folded(path), {})
        self.assertEqual(self.functions(path), {})

    def test_round_trip(self):
        for source in self.sources():
            with self.subTest(source=source):
                first = self.convert(source, os.path.basename(source) + ".folded")
                database = self.convert(first, os.path.basename(source) + ".d", "--to-format", "hpcdb")
                second = self.convert(database, os.path.basename(source) + ".2.folded")
                self.assertEqual(read_folded(second), read_folded(first))
                with open(first, encoding="utf-8") as one, open(second, encoding="utf-8") as two:
                    self.assertEqual(sorted(one), sorted(two))
                self.assertEqual(self.functions(second), self.functions(first))


class Read(ProfileCase):
    LINES = ("# cpu-clock, collapsed\n"
             "java;start_thread;Interpreter_[i];foo_[j] 12\n"
             "java;start_thread;sys_read_[k] 3\r\n"
             "java;wait_[w] 1.5\n"
             "my program;do it (in space);x 4\n"
             "\n"
             "java;start_thread;sys_read_[k] 2")
    OWN = {"foo_[j]": 12, "sys_read_[k]": 5, "wait_[w]": 1.5, "x": 4}

    def values(self, path):
        report = self.sonde("report", "--csv", "--no-cache", path)
        lines = [line.split(",") for line in report.splitlines()]
        own, name = lines[0].index("self"), lines[0].index("name")
        return {line[name]: float(line[own]) for line in lines[1:] if float(line[own])}

    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)

    def test_stackcollapse(self):
        self.assertEqual(self.values(self.write("out.txt", self.LINES.encode())), self.OWN)

    def test_packed(self):
        self.assertEqual(self.values(self.write("out.gz", gzip.compress(self.LINES.encode()))), self.OWN)

    def test_lines_across_pieces(self):
        lines = "".join(f"main;{'f' * (i % 300)}{i % 1000};leaf {i % 7 + 1}\n" for i in range(40_000))
        path = self.write("long.folded", lines.encode())
        self.assertGreater(os.path.getsize(path), 3 << 20)
        self.assertEqual(self.values(path), {"leaf": sum(i % 7 + 1 for i in range(40_000))})

    def test_mistakes_are_found(self):
        path = self.write("bad.folded", b"main;a 3\nno number\nmain;b 4\n\xff\xfe;bytes 2\n")
        done = self.run_sonde("check", path, "--format", "folded")
        self.assertIn("exchange-record", done.stdout.decode())
        self.assertIn("line 2", done.stdout.decode())
        cut = self.write("cut.gz", gzip.compress(self.LINES.encode())[:-12])
        self.assertIn("exchange-truncated", self.run_sonde("check", cut, "--format", "folded").stdout.decode())

    def test_odd_values(self):
        path = self.write("odd.txt", b"# metric: odd\na;b -2\na;c 0.25\na;e 1" + b"0" * 30 + b"\na;f 7\n")
        lost = self.lost(path, "odd.folded")
        self.assertEqual(sum(count for (what, _), count in lost.items() if what == "stacks"), 3)
        self.assertEqual(read_folded(self.path("odd.folded")), {("a", "f"): 7})

    def test_not_taken_for_others(self):
        for data in (b'{"a": 1}\n', b"a,b,c\n1,2,3\n", b"#!/bin/sh\nexit 0\n", b"text without numbers\n"):
            self.assertNotEqual(self.run_sonde("info", self.write("other", data)).returncode, 0, data)


if __name__ == "__main__":
    tap.main()
