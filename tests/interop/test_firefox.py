#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles for the Firefox Profiler: as the format's documents want them, with the same functions and times as `sonde
report` prints, and with everything that is no call as markers.
"""
import copy
import os

import tap
from cff_case import small_file
from firefox_check import BEGIN, END, INSTANT, Bad, check, load, spent
from scopes_case import ScopesCase

MS = 1e6  # in ns


def in_ns(found):
    return {name: [value * MS for value in values] for name, values in found.items()}


class FirefoxTest(ScopesCase):
    def profile(self, source, *options, name="x.firefox.json"):
        path = self.path(name)
        if os.path.exists(path):
            os.remove(path)
        profile = load(self.convert(source, path, "firefox", *options))
        check(profile)
        return profile

    def test_calls(self):
        sources = self.sources()
        for name in ("normal", "crashed", "odd", "deep"):
            with self.subTest(name):
                profile = self.profile(sources[name])
                self.assert_near(in_ns(spent(profile["threads"])), self.spent(sources[name]), name)

    def test_samples_and_values(self):
        sources = self.sources()
        for name in ("database", "samples", "values"):
            profile = self.profile(sources[name])
            for metric, keys in self.metrics(sources[name]).items():
                with self.subTest(f"{name}: {metric}"):
                    threads = [thread for thread in profile["threads"] if thread["name"].endswith(": " + metric)]
                    found = spent(threads)
                    if threads[0]["samples"]["weightType"] == "tracing-ms":
                        found = in_ns(found)
                    self.assert_near(found, self.spent_of(sources[name], keys), metric)
            plain = [thread for thread in profile["threads"] if ": " not in thread["name"]]
            if name == "samples":
                self.assert_near(in_ns(spent(plain)), self.spent(sources[name], "--from", "0"), name)

    def test_threads_of_processes(self):
        profile = self.profile(self.sources()["normal"])
        self.assertEqual([thread["name"] for thread in profile["threads"]], [f"thread {i}" for i in range(4)])
        self.assertEqual([thread["isMainThread"] for thread in profile["threads"]], [True, False, False, False])
        self.assertEqual(len({thread["pid"] for thread in profile["threads"]}), 1)

    def test_gzip(self):
        source = self.sources()["normal"]
        plain = self.profile(source)
        self.assertEqual(self.profile(source, name="x.firefox.json.gz"), plain)
        self.sonde("convert", source, "-o", self.path("y.gz"), "-t", "firefox", "--style", "gzip")
        self.assertEqual(load(self.path("y.gz")), plain)

    def test_same_bytes_for_any_number_of_threads(self):
        sources = self.sources()
        for name in ("normal", "samples"):
            self.assert_same_bytes(sources[name], "x.firefox.json", "firefox")

    def test_markers(self):
        """Instants, marks, ranges and flows, out of a wtf-trace file that has all of them."""
        path = self.path("all.wtf-trace")
        small_file().write(path)
        counts = {}
        for event in self.events(path):
            counts[event[2]] = counts.get(event[2], 0) + 1
        profile = self.profile(path)
        phases = [phase for thread in profile["threads"] for phase in thread["markers"]["phase"]]
        self.assertEqual(phases.count(BEGIN), counts.get("range-begin", 0))
        self.assertEqual(phases.count(END), counts.get("range-end", 0))
        self.assertEqual(phases.count(INSTANT), sum(counts.get(kind, 0) for kind in (
            "instant", "mark", "counter", "exception", "flow-begin", "flow-step", "flow-end")))
        self.assertEqual(counts["range-begin"], 1)
        self.assertLess({"mark", "instant", "flow-begin", "flow-end"}, set(counts))
        data = {row["type"] for thread in profile["threads"] for row in thread["markers"]["data"]}
        self.assertEqual(data, {"Event", "Range", "Flow"})

    def test_nothing(self):
        profile = self.profile(self.sources()["normal"], "--function", "no such function")
        self.assertEqual([thread["samples"]["length"] for thread in profile["threads"]], [0] * 4)


class CheckTest(ScopesCase):
    """The check itself finds what it should."""

    def test_faults(self):
        path = self.convert(self.sources()["normal"], self.path("x.firefox.json"), "firefox")
        good = load(path)
        check(good)
        for table, column, value in (("stackTable", "prefix", 10 ** 6), ("samples", "stack", -1), ("frameTable", "func", None),
                                     ("funcTable", "name", 10 ** 6), ("samples", "time", "0"), ("stackTable", "frame", 0.5),
                                     ("funcTable", "resource", -2), ("frameTable", "category", 1)):
            bad = copy.deepcopy(good)
            bad["threads"][1][table][column][0] = value
            self.assertRaises(Bad, check, bad)
            bad = copy.deepcopy(good)
            bad["threads"][1][table][column].pop()
            self.assertRaises(Bad, check, bad)


if __name__ == "__main__":
    tap.main()
