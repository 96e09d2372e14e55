# SPDX-License-Identifier: Apache-2.0
"""What tests of formats of profiles share: recordings with hard names, deep stacks and recursion, and the numbers of
`sonde report` to compare with.
"""
import json
import os

from atf_writer import ThreadWriter, function_id, manifest_of, write_process
from sonde_case import GOLDEN, SondeCase

CORPUS = os.environ.get("SONDE_CORPUS")

# What names may be: text that looks like a part of the formats, controls, other scripts, 10 kB.
HARD_NAMES = ["main", "a;b;c", "# hash", "(3) id", "fn=(1) x", 'quote " and \\ slash', "tab\there", "line\nfeed",
              "with spaces 12", "12", "ünïcödé ✓", "<html> & co", "x" * 10_000, "template<class T, int N> f(T&)",
              "calls=3 4", "-1", "\x01\x1b[31mred", "a -> b [label=\"c\"]", "%s%n", "node {", "\u202eturned"]


class ProfileCase(SondeCase):
    def functions(self, path):
        """By name: calls (None where they are not known), and self and total nanoseconds."""
        report = json.loads(self.sonde("report", "--json", "--no-cache", path))
        rows = {}
        for row in report["rows"]:
            calls = row.get("calls", row.get("CALLS.self"))
            rows[row["name"]] = (calls, row["self_ns"], row["total_ns"])
        return rows

    def convert(self, source, name, *options):
        self.sonde("convert", source, "-o", self.path(name), *options)
        return self.path(name)

    def lost(self, source, name, *options):
        """What a conversion reports as lost, by name and reason."""
        report = self.path("loss.json")
        self.sonde("convert", source, "-o", self.path(name), "--loss-report", report, *options)
        with open(report, encoding="utf-8") as file:
            found = json.load(file)
        os.remove(report)
        return {(entry["what"], entry["reason"]): entry["count"] for entry in found["losses"]}

    def session(self, name, threads, names):
        folder = self.path(name)
        write_process(folder, threads, manifest_of(threads, dict(enumerate(names, 1))))
        return folder

    def hard_session(self):
        """All hard names call each other in a row, twice, on two threads."""
        threads = []
        for slot in range(2):
            thread = ThreadWriter(slot)
            for _ in range(2):
                for number in range(len(HARD_NAMES)):
                    thread.call(function_id(number + 1))
                    thread.time += 7 * number + slot
                for _ in HARD_NAMES:
                    thread.leave()
            threads.append(thread)
        return self.session("hard", threads, HARD_NAMES)

    def deep_session(self, depth=100_000):
        thread = ThreadWriter(0)
        for number in range(depth):
            thread.call(function_id(1 + number % 3))
        for _ in range(depth):
            thread.leave()
        return self.session("deep", [thread], ["a", "b", "c"])

    def recursive_session(self):
        """a calls b calls a calls b, and a calls itself."""
        thread = ThreadWriter(0)
        for function in (1, 2, 1, 2, 1, 1):
            thread.call(function_id(function))
            thread.time += 100 * function
        for _ in range(6):
            thread.leave()
        return self.session("recursive", [thread], ["a", "b"])

    def empty_session(self):
        return self.session("empty", [ThreadWriter(0)], ["main"])

    def sources(self):
        """Recordings of several formats that are there."""
        yield os.path.join(GOLDEN, "normal")
        yield os.path.join(GOLDEN, "crashed")
        if CORPUS:
            for name in ("hpcdb/small.d", "hpcdb/loops-cputime-t.d", "hpcrun/small.m", "zts/v2-small-0x11",
                         "cff/js_all_binary.wtf-trace"):
                yield os.path.join(CORPUS, name)
