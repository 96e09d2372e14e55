#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measurements (.hpcrun, .hpctrace) against programs that share no code with ours: what they write
in all generations is read by us, and what we write in the two that we write is read by them. With
SONDE_CORPUS set, real measurements take part.
"""
import glob
import json
import os
import re
import unittest
from collections import defaultdict

import tap
from hpc_dump import Dumped, Shown, points_only
from hpcdb_compare import Comparison
from hpcdb_reader import read_database
from hpcrun_merge import merge_folders
from hpcrun_reader import Bad, Metric, Module, decode, read_folder, read_hpcrun
from hpcrun_writer import (World, bytes_02b, bytes_02l, bytes_04, join_04, sections_04,
                           write_folder)
from sonde_case import GOLDEN, SondeCase

CORPUS = os.environ.get("SONDE_CORPUS")
needs_corpus = unittest.skipUnless(CORPUS, "SONDE_CORPUS is not set")


def small_epoch(lush=False):
    """One thread with whole numbers, as every generation can hold it."""
    epoch = World(tree=40, metrics=2).thread(0, 0, 12).epoch
    epoch.metrics = [Metric("SAMPLES", period=1, description="SAMPLES"),
                     Metric("BYTES", period=100, description="BYTES")]
    epoch.values = {node: [(metric, 1 + int(value * 10) if isinstance(value, float) else value)
                           for metric, value in row] for node, row in epoch.values.items()}
    if lush:
        epoch.flags = 1
        epoch.nodes = [node._replace(association=number, lip=(number, 7)) for number, node
                       in enumerate(epoch.nodes)]
    inner = {node.parent for node in epoch.nodes}
    epoch.nodes = [node._replace(leaf=node.id not in inner) for node in epoch.nodes]
    return epoch


def loaded(epoch):
    """The same as a process sees it: addresses instead of modules and offsets."""
    base = {module.id: 0x400000 + 0x10000000 * module.id for module in epoch.modules}
    epoch.modules = [Module(module.id, module.path, 0, base[module.id], 0)
                     for module in epoch.modules]
    epoch.nodes = [node._replace(ip=node.ip + base[node.module], module=0) if node.module
                   else node._replace(ip=0)
                   for node in epoch.nodes]
    return epoch


def own(epoch):
    """What is to be the same after all: values by path, and who it was."""
    paths, modules = {0: ()}, {module.id: module.path for module in epoch.modules}
    for node in epoch.nodes:
        step = (modules.get(node.module, node.module), node.ip, node.unwound)
        paths[node.id] = paths[node.parent] + (step,)
    values = defaultdict(float)
    for node, row in epoch.values.items():
        for metric, value in row:
            values[paths[node], epoch.metrics[metric].name] += value * epoch.metrics[metric].period
    return paths, dict(values)


def pruned(database):
    """Without contexts that have no values and no samples, nor anything below them that has."""
    used = {context for profile in database.profiles for context in profile.values} | \
        {context for _, line in database.traces or () for _, context in line}
    keep, where = [False] * len(database.contexts), {-1: -1}
    for number in range(len(keep) - 1, -1, -1):
        context = database.contexts[number]
        keep[number] = keep[number] or context.id in used
        if keep[number] and context.parent >= 0:
            keep[context.parent] = True
    left = []
    for number, context in enumerate(database.contexts):
        if keep[number]:
            where[number] = len(left)
            left.append(context)
    for context in left:
        context.parent = where[context.parent]
        context.children = [where[child] for child in context.children if keep[child]]
    database.contexts = left
    return database


def named_formula(epoch, metric):
    """With names instead of numbers."""
    return re.sub(r"#(\d+)", lambda match: f"<{epoch.metrics[int(match[1])].name}>",
                  metric.formula).replace(" ", "")


def content(measurement):
    """A thread in a form that can be compared; places without values or samples do not count."""
    epoch = measurement.epoch
    paths, values = own(epoch)
    names = ("program-name", "mpi-rank", "thread-id", "host-id", "process-id")
    samples = [(time, paths[node]) for time, node in measurement.trace or () if node in paths]
    return {"pairs": {name: measurement.file.pairs.get(name) for name in names},
            "identities": epoch.identities, "values": values,
            "metrics": sorted((metric.name, named_formula(epoch, metric), metric.format,
                               metric.show_percent, metric.description or metric.name)
                              for metric in epoch.metrics),
            "trace": sorted(samples, key=lambda sample: sample[0])}


class Tools(unittest.TestCase):
    """The reader and writer themselves."""

    def test_generations(self):
        for lush in (False, True):
            epoch = small_epoch(lush)
            for name, data in (("04.00", bytes_04({"a": "b"}, epoch)),
                               ("04.00", bytes_04({"a": "b"}, epoch, "<")),
                               ("02.00b", bytes_02b({"a": "b"}, [epoch], False)),
                               ("02.00b", bytes_02b({"a": "b"}, [epoch, epoch], True)),
                               ("02.00l", bytes_02l({"a": "b"}, [epoch, epoch])),
                               ("02.00l as coded", bytes_02l({"a": "b"}, [epoch], True))):
                with self.subTest(name, lush=lush):
                    file = decode(data)
                    self.assertEqual((file.generation, file.pairs), (name, {"a": "b"}))
                    for one in file.epochs:
                        self.assertEqual(one.values, epoch.values)
                        self.assertEqual([(node.id, node.parent, node.ip) for node in one.nodes],
                                         [(node.id, node.parent, node.ip) for node in epoch.nodes])

    def test_cut(self):
        epoch = small_epoch()
        for data in (bytes_04({}, epoch), bytes_02b({}, [epoch]), bytes_02l({}, [epoch]),
                     bytes_02l({}, [epoch], True)):
            for size in range(0, len(data), 41):
                with self.assertRaises(Bad):
                    decode(data[:size])

    @needs_corpus
    def test_real_files(self):
        """What was read, written again, gives the same bytes."""
        for path in glob.glob(os.path.join(CORPUS, "hpcrun", "*.m", "*.hpcrun")):
            with open(path, "rb") as file:
                data = file.read()
            found = decode(data)
            again = [bytes_04(found.pairs, found.epoch)] if found.generation == "04.00" else \
                [bytes_02b(found.pairs, found.epochs, later) for later in (False, True)]
            self.assertIn(data, again, path)

    @needs_corpus
    def test_real_merges(self):
        """The merge in Python gives what the existing program made of real measurements."""
        for name, suffix in (("small", ""), ("small", ".nostruct"), ("loops-cputime-t", ""),
                             ("loops-cuda-nvidia-t", ""), ("loops-cuda-nvidia-t", ".nostruct")):
            with self.subTest(name + suffix):
                merged = merge_folders([os.path.join(CORPUS, "hpcrun", name + ".m")],
                                       structs=not suffix)
                wanted = read_database(os.path.join(CORPUS, "hpcdb", name + suffix + ".d"))
                self.assertEqual(Comparison(merged, wanted, lex_aware_tolerance=True).run(), [])


class HpcrunCase(SondeCase):
    def convert(self, source, *options, name="out"):
        out = self.path(name)
        self.sonde("convert", source, "-t", "hpcrun", "-o", out, "--force", *options)
        return out

    def single(self, data, name="p-000000-000-007f0101-77-0.hpcrun"):
        os.makedirs(self.path("in"), exist_ok=True)
        with open(self.path("in", name), "wb") as file:
            file.write(data)
        return self.path("in", name)


    def same(self, one, other):
        """Two folders, thread by thread and part by part."""
        sides = [sorted((content(thread) for thread in read_folder(folder)),
                        key=lambda thread: thread["identities"]) for folder in (one, other)]
        self.assertEqual([thread["identities"] for thread in sides[0]],
                         [thread["identities"] for thread in sides[1]])
        for found, wanted in zip(*sides):
            for part in wanted:
                self.assertEqual(found[part], wanted[part], (part, wanted["identities"]))


class Read(HpcrunCase):
    """What others write, through us, is the same."""

    def test_folder(self):
        folder = self.path("in")
        write_folder(folder, threads=4, tree=120, leaves=25, metrics=2, trace=20, ranks=2)
        out = self.convert(folder)
        self.same(out, folder)
        self.sonde("check", out)

    def test_odd_folder(self):
        """Nodes may be spelt otherwise: what they mean is what a merge makes of them."""
        folder = self.path("in")
        write_folder(folder, threads=4, tree=120, leaves=25, metrics=2, ranks=2, odd=True,
                     odd_metrics=False)
        out = self.convert(folder)
        self.assertEqual(Comparison(pruned(merge_folders([out])),
                                    pruned(merge_folders([folder]))).run()[:5], [])
        self.sonde("check", out)

    def test_odd_metrics(self):
        """Hidden ones, those of functions, derived ones."""
        folder = self.path("in")
        write_folder(folder, threads=2, tree=120, leaves=25, metrics=2, odd=True)
        out = self.convert(folder)
        self.assertEqual(Comparison(pruned(merge_folders([out])),
                                    pruned(merge_folders([folder]))).run()[:5], [])
        found, wanted = ([(metric.name, metric.at_function, metric.show, metric.formula,
                           metric.format, metric.show_percent, metric.is_real, metric.period)
                          for metric in read_folder(path)[0].epoch.metrics]
                         for path in (out, folder))
        self.assertEqual(found, wanted)

    @needs_corpus
    def test_real(self):
        for path in glob.glob(os.path.join(CORPUS, "hpcrun",
                                           "*-t.m")) + [os.path.join(CORPUS, "hpcrun", "small.m")]:
            with self.subTest(os.path.basename(path)):
                out = self.convert(path, name=os.path.basename(path))
                self.same(out, path)

    def test_byte_order(self):
        """04.00l: nobody writes it, the letter says how to read it."""
        epoch = small_epoch()
        found, = read_folder(self.convert(self.single(bytes_04({"program-name": "p"}, epoch, "<"))))
        self.assertEqual(own(found.epoch)[1], own(epoch)[1])

    def test_02_00_b(self):
        epoch = small_epoch()
        for later in (False, True):
            for lush in (0, 1):
                with self.subTest(later=later, lush=lush):
                    epoch.flags = lush
                    found, = read_folder(self.convert(self.single(bytes_02b({"program-name": "p"},
                                                                            [epoch], later)),
                                                      name=f"out{later}{lush}"))
                    self.assertEqual(own(found.epoch)[1], own(epoch)[1])

    def test_02_00_l(self):
        """Addresses of the process become modules and offsets."""
        wanted = {(path[2:], name): value for (path, name), value in own(small_epoch())[1].items()}
        for as_coded in (False, True):
            with self.subTest(as_coded=as_coded):
                data = bytes_02l({"program-name": "p"}, [loaded(small_epoch())], as_coded)
                found, = read_folder(self.convert(self.single(data), name=f"out{as_coded}"))
                values = own(found.epoch)[1]
                self.assertEqual(sum(values.values()), sum(wanted.values()))
                places = {(path[-1][:2], name, value) for (path, name), value in wanted.items()}
                self.assertEqual({(path[-1][:2], name, value) for (path, name),
                                  value in values.items()}, places)

    def folders(self):
        """Plain and odd ones, and real ones."""
        plain, odd = self.path("plain"), self.path("odd")
        write_folder(plain, threads=4, tree=120, leaves=25, metrics=2, trace=20, ranks=2)
        write_folder(odd, threads=3, tree=120, leaves=25, metrics=2, ranks=3, odd=True)
        return [plain, odd] + ([os.path.join(CORPUS, "hpcrun", name + ".m") for name in (
            "small", "loops-cputime-t", "loops-cuda-nvidia-t")] if CORPUS else [])

    def test_dump(self):
        """Each context, value and sample as a merge in Python has it."""
        for folder in self.folders():
            with self.subTest(os.path.basename(folder)):
                shown = Dumped(self.sonde, folder).database
                known = points_only(merge_folders([folder], structs=False))
                self.assertEqual(Shown.differences(shown, known)[:5], [])

    def test_info(self):
        """Counts, and who the tracks are."""
        for folder in self.folders():
            report, = json.loads(self.sonde("info", "--json", folder))["recordings"]
            threads = read_folder(folder)
            self.assertEqual(report["format"], "hpcrun")
            self.assertEqual(len(report["tracks"]), len(threads))
            known = points_only(merge_folders([folder], structs=False))
            self.assertEqual(report["contexts"], len(known.contexts) + 1)
            # nodes that become one context are counted as they are in the files
            self.assertEqual(report["values"], sum(
                number != 0 for thread in threads for row in thread.epoch.values.values()
                for _, number in row))


class Written(HpcrunCase):
    """What we write."""

    def session_calls(self, session):
        return sum(json.loads(line)["kind"] == "call"
                   for line in self.sonde("dump", "--json", session).splitlines())

    def test_from_calls(self):
        """A session with calls: one file a thread, all calls and their time in it."""
        session = os.path.join(GOLDEN, "normal")
        found = read_folder(self.convert(session))
        self.assertEqual(len(found), 4)
        calls = 0
        for one in found:
            self.assertEqual(one.file.generation, "04.00")
            names = [metric.name for metric in one.epoch.metrics]
            calls += sum(value for row in one.epoch.values.values() for metric, value in row
                         if names[metric] == "CALLS")
        self.assertEqual(calls, self.session_calls(session))

    def test_02_00_l(self):
        """The document's own generation, by style."""
        session = os.path.join(GOLDEN, "normal")
        folder = self.convert(session, "--style", "02.00l")
        paths = glob.glob(os.path.join(folder, "*.hpcrun"))
        self.assertEqual(len(paths), 4)
        calls = 0
        for path in paths:
            file = read_hpcrun(path)
            self.assertEqual(file.generation, "02.00l")
            for epoch in file.epochs:
                names = [metric.name for metric in epoch.metrics]
                calls += sum(value * epoch.metrics[metric].period for row in epoch.values.values()
                             for metric, value in row if names[metric] == "CALLS")
        self.assertEqual(calls, self.session_calls(session))

    def test_both_ways(self):
        """04.00b -> 02.00l -> 04.00b keeps the values of each place."""
        data = bytes_04({"program-name": "p"}, small_epoch())
        old = self.convert(self.single(data), "--style", "02.00l", name="old")
        found, = read_folder(self.convert(old, name="new"))
        self.assertEqual({(path[-1][:2], name, value) for (path, name),
                          value in own(found.epoch)[1].items()},
                         {(path[-1][:2], name, value) for (path, name),
                          value in own(small_epoch())[1].items()})

    def test_names(self):
        """Files are called as measurement tools call them."""
        for path in os.listdir(self.convert(os.path.join(GOLDEN, "normal"))):
            self.assertRegex(path, r"^.+-\d{6}-\d{3}-[0-9a-f]{8}-\d+-\d+\.(hpcrun|hpctrace|log)$")


class Bad04(HpcrunCase):
    """Damage is found and said, whatever it is."""

    def test_findings(self):
        epoch = small_epoch()
        sections = sections_04({"program-name": "p"}, epoch)
        whole = join_04(sections)
        cases = {"cut": whole[:len(whole) // 2], "footer": whole[:-8] + b"nonsense",
                 "order": join_04([sections[0], sections[2], sections[1]] + sections[3:]),
                 "count": join_04(sections[:2] + [b"\xff" * 8 + sections[2][8:]] + sections[3:]),
                 "parent": join_04(sections[:2] + [sections[2][:8 + 19 * 4 + 4] + b"\0\1\0\0" +
                                                   sections[2][8 + 19 * 4 + 8:]] + sections[3:]),
                 "values": join_04(sections[:5] + [sections[5][:-8] + b"\xff" * 8])}
        for name, data in cases.items():
            with self.subTest(name):
                done = self.run_sonde("check", "--json", self.single(data))
                self.assertNotEqual(done.returncode, 0)
                self.assertTrue(done.stdout or done.stderr)

    def test_good(self):
        self.sonde("check", self.single(bytes_04({"program-name": "p"}, small_epoch())))


if __name__ == "__main__":
    tap.main()
