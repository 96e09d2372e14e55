# SPDX-License-Identifier: Apache-2.0
"""Chrome trace JSON against programs that share no code with ours: Python's reader of JSON with exact decimals, the
importer of npm's speedscope, and files that clang and uftrace wrote."""
import collections
import decimal
import gzip
import json
import os
import shutil
import subprocess
import unittest

import tap
from sonde_case import GOLDEN, SondeCase

HERE = os.path.dirname(os.path.abspath(__file__))
IMPORTER = os.path.join(HERE, "speedscope_import.js")

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
static int __attribute__((noinline)) leaf(int x) { __asm__(""); return x * 3 + 1; }
int __attribute__((noinline)) fib(int n) { return n < 2 ? leaf(n) : fib(n - 1) + fib(n - 2); }
int main(int argc, char **argv) { return fib(argc > 1 ? atoi(argv[1]) : 10) & 1; }
"""


def load(path):
    """The file with every number exact."""
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as file:
        return json.load(file, parse_float=decimal.Decimal)


def events_of(document):
    return document if isinstance(document, list) else document["traceEvents"]


def nanoseconds(value):
    return int((decimal.Decimal(value) * 1000).to_integral_value(decimal.ROUND_HALF_UP))


def sums_of_calls(events):
    """Calls by name, and their inclusive time in ns; B and E are paired as a stack for each thread."""
    calls, times = collections.Counter(), collections.Counter()
    stacks = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            start = decimal.Decimal(event["ts"])
            calls[event["name"]] += 1
            times[event["name"]] += nanoseconds(start + event["dur"]) - nanoseconds(start)
            continue
        stack = stacks[event["pid"], event.get("tid")]
        if event["ph"] == "B":
            stack.append(event)
            calls[event["name"]] += 1
        elif event["ph"] == "E" and stack:
            begun = stack.pop()
            times[begun["name"]] += nanoseconds(event["ts"]) - nanoseconds(begun["ts"])
    return calls, times


class ChromeCase(SondeCase):
    def dump(self, *arguments):
        return [json.loads(line) for line in self.sonde("dump", "--json", *arguments).splitlines()]

    def sums_of_dump(self, path):
        """The same by what we read: calls and their inclusive times, each thread apart."""
        calls, times = collections.Counter(), collections.Counter()
        stacks = collections.defaultdict(list)
        for event in self.dump(path):
            stack = stacks[event["track"]]
            if event["kind"] == "call":
                stack.append(event)
                calls[event["name"]] += 1
            elif event["kind"] in ("return", "exception"):
                begun = stack.pop()
                times[begun["name"]] += event["time_ns"] - begun["time_ns"]
        return calls, times

    def convert(self, source, name, *options):
        target = self.path(name)
        self.sonde("convert", "--quiet", source, "-t", "chrome", "-o", target, *options)
        return target


class Written(ChromeCase):
    """What we write."""

    def test_every_event(self):
        source = os.path.join(GOLDEN, "normal")
        for name in ("plain.json", "packed.json.gz"):
            with self.subTest(name):
                document = load(self.convert(source, name))
                self.assertEqual(document["displayTimeUnit"], "ns")
                got = collections.defaultdict(list)
                for event in document["traceEvents"]:
                    self.assertNotIn(event["pid"], (0, None))
                    self.assertNotIn(event["tid"], (0, None))
                    if event["ph"] == "M":
                        continue
                    left = event.get("args", {}).get("sonde.exception")
                    kind = {"B": "call", "E": "exception" if left else "return"}[event["ph"]]
                    time = event["ts"] * 1000
                    self.assertEqual(time, int(time))
                    got[event["tid"]].append((int(time), kind, event["name"]))
                expected = collections.defaultdict(list)
                for event in self.dump(source):
                    expected[event["track"] + 1].append((event["time_ns"], event["kind"], event["name"]))
                self.assertEqual(got, expected)

    def test_times_are_plain_decimals(self):
        with open(self.convert(os.path.join(GOLDEN, "normal"), "plain.json"), encoding="utf-8") as file:
            for line in file:
                if '"ts":' in line:
                    self.assertRegex(line, r'"ts":[0-9]+(\.[0-9]{0,2}[1-9])?,')

    @unittest.skipUnless(shutil.which("node") and os.path.isdir(os.path.join(HERE, "node_modules", "speedscope")),
                         "no speedscope of npm")
    def test_speedscope(self):
        for name in ("scope.json", "scope.json.gz"):
            with self.subTest(name):
                path = self.convert(os.path.join(GOLDEN, "nodetail"), name)
                done = subprocess.run(["node", IMPORTER, path], check=True, stdout=subprocess.PIPE)
                profiles = json.loads(done.stdout)["profiles"]
                events = [event for event in events_of(load(path)) if event["ph"] in "BE"]
                threads = {event["tid"] for event in events}
                self.assertEqual(len(profiles), len(threads))
                for profile in profiles:
                    tid = int(profile["name"].rsplit("tid ", 1)[1].rstrip(")"))
                    calls, times = collections.Counter(), collections.Counter()
                    open_calls = []
                    own = [event for event in events if event["tid"] == tid]
                    for event in own:
                        if event["ph"] == "B":
                            open_calls.append(event)
                            calls[event["name"]] += 1
                            continue
                        begun = open_calls.pop()
                        # a frame inside of itself counts once there
                        if all(call["name"] != begun["name"] for call in open_calls):
                            times[begun["name"]] += event["ts"] - begun["ts"]
                    got = collections.Counter()
                    for frame in profile["frames"]:
                        got[frame["name"].split(" {")[0]] += decimal.Decimal(frame["total"])
                    self.assertEqual(set(got), set(calls))
                    plain = {frame["name"] for frame in profile["frames"]}
                    for frame in plain & set(times):
                        self.assertAlmostEqual(float(got[frame]), float(times[frame]), places=2)
                    self.assertAlmostEqual(profile["total"], float(own[-1]["ts"] - own[0]["ts"]), places=2)

    def test_from_profile(self):
        corpus = os.environ.get("SONDE_CORPUS")
        if not corpus:
            self.skipTest("no corpus")
        document = load(self.convert(os.path.join(corpus, "hpcrun", "small.m"), "profile.json"))
        calls = [event for event in document["traceEvents"] if event["ph"] == "B"]
        self.assertTrue(calls)


class Back(ChromeCase):
    """What comes back."""

    def test_golden(self):
        for name in ("normal", "crashed", "nodetail", "truncated", "headeronly"):
            for suffix in (".json", ".json.gz"):
                with self.subTest(name + suffix):
                    source = os.path.join(GOLDEN, name)
                    target = self.convert(source, name + suffix)
                    keys = ("time_ns", "track", "track_name", "kind", "name", "depth")
                    self.assertEqual([[event.get(key) for key in keys] for event in self.dump(source)],
                                     [[event.get(key) for key in keys] for event in self.dump(target)])

    def test_forms(self):
        plain = self.convert(os.path.join(GOLDEN, "normal"), "plain.json")
        events = [event for event in events_of(json.load(open(plain, encoding="utf-8")))]
        forms = {
            "array.json": json.dumps(events),
            "open.json": json.dumps(events)[:-1] + ",\n",
            "lines.json": "".join(json.dumps(event) + "\n" for event in events),
            "pretty.json": json.dumps({"otherData": {"a": 1}, "traceEvents": events}, indent=2),
        }
        expected = self.sums_of_dump(plain)
        for name, text in forms.items():
            with self.subTest(name):
                with open(self.path(name), "w", encoding="utf-8") as file:
                    file.write(text)
                self.assertEqual(self.sums_of_dump(self.path(name)), expected)
                with gzip.open(self.path(name + ".gz"), "wt", encoding="utf-8") as file:
                    file.write(text[:len(text) // 2])
                    file.flush()
                with gzip.open(self.path(name + ".gz"), "at", encoding="utf-8") as file:
                    file.write(text[len(text) // 2:])  # a second member
                self.assertEqual(self.sums_of_dump(self.path(name + ".gz")), expected)

    def test_order_of_file(self):
        """Events of several threads in any order, spans after what is inside of them."""
        events = [{"ph": "X", "pid": 1, "tid": tid, "ts": start, "dur": length, "name": name}
                  for tid in (1, 2)
                  for start, length, name in ((5, 1, "c"), (4, 3.5, "b"), (1.25, 10, "a"), (20, 0, "d"))]
        with open(self.path("spans.json"), "w", encoding="utf-8") as file:
            json.dump(events[::-1], file)
        rows = [(event["time_ns"], event["kind"], event["name"], event["depth"])
                for event in self.dump(self.path("spans.json")) if event["track"] == 0]
        self.assertEqual(rows, [(1250, "call", "a", 1), (4000, "call", "b", 2), (5000, "call", "c", 3),
                                (6000, "return", "c", 3), (7500, "return", "b", 2), (11250, "return", "a", 1),
                                (20000, "call", "d", 1), (20000, "return", "d", 1)])

    def test_arguments(self):
        arguments = {"n": -3, "big": 2**63, "f": 0.1, "s": "\u20ac\n\"", "flag": True, "none": None, "list": [1, {"a": 2}]}
        odd = {"a key": 1, "b": [2]}
        events = [{"ph": "B", "pid": 1, "tid": 1, "ts": 1, "name": "f", "args": arguments},
                  {"ph": "i", "pid": 1, "tid": 1, "ts": 2, "name": "odd", "args": odd, "s": "g"},
                  {"ph": "C", "pid": 1, "tid": 1, "ts": 3, "name": "c", "args": {"x": 1.5, "y": 2}},
                  {"ph": "E", "pid": 1, "tid": 1, "ts": 4, "name": "f", "args": {"r": 7}}]
        with open(self.path("arguments.json"), "w", encoding="utf-8") as file:
            json.dump(events, file)
        for path in (self.path("arguments.json"), self.convert(self.path("arguments.json"), "again.json")):
            rows = self.dump(path)
            self.assertEqual(rows[0]["arguments"], arguments)
            self.assertEqual(rows[1]["arguments"], {"args": odd})
            self.assertEqual([(row["name"], row["value"]) for row in rows[2:4]], [("c.x", 1.5), ("c.y", 2)])
            self.assertEqual(rows[4]["arguments"], {"r": 7})
        written = [event for event in events_of(load(self.path("again.json"))) if event["ph"] == "i"]
        self.assertEqual(written[0]["args"], odd)


class Others(ChromeCase):
    """What other programs wrote."""

    @unittest.skipUnless(shutil.which("clang"), "no clang")
    def test_clang(self):
        with open(self.path("x.c"), "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        done = subprocess.run(["clang", "-O2", "-ftime-trace", "-ftime-trace-granularity=0", "-c", "x.c", "-o", "x.o"],
                              cwd=self.folder, check=False, stderr=subprocess.DEVNULL)
        if done.returncode or not os.path.exists(self.path("x.json")):
            self.skipTest("this clang has no -ftime-trace")
        events = [event for event in events_of(load(self.path("x.json"))) if event["ph"] in "BEX"]
        self.assertTrue(events)
        self.assertEqual(self.sums_of_dump(self.path("x.json")), sums_of_calls(events))

    @unittest.skipUnless(shutil.which("uftrace") and shutil.which("gcc"), "no uftrace")
    def test_uftrace(self):
        with open(self.path("x.c"), "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        subprocess.run(["gcc", "-pg", "-O1", "x.c", "-o", "x"], cwd=self.folder, check=True)
        done = subprocess.run(["uftrace", "record", "--no-libcall", "--no-event", "-d", "data", "./x"],
                              cwd=self.folder, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if not os.path.isdir(self.path("data")):
            self.skipTest(f"uftrace does not record here ({done.returncode})")
        with open(self.path("dump.json"), "w", encoding="utf-8") as file:
            subprocess.run(["uftrace", "dump", "--chrome", "-d", "data"], cwd=self.folder, check=True,
                           stdout=file, stderr=subprocess.DEVNULL)
        events = [event for event in events_of(load(self.path("dump.json"))) if event["ph"] in "BE"]
        # one that never began is left out by both
        self.assertGreater(len(events), 300)
        self.assertEqual(self.sums_of_dump(self.path("dump.json")), sums_of_calls(events))


if __name__ == "__main__":
    tap.main()
