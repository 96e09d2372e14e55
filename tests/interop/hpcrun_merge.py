#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hpcrun_merge.py OUT FOLDER...: merges measurements into a database without knowing anything of the binaries, by
the rules of the format and by brute force; it shares no code with the program. Contexts are instructions called by
instructions, entries, and the named or unknown functions that placeholders stand for.
"""
import sys
from collections import defaultdict

from hpcdb_reader import (CALL, CUSTOM, ENTRY, EXECUTION, FUNCTION, INSTRUCTION, NO_BIT, POINT, TRANSITIVE,
                          Context, Database, Function, Identity, Metric, Profile, Scope)
from hpcdb_writer import write_database
from hpcrun_reader import read_folder

SCOPES = [Scope("point", POINT, NO_BIT), Scope("function", TRANSITIVE, 0), Scope("lex_aware", CUSTOM, NO_BIT),
          Scope("execution", EXECUTION, NO_BIT)]
ENTRIES = {0: "unknown entry", 1: "main thread", 2: "application thread"}
NAMES = {"OMP Idle": "<omp idle>", "OMPOvrHd": "<omp overhead>", "OMPBarrW": "<omp barrier wait>",
         "OMPTaskW": "<omp task wait>", "OMPMtexW": "<omp mutex wait>",
         "OMPUresv": "<omp region unresolved>", "OMTAlloc": "<omp tgt alloc>",
         "OMTDelte": "<omp tgt delete>", "OMTCpIn ": "<omp tgt copyin>", "OMTCpOut": "<omp tgt copyout>",
         "OMTKernl": "<omp tgt kernel>", "GPUCp?2?": "<gpu copy>", "GPUCpH2D": "<gpu copyin>",
         "GPUCpD2H": "<gpu copyout>", "GPUAlloc": "<gpu alloc>", "GPUDelte": "<gpu delete>",
         "GPUKernl": "<gpu kernel>", "GPUMemst": "<gpu memset>", "GPU Sync": "<gpu sync>",
         "GPUTrace": "<gpu kernel>"}


class Tree:
    """Contexts by what they are; the path of one is its key."""

    def __init__(self):
        self.keys = {(): None}
        self.children = defaultdict(dict)

    def add(self, parent, key):
        path = parent + (key,)
        self.children[parent].setdefault(key, path)
        return path


def expand(tree, node, parent, paths):
    """The context of a node: () is the global one."""
    if node.module == 0 and node.unwound:
        name = node.ip.to_bytes(8, "big").decode("latin-1")
        if name == "^Primary" or (node.parent == 0 and node.ip == 0):
            return ()
        if parent == ():
            if name == "NoActvty":
                return ()
            if name in ("^Partial", "*Unnorm "):
                return tree.add((), ("entry", 0))
            if name in ("| Main  ", "| Thread"):
                return tree.add((), ("entry", 1 if name == "| Main  " else 2))
        parent = parent or tree.add((), ("entry", 0))
        if name in ("^Partial", "*Unnorm "):
            return tree.add(parent, ("unknown",))
        return tree.add(parent, ("placeholder", name))
    parent = parent or tree.add((), ("entry", 0))
    if not node.unwound:
        parent = tree.add(parent, ("unknown",))
    return tree.add(parent, ("instruction", paths[node.module], node.ip))


class Merge:
    def __init__(self, measurements, statistics=(("$$", 0),)):
        self.tree, self.database = Tree(), Database()
        self.statistics = statistics
        self.threads = []  # (identities, {path: {metric name: value}}, trace)
        self.metrics, self.kinds = {}, {}
        self.unknown_samples = 0
        for measurement in measurements:
            self.thread(measurement)

    def thread(self, measurement):
        epoch = measurement.epoch
        paths = {module.id: module.path for module in epoch.modules}
        places = {0: ()}
        for node in epoch.nodes:
            places[node.id] = expand(self.tree, node, places[node.parent], paths)
        points = defaultdict(lambda: defaultdict(float))
        for node, row in epoch.values.items():
            for metric, value in row:
                points[places[node]][epoch.metrics[metric].name] += value * epoch.metrics[metric].period
        for metric in epoch.metrics:
            self.metrics.setdefault(metric.name, metric)
        self.kinds.update(epoch.kinds)
        trace = None
        if measurement.trace is not None:
            known = sorted(((time, places[node]) for time, node in measurement.trace if node in places),
                           key=lambda record: record[0])
            self.unknown_samples += len(measurement.trace) - len(known)
            trace = [record for number, record in enumerate(known)
                     if record[1] or number == 0 or known[number - 1][1]]
        self.threads.append((epoch.identities, points, trace))

    def contexts(self):
        """The tree as the list of a database; path -> ctxId."""
        database, numbers = self.database, {(): 0}
        modules, functions = {}, {}
        pending = [((), -1)]
        while pending:
            path, parent = pending.pop()
            if path:
                mine = len(database.contexts)
                context = self.one(path[-1], mine + 1, parent, modules, functions)
                database.contexts.append(context)
                if parent >= 0:
                    database.contexts[parent].children.append(mine)
                numbers[path], parent = context.id, mine
            pending += [(child, parent) for child in self.tree.children.get(path, {}).values()]
        database.modules = list(modules)
        return numbers

    def one(self, key, number, parent, modules, functions):
        if key[0] == "entry":
            return Context(number, -1, ENTRY, entry=key[1], name=ENTRIES[key[1]])
        context = Context(number, parent, INSTRUCTION if key[0] == "instruction" else FUNCTION, relation=CALL)
        if key[0] == "instruction":
            context.module = modules.setdefault(key[1], len(modules))
            context.offset = key[2]
        elif key[0] == "placeholder":
            if key[1] not in functions:
                functions[key[1]] = len(functions)
                self.database.functions.append(Function(NAMES.get(key[1], key[1]), None, 0, None, 0))
            context.function = functions[key[1]]
        return context

    def scoped(self, points, numbers):
        """Values of all scopes, by ctxId and propMetricId: nothing is enclosed, so only `execution` sums up."""
        rows = defaultdict(dict)
        for path, row in points.items():
            for name, value in row.items():
                for scope, number in self.instances[name]:
                    if SCOPES[scope].name != "execution":
                        rows[numbers[path]][number] = rows[numbers[path]].get(number, 0.0) + value
                        continue
                    for length in range(len(path) + 1):
                        target = rows[numbers[path[:length]]]
                        target[number] = target.get(number, 0.0) + value
        return {context: {number: value for number, value in row.items() if value}
                for context, row in rows.items()}

    def describe(self):
        base, self.instances = 0, {}
        for name, metric in self.metrics.items():
            if metric.formula:
                continue
            wanted = {2: (0, 3), 3: (0, 1, 2)}.get(metric.show, (0, 1, 2, 3))
            instances = [(scope, base + place) for place, scope in enumerate(wanted)]
            summaries = [(scope, formula, combine, base + number * len(wanted) + place)
                         for number, (formula, combine) in enumerate(self.statistics)
                         for place, scope in enumerate(wanted)]
            base += max(len(self.statistics), 1) * len(wanted)
            self.instances[name] = instances
            self.database.metrics.append(Metric(name, instances, summaries))

    def summary(self):
        """Statistics over the threads that have a value."""
        functions = {"$$": lambda x: x, "1": lambda x: 1.0, "($$^2)": lambda x: x * x}
        found = defaultdict(lambda: defaultdict(list))
        for profile in self.database.profiles[1:]:
            for context, row in profile.values.items():
                for number, value in row.items():
                    found[number][context].append(value)
        rows = defaultdict(dict)
        for metric in self.database.metrics:
            ids = dict(metric.instances)
            for scope, formula, combine, number in metric.summaries:
                for context, values in found[ids[scope]].items():
                    value = (sum, min, max)[combine]([functions[formula](value) for value in values])
                    if value:
                        rows[context][number] = value
        self.database.profiles[0].values = dict(rows)

    def run(self, title):
        database = self.database
        database.title, database.scopes = title, list(SCOPES)
        database.kinds = [self.kinds.get(kind, "") for kind in range(max(self.kinds, default=-1) + 1)]
        numbers = self.contexts()
        self.describe()
        database.profiles = [Profile((), True, {})]
        traces = []
        for identities, points, trace in self.threads:
            made = []
            for one in identities:
                physical = one.interpretation != 3
                made.append(Identity(one.kind, physical, one.logical & 0xffffffff,
                                     one.physical if physical else one.logical & 0xffffffff))
            database.profiles.append(Profile(tuple(made), False, self.scoped(points, numbers)))
            traces.append((len(traces) + 1, [(time, numbers[path]) for time, path in trace or ()]))
        if any(trace is not None for _, _, trace in self.threads):
            database.traces = traces
        self.summary()
        return database


def merge_folders(folders, statistics=(("$$", 0),), title=None):
    measurements = [one for folder in folders for one in read_folder(folder)]
    return Merge(measurements, statistics).run(title or measurements[0].file.pairs["program-name"])


if __name__ == "__main__":
    write_database(sys.argv[1], merge_folders(sys.argv[2:]))
