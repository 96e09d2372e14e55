#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Odd recordings into every format that is written: it survives, and where the format is read too what comes back
has the right counts and names.
"""
import json
import os
import shutil
import subprocess
import sys
import unittest

import odd_recordings
import tap
from format_table import formats, held
from recording_picture import Picture
from sonde_case import SONDE, SondeCase

SANITIZED = os.environ.get("SANITIZED") == "1"
MEMORY_LIMIT = 400 << 10  # kB

# What a format cannot do, each with the reason; everything else is asked of all of them.
CHANGED_NAMES = {
    # a line a stack, `;` between frames: what would end them, and what a terminal would take for an order, is spelt
    "folded": {"semi;colon": "semi:colon", "<b>&amp;</b>": "<b>&amp:</b>",
               "line\nfeed\ttab\x01\x7f": "line\\nfeed\\ttab\\x01\\x7f",
               "sep\u2028par\u2029": "sep\\u2028par\\u2029", "\u202eright to left": "\\u202eright to left"},
}
# Of 16 million events, of which any of these takes more than that.
LARGE_FORMATS = ("atf", "cff", "cff-json", "hpcrun", "hpcdb", "perfetto", "chrome")
LARGE_LIMIT = 100 << 10  # kB
DEPTH_LIMITS = {}  # by format: how deep its stacks may be


class Odd(SondeCase):
    @classmethod
    def setUpClass(cls):
        cls.formats = {name: entry for name, entry in formats(SONDE).items() if entry["writes"]}

    def convert(self, source, name, target="out"):
        """Gives where it is, and how much memory it took, in kB."""
        target = self.path(target + "." + name)
        # a child of its own, since what is measured is the largest of all children
        measure = ("import resource, subprocess, sys; done = subprocess.run(sys.argv[1:]).returncode; "
                   "print(done, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
        done = subprocess.run([sys.executable, "-c", measure, SONDE, "convert", "-q", "--force", source, "-o", target,
                               "-t", name], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=True)
        code, memory = map(int, done.stdout.split())
        self.assertEqual(code, 0, f"{source} -> {name}: {done.stderr.decode(errors='replace')}")
        return target, memory

    def each(self, source, memory_limit=None):
        """Converts into all formats; gives (name, what it holds, path) of those that are read."""
        for name, entry in self.formats.items():
            target, memory = self.convert(source, name)
            if memory_limit and not SANITIZED:
                self.assertLess(memory, memory_limit, f"{name} took {memory} kB")
            if entry["checks"] and not memory_limit:
                self.run_sonde("check", "-q", target)
            if entry["reads"]:
                yield name, held(entry), target

    def info(self, path):
        return json.loads(self.sonde("info", "--json", path))["recordings"][0]

    def test_names(self):
        source = odd_recordings.odd_names(self.path("names"))
        before = Picture(self.sonde, source)
        for name, holds, path in self.each(source):
            after = Picture(self.sonde, path)
            for thing in ("calls", "instants", "attributes"):
                if thing in holds:
                    self.assertEqual(after.things[thing], before.things[thing], (name, thing))
            if "calls" not in holds and "contexts" in holds:
                functions = {function["name"] for function in after.info["functions"]}
                changed = CHANGED_NAMES.get(name, {})
                expected = {changed.get(odd, odd) for odd in odd_recordings.ODD_NAMES if odd}
                self.assertEqual(expected - functions, set(), name)
                self.assertLessEqual(len(functions), len(expected) + 2, name)  # two have no name

    def test_bad_utf8(self):
        source = odd_recordings.bad_utf8(self.path("bad"))
        for name, holds, path in self.each(source):
            if "calls" in holds:
                self.assertEqual(self.info(path)["events"], 10, name)

    def test_times(self):
        source = odd_recordings.odd_times(self.path("times"))
        before = Picture(self.sonde, source)
        for name, holds, path in self.each(source):
            after = Picture(self.sonde, path)
            if "calls" in holds:
                self.assertEqual(after.things["calls"], before.things["calls"], name)
            elif "samples" in holds:
                self.assertEqual({time for time, _ in after.things["samples"]},
                                 {time for _, *times in before.things["calls"] for time in times}, name)

    def test_unbalanced(self):
        source = odd_recordings.unbalanced(self.path("unbalanced"))
        for name, holds, path in self.each(source):
            rows = json.loads(self.sonde("report", "--json", path))["rows"]
            calls = {row["name"]: int(row.get("calls", row.get("CALLS.self", -1))) for row in rows}
            if "calls" in holds or max(calls.values(), default=-1) >= 0:
                self.assertEqual(calls, {"outer": 3, "inner": 2, "third": 1}, name)

    def test_deep(self):
        depth = 100_000
        source = odd_recordings.deep(self.path("deep"), depth)
        for name, holds, path in self.each(source):
            info = self.info(path)
            if "calls" in holds:
                self.assertEqual(info["events"], 2 * depth, name)
            elif "contexts" in holds:
                self.assertGreaterEqual(info["contexts"], min(depth, DEPTH_LIMITS.get(name, depth)), name)
            if holds & {"calls", "samples"}:
                back, _ = self.convert(path, "atf", "back")
                self.assertEqual(self.info(back)["events"], 2 * depth, name + " -> atf")

    def test_tracks(self):
        count = 10_000
        source = odd_recordings.many_tracks(self.path("tracks"), count)
        for name, holds, path in self.each(source, MEMORY_LIMIT):
            info = self.info(path)
            if "names of tracks" in holds:
                self.assertEqual(len(info["tracks"]), count, name)
            if "calls" in holds:
                self.assertEqual(info["events"], 4 * count, name)

    @unittest.skipIf(SANITIZED, "memory is measured")
    def test_large(self):
        """What is in memory does not grow with how many events there are, in either direction."""
        text = self.path("some.json")
        with open(text, "w", encoding="utf-8") as file:
            file.write("[")
            for i in range(500_000):
                file.write(f'{{"ph":"B","pid":1,"tid":1,"ts":{i},"name":"f{i % 7}"}},\n'
                           f'{{"ph":"E","pid":1,"tid":1,"ts":{i}.5}},\n')
            file.write('{"ph":"i","pid":1,"tid":1,"ts":500000,"name":"end"}]')
        some, many = self.path("some"), self.path("many")
        self.sonde("convert", "-q", text, "-o", some, "-t", "atf")
        self.sonde("merge", "-q", *[some] * 16, "-o", many)
        for name in LARGE_FORMATS:
            with self.subTest(format=name):
                target, memory = self.convert(many, name)
                self.assertLess(memory, LARGE_LIMIT, f"to {name}: {memory} kB")
                _, memory = self.convert(target, "folded", "back")
                self.assertLess(memory, LARGE_LIMIT, f"from {name}: {memory} kB")
            shutil.rmtree(target, True)

    def test_counters(self):
        source = odd_recordings.only_counters(self.path("counters"))
        before = Picture(self.sonde, source)
        for name, holds, path in self.each(source):
            if "counters" in holds:
                after = Picture(self.sonde, path)
                self.assertEqual(after.things["counters"], before.things["counters"], name)

    def test_empty(self):
        source = odd_recordings.empty(self.path("empty"))
        for _, _, path in self.each(source):
            self.assertEqual(self.info(path)["events"], 0)
            self.sonde("report", "--json", path, expect=(0, 1))


if __name__ == "__main__":
    tap.main()
