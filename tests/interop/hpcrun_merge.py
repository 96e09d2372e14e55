#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hpcrun_merge.py OUT FOLDER... [--no-structs]: merges measurements into a database, by the rules
of the format and by brute force; it shares no code with the program. What is known of the code
comes from .hpcstruct files alone; where there is nothing, contexts are instructions called by
instructions. Entries, and the named or unknown functions that placeholders stand for, are there
always.
"""
import sys
from collections import defaultdict

from hpcdb_reader import (CALL, CUSTOM, ENTRY, EXECUTION, FUNCTION, INSTRUCTION, LEXICAL, LINE,
                          LOOP, NO_BIT, POINT,
                          TRANSITIVE, Context, Database, File, Function, Identity, Metric, Profile,
                          Scope)
from hpcdb_writer import write_database
from hpcrun_reader import read_folder
from hpcrun_writer import KINDS
from hpcstruct_reader import read_structures

SCOPES = [Scope("point", POINT, NO_BIT), Scope("function", TRANSITIVE, 0),
          Scope("lex_aware", CUSTOM, NO_BIT),
          Scope("execution", EXECUTION, NO_BIT)]
ENTRIES = {0: "unknown entry", 1: "main thread", 2: "application thread"}
NAMES = {"OMP Idle": "<omp idle>", "OMPOvrHd": "<omp overhead>", "OMPBarrW": "<omp barrier wait>",
         "OMPTaskW": "<omp task wait>", "OMPMtexW": "<omp mutex wait>",
         "OMPUresv": "<omp region unresolved>", "OMTAlloc": "<omp tgt alloc>",
         "OMTDelte": "<omp tgt delete>", "OMTCpIn ": "<omp tgt copyin>",
         "OMTCpOut": "<omp tgt copyout>",
         "OMTKernl": "<omp tgt kernel>", "GPUCp?2?": "<gpu copy>", "GPUCpH2D": "<gpu copyin>",
         "GPUCpD2H": "<gpu copyout>", "GPUAlloc": "<gpu alloc>", "GPUDelte": "<gpu delete>",
         "GPUKernl": "<gpu kernel>", "GPUMemst": "<gpu memset>", "GPU Sync": "<gpu sync>",
         "GPUTrace": "<gpu kernel>"}


class Tree:
    """Contexts by what they are; the path of one is its key. Each step of it is (kind, relation,
    ...).
    """

    def __init__(self):
        self.children = defaultdict(dict)

    def add(self, parent, key):
        path = parent + (key,)
        self.children[parent].setdefault(key, path)
        return path

    def entry(self, number):
        return self.add((), ("entry", CALL, number))


def unlisted(path):
    """An instruction within something bigger has values, but no place in the tree that is shown."""
    return bool(path) and path[-1][:2] == ("instruction", LEXICAL)


def expand_placeholder(tree, node, parent):
    name = node.ip.to_bytes(8, "big").decode("latin-1")
    if name == "^Primary" or (node.parent == 0 and node.ip == 0):
        return ()
    if parent == ():
        if name == "NoActvty":
            return ()
        if name in ("^Partial", "*Unnorm "):
            return tree.entry(0)
        if name in ("| Main  ", "| Thread"):
            return tree.entry(1 if name == "| Main  " else 2)
    parent = parent or tree.entry(0)
    if name in ("^Partial", "*Unnorm "):
        return tree.add(parent, ("unknown", CALL))
    return tree.add(parent, ("placeholder", CALL, name))


def expand(tree, node, parent, paths, structures):
    """The outermost and the innermost context of a node: () is the global one."""
    if node.module == 0 and node.unwound:
        path = expand_placeholder(tree, node, parent)
        return path, path
    path = parent or tree.entry(0)
    module = paths[node.module]
    if not node.unwound:
        path = tree.add(path, ("unknown", CALL))
    outer = None
    for key in structures[module].find(node.ip) if module in structures else ():
        path = tree.add(path, key)
        outer = outer or path
    path = tree.add(path, ("instruction", LEXICAL if outer else CALL, module, node.ip))
    return outer or path, path


class Merge:
    def __init__(self, statistics=(("$$", 0),)):
        self.tree, self.database = Tree(), Database()
        self.statistics = statistics
        self.threads = []  # (identities, {path: {metric name: value}}, trace)
        # those that are known have their names always
        self.metrics, self.kinds = {}, dict(enumerate(KINDS))
        self.unknown_samples = 0
        self.modules, self.files, self.functions = {}, {}, {}

    def thread(self, measurement, structures):
        epoch = measurement.epoch
        paths = {module.id: module.path for module in epoch.modules}
        outer, inner = {0: ()}, {0: ()}
        for node in epoch.nodes:
            outer[node.id], inner[node.id] = expand(self.tree, node, inner[node.parent], paths,
                                                    structures)
        points = defaultdict(lambda: defaultdict(float))
        for node, row in epoch.values.items():
            for number, value in row:
                metric = epoch.metrics[number]
                place = outer[node] if metric.at_function else inner[node]
                points[place][metric.name] += value * metric.period
        for metric in epoch.metrics:
            self.metrics.setdefault(metric.name, metric)
        self.kinds.update(epoch.kinds)
        trace = None
        if measurement.trace is not None:
            places = outer if measurement.trace_flags & 4 else inner
            known = [(time, places[node]) for time, node in measurement.trace if node in places]
            known = sorted(((time, path[:-1] if unlisted(path) else path) for time, path in known),
                           key=lambda record: record[0])
            self.unknown_samples += len(measurement.trace) - len(known)
            trace = [record for number, record in enumerate(known)
                     if record[1] or number == 0 or known[number - 1][1]]
        self.threads.append((epoch.identities, points, trace))

    def contexts(self):
        """The tree as the list of a database; path -> ctxId."""
        database, numbers = self.database, {(): 0}
        pending = [((), -1)]
        while pending:
            path, parent = pending.pop()
            if path:
                numbers[path] = len(numbers)
            if path and not unlisted(path):
                mine = len(database.contexts)
                database.contexts.append(self.one(path[-1], numbers[path], parent))
                if parent >= 0:
                    database.contexts[parent].children.append(mine)
                parent = mine
            pending += [(child, parent) for child in self.tree.children.get(path, {}).values()]
        database.modules = list(self.modules)
        database.files = [File(path, False) for path in self.files]
        return numbers

    def module(self, path):
        return self.modules.setdefault(path, len(self.modules))

    def file(self, path):
        return self.files.setdefault(path, len(self.files))

    def function(self, key, make):
        if key not in self.functions:
            self.functions[key] = len(self.functions)
            self.database.functions.append(make())
        return self.functions[key]

    def one(self, key, number, parent):
        kind, relation = key[:2]
        if kind == "entry":
            return Context(number, -1, ENTRY, entry=key[2], name=ENTRIES[key[2]])
        kinds = {"instruction": INSTRUCTION, "loop": LOOP, "line": LINE}
        context = Context(number, parent, kinds.get(kind, FUNCTION), relation=relation,
                          propagation=int(relation == LEXICAL))
        if kind == "instruction":
            context.module, context.offset = self.module(key[2]), key[3]
        elif kind == "placeholder":
            context.function = self.function(key, lambda: Function(NAMES.get(key[2], key[2]), None,
                                                                   0, None, 0))
        elif kind == "function":
            _, _, _, name, module, offset, file, line = key
            context.function = self.function(key, lambda: Function(name, self.module(module),
                                                                   offset,
                                                                   self.file(file), line))
        elif kind in ("line", "loop"):
            context.file, context.line = self.file(key[2]), key[3]
            if kind == "loop":
                context.module, context.offset = self.module(key[4]), key[5]
        return context

    @staticmethod
    def targets(path, scope):
        """Which contexts a value at a path counts for in a scope."""
        yield path
        if scope == "point":
            return
        loops = False
        for length in range(len(path) - 1, -1, -1):
            step = path[length]
            if scope != "execution" and step[1] != LEXICAL:
                return
            loops = loops or step[0] == "loop"
            above = path[:length]
            if scope != "lex_aware" or not loops or above[-1][0] != "loop":
                yield above

    def scoped(self, points, numbers):
        """Values of all scopes, by ctxId and propMetricId."""
        rows = defaultdict(dict)
        for path, row in points.items():
            for name, value in row.items():
                for scope, number in self.instances[name]:
                    for target in self.targets(path, SCOPES[scope].name):
                        place = rows[numbers[target]]
                        place[number] = place.get(number, 0.0) + value
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
                    value = (sum, min, max)[combine]([functions[formula](value)
                                                      for value in values])
                    if value:
                        rows[context][number] = value
        self.database.profiles[0].values = dict(rows)

    def run(self, title):
        database = self.database
        database.title, database.scopes = title, list(SCOPES)
        database.kinds = [self.kinds.get(kind, "")
                          for kind in range(max(self.kinds, default=-1) + 1)]
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


def merge_folders(folders, statistics=(("$$", 0),), title=None, structs=True, skip=()):
    """Several folders as one database; files whose names are in `skip` are left out."""
    merge = Merge(statistics)
    for folder in folders:
        structures = read_structures(folder) if structs else {}
        for measurement in read_folder(folder, skip):
            merge.thread(measurement, structures)
            title = title or measurement.file.pairs["program-name"]
    return merge.run(title)


if __name__ == "__main__":
    names = [argument for argument in sys.argv[1:] if argument != "--no-structs"]
    write_database(names[0], merge_folders(names[1:], structs="--no-structs" not in sys.argv))
