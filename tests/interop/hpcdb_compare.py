#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hpcdb_compare.py A B [--lex-aware-tolerance] [--no-taxonomy]: are two databases the same but for
the numbers of their contexts, metrics, tables and threads? B may also be a .yaml dump of a
database. The first differences in words, and exit code 1. --lex-aware-tolerance: in profiles of
threads the scope lex_aware may be "function".
"""
import json
import os
import sys
from collections import Counter, defaultdict

import mini_yaml
from hpcdb_reader import (COMBINE, ENTRY, NO_BIT, Bad, Context, Database, File, Function, Identity,
                          Metric,
                          Profile, Scope, read_database)

TOLERANCE = 1e-9
KINDS = ("function", "loop", "line", "instruction", "entry")
RELATIONS = ("lexical", "call", "inlined_call")


# ---- dumps ---------------------------------------------------------------------------------------

class Dump:
    """A *.yaml as a Database."""

    def __init__(self, tree):
        self.tree, self.meta, self.database = tree, tree["meta"], Database()
        self.database.folder = None

    @staticmethod
    def number(items, wanted):
        """Which of the items an alias is, by identity; None for none."""
        return next((number for number, item in enumerate(items) if item is wanted), None)

    def metrics(self):
        scopes = self.meta["metrics"]["scopes"]
        types = {"custom": 0, "point": 1, "execution": 2, "transitive": 3}
        self.database.scopes = [Scope(item["scope_name"], types[item["type"]],
                                      item["propagation_index"])
                                for item in scopes]
        for item in self.meta["metrics"]["metrics"]:
            self.database.metrics.append(Metric(item["name"], [
                (self.number(scopes, one["scope"]), one["prop_metric_id"])
                for one in item["scope_insts"]], [
                (self.number(scopes, one["scope"]), one["formula"], COMBINE.index(one["combine"]),
                 one["stat_metric_id"]) for one in item["summaries"]]))

    def tables(self):
        self.modules = self.meta["modules"]["modules"]
        self.files = self.meta["files"]["files"]
        self.functions = self.meta["functions"]["functions"]
        self.database.modules = [item["path"] for item in self.modules]
        self.database.files = [File(item["path"], "copied" in item["flags"]) for item in self.files]
        self.database.functions = [
            Function(item["name"], self.number(self.modules, item["module"]), item["offset"] or 0,
                     self.number(self.files, item["file"]), item["line"] or 0)
            for item in self.functions]

    def contexts(self, items, parent):
        out = self.database.contexts
        for item in items or ():
            mine = len(out)
            if parent >= 0:
                out[parent].children.append(mine)
                out.append(Context(
                    item["ctx_id"], parent, KINDS.index(item["lexical_type"]),
                    relation=RELATIONS.index(item["relation"]), propagation=item["propagation"],
                    function=self.number(self.functions, item["function"]),
                    file=self.number(self.files, item["file"]), line=item["line"],
                    module=self.number(self.modules, item["module"]), offset=item["offset"]))
            else:
                entry = ("unknown_entry", "main_thread",
                         "application_thread").index(item["entry_point"])
                out.append(Context(item["ctx_id"], -1, ENTRY, entry=entry,
                                   name=item["pretty_name"]))
            self.contexts(item["children"], mine)

    def read(self):
        database = self.database
        database.title = self.meta["general"]["title"]
        database.description = self.meta["general"]["description"]
        database.kinds = self.meta["id_names"]["names"]
        self.metrics()
        self.tables()
        self.contexts(self.meta["context"]["entry_points"], -1)
        for item in self.tree["profile"]["profile_infos"]["profiles"]:
            identities = tuple(Identity(one["kind"], "is_physical" in one["flags"],
                                        one["logical_id"],
                                        one["physical_id"])
                               for one in (item["id_tuple"] or {"ids": ()})["ids"])
            database.profiles.append(Profile(identities, "is_summary" in item["flags"],
                                             item["values"] or {}))
        if self.tree.get("trace"):
            database.traces = [(item["prof_index"], [(one["timestamp"], one["ctx_id"])
                                                     for one in item["line"] or ()])
                               for item in self.tree["trace"]["ctx_traces"]["traces"]]
        return database


def read_any(path):
    if not path.endswith(".yaml"):
        return read_database(path)
    with open(path, encoding="utf-8") as file:
        return Dump(mini_yaml.load(file.read())).read()


# ---- contents without numbers --------------------------------------------------------------------

def function_content(database, number):
    if number is None:
        return None
    function = database.functions[number]
    return (function.name, None if function.module is None else database.modules[function.module],
            function.offset, None if function.file is None else database.files[function.file],
            function.line)


def content(database, context):
    return (KINDS[context.kind], context.entry, context.name, context.relation, context.propagation,
            function_content(database, context.function),
            None if context.file is None else database.files[context.file], context.line,
            None if context.module is None else database.modules[context.module], context.offset)


def words(database, context):
    """A context for the eyes."""
    if context.kind == ENTRY:
        return f"[{context.name}]"
    parts = [KINDS[context.kind]]
    if context.function is not None:
        parts.append(str(database.functions[context.function].name))
    if context.file is not None:
        parts.append(f"{os.path.basename(database.files[context.file].path)}:{context.line}")
    if context.module is not None:
        parts.append(f"{os.path.basename(database.modules[context.module])}+{context.offset:#x}")
    return " ".join(parts)


def path_words(database, number):
    out = []
    while number >= 0:
        out.append(words(database, database.contexts[number]))
        number = database.contexts[number].parent
    return " > ".join(reversed(out[:4])) + (" (below more)" if len(out) > 4 else "")


def rounded(value):
    return float(f"{value:.7g}")


def row_order(row):
    return sorted((str(key), rounded(value)) for key, value in row.items())


class Side:
    """One of the two databases, with what is asked of it often."""

    def __init__(self, database):
        self.database = database
        self.measured, self.statistics = {}, {}
        for metric in database.metrics:
            for scope, number in metric.instances:
                self.measured[number] = (metric.name, database.scopes[scope].name)
            for scope, formula, combine, number in metric.summaries:
                self.statistics[number] = (metric.name, database.scopes[scope].name, formula,
                                           COMBINE[combine])
        self.profile_keys = []
        seen = Counter()
        for profile in database.profiles:
            key = ("summary",) if profile.is_summary else tuple(
                (database.kinds[one.kind], one.physical_flag,
                 one.physical if one.physical_flag else one.logical) for one in profile.identities)
            self.profile_keys.append((key, seen[key]))
            seen[key] += 1
        self.rows = defaultdict(dict)  # ctxId -> {(profile key, metric key): value}
        for key, profile in zip(self.profile_keys, database.profiles):
            names = self.statistics if profile.is_summary else self.measured
            for context, row in profile.values.items():
                rows = self.rows[context]
                for metric, value in row.items():
                    rows[key, names[metric]] = value
        self.samples = Counter(context for _, line in database.traces or () for _, context in line)
        self.traces = {self.profile_keys[profile]: line for profile, line in database.traces or ()
                       if line}
        self.sign()

    def sign(self):
        """Contents of contexts, of their subtrees, and what tells identical ones apart."""
        contexts = self.database.contexts
        self.contents = [content(self.database, context) for context in contexts]
        self.shapes, self.weights = [None] * len(contexts), [None] * len(contexts)
        for number in range(len(contexts) - 1, -1, -1):
            children = contexts[number].children
            self.shapes[number] = hash((self.contents[number],
                                        tuple(sorted(self.shapes[child] for child in children))))
            values = sum(rounded(value) for value in self.rows.get(contexts[number].id,
                                                                   {}).values())
            self.weights[number] = (
                rounded(values + sum(self.weights[child][0] for child in children)),
                self.samples[contexts[number].id] + sum(self.weights[child][1]
                                                        for child in children),
                sum(rounded(line[0]) * (place + 1) for place, line in
                    enumerate(sorted(self.weights[child] for child in children))))

    def rank(self, number):
        return self.shapes[number], self.weights[number]

    def children(self, number):
        if number < 0:
            return [place for place, context in enumerate(self.database.contexts)
                    if context.parent < 0]
        return self.database.contexts[number].children

    def used(self):
        """Paths of modules and sources, and functions, that contexts lead to."""
        database = self.database
        functions = {context.function for context in database.contexts} - {None}
        modules = {context.module for context in database.contexts} | \
            {database.functions[number].module for number in functions}
        files = {context.file for context in database.contexts} | \
            {database.functions[number].file for number in functions}
        return {"modules": Counter(database.modules[number] for number in modules - {None}),
                "source files": Counter(database.files[number] for number in files - {None}),
                "functions": Counter(function_content(database, number) for number in functions)}


def close(a, b):
    return abs(a - b) <= TOLERANCE * max(abs(a), abs(b))


# ---- comparison ----------------------------------------------------------------------------------

class Comparison:
    def __init__(self, a, b, lex_aware_tolerance=False, limit=20):
        self.a, self.b = Side(a), Side(b)
        self.tolerant, self.limit = lex_aware_tolerance, limit
        self.differences = []
        self.match = {0: 0}  # ctxId of a -> ctxId of b
        self.pairs = []

    def say(self, *parts):
        self.differences.append(" ".join(str(part) for part in parts))

    def same(self, what, one, other):
        if one != other:
            self.say(f"{what}: {one!r} and {other!r}")

    def same_counters(self, what, one, other):
        for item in list((one - other).elements())[:3]:
            self.say(f"{what}: only the first has", item)
        for item in list((other - one).elements())[:3]:
            self.say(f"{what}: only the second has", item)

    def heads(self):
        a, b = self.a.database, self.b.database
        self.same("title", a.title, b.title)
        self.same("identifier names", a.kinds, b.kinds)
        # what stands in the bit of a scope without one does not matter
        scopes = [{(scope.name, scope.type, scope.bit if scope.type == 3 else NO_BIT)
                   for scope in side.scopes}
                  for side in (a, b)]
        self.same_counters("scopes", Counter(scopes[0]), Counter(scopes[1]))
        self.same_counters("metrics", Counter(metric.name for metric in a.metrics),
                           Counter(metric.name for metric in b.metrics))
        self.same_counters("metrics with scopes", Counter(self.a.measured.values()),
                           Counter(self.b.measured.values()))
        self.same_counters("statistics", Counter(self.a.statistics.values()),
                           Counter(self.b.statistics.values()))
        self.same_counters("profiles", Counter(self.a.profile_keys), Counter(self.b.profile_keys))
        mine, theirs = self.a.used(), self.b.used()
        for what in mine:
            self.same_counters(what + " in use", mine[what], theirs[what])

    def match_group(self, ours, theirs):
        """Siblings of one content: equal subtrees first, then by what they hold."""
        order = [sorted(numbers, key=side.rank) for side, numbers in ((self.a, ours),
                                                                      (self.b, theirs))]
        shapes = [Counter(side.shapes[number] for number in numbers)
                  for side, numbers in ((self.a, ours), (self.b, theirs))]
        if shapes[0] == shapes[1]:
            return list(zip(*order))
        common, out = shapes[0] & shapes[1], []
        rest = []
        for side, numbers in ((self.a, order[0]), (self.b, order[1])):
            left, taken, other = Counter(common), [], []
            for number in numbers:
                shape = side.shapes[number]
                (taken if left[shape] > 0 else other).append(number)
                left[shape] -= 1
            out.append(taken)
            rest.append(other)
        return list(zip(*out)) + list(zip(*rest))

    def contexts(self):
        pending = [(-1, -1)]
        while pending:
            mine, theirs = pending.pop()
            groups = defaultdict(lambda: ([], []))
            for child in self.a.children(mine):
                groups[self.a.contents[child]][0].append(child)
            for child in self.b.children(theirs):
                groups[self.b.contents[child]][1].append(child)
            for ours, others in groups.values():
                if len(ours) != len(others):
                    side, number = (self.a, ours[0]) if ours else (self.b, others[0])
                    self.say(f"contexts: {len(ours)} and {len(others)} of",
                             path_words(side.database, number))
                matched = [(ours[0], others[0])] if len(ours) == len(others) == 1 else \
                    self.match_group(ours, others)
                for one, other in matched:
                    mine_id = self.a.database.contexts[one].id
                    self.match[mine_id] = self.b.database.contexts[other].id
                    self.pairs.append((one, other))
                pending += matched

    def differ(self, row, other, key):
        """Whether a value is another one, with what is allowed."""
        one, two = row.get(key, 0.0), other.get(key, 0.0)
        if close(one, two):
            return False
        profile, metric = key
        if not self.tolerant or profile[0] == ("summary",) or metric[1] != "lex_aware":
            return True
        plain = (profile, (metric[0], "function"))
        return not (close(one, row.get(plain, 0.0)) or close(two, other.get(plain, 0.0)))

    def rows(self, where, row, other):
        for key in row.keys() | other.keys():
            if self.differ(row, other, key):
                profile = " ".join(str(part) for part in key[0][0])
                self.say(f"value of {where}, {' '.join(key[1])}, in {profile}:",
                         row.get(key, "none"), "and",
                         other.get(key, "none"))
                return

    def values(self):
        self.rows("the global context", self.a.rows.get(0, {}), self.b.rows.get(0, {}))
        for one, other in self.pairs:
            self.rows(path_words(self.a.database, one),
                      self.a.rows.get(self.a.database.contexts[one].id, {}),
                      self.b.rows.get(self.b.database.contexts[other].id, {}))

    def unlisted(self):
        """Contexts that have values but no place in the tree: the same ones as a whole."""
        sides = []
        for side in (self.a, self.b):
            listed = {context.id for context in side.database.contexts} | {0}
            rows = [row for context, row in side.rows.items() if context not in listed and row]
            sides.append(sorted(rows, key=row_order))
        self.same("number of unlisted contexts with values", len(sides[0]), len(sides[1]))
        left = [[], []]
        for row, other in zip(*sides):
            if any(self.differ(row, other, key) for key in row.keys() | other.keys()):
                left[0].append(row)
                left[1].append(other)
        # rounding may have sorted near ones apart
        for row in left[0]:
            fit = next((other for other in left[1]
                        if not any(self.differ(row, other, key)
                                   for key in row.keys() | other.keys())), None)
            if fit is None:
                key, value = sorted(row.items(), key=str)[0]
                self.say("unlisted contexts: only the first has one with", " ".join(key[1]), "of",
                         value)
            else:
                left[1].remove(fit)

    def traces(self):
        for key in sorted(self.a.traces.keys() | self.b.traces.keys(), key=str):
            line, other = self.a.traces.get(key, []), self.b.traces.get(key, [])
            name = " ".join(str(part) for part in key[0])
            if len(line) != len(other):
                self.say(f"trace of {name}: {len(line)} and {len(other)} samples")
            for number, (one, two) in enumerate(zip(line, other)):
                if one[0] != two[0] or self.match.get(one[1]) != two[1]:
                    self.say(f"trace of {name}: sample {number} is {one} and {two};",
                             f"context {one[1]} is {self.match.get(one[1])} in the second")
                    break

    def run(self):
        self.heads()
        self.contexts()
        self.values()
        self.unlisted()
        self.traces()
        return self.differences


# ---- default.yaml --------------------------------------------------------------------------------

def sorted_items(items):
    return sorted(items or (), key=lambda item: json.dumps(item, sort_keys=True))


def sorted_roots(items):
    out = []
    for item in items or ():
        item = dict(item)
        if item.get("children"):
            item["children"] = sorted_roots(item["children"])
        out.append(item)
    return sorted_items(out)


def load_taxonomy(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        import yaml  # pylint: disable=import-outside-toplevel
        return yaml.safe_load(text)
    except ImportError:
        return mini_yaml.load(text)


def compare_taxonomies(one, other):
    """metrics/default.yaml of two databases: names of anchors and the order of roots do not matter.
    """
    paths = [os.path.join(folder, "metrics", "default.yaml") for folder in (one, other)]
    if not all(os.path.exists(path) for path in paths):
        return [f"taxonomy: {path} is not there" for path in paths if not os.path.exists(path)]
    a, b = (load_taxonomy(path) for path in paths)
    out = []
    if a.get("version") != b.get("version"):
        out.append("taxonomy: other version")
    for name, order in (("inputs", sorted_items), ("roots", sorted_roots)):
        mine, theirs = order(a.get(name)), order(b.get(name))
        for item in [item for item in mine if item not in theirs][:2]:
            out.append(f"taxonomy: {name}: only the first has {json.dumps(item)[:700]}")
        for item in [item for item in theirs if item not in mine][:2]:
            out.append(f"taxonomy: {name}: only the second has {json.dumps(item)[:700]}")
        if len(mine) != len(theirs):
            out.append(f"taxonomy: {len(mine)} and {len(theirs)} {name}")
    return out


def compare(one, other, lex_aware_tolerance=False, taxonomy=True):
    """Differences of two databases (folders or *.yaml), in words."""
    out = Comparison(read_any(one), read_any(other), lex_aware_tolerance).run()
    if taxonomy and os.path.isdir(one) and os.path.isdir(other):
        out += compare_taxonomies(one, other)
    return out


def main(arguments):
    paths = [argument for argument in arguments if not argument.startswith("--")]
    try:
        differences = compare(*paths, lex_aware_tolerance="--lex-aware-tolerance" in arguments,
                              taxonomy="--no-taxonomy" not in arguments)
    except (Bad, OSError) as bad:
        differences = [str(bad)]
    for difference in differences[:20]:
        print(difference)
    if len(differences) > 20:
        print(f"... {len(differences)} differences")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
