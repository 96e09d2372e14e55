# SPDX-License-Identifier: Apache-2.0
"""What the tests of speedscope and of the Firefox Profiler share: recordings of all kinds, and what `sonde report`
says of them, by the names of functions.
"""
import csv
import io
import json
import os
import tempfile

from atf_writer import ThreadWriter, function_id, manifest_of, write_process
from hpcrun_writer import write_folder
from sonde_case import GOLDEN, SondeCase

HUGE = 2 ** 53 + 12345  # ns: no double holds every number from here on
ODD_NAMES = {1: "main", 2: "a \"quoted\\name;with,all\n\tof <it> & more", 3: "x" * 10000, 4: "\u00e9\u4e2d\U0001f600\x01"}


def write_odd(folder):
    """Names and times that break careless writers; calls without returns, and returns without calls."""
    threads = [ThreadWriter(0, start=HUGE), ThreadWriter(1, start=HUGE + 7)]
    for thread in threads:
        thread.stack = [function_id(1)]
        thread.leave()
        thread.leave() if thread.stack else None
        for _ in range(3):
            for number in (1, 2, 3, 4):
                thread.call(function_id(number))
            for _ in range(4):
                thread.leave()
        for number in (1, 2, 1, 3):
            thread.call(function_id(number))
        thread.stack.pop()  # that one never returns, the one around it does
        thread.leave()
        thread.call(function_id(4))
    return write_process(folder, threads, manifest_of(threads, ODD_NAMES))


def write_deep(folder, depth):
    thread = ThreadWriter(0)
    for _ in range(depth):
        thread.call(function_id(2))
    for _ in range(depth):
        thread.leave()
    return write_process(folder, [thread])


class ScopesCase(SondeCase):
    def sources(self):
        """Recordings by name: calls, samples with values, values alone."""
        write_odd(self.path("odd"))
        write_deep(self.path("deep"), 1500)
        write_folder(self.path("samples.m"), threads=3, trace=60, metrics=2)
        write_folder(self.path("values.m"), threads=2, metrics=3)
        return {
            "normal": os.path.join(GOLDEN, "normal"),
            "crashed": os.path.join(GOLDEN, "crashed"),
            "odd": self.path("odd"),
            "deep": self.path("deep"),
            "database": os.path.join(os.environ["GOLDEN"], "hpcdb", "small"),
            "samples": self.path("samples.m"),
            "values": self.path("values.m"),
        }

    def convert(self, source, target, to_format, *options):
        self.sonde("convert", source, "-o", target, "-t", to_format, *options)
        return target

    def assert_same_bytes(self, source, name, to_format):
        """One processor and all of them write the same."""
        texts = []
        for mask in ({min(os.sched_getaffinity(0))}, os.sched_getaffinity(0)):
            folder = tempfile.mkdtemp(dir=self.folder)
            before = os.sched_getaffinity(0)
            os.sched_setaffinity(0, mask)
            try:
                self.convert(source, os.path.join(folder, name), to_format)
            finally:
                os.sched_setaffinity(0, before)
            with open(os.path.join(folder, name), "rb") as file:
                texts.append(file.read())
        self.assertEqual(texts[0], texts[1])

    def report(self, path, *options):
        return json.loads(self.sonde("report", "--json", "--no-cache", *options, path))

    def spent(self, path, *options):
        """By name: what was spent in it, and in all that it called, as the report says; functions that have neither
        are left out."""
        found = {}
        for row in self.report(path, *options)["rows"]:
            values = found.setdefault(row["name"], [0, 0])
            values[0] += row.get("self_ns") or row.get("self") or 0
            values[1] += row.get("total_ns") or row.get("total") or 0
        return {name: values for name, values in found.items() if any(values)}

    def metrics(self, path):
        """Names of the metrics of a profile that have values: with their keys in a row of the report."""
        report = self.report(path)
        keys = [column["key"] for column in report["columns"]]
        named = {report["metric"]: ("self_ns" if "self_ns" in keys else "self", "total_ns" if "total_ns" in keys else "total")}
        for key in keys:
            for ending in (".self", ".self_ns"):
                if key.endswith(ending):
                    name = key[:-len(ending)]
                    named[name] = (key, name + ending.replace("self", "total"))
        return {name: keys for name, keys in named.items()
                if any(row[keys[1]] for row in report["rows"])}

    def spent_of(self, path, keys):
        found = {}
        for row in self.report(path)["rows"]:
            values = found.setdefault(row["name"], [0, 0])
            values[0] += row[keys[0]] or 0
            values[1] += row[keys[1]] or 0
        return {name: values for name, values in found.items() if any(values)}

    def assert_near(self, found, expected, what):
        self.assertEqual(set(found), set(expected), what)
        for name, values in expected.items():
            for one, other in zip(found[name], values, strict=True):
                self.assertLessEqual(abs(one - other), 1e-6 * max(abs(other), 1), f"{what}: {name}")

    def events(self, path):
        """All events, without what a target without details cannot have."""
        rows = csv.DictReader(io.StringIO(self.sonde("dump", "--csv", path, expect=(0, 1))))
        return [(row["time_ns"], row["track_name"], row["kind"], row["name"], row["depth"]) for row in rows]
