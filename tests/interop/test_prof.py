#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`sonde prof` against programs that share no code with ours: its databases are read and worked out
again in Python, and compared with a merge in Python of the same measurements. With SONDE_CORPUS
set, real measurements must give what the existing program made of them.
"""
import filecmp
import json
import os
import random
import re
import shutil
import unittest

import tap
from hpcdb_compare import Comparison, compare, load_taxonomy
from hpcdb_reader import read_database
from hpcdb_verify import verify
from hpcrun_merge import merge_folders
from hpcrun_reader import Epoch, Metric, Module, Node, read_hpcrun
from hpcrun_writer import (HOST, THREAD, Identity, Thread, World, bytes_02b, join_04, placeholder,
                           sections_04,
                           write_folder)
from sonde_case import GOLDEN, SondeCase

CORPUS = os.environ.get("SONDE_CORPUS")
needs_corpus = unittest.skipUnless(CORPUS, "SONDE_CORPUS is not set")
NAMES = ("small", "loops-cputime-t", "loops-cuda-nvidia-t")
ALONE = ("--ignore-binaries",)
STATISTICS = {"sum": [("$$", 0)], "count": [("1", 0)], "squares": [("($$^2)", 0)],
              "min": [("$$", 1)],
              "max": [("$$", 2)]}


def read_bytes(path):
    with open(path, "rb") as file:
        return file.read()


def write_bytes(path, data):
    with open(path, "wb") as file:
        file.write(data)


def all_files(folder):
    return sorted(os.path.relpath(os.path.join(place, name), folder)
                  for place, _, names in os.walk(folder) for name in names)


class ProfCase(SondeCase):
    def prof(self, *inputs, out="database", options=ALONE, expect=(0,)):
        """Merges; where the database is, and what was printed."""
        path = self.path(out)
        shutil.rmtree(path, True)
        done = self.run_sonde("prof", *inputs, "-o", path, *options)
        self.assertIn(done.returncode, expect, done.stderr.decode(errors="replace"))
        self.told = (done.stdout + done.stderr).decode(errors="replace")
        return path

    def measure(self, name="measurements", **options):
        path = self.path(name)
        shutil.rmtree(path, True)
        write_folder(path, **options)
        return path

    def same_as_merge(self, path, folders, **options):
        database = verify(path)
        self.assertEqual(Comparison(database, merge_folders(folders, **options)).run()[:10], [])
        return database

    def same_bytes(self, one, other):
        self.assertEqual(all_files(one), all_files(other))
        for name in all_files(one):
            self.assertTrue(filecmp.cmp(os.path.join(one, name), os.path.join(other, name), False),
                            name)


@needs_corpus
class Real(ProfCase):
    """What the existing program made of the same measurements."""

    def real(self, name, suffix="", options=ALONE):
        return self.prof(os.path.join(CORPUS, "hpcrun", name + ".m"), out=name + suffix,
                         options=options), \
            os.path.join(CORPUS, "hpcdb", name + suffix + ".d")

    def test_with_structures(self):
        for name in NAMES:
            with self.subTest(name):
                path, wanted = self.real(name)
                verify(path)
                self.assertEqual(compare(path, wanted, lex_aware_tolerance=True)[:10], [])

    def test_copies(self):
        """Measurements that were read and written again, with all that lies beside them, give the same."""
        for name in NAMES:
            with self.subTest(name):
                copy = self.path(name + "-copy.m")
                told = self.sonde("convert", os.path.join(CORPUS, "hpcrun", name + ".m"), "-t",
                                  "hpcrun", "-o", copy)
                self.assertIn("nothing was lost", told)
                path, _ = self.real(name)
                self.assertEqual(compare(self.prof(copy, out="copied"), path)[:10], [])

    def test_without_structures(self):
        """The symbols of what lies in the folder itself are used nevertheless."""
        for name in NAMES:
            with self.subTest(name):
                path, wanted = self.real(name, ".nostruct",
                                         ("--ignore-structs", "--ignore-binaries"))
                verify(path)
                self.assertEqual(compare(path, wanted)[:10], [])

    def test_symbols_only(self):
        """The same where binaries may be used, and -R keeps those of the host away."""
        path, wanted = self.real("loops-cputime-t", ".nostruct",
                                 ("--ignore-structs", "-R", "/usr/=/nowhere/",
                                  "-R", "/builds/=/nowhere/"))
        wanted = read_database(wanted)
        wanted.modules = [re.sub("^/(usr|builds)/", "/nowhere/", path) for path in wanted.modules]
        self.assertEqual(Comparison(verify(path), wanted).run()[:10], [])

    def test_dumps(self):
        for suffix, options in (("", ALONE), (".nostruct",
                                              ("--ignore-structs", "--ignore-binaries"))):
            path, _ = self.real("small", suffix, options)
            self.assertEqual(compare(path, os.path.join(CORPUS, "hpcdb", f"small{suffix}.yaml")),
                             [])

    def test_independent_merge(self):
        for name in NAMES:
            with self.subTest(name):
                path, _ = self.real(name)
                self.same_as_merge(path, [os.path.join(CORPUS, "hpcrun", name + ".m")])

    def test_check(self):
        for name in NAMES:
            path, _ = self.real(name)
            self.sonde("check", path)

    def test_02_00(self):
        """A real file of the older generation."""
        source = os.path.join(CORPUS, "hpcrun", "testvdso-02.00b.m")
        path = self.prof(source)
        database = verify(path)
        name = next(name for name in os.listdir(source) if name.endswith(".hpcrun"))
        epoch = read_hpcrun(os.path.join(source, name)).epoch
        total = sum(value * epoch.metrics[metric].period for row in epoch.values.values()
                    for metric, value in row)
        self.assertEqual(total, sum(database.profiles[1].values[0].values()))


class Generated(ProfCase):
    """Folders of all kinds against the merge in Python."""

    def test_plain(self):
        folder = self.measure(threads=5, tree=400, leaves=60, metrics=3, trace=40)
        self.same_as_merge(self.prof(folder), [folder])

    def test_odd(self):
        for seed in range(2):
            with self.subTest(seed=seed):
                folder = self.measure(threads=6, tree=300, leaves=40, metrics=2, trace=60, ranks=3,
                                     seed=seed,
                                     odd=True)
                path = self.prof(folder)
                self.same_as_merge(path, [folder])
                self.sonde("check", path)

    def test_structures(self):
        for seed in range(2):
            with self.subTest(seed=seed):
                folder = self.measure(threads=4, tree=150, leaves=40, metrics=2, trace=60, ranks=2,
                                     seed=seed,
                                     odd=True, structs=True)
                path = self.prof(folder)
                database = self.same_as_merge(path, [folder])
                self.assertGreater(sum(context.kind == 1 for context in database.contexts), 20)
                self.same_as_merge(self.prof(folder, options=("--ignore-structs",
                                                              "--ignore-binaries")), [folder],
                                   structs=False)

    def test_structures_elsewhere(self):
        """--struct gives what the folder does not have."""
        folder = self.measure(threads=2, tree=100, leaves=30, structs=True)
        wanted = self.prof(folder, out="wanted")
        shutil.move(os.path.join(folder, "structs"), self.path("structs"))
        self.same_bytes(self.prof(folder, options=("--struct", self.path("structs"), *ALONE)),
                        wanted)

    def test_no_traces(self):
        folder = self.measure(threads=3, trace=0)
        path = self.prof(folder)
        self.assertFalse(os.path.exists(os.path.join(path, "trace.db")))
        self.same_as_merge(path, [folder])
        folder = self.measure(threads=3, trace=20)
        self.assertFalse(os.path.exists(os.path.join(self.prof(folder,
                                                               options=("--no-traces", *ALONE)),
                                                     "trace.db")))

    def test_no_values(self):
        """A thread that measured nothing is a profile nevertheless."""
        folder = self.measure(threads=1)
        world = World(tree=10)
        epoch = world.epoch(0, 5)
        epoch.nodes = [Node(12, 0, 0, placeholder("^Primary"))]
        Thread(epoch, 0, 5, [], 0).write(folder)
        self.same_as_merge(self.prof(folder), [folder])

    def test_several_folders(self):
        """Ranks in folders of their own, one node each."""
        folders = []
        for rank in range(3):
            folders.append(self.path(f"rank{rank}"))
            world = World(tree=80, ranks=3, metrics=2)
            for thread in range(2):
                one = world.thread(rank, thread, 20, 10)
                one.host = HOST + rank
                one.epoch.identities = (one.epoch.identities[0]._replace(physical=HOST + rank),) + \
                    one.epoch.identities[1:]
                one.write(folders[-1])
        self.same_as_merge(self.prof(*folders), folders)

    def test_different_metrics(self):
        """Threads that did not measure the same things."""
        folder = self.path("measurements")
        for number in range(3):
            one = World(tree=50, metrics=1).thread(0, number, 10)
            one.epoch.metrics = [Metric(f"ONLY {number}", is_real=True)]
            one.write(folder)
        database = self.same_as_merge(self.prof(folder), [folder])
        self.assertEqual(sorted(metric.name for metric in database.metrics),
                         ["ONLY 0", "ONLY 1", "ONLY 2"])

    def test_deep(self):
        """Recursion, ten thousand levels of it."""
        world = World(tree=1)
        epoch = world.epoch(0, 0)
        epoch.nodes = [Node(12, 0, 0, placeholder("^Primary")),
                       Node(14, 12, 0, placeholder("| Main  "))]
        epoch.nodes += [Node(16 + 2 * depth, 14 + 2 * depth, 1, 0x1000) for depth in range(10000)]
        epoch.values = {epoch.nodes[-1].id: [(0, 2.5)]}
        Thread(epoch).write(self.path("measurements"))
        database = verify(self.prof(self.path("measurements")))
        self.assertEqual(len(database.contexts), 10001)
        self.assertEqual(database.profiles[1].values[0], {3: 2.5})

    def test_old_generations(self):
        """The same thread as 02.00b: values and contexts are the same."""
        folder = self.measure(threads=1, tree=60, leaves=20, metrics=2)
        wanted = read_database(self.prof(folder, out="wanted"))
        name = next(name for name in os.listdir(folder) if name.endswith(".hpcrun"))
        old = read_hpcrun(os.path.join(folder, name))
        for later in (False, True):
            with self.subTest(later=later):
                write_bytes(os.path.join(folder, name), bytes_02b(old.pairs, [old.epoch], later))
                found = verify(self.prof(folder))
                for one, other in ((found, wanted), (wanted, found)):
                    one.profiles[1].identities = other.profiles[1].identities
                self.assertEqual(Comparison(found, wanted).run(), [])

    def test_taxonomy(self):
        """Derived metrics, hidden ones, and those shown in part."""
        folder = self.measure(threads=2, odd=True, metrics=1)
        taxonomy = load_taxonomy(os.path.join(self.prof(folder), "metrics", "default.yaml"))
        roots = {root["name"]: root for root in taxonomy["roots"]}
        self.assertNotIn("ACUMU", roots)
        self.assertIs(roots["HIDDEN"]["visible by default"], False)
        self.assertNotIn("visible by default", roots["CPUTIME (sec)"])
        formula = roots["INCLUSIVE"]["variants"]["Sum"]["formula"]
        self.assertEqual(list(formula), ["inclusive"])
        formula = roots["EXCLUSIVE"]["variants"]["Sum"]["formula"]
        self.assertEqual(list(formula), ["exclusive"])
        ratio = roots["RATIO"]
        self.assertEqual(ratio["format"], "%6.2f %%")
        variant, = ratio["variants"].values()
        exclusive = variant["formula"]["exclusive"]
        inputs = taxonomy["inputs"]
        for scope, name in (("custom", "lex_aware"), ("standard", "function")):
            hundred, quotient = exclusive[scope]["*"]
            self.assertEqual(hundred, 100)
            self.assertEqual([one["metric"] for one in quotient["/"]], ["ACUMU", "GPUOP (sec)"])
            self.assertEqual({one["scope"] for one in quotient["/"]}, {name})
            self.assertTrue(all(one in inputs for one in quotient["/"]))


class Told(ProfCase):
    """What --report says is what was done."""

    def test_report(self):
        folder = self.measure(threads=4, tree=100, leaves=30, metrics=2, trace=30, ranks=2,
                              odd=True,
                              structs=True)
        report = self.path("report.json")
        database = verify(self.prof(folder, options=("--report", report, *ALONE)))
        with open(report, encoding="utf-8") as file:
            told = json.load(file)
        values = [len(row) for profile in database.profiles for row in profile.values.values()]
        samples = sum(len(line) for _, line in database.traces)
        size = sum(os.path.getsize(os.path.join(self.path("database"), name))
                   for name in all_files(self.path("database")))
        wanted = {"written": True, "profiles": len(database.profiles) - 1, "refused": [],
                  "contexts_listed": len(database.contexts) + 1, "metrics": len(database.metrics),
                  "derived_metrics": 2, "values": sum(values), "samples": samples}
        self.assertEqual({name: told[name] for name in wanted}, wanted)
        self.assertLessEqual(told["bytes"], size)
        self.assertEqual({module["path"]: module["names_from"] for module in told["modules"]},
                         {path: "none" if path == "gpubins/kernel.gpubin" else "hpcstruct"
                          for path in database.modules})

    def test_sources(self):
        """--sources copies what can be found, and says so in the database."""
        source = self.path("elsewhere", "one.c")
        os.makedirs(os.path.dirname(source))
        write_bytes(source, b"int main(void) { return 0; }\n")
        folder = self.path("measurements")
        epoch = World(tree=1).epoch(0, 0)
        epoch.nodes = [Node(12, 0, 0, placeholder("^Primary")),
                       Node(14, 12, 0, placeholder("| Main  ")), Node(16, 14, 1, 0x100),
                       Node(18, 16, 1, 0x200)]
        epoch.values = {18: [(0, 2.5)]}
        Thread(epoch).write(folder)
        os.makedirs(os.path.join(folder, "structs"))
        text = "<HPCToolkitStructure i='0' version='4.9' n=''><LM i='2' n='/app/lib1.so' v='{}'>"
        for number, (path, address) in enumerate(((source, 0x100), ("/nowhere/two.c", 0x200))):
            place = f"{{[{address:#x}-{address + 4:#x})}}"
            text += f"<F i='{10 * number + 3}' n='{path}'><P i='{10 * number + 4}' n='f{number}' " \
                f"l='1' v='{place}'><S i='{10 * number + 5}' l='1' v='{place}'/></P></F>"
        write_bytes(os.path.join(folder, "structs", "one.hpcstruct"),
                    (text + "</LM></HPCToolkitStructure>").encode())
        path = self.prof(folder, options=("--sources", *ALONE))
        files = {file.copied: file.path for file in verify(path).files}
        self.assertEqual(files[False], "/nowhere/two.c")
        self.assertEqual(read_bytes(os.path.join(path, files[True])), read_bytes(source))
        self.assertTrue(os.path.normpath(files[True]).startswith("src" + os.sep))
        self.same_as_merge(self.prof(folder), [folder])


class Same(ProfCase):
    """The same bytes however it is done."""

    def setUp(self):
        super().setUp()
        self.measurements = self.measure(threads=9, tree=250, leaves=40, metrics=2, trace=50,
                                        ranks=3, odd=True,
                                        structs=True)
        self.wanted = self.prof(self.measurements, out="wanted", options=("-j", "1", *ALONE))

    def test_threads(self):
        for threads in ("2", "5"):
            self.same_bytes(self.prof(self.measurements, options=("-j", threads, *ALONE)),
                            self.wanted)

    def test_order_of_files(self):
        """A folder, or its files one by one in any order; structs beside them are used."""
        paths = [os.path.join(self.measurements, name) for name in os.listdir(self.measurements)
                 if name.endswith(".hpcrun")]
        for seed in range(3):
            random.Random(seed).shuffle(paths)
            self.same_bytes(self.prof(*paths), self.wanted)

    def test_again(self):
        """An existing database is replaced when asked for, and only then."""
        path = self.prof(self.measurements)
        before = os.stat(os.path.join(path, "meta.db")).st_ino
        done = self.run_sonde("prof", self.measurements, "-o", path, *ALONE)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(os.stat(os.path.join(path, "meta.db")).st_ino, before)
        self.sonde("prof", self.measurements, "-o", path, "--force", *ALONE)
        self.same_bytes(path, self.wanted)
        self.assertNotEqual(os.stat(os.path.join(path, "meta.db")).st_ino, before)

    def test_dry_run(self):
        self.sonde("prof", self.measurements, "-o", self.path("nothing"), "--dry-run", *ALONE)
        self.assertFalse(os.path.exists(self.path("nothing")))
        self.assertEqual(sorted(os.listdir(self.folder)), ["measurements", "wanted"])

    def test_title(self):
        path = self.prof(self.measurements, options=("--title", "Größe \"1\"", *ALONE))
        self.same_as_merge(path, [self.measurements], title="Größe \"1\"")

    def test_only(self):
        path = self.prof(self.measurements, options=("--only", "*-000001-*", *ALONE))
        skip = [name for name in os.listdir(self.measurements) if "-000001-" not in name]
        self.same_as_merge(path, [self.measurements], skip=skip)

    def test_no_thread_values(self):
        """The summary is the same, the threads have nothing, and so has cct.db."""
        database = verify(self.prof(self.measurements, options=("--no-thread-values", *ALONE)))
        self.assertEqual(database.profiles[0].values, read_database(self.wanted).profiles[0].values)
        self.assertFalse(any(profile.values for profile in database.profiles[1:]))


class Damaged(ProfCase):
    """Bad inputs are refused with a reason, the rest is merged."""

    def damaged(self, change, expect=(1,)):
        """Damages one of four files; the database is that of the other three."""
        folder = self.measure(threads=4, tree=100, leaves=20, metrics=2, trace=10)
        name = sorted(name for name in os.listdir(folder) if name.endswith(".hpcrun"))[1]
        path = os.path.join(folder, name)
        change(path)
        report = self.path("report.json")
        out = self.prof(folder, options=("--report", report, *ALONE), expect=expect)
        self.assertIn(name, self.told)
        self.same_as_merge(out, [folder], skip=[name])
        with open(report, encoding="utf-8") as file:
            told = json.load(file)
        self.assertIn(name, json.dumps(told))
        return told

    def test_truncated(self):
        for part in (0.0, 0.1, 0.5, 0.99):
            with self.subTest(part):
                self.damaged(lambda path, part=part: write_bytes(
                    path, read_bytes(path)[:int(len(read_bytes(path)) * part)]))

    def test_no_profile(self):
        self.damaged(lambda path: write_bytes(path, b"#!/bin/sh\necho no profile\n" * 100))

    def test_footer(self):
        self.damaged(lambda path: write_bytes(path, read_bytes(path)[:-8] + b"nonsense"))

    def test_counts(self):
        """Counts far beyond the file."""
        for section in range(1, 6):
            def change(path, section=section):
                old = read_hpcrun(path)
                sections = sections_04(old.pairs, old.epoch)
                size = {2: 8, 4: 2, 5: 2}.get(section, 4)
                sections[section] = b"\xff" * size + sections[section][size:]
                write_bytes(path, join_04(sections))
            with self.subTest(section):
                self.damaged(change)

    def test_parents(self):
        """A node whose parent is not there."""
        def change(path):
            old = read_hpcrun(path)
            old.epoch.nodes[5] = old.epoch.nodes[5]._replace(parent=77777)
            write_bytes(path, join_04(sections_04(old.pairs, old.epoch)))
        self.damaged(change)

    def test_trace(self):
        """A trace that is cut: its whole records count, the profile is merged."""
        folder = self.measure(threads=3, tree=100, leaves=20, trace=10)
        name = sorted(name for name in os.listdir(folder) if name.endswith(".hpctrace"))[0]
        path = os.path.join(folder, name)
        whole = read_bytes(path)
        write_bytes(path, whole[:-5])
        out = self.prof(folder, expect=(0, 1))
        write_bytes(path, whole[:-12])
        self.same_as_merge(out, [folder])

    def test_trace_without_magic(self):
        folder = self.measure(threads=3, tree=100, leaves=20, trace=10)
        name = sorted(name for name in os.listdir(folder) if name.endswith(".hpctrace"))[0]
        write_bytes(os.path.join(folder, name), b"nothing at all, really nothing at all, nothing")
        out = self.prof(folder, expect=(0, 1))
        self.assertIn(name, self.told)
        os.remove(os.path.join(folder, name))
        self.same_as_merge(out, [folder])

    def test_structure(self):
        """A structure file that is cut is not used, and said to be so."""
        folder = self.measure(threads=2, tree=100, leaves=20, structs=True)
        name = sorted(os.listdir(os.path.join(folder, "structs")))[0]
        path = os.path.join(folder, "structs", name)
        write_bytes(path, read_bytes(path)[:200])
        verify(self.prof(folder, expect=(0, 1)))
        self.assertIn(name, self.told)

    def test_nothing_left(self):
        folder = self.measure(threads=1)
        for name in os.listdir(folder):
            write_bytes(os.path.join(folder, name), b"")
        done = self.run_sonde("prof", folder, "-o", self.path("database"), *ALONE)
        self.assertNotEqual(done.returncode, 0)
        self.assertFalse(os.path.exists(self.path("database")))

    def test_no_folder(self):
        done = self.run_sonde("prof", self.path("nowhere"), "-o", self.path("database"), *ALONE)
        self.assertNotEqual(done.returncode, 0)
        self.assertTrue(done.stderr)
        self.assertFalse(os.path.exists(self.path("database")))

    def test_only_traces(self):
        folder = self.measure(threads=2)
        for name in os.listdir(folder):
            if name.endswith(".hpcrun"):
                os.remove(os.path.join(folder, name))
        done = self.run_sonde("prof", folder, "-o", self.path("database"), *ALONE)
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"traces alone are not enough", done.stdout)
        self.assertFalse(os.path.exists(self.path("database")))


class Statistics(ProfCase):
    """Each kind of them, worked out again."""

    def test_each(self):
        folder = self.measure(threads=4, tree=60, leaves=20, metrics=2, ranks=2, structs=True)
        for option, wanted in (("none", ()), ("sum", ("sum",)), ("mean", ("sum", "count")),
                               ("deviation", ("sum", "count", "squares")), ("count", ("count",)),
                               ("extrema", ("min", "max")), ("sum,extrema", ("sum", "max")),
                               ("all", STATISTICS)):
            with self.subTest(option):
                database = verify(self.prof(folder, options=("--stats", option, *ALONE)))
                found = {(formula, combine) for metric in database.metrics
                         for _, formula, combine, _ in metric.summaries}
                for name in wanted:
                    self.assertIn(STATISTICS[name][0], found)
                if option == "none":
                    self.assertEqual((found, database.profiles[0].values), (set(), {}))
                self.same_as_merge(self.path("database"), [folder], statistics=sorted(found))

    def test_negative_and_few(self):
        """Only threads with a value count; values below 0 are values."""
        folder = self.path("measurements")
        for number, value in enumerate((-2.0, 0.5, 1.5, None)):
            epoch = Epoch()
            epoch.metrics = [Metric("REAL", is_real=True)]
            epoch.modules, epoch.kinds = [Module(1, "/app/one", 1)], {THREAD: "THREAD",
                                                                      0: "SUMMARY"}
            epoch.identities = (Identity(THREAD, 3, number, number),)
            epoch.nodes = [Node(12, 0, 0, placeholder("^Primary")),
                           Node(14, 12, 0, placeholder("| Main  ")),
                           Node(16, 14, 1, 0x100), Node(18, 16, 1, 0x200)]
            epoch.values = {18: [(0, value)]} if value is not None else {}
            Thread(epoch, 0, number).write(folder)
        database = verify(self.prof(folder, options=("--stats", "all", *ALONE)))
        metric, = database.metrics
        leaf = next(context.id for context in database.contexts if context.offset == 0x200)
        row = database.profiles[0].values[leaf]
        found = {(formula, combine): row.get(number) for scope, formula, combine,
                 number in metric.summaries
                 if database.scopes[scope].name == "execution"}
        self.assertEqual(found.get(("$$", 1)), -2.0)
        self.assertEqual(found.get(("$$", 2)), 1.5)
        self.assertEqual(found.get(("1", 0)), 3.0)
        self.assertEqual(found.get(("($$^2)", 0)), 6.5)
        self.assertIsNone(found[("$$", 0)])  # the sum is 0, and 0 is never stored


class CallTree:
    """Calls of one track as a tree, out of a dump: {path of names: [calls, own time in ns]}."""

    def __init__(self):
        self.nodes, self.stack, self.last = {}, [], None

    def add(self, event):
        if self.stack:
            self.nodes[tuple(self.stack)][1] += event["time_ns"] - self.last
        self.last = event["time_ns"]
        if event["kind"] == "call":
            self.stack.append(event["name"])
            self.nodes.setdefault(tuple(self.stack), [0, 0])[0] += 1
        elif self.stack:
            self.stack.pop()


class Events(ProfCase):
    """Recordings with calls become databases."""

    def trees(self, session):
        tracks = {}
        for line in self.sonde("dump", "--json", session).splitlines():
            event = json.loads(line)
            tracks.setdefault(event["track"], CallTree()).add(event)
        return [{path: (calls, own) for path, (calls, own) in track.nodes.items()}
                for track in tracks.values()]

    @staticmethod
    def profile_trees(database):
        """The same out of the point values of a database."""
        ids = {number: (metric.name, database.scopes[scope].name) for metric in database.metrics
               for scope, number in metric.instances}
        paths = {}
        for number, context in enumerate(database.contexts):
            name = () if context.parent < 0 else (database.functions[context.function].name,)
            paths[number] = (paths[context.parent] if context.parent >= 0 else ()) + name
        by_id = {context.id: paths[number] for number, context in enumerate(database.contexts)}
        out = []
        for profile in database.profiles[1:]:
            tree = {}
            for context, row in profile.values.items():
                named = {ids[metric]: value for metric, value in row.items()}
                calls = named.get(("CALLS", "point"), 0)
                own = named.get(("REALTIME (sec)", "point"), 0)
                if by_id.get(context):
                    before = tree.get(by_id[context], (0, 0))
                    tree[by_id[context]] = (before[0] + int(calls), before[1] + round(own * 1e9))
            out.append({path: value for path, value in tree.items() if value[0]})
        return out

    def check_database(self, path, session):
        self.sonde("check", path)
        database = verify(path)
        wanted = self.trees(session)
        found = self.profile_trees(database)
        self.assertEqual(sorted(sorted(tree.items()) for tree in found),
                         sorted(sorted(tree.items()) for tree in wanted))
        calls = sum(count for tree in wanted for count, _ in tree.values())
        number = next(number for metric in database.metrics if metric.name == "CALLS"
                      for scope, _, _, number in metric.summaries
                      if database.scopes[scope].name == "execution")
        self.assertEqual(database.profiles[0].values[0][number], calls)

    def test_convert(self):
        for name in ("normal", "nodetail"):
            with self.subTest(name):
                session, path = os.path.join(GOLDEN, name), self.path(name)
                self.sonde("convert", session, "-t", "hpcdb", "-o", path)
                self.check_database(path, session)

    def test_prof(self):
        """The same by `sonde prof`."""
        session, path = os.path.join(GOLDEN, "normal"), self.path("converted")
        merged = self.prof(session)
        self.check_database(merged, session)
        self.sonde("convert", session, "-t", "hpcdb", "-o", path)
        self.assertEqual(Comparison(verify(merged), verify(path)).run()[:10], [])

    def test_same_both_ways(self):
        """`sonde convert` and `sonde prof` make the same of a session."""
        session, path = os.path.join(GOLDEN, "normal"), self.path("converted")
        self.sonde("convert", session, "-t", "hpcdb", "-o", path)
        self.assertEqual(Comparison(verify(path), verify(self.prof(session))).run(), [])


if __name__ == "__main__":
    tap.main()
