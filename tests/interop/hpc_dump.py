# SPDX-License-Identifier: Apache-2.0
"""What `sonde dump --json` and `sonde info --json` show of a profile, as a Database of
hpcdb_reader.py, so that it can be compared with what the Python readers see in the same files.
"""
import copy
import json

from hpcdb_compare import Comparison
from hpcdb_reader import (CALL, CUSTOM, ENTRY, EXECUTION, FUNCTION, INLINED, INSTRUCTION,
                          LEXICAL, LINE, LOOP, NO_BIT, POINT, TRANSITIVE, Context, Database, File,
                          Function, Identity, Metric, Profile, Scope)

SCOPES = {"point": (POINT, NO_BIT), "function": (TRANSITIVE, 0), "lex_aware": (CUSTOM, NO_BIT),
          "execution": (EXECUTION, NO_BIT)}
KINDS = {"entry": ENTRY, "function": FUNCTION, "loop": LOOP, "line": LINE,
         "instruction": INSTRUCTION}
RELATIONS = {"enclosed": LEXICAL, "called": CALL, "inlined": INLINED}
ENTRIES = {"unknown entry": 0, "main thread": 1, "application thread": 2}
STATISTICS = {"sum": ("$$", 0), "count": ("1", 0), "min": ("$$", 1), "max": ("$$", 2)}


class Dumped:
    def __init__(self, run, path):
        """`run` is called with arguments of the command and gives what it prints."""
        self.database = Database()
        self.tables = {"modules": {}, "files": {}, "functions": {}}
        self.database.scopes = [Scope(name, *rest) for name, rest in SCOPES.items()]
        report, = json.loads(run("info", "--json", path))["recordings"]
        self.tracks(report)
        for line in run("dump", "--json", "--contexts", path).splitlines():
            self.context(json.loads(line))
        for line in run("dump", "--json", "--values", path).splitlines():
            self.value(json.loads(line))
        for line in run("dump", "--json", "--samples", path).splitlines():
            sample = json.loads(line)
            self.lines[sample["track"]].append((sample["time_ns"], sample["context"]))
        for name, table in self.tables.items():
            setattr(self.database, name, list(table))
        self.database.traces = [(number + 1, line) for number, line in enumerate(self.lines)]

    def tracks(self, report):
        identities = {item["owner_id"]: item["value"] for item in report["attributes"]
                      if item["name"] == "hpc.identity"}
        kinds = {}
        self.lines = [[] for _ in report["tracks"]]
        self.database.profiles = [Profile((), True, {})]
        for track in report["tracks"]:
            made = tuple(Identity(kinds.setdefault(one["kind"], len(kinds)), "physical" in one,
                                  one["logical"], one.get("physical", one["logical"]))
                         for one in identities.get(track["id"], ()))
            self.database.profiles.append(Profile(made, False, {}))
        self.database.kinds = list(kinds)

    def number(self, table, item):
        return self.tables[table].setdefault(item, len(self.tables[table]))

    def context(self, item):
        if item["kind"] == "root":
            return
        parent = item["parent"] - 1
        assert len(self.database.contexts) + 1 == item["context"], "contexts are not in their order"
        module = self.number("modules", item["module"]) if "module" in item else None
        file = self.number("files", File(item["file"], False)) if "file" in item else None
        address = int(item["address"], 16) if "address" in item else None
        relation = RELATIONS[item["relation"]]
        context = Context(item["context"], parent, KINDS[item["kind"]], relation=relation,
                          propagation=int(relation == LEXICAL))
        if item["kind"] == "entry":
            context.relation = context.propagation = 0
            context.name, context.entry = item["name"], ENTRIES[item["name"]]
        elif item["kind"] == "function":
            if item["name"] != "<unknown function>":
                context.function = self.number("functions", Function(
                    item["name"], module, address or 0, file, item.get("line", 0)))
        else:
            context.file, context.module, context.offset = file, module, address
            context.line = item.get("line", 0) if file is not None else None
        if parent >= 0:
            self.database.contexts[parent].children.append(len(self.database.contexts))
        self.database.contexts.append(context)

    def value(self, item):
        scope = list(SCOPES).index(item["scope"])
        metric = next((metric for metric in self.database.metrics
                       if metric.name == item["metric"]), None)
        if metric is None:
            metric = Metric(item["metric"], [], [])
            self.database.metrics.append(metric)
        base = self.database.metrics.index(metric) * 100
        if item["track"] is None:
            formula, combine = STATISTICS[item["statistic"]]
            made = (scope, formula, combine, base + 10 * scope +
                    list(STATISTICS).index(item["statistic"]))
            known, profile = metric.summaries, self.database.profiles[0]
        else:
            made = (scope, base + scope)
            known, profile = metric.instances, self.database.profiles[item["track"] + 1]
        if made not in known:
            known.append(made)
        profile.values.setdefault(item["context"], {})[made[-1]] = item["value"]


class Shown:
    """Comparison of what is shown with what is known, in the parts that a dump has."""
    PARTS = ("contexts", "value", "trace", "number", "unlisted", "profiles")

    @staticmethod
    def differences(dumped, known):
        return [text for text in Comparison(dumped, known).run()
                if text.startswith(Shown.PARTS)]


def own_values(database, profile, ids):
    """What each listed context has itself and through the unlisted ones in it."""
    kind = TRANSITIVE if TRANSITIVE in ids else EXECUTION
    whole = {context: row[ids[kind]] for context, row in profile.values.items()
             if ids.get(kind) in row}
    rest = {context.id: whole.get(context.id, 0.0) for context in database.contexts}
    rest[0] = whole.get(0, 0.0)
    for context in database.contexts:
        if context.id in whole and (kind == EXECUTION or context.propagation & 1):
            above = database.contexts[context.parent].id if context.parent >= 0 else 0
            rest[above] -= whole[context.id]
    return {context: value for context, value in rest.items()
            if abs(value) > 1e-12 * abs(whole.get(context, 0.0))}


def as_listed(database):
    """A database as a recording shows it: values of listed contexts only. What the unlisted ones of
    a thread have themselves is with the listed context that they lie in, in scope "point"; so is their
    sum over the threads, and there are no other statistics of that scope.
    """
    new = copy.deepcopy(database)
    listed = {context.id for context in new.contexts} | {0}
    for profile in new.profiles:
        found = {}
        for metric in new.metrics:
            ids = {new.scopes[scope].type: number for scope, number in metric.instances}
            if profile.is_summary:
                found.update((number, {}) for scope, _, _, number in metric.summaries
                             if new.scopes[scope].type == POINT)
                ids = {new.scopes[scope].type: number for scope, formula, combine, number
                       in metric.summaries if formula == "$$" and combine == 0}
            if POINT in ids:
                found[ids[POINT]] = own_values(new, profile, ids)
        profile.values = {context: row for context, row in profile.values.items()
                          if context in listed}
        for number, values in found.items():
            for row in profile.values.values():
                row.pop(number, None)
            for context, value in values.items():
                profile.values.setdefault(context, {})[number] = value
    return new


def points_only(database):
    """As measurements have it: nothing is summed up."""
    points = {number for metric in database.metrics for scope, number in metric.instances
              if database.scopes[scope].type == POINT}
    database.profiles[0].values = {}
    for profile in database.profiles:
        profile.values = {context: {number: value for number, value in row.items()
                                    if number in points}
                          for context, row in profile.values.items()}
    return database
