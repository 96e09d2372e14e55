#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""HPCToolkit databases against programs that share no code with ours. First these programs are
tried themselves: they must find what is wrong with a database, and where two differ. Then what they
write is read by us and what we write by them. With SONDE_CORPUS set, databases of the existing
program take part.
"""
import copy
import glob
import json
import os
import random
import shutil
import unittest

import mini_yaml
import tap
from hpc_dump import Dumped, Shown, as_listed
from hpcdb_compare import Comparison, compare
from hpcdb_reader import Bad, Context, File, Function, read_database
from hpcdb_verify import verify
from hpcdb_writer import LAYOUT, Style, renumbered, write_database
from hpcrun_merge import merge_folders
from hpcrun_writer import write_folder
from sonde_case import SondeCase

CORPUS = os.path.join(os.environ["SONDE_CORPUS"],
                      "hpcdb") if os.environ.get("SONDE_CORPUS") else None
needs_corpus = unittest.skipUnless(CORPUS, "SONDE_CORPUS is not set")
ODD_STYLES = {"plain": Style(), "wide": Style(extra=8, minor=1),
              "junk": Style(extra=16, fill=b"\xa5", minor=7),
              "backwards": Style(layout=tuple(reversed(LAYOUT))), "gaps": Style(gap=64)}


def corpus_databases():
    return sorted(glob.glob(os.path.join(CORPUS, "*.d")))


def real_database():
    """With loops, inlined code and unlisted instructions, where there is one."""
    return read_database(os.path.join(CORPUS, "loops-cputime-t.d")) if CORPUS else None


class HpcdbCase(SondeCase):
    def generated(self, **options):
        """A database of the Python merge, out of a made-up folder."""
        folder = self.path("measurements")
        shutil.rmtree(folder, True)
        write_folder(folder, **{"threads": 3, "tree": 80, "leaves": 20, "metrics": 2, "trace": 15,
                                "odd": True,
                                **options})
        return merge_folders([folder])

    def written(self, database, name="database", style=None):
        write_database(self.path(name), database, style)
        return self.path(name)


# ---- the programs themselves ---------------------------------------------------------------------

def first(items, good):
    return next(number for number, item in enumerate(items) if good(item))


def value_place(database, summary=False):
    profile = database.profiles[0 if summary else 1]
    context = max(profile.values, key=lambda key: len(profile.values[key]))
    return profile.values[context], next(iter(profile.values[context]))


def change_value(database, factor=1.001, summary=False):
    row, metric = value_place(database, summary)
    row[metric] *= factor


def drop_value(database):
    row, metric = value_place(database)
    del row[metric]


def drop_leaf(database):
    number = first(database.contexts, lambda context: context.parent >= 0 and not context.children)
    database.contexts[database.contexts[number].parent].children.remove(number)
    gone = database.contexts.pop(number).id
    for context in database.contexts:
        context.parent -= context.parent > number
        context.children = [child - (child > number) for child in context.children]
    for profile in database.profiles:
        profile.values.pop(gone, None)
    if database.traces:
        database.traces = [(profile, [sample for sample in line if sample[1] != gone])
                           for profile, line in database.traces]


def change_offset(database):
    number = first(database.contexts, lambda context: context.module is not None)
    database.contexts[number].offset += 1


def change_relation(database):
    number = first(database.contexts, lambda context: context.relation == 1)
    database.contexts[number].relation = 2


def change_propagation(database):
    number = first(database.contexts, lambda context: context.parent >= 0)
    database.contexts[number].propagation ^= 1


def change_entry(database):
    database.contexts[0].entry = 3 - database.contexts[0].entry
    database.contexts[0].name += "?"


def change_path(database):
    database.modules[database.contexts[first(database.contexts, lambda context:
                                              context.module is not None)].module] += ".1"


def change_sample_time(database):
    line = next(line for _, line in database.traces if line)
    line[-1] = (line[-1][0] + 1, line[-1][1])


def change_sample_context(database):
    line = next(line for _, line in database.traces if line)
    at = first(line, lambda sample: sample[1])
    other = next(context.id for context in database.contexts if context.id != line[at][1])
    line[at] = (line[at][0], other)


def drop_sample(database):
    next(line for _, line in database.traces if line).pop()


def change_identity(database):
    profile = database.profiles[1]
    one = profile.identities[-1]
    profile.identities = profile.identities[:-1] + (one._replace(logical=one.logical + 77,
                                                                 physical=one.logical + 77),)


def change_metric(database):
    database.metrics[0] = database.metrics[0]._replace(name="ANOTHER")


def change_formula(database):
    metric = database.metrics[0]
    scope, _, combine, number = metric.summaries[0]
    database.metrics[0] = metric._replace(summaries=[(scope, "($$^2)", combine, number)] +
                                          metric.summaries[1:])


def change_combine(database):
    metric = database.metrics[0]
    scope, formula, _, number = metric.summaries[0]
    database.metrics[0] = metric._replace(summaries=[(scope, formula, 2, number)] +
                                          metric.summaries[1:])


def drop_scope(database):
    metric = database.metrics[-1]
    database.metrics[-1] = metric._replace(instances=metric.instances[:-1])
    known = {number for metric in database.metrics for _, number in metric.instances}
    for profile in database.profiles[1:]:
        profile.values = {context: {number: value for number, value in row.items()
                                    if number in known}
                          for context, row in profile.values.items()}


def add_unlisted(database):
    number = max(context.id for context in database.contexts) + 100
    for profile in database.profiles:
        profile.values[number] = {0: 1.5}


def add_sibling(database):
    number = first(database.contexts, lambda context: context.parent >= 0 and not context.children)
    twin = copy.copy(database.contexts[number])
    twin.id, twin.children = max(context.id for context in database.contexts) + 50, []
    twin.offset = (twin.offset or 0) + 4096 if twin.module is not None else None
    database.contexts[twin.parent].children.append(len(database.contexts))
    database.contexts.append(twin)


def change_function(database):
    number = first(database.contexts, lambda context: context.function is not None)
    which = database.contexts[number].function
    database.functions[which] = database.functions[which]._replace(name="other")


def use_a_file(database):
    database.files.append(File("other.c", False))
    number = first(database.contexts, lambda context: context.function is not None)
    which = database.contexts[number].function
    database.functions[which] = database.functions[which]._replace(file=len(database.files) - 1)


CHANGES = [change_value, lambda database: change_value(database, summary=True), drop_value,
           drop_leaf,
           change_offset, change_relation, change_propagation, change_entry, change_path,
           change_sample_time,
           change_sample_context, drop_sample, change_identity, change_metric, change_formula,
           change_combine,
           drop_scope, add_unlisted, add_sibling, change_function, use_a_file,
           lambda database: setattr(database, "title", "another"),
           lambda database: database.kinds.append("MORE")]


class Tools(HpcdbCase):
    """The reader, the checks and the comparison find what they are for."""

    def subjects(self):
        yield "generated", self.generated()
        if CORPUS:
            yield "real", real_database()

    def test_round_trip(self):
        for name, database in self.subjects():
            for style in ODD_STYLES:
                with self.subTest(name, style=style):
                    path = self.written(database, style=ODD_STYLES[style])
                    verify(path, real=name == "real")
                    self.assertEqual(Comparison(database, read_database(path)).run(), [])

    def test_renumbered(self):
        for name, database in self.subjects():
            for seed in range(5):
                with self.subTest(name, seed=seed):
                    path = self.written(renumbered(database, seed))
                    verify(path, real=name == "real")
                    self.assertEqual(Comparison(database, read_database(path)).run(), [])

    def test_differences(self):
        for name, database in self.subjects():
            for number, change in enumerate(CHANGES):
                with self.subTest(name, change=number, function=change.__name__):
                    other = renumbered(database, number)
                    change(other)
                    self.assertNotEqual(Comparison(database,
                                                   read_database(self.written(other))).run(), [])

    def test_verify(self):
        """Numbers that do not fit each other."""
        for name, database in self.subjects():
            for number, change in enumerate((change_value, drop_value, add_unlisted,
                                             lambda one: change_value(one, summary=True))):
                with self.subTest(name, change=number):
                    other = copy.deepcopy(database)
                    change(other)
                    with self.assertRaises(Bad):
                        verify(self.written(other), real=name == "real")

    def test_damage(self):
        """Any pointer or count that leads elsewhere is found; bytes nobody uses are not."""
        path = self.written(self.generated(threads=1, tree=12, leaves=5, metrics=1, trace=4,
                                           odd=False))
        for name in ("meta.db", "profile.db", "cct.db", "trace.db"):
            with open(os.path.join(path, name), "rb") as file:
                whole = file.read()
            found = 0
            for at in range(0, len(whole), 3):
                damaged = bytearray(whole)
                damaged[at] ^= 0x5a
                with open(os.path.join(path, name), "wb") as file:
                    file.write(damaged)
                try:
                    verify(path)
                except Bad:
                    found += 1
            with open(os.path.join(path, name), "wb") as file:
                file.write(whole)
            self.assertGreater(found / (len(whole) / 3), 0.2, name)
        verify(path)

    def test_identical_siblings(self):
        """Told apart by what is below them, and by their values."""
        database = self.generated(odd=False, trace=0)
        for number in range(3):
            database.contexts.append(Context(900 + number, 0, 0, relation=1, function=0))
            database.contexts[0].children.append(len(database.contexts) - 1)
            database.profiles[1].values[900 + number] = {0: 1.0 + number}
            database.profiles[0].values[900 + number] = {0: 1.0 + number}
        database.functions = [Function("twin", None, 0, None, 0)]
        for seed in range(4):
            other = renumbered(database, seed)
            self.assertEqual(Comparison(database, other).run(), [])
            other.profiles[1].values[other.contexts[first(other.contexts,
                                                          lambda one: one.function == 0)].id] = \
                {0: 9.0}
            self.assertNotEqual(Comparison(database, other).run(), [])

    @needs_corpus
    def test_corpus(self):
        for path in corpus_databases():
            with self.subTest(os.path.basename(path)):
                verify(path, real=True)
                self.assertEqual(compare(path, path), [])

    @needs_corpus
    def test_dumps(self):
        for name in ("small", "small.nostruct"):
            for other in ("small", "small.nostruct"):
                differences = compare(os.path.join(CORPUS, name + ".d"),
                                      os.path.join(CORPUS, other + ".yaml"))
                self.assertEqual(not differences, name == other, differences)

    @needs_corpus
    def test_yaml(self):
        """Our small reader of YAML against a whole one."""
        try:
            import yaml
        except ImportError:
            self.skipTest("PyYAML is not there")

        def any_node(loader, _, node):
            if isinstance(node, yaml.ScalarNode):
                return loader.construct_scalar(node)
            if isinstance(node, yaml.SequenceNode):
                return loader.construct_sequence(node, deep=True)
            return loader.construct_mapping(node, deep=True)
        loader = type("Loader", (yaml.SafeLoader,), {})
        loader.add_multi_constructor("!", any_node)
        for path in glob.glob(os.path.join(CORPUS, "*.yaml")) + \
                glob.glob(os.path.join(CORPUS, "*", "metrics", "default.yaml")):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            self.assertEqual(mini_yaml.load(text), yaml.load(text, loader), path)


# ---- sonde ---------------------------------------------------------------------------------------

class Read(HpcdbCase):
    """Databases that others wrote, through our commands."""

    def subjects(self):
        yield "generated", self.generated(), False
        yield "structures", self.generated(structs=True, odd_metrics=False), False
        if CORPUS:
            yield "real", real_database(), True

    def findings(self, path):
        report, = json.loads(self.sonde("check", "--json", path, expect=(0, 1)))["recordings"]
        return [(finding["severity"], finding["id"]) for finding in report["findings"]
                if finding["severity"] != "note"]

    def test_check(self):
        """As the document has it, in every style that it allows: nothing to say but notes."""
        for name, database, _ in self.subjects():
            for style in ODD_STYLES:
                with self.subTest(name, style=style):
                    path = self.written(database, f"{name}-{style}", ODD_STYLES[style])
                    self.assertEqual(self.findings(path), [])

    @needs_corpus
    def test_check_corpus(self):
        for path in corpus_databases():
            with self.subTest(os.path.basename(path)):
                self.assertEqual(self.findings(path), [])

    def test_copy(self):
        """A database converted to a database stays what it is, also out of an odd one."""
        for name, database, real in self.subjects():
            for style in ("plain", "junk", "backwards"):
                with self.subTest(name, style=style):
                    source = self.written(renumbered(database), f"{name}-{style}",
                                          ODD_STYLES[style])
                    out = self.path(f"{name}-{style}.d")
                    self.sonde("convert", source, "-t", "hpcdb", "-o", out)
                    verify(out, real)
                    self.assertEqual(compare(out, source)[:5], [])

    def test_dump(self):
        """Each context, value and sample as the Python reader sees it."""
        for name, database, _ in self.subjects():
            with self.subTest(name):
                path = self.written(renumbered(database), name)
                shown = Dumped(self.sonde, path).database
                self.assertEqual(Shown.differences(shown, as_listed(read_database(path)))[:5], [])

    def test_track(self):
        """One thread alone: what is left are its values."""
        database = self.generated(odd=False)
        source, out = self.written(database), self.path("one.d")
        self.sonde("convert", source, "-t", "hpcdb", "-o", out, "--track", "1")
        found = verify(out)
        self.assertEqual(len(found.profiles), 2)
        names = {number: (metric.name, scope) for metric in found.metrics
                 for scope, number in metric.instances}
        before = {number: (metric.name, scope) for metric in database.metrics
                  for scope, number in metric.instances}
        self.assertEqual(
            {names[number]: round(value, 9) for number,
             value in found.profiles[1].values[0].items()},
            {before[number]: round(value, 9)
             for number, value in database.profiles[2].values[0].items()})

    def test_flipped_bytes(self):
        """Most of what the Python checks find is found by ours, and nothing makes it fall."""
        path = self.written(self.generated(threads=2, tree=15, leaves=5, metrics=1, trace=4,
                                           odd=False,
                                           structs=True))
        pick, missed, found = random.Random(7), [], 0
        for name in ("meta.db", "profile.db", "cct.db", "trace.db"):
            with open(os.path.join(path, name), "rb") as file:
                whole = file.read()
            for _ in range(40):
                at, bit = pick.randrange(len(whole)), pick.randrange(8)
                damaged = bytearray(whole)
                damaged[at] ^= 1 << bit
                with open(os.path.join(path, name), "wb") as file:
                    file.write(damaged)
                told = self.run_sonde("check", "--json", path)
                try:
                    verify(path)
                except Bad as bad:
                    found += 1
                    if told.returncode == 0:
                        missed.append(f"{name} at {at:#x}, bit {bit}: {bad}")
            with open(os.path.join(path, name), "wb") as file:
                file.write(whole)
        self.assertGreater(found, 100)
        self.assertLess(len(missed) / found, 0.08, missed)

    def test_recover_nothing(self):
        """Contexts are damaged and threads lost: that is no database any more, nor a copy."""
        path = self.written(self.generated(threads=2, tree=15, leaves=5, odd=False))
        for name, share in (("meta.db", 0.9), ("profile.db", 0.01)):
            size = os.path.getsize(os.path.join(path, name))
            os.truncate(os.path.join(path, name), max(80, int(size * share)))
        out = self.path("recovered")
        done = self.run_sonde("recover", path, "-o", out)
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"nothing can be recovered", done.stderr)
        self.assertFalse(os.path.exists(out))


if __name__ == "__main__":
    tap.main()
