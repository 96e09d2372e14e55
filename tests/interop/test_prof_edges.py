#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`sonde prof` at the edges of the format: values that cancel, modules listed twice, threads that
claim to be the same, kinds nobody knows, idle traces. Each made-up folder is merged by us and in
Python.
"""
import math
import os

import tap
from hpcdb_compare import Comparison
from hpcdb_verify import verify
from hpcrun_merge import merge_folders
from hpcrun_reader import Epoch, Identity, Metric, Module, Node
from hpcrun_writer import START, THREAD, Thread, placeholder
from sonde_case import SondeCase

MAIN = [Node(12, 0, 0, placeholder("^Primary")), Node(14, 12, 0, placeholder("| Main  "))]


def small(thread=0, nodes=(), values=None, metrics=None, modules=None):
    """A thread with little in it."""
    epoch = Epoch()
    epoch.metrics = metrics or [Metric("REAL", is_real=True)]
    epoch.modules = modules or [Module(1, "/app/one", 1), Module(2, "/app/two", 0)]
    epoch.kinds = {0: "SUMMARY", THREAD: "THREAD"}
    epoch.identities = (Identity(THREAD, 3, thread, thread),)
    epoch.nodes = MAIN + list(nodes)
    epoch.values = values or {}
    return Thread(epoch, 0, thread)


class Edges(SondeCase):
    def setUp(self):
        super().setUp()
        self.measurements = self.path("measurements")

    def merged(self, *threads, compared=True, expect=(0,)):
        """Writes the threads, merges them both ways."""
        for thread in threads:
            thread.write(self.measurements)
        path = self.path("database")
        done = self.run_sonde("prof", self.measurements, "-o", path, "--force", "--ignore-binaries")
        self.assertIn(done.returncode, expect, done.stderr.decode(errors="replace"))
        self.told = (done.stdout + done.stderr).decode(errors="replace")
        database = verify(path)
        if compared:
            self.assertEqual(Comparison(database, merge_folders([self.measurements])).run(), [])
        return database

    def test_zero(self):
        """Zeros that are stored, and sums that come to 0: neither is in a database."""
        nodes = [Node(16, 14, 1, 0x100), Node(18, 16, 1, 0x200), Node(20, 16, 1, 0x300),
                 Node(22, 14, 1, 0x400)]
        database = self.merged(small(0, nodes, {18: [(0, 1.5)], 20: [(0, -1.5)], 22: [(0, 0.0)]}))
        ids = {context.offset: context.id for context in database.contexts}
        self.assertNotIn(ids[0x400], database.profiles[1].values)
        self.assertNotIn(ids[0x100], database.profiles[1].values)
        self.assertIn(ids[0x200], database.profiles[1].values)

    def test_nothing_but_zero(self):
        self.merged(small(0, [Node(16, 14, 1, 0x100)], {16: [(0, 0.0)]}))

    def test_large_numbers(self):
        metrics = [Metric("INTEGER", period=3), Metric("REAL", is_real=True)]
        values = {16: [(0, 2 ** 64 - 1), (1, 1e300)], 18: [(0, 2 ** 53 + 1), (1, 5e-324)]}
        self.merged(small(0, [Node(16, 14, 1, 0x100), Node(18, 16, 2, 2 ** 64 - 1)], values,
                          metrics))

    def test_no_number(self):
        """NaN and infinity do not get into sums."""
        for value in (math.nan, math.inf, -math.inf):
            with self.subTest(value=value):
                nodes = [Node(16, 14, 1, 0x100), Node(18, 14, 1, 0x200)]
                self.merged(small(0, nodes, {16: [(0, value)], 18: [(0, 2.0)]}),
                            small(1, nodes, {18: [(0, 1.0)]}),
                            compared=False, expect=(0, 1))

    def test_module_twice(self):
        """One path under two numbers is one module."""
        modules = [Module(1, "/app/one", 1), Module(2, "/app/one", 1)]
        nodes = [Node(16, 14, 1, 0x100), Node(18, 14, 2, 0x100)]
        database = self.merged(small(0, nodes, {16: [(0, 1.0)], 18: [(0, 2.0)]}, modules=modules))
        self.assertEqual(len(database.contexts), 2)

    def test_same_identities(self):
        """Two files of "one" thread are two profiles."""
        threads = [small(number, [Node(16, 14, 1, 0x100)], {16: [(0, 1.0 + number)]})
                   for number in range(2)]
        threads[1].epoch.identities = threads[0].epoch.identities
        self.assertEqual(len(self.merged(*threads).profiles), 3)

    def test_no_identities(self):
        """Who it was is then taken from the pairs of the header."""
        thread = small(3, [Node(16, 14, 1, 0x100)], {16: [(0, 1.0)]})
        thread.epoch.identities = ()
        database = self.merged(thread, compared=False)
        self.assertIn(("THREAD", 3), [(database.kinds[one.kind], one.logical)
                                      for one in database.profiles[1].identities])

    def test_unknown_kind(self):
        thread = small(0, [Node(16, 14, 1, 0x100)], {16: [(0, 1.0)]})
        thread.epoch.kinds[9] = "SOCKET"
        thread.epoch.identities += (Identity(9, 1, 2 ** 63, 4),)
        database = self.merged(thread)
        self.assertEqual(database.kinds[9], "SOCKET")

    def test_periods(self):
        """A metric may have another period in each file."""
        self.merged(*(small(number, [Node(16, 14, 1, 0x100)], {16: [(0, 7)]},
                            [Metric("SAMPLED", period=10 ** number)]) for number in range(3)))

    def test_same_metric_twice(self):
        """Two metrics of one name in one file: nothing is lost."""
        metrics = [Metric("TWICE", is_real=True), Metric("TWICE", is_real=True)]
        database = self.merged(small(0, [Node(16, 14, 1, 0x100)], {16: [(0, 1.0), (1, 2.0)]},
                                     metrics),
                               compared=False)
        total = sum(value for number, value in database.profiles[1].values[0].items())
        self.assertEqual(total, 3.0)

    def test_idle(self):
        """Times without activity: one of several that follow each other stays."""
        nodes = [Node(16, 14, 1, 0x100), Node(19, 12, 0, placeholder("NoActvty"))]
        traces = {"first": [19, 19, 16, 19, 19, 19, 16, 16, 19], "only": [19, 19, 19], "none": []}
        for number, (name, places) in enumerate(traces.items()):
            with self.subTest(name):
                thread = small(number, nodes, {16: [(0, 1.0)]})
                thread.trace = [(START + 10 * at, node) for at, node in enumerate(places)]
                database = self.merged(thread)
                line = dict(database.traces or []).get(number + 1, [])
                self.assertEqual(len(line), {"first": 6, "only": 1, "none": 0}[name])

    def test_equal_times(self):
        """Samples of one time keep their order."""
        nodes = [Node(16, 14, 1, 0x100), Node(18, 14, 1, 0x200)]
        thread = small(0, nodes, {16: [(0, 1.0)]})
        thread.trace = [(START, 16), (START, 18), (START, 16), (START - 5, 18), (START, 18)]
        self.merged(thread)

    def test_trace_of_nothing(self):
        """Samples that name no node are dropped, and said to be."""
        thread = small(0, [Node(16, 14, 1, 0x100)], {16: [(0, 1.0)]})
        thread.trace = [(START, 4711), (START + 1, 16), (START + 2, 0)]
        database = self.merged(thread, compared=False)
        self.assertIn(len(database.traces[0][1]), (1, 2))

    def test_unknown_placeholder(self):
        """Eight characters that nobody knows are a function nevertheless."""
        nodes = [Node(16, 14, 0, placeholder("?unheard")), Node(18, 16, 1, 0x100),
                 Node(20, 14, 0, 0x0001020304050607)]
        database = self.merged(small(0, nodes, {16: [(0, 1.0)], 18: [(0, 2.0)], 20: [(0, 4.0)]}),
                               compared=False)
        self.assertEqual(database.profiles[1].values[0], {3: 7.0})

    def test_gpu_ranges(self):
        """Ranges of GPU code: their values are somewhere, none is lost."""
        nodes = [Node(16, 14, 1, 0x100), Node(18, 12, 65533, 0), Node(20, 18, 65531, 1),
                 Node(22, 20, 65532, 3), Node(24, 22, 1, 0x500)]
        database = self.merged(small(0, nodes, {16: [(0, 1.0)], 24: [(0, 2.0)]}), compared=False)
        self.assertEqual(database.profiles[1].values[0], {3: 3.0})

    def test_odd_names(self):
        """Names of all sorts reach the database, and its taxonomy, as they are."""
        names = ["a: b # c", "- x", "\"quoted\" 'too'", "größe \u2603", "[0x0]", "*star & anchor",
                 "{a}", "true",
                 "12", " lead", "trail ", "%d", "!tag", "a\tb"]
        metrics = [Metric(name, is_real=True, description=name[::-1] + "\\") for name in names]
        modules = [Module(number + 1, "/app/" + name, 1) for number, name in enumerate(names)]
        nodes = [Node(16 + 2 * number, 14, number + 1, 0x100) for number in range(len(names))]
        values = {node.id: [(number, 1.0 + number)] for number, node in enumerate(nodes)}
        self.merged(small(0, nodes, values, metrics, modules))
        try:
            import yaml
        except ImportError:
            self.skipTest("PyYAML is not there")
        with open(os.path.join(self.path("database"), "metrics", "default.yaml"),
                  encoding="utf-8") as file:
            taxonomy = yaml.safe_load(file)
        self.assertEqual(sorted((root["name"], root["description"]) for root in taxonomy["roots"]),
                         sorted((name, name[::-1] + "\\") for name in names))

    def test_not_utf8(self):
        """Paths may be any bytes; a database has UTF-8, and says the same everywhere."""
        nodes = [Node(16, 14, 1, 0x100)]
        database = self.merged(small(0, nodes, {16: [(0, 1.0)]}, [Metric("M\udcff", is_real=True)],
                                     [Module(1, "/app/\udcfe", 1)]), compared=False)
        self.assertEqual([metric.name for metric in database.metrics], ["M\ufffd"])
        self.assertEqual(database.modules, ["/app/\ufffd"])
        self.assertIn("not UTF-8", self.told)
        with open(os.path.join(self.path("database"), "metrics", "default.yaml"),
                  encoding="utf-8") as file:
            self.assertIn("metric: \"M\ufffd\"\n", file.read())
        self.sonde("check", self.path("database"))
        told = self.sonde("convert", self.measurements, "-o", self.path("converted"), "-t", "hpcdb")
        self.assertIn("2 names that are not UTF-8", told)
        verify(self.path("converted"))

    def test_many_metrics(self):
        """Two hundred metrics, few of them with values."""
        metrics = [Metric(f"M{number}", is_real=bool(number % 2)) for number in range(200)]
        values = {16: [(199, 1.5), (0, 3)], 18: [(100, 7)]}
        database = self.merged(small(0, [Node(16, 14, 1, 0x100), Node(18, 16, 2, 0x100)], values,
                                     metrics))
        self.assertEqual(len(database.metrics), 200)

    def test_wide(self):
        """Three thousand callees of one place."""
        nodes = [Node(16 + 2 * number, 14, 1, 0x1000 + number) for number in range(3000)]
        database = self.merged(small(0, nodes, {node.id: [(0, 1.0)] for node in nodes}))
        self.assertEqual(database.profiles[1].values[0], {3: 3000.0})


if __name__ == "__main__":
    tap.main()
