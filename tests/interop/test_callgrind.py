#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Callgrind profiles: read line by line here, and by callgrind_annotate, with the self times of `sonde report`."""
import collections
import os
import re
import shutil
import subprocess
import unittest

import tap
from profile_case import HARD_NAMES, ProfileCase

NAME = re.compile(r"^\((\d+)\)(?: (.*))?$")


class Profile:
    """A profile in which every name stands for itself, and costs are by event."""

    def __init__(self, path):
        self.events, self.totals = [], []
        self.own = collections.defaultdict(collections.Counter)
        self.calls = collections.defaultdict(lambda: [0, collections.Counter()])
        self.names = {"fn": {}, "fl": {}, "ob": {}}
        self.function = None
        with open(path, encoding="utf-8", newline="\n") as file:
            self.lines = file.read().split("\n")
        self.read()

    def name(self, table, text):
        number, name = NAME.match(text).groups()
        if name is not None:
            assert number not in self.names[table], text
            self.names[table][number] = name
        return self.names[table][number]

    def read(self):
        callee = count = None
        for line in self.lines:
            key, _, rest = line.partition("=")
            if line.startswith("events: "):
                self.events = line.split()[1:]
            elif line.startswith("totals: "):
                self.totals = [int(cost) for cost in line.split()[1:]]
            elif key == "fn":
                self.function = self.name("fn", rest)
            elif key == "cfn":
                callee = self.name("fn", rest)
            elif key in ("fl", "cfi", "ob", "cob"):
                self.name("fl" if key in ("fl", "cfi") else "ob", rest)
            elif key == "calls":
                count = int(rest.split()[0])
            elif re.match(r"^\d+( \d+)+$", line):
                costs = dict(zip(self.events, map(int, line.split()[1:])))
                if count is None:
                    self.own[self.function].update(costs)
                else:
                    self.calls[self.function, callee][0] += count
                    self.calls[self.function, callee][1].update(costs)
                    count = None


class Callgrind(ProfileCase):
    def test_same_as_report(self):
        for source in self.sources():
            with self.subTest(source=source):
                profile = Profile(self.convert(source, os.path.basename(source) + ".callgrind"))
                time = next((name for name in profile.events if name.endswith("_ns")), None)
                for name, (calls, own_ns, _) in self.functions(source).items():
                    self.assertLessEqual(abs(profile.own[name][time] - own_ns), 1, name)
                    if calls and "CALLS" in profile.events:
                        self.assertEqual(profile.own[name]["CALLS"], calls, name)
                        self.assertEqual(sum(call[0] for (_, callee), call in profile.calls.items()
                                             if callee == name), calls, name)
                for number, event in enumerate(profile.events):
                    self.assertEqual(profile.totals[number], sum(costs[event] for costs in profile.own.values()))

    def test_annotate(self):
        if not shutil.which("callgrind_annotate"):
            self.skipTest("no callgrind_annotate")
        for source in [*self.sources(), self.hard_session(), self.recursive_session(), self.deep_session()]:
            with self.subTest(source=source):
                path = self.convert(source, os.path.basename(source) + ".callgrind")
                done = subprocess.run(["callgrind_annotate", "--threshold=100", "--auto=no", path], check=False,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                self.assertEqual(done.returncode, 0, done.stderr.decode())
                text = done.stdout.decode(errors="replace")
                self.assertIn("PROGRAM TOTALS", text)
                for name, (_, own_ns, _) in self.functions(source).items():
                    if name in HARD_NAMES[1:] or not own_ns:
                        continue
                    found = re.findall(rf"^ *([\d,]+) \([^)]*\).*:{re.escape(name)}(?: \[|$)", text, re.M)
                    self.assertTrue(any(abs(int(cost.replace(",", "")) - own_ns) <= 1 for cost in found),
                                    f"{name} {own_ns} {found}")

    def test_recursion(self):
        profile = Profile(self.convert(self.recursive_session(), "recursive.callgrind"))
        rows = self.functions(self.path("recursive"))
        time = "REALTIME_ns"
        self.assertEqual(profile.calls["a", "b"][0], 2)
        self.assertEqual(profile.calls["b", "a"][0], 2)
        self.assertEqual(profile.calls["a", "a"][0], 1)
        # the outermost call of a pair has all that is inside of it
        self.assertEqual(profile.calls["main thread", "a"][1][time], rows["a"][2])
        self.assertEqual(profile.calls["a", "b"][1][time], rows["b"][2])

    def test_hard_names(self):
        profile = Profile(self.convert(self.hard_session(), "hard.callgrind"))
        self.assertEqual(len(profile.own), len(HARD_NAMES))
        for name in ("a;b;c", "(3) id", "fn=(1) x", "x" * 10_000, "calls=3 4", "line\\nfeed"):
            self.assertIn(name, profile.own)

    def test_empty_and_lost(self):
        profile = Profile(self.convert(self.empty_session(), "empty.callgrind"))
        self.assertFalse(profile.own)
        lost = self.lost(self.recursive_session(), "lost.callgrind")
        self.assertEqual([count for (what, _), count in lost.items() if what == "calling contexts"], [7])


if __name__ == "__main__":
    tap.main()
