#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hpcdb_verify.py DIR [--real]: works out again what a database derives: the transposition, what
each scope sums up, and the statistics over the threads. --real allows for what the existing program
does otherwise: lex_aware in the profiles of threads is the plain "function" value.

Instructions within a line or loop are not listed, so nobody knows their parents: what they add to a
listed context is the rest that its own and its children's values leave, which must be the same in
every scope.
"""
import re
import sys
from collections import defaultdict

from hpcdb_reader import (CUSTOM, EXECUTION, LOOP, POINT, TRANSITIVE, Bad, need, read_database)

TOLERANCE = 1e-9


def close(a, b, scale=0.0):
    return abs(a - b) <= TOLERANCE * max(abs(a), abs(b), scale)


def formula_function(text):
    """$$, numbers, + - * / ^ and brackets, as a function of one value."""
    need(re.fullmatch(r"[\s0-9.$+*/()^-]+", text), "formula", text)
    code = compile(text.replace("$$", "x").replace("^", "**").strip(), "formula", "eval")
    return lambda x: eval(code, {"__builtins__": {}}, {"x": x})  # pylint: disable=eval-used


# ---- transposition -------------------------------------------------------------------------------

def check_transposition(database):
    """cct.db holds what profile.db holds, no more and no less."""
    turned = [defaultdict(list) for _ in database.cct]
    for number, profile in enumerate(database.profiles):
        if profile.is_summary:
            continue
        for context, values in profile.values.items():
            row = turned[context]
            for metric, value in values.items():
                row[metric].append((number, value))
    for context, (mine, theirs) in enumerate(zip(turned, database.cct)):
        if mine != theirs:
            metrics = [metric for metric in mine.keys() | theirs.keys()
                       if mine.get(metric) != theirs.get(metric)]
            raise Bad(f"context {context}: metric {metrics[0]} is {theirs.get(metrics[0])} in "
                      f"cct.db, {mine.get(metrics[0])} in profile.db")


# ---- scopes --------------------------------------------------------------------------------------

class Ids:
    """The ids of one metric by what their scopes mean."""

    def __init__(self, database, pairs):
        self.by_type = {database.scopes[scope].type: (number, database.scopes[scope])
                        for scope, number in pairs}

    def get(self, kind):
        return self.by_type[kind][0] if kind in self.by_type else None

    def bit(self):
        return 1 << self.by_type[TRANSITIVE][1].bit


def column(values, number):
    return {} if number is None else {context: row[number] for context, row in values.items()
                                      if number in row}


def sums_of_children(database, column_of, bit):
    """Per listed context (and at the end the global one) the sum over its children, all or with the
    bit.
    """
    sums = [0.0] * (len(database.contexts) + 1)
    for context in database.contexts:
        value = column_of.get(context.id)
        if value is not None and (bit is None or context.propagation & bit):
            sums[context.parent] += value
    return sums


def rests(database, points, total, bit):
    """What unlisted instructions add: one for each listed context, the last for the global one."""
    sums, out = sums_of_children(database, total, bit), []
    for number, known in enumerate(sums):
        context = database.contexts[number].id if number < len(database.contexts) else 0
        value = total.get(context, 0.0)
        rest = value - known - points.get(context, 0.0)
        out.append(0.0 if close(rest, 0.0, max(abs(value), abs(known))) else rest)
    return out


def check_lex_aware(database, ids, points, rest, values, plain):
    """Without nested loops in a loop, as "function" elsewhere; `plain`: as "function" everywhere
    will do.
    """
    lexical, function = column(values, ids.get(CUSTOM)), column(values, ids.get(TRANSITIVE))
    bit = ids.bit()
    own = [points.get(context.id, 0.0) + rest[number]
           for number, context in enumerate(database.contexts)]
    for number in range(len(database.contexts) - 1, -1, -1):
        context = database.contexts[number]
        if context.parent >= 0 and context.propagation & bit and context.kind != LOOP:
            own[context.parent] += own[number]
    for number, context in enumerate(database.contexts):
        whole = function.get(context.id, 0.0)
        wanted = own[number] if context.kind == LOOP else whole
        found = lexical.get(context.id, 0.0)
        if not close(found, wanted, whole) and not (plain and close(found, whole)):
            raise Bad(f"context {context.id}: lex_aware is {found}, not {wanted}")


def check_unlisted(ids, values, points, listed, where):
    """They enclose nothing: own value in all exclusive scopes."""
    function, lexical, execution = (column(values, ids.get(kind))
                                    for kind in (TRANSITIVE, CUSTOM, EXECUTION))
    total, negative = 0.0, any(value < 0 for value in points.values())
    for context in values:
        if context == 0 or context in listed:
            continue
        own = points.get(context, 0.0)
        total += own
        for name, kind, others in (("function", TRANSITIVE, function),
                                   ("lex_aware", CUSTOM, lexical)):
            need(ids.get(kind) is None or others.get(context, 0.0) == own, where,
                 "unlisted context",
                 context, name, "is", others.get(context), "not", own)
        if ids.get(EXECUTION) is not None and not negative:
            need(execution.get(context, 0.0) >= own * (1 - TOLERANCE), where, "unlisted context",
                 context,
                 "execution is below its own value")
    return total


def check_propagation(database, pairs, values, where, plain):
    """The scopes of one metric in one profile."""
    ids = Ids(database, pairs)
    points = column(values, ids.get(POINT))
    need(ids.get(POINT) is not None, where, "has no scope point")
    listed = {context.id for context in database.contexts}
    unlisted = check_unlisted(ids, values, points, listed, where)
    scale = sum(abs(value) for value in points.values())
    found = {}
    for kind in (TRANSITIVE, EXECUTION):
        if ids.get(kind) is None:
            continue
        bit = ids.bit() if kind == TRANSITIVE else None
        rest = found[kind] = rests(database, points, column(values, ids.get(kind)), bit)
        need(close(sum(rest), unlisted, scale), where, ids.by_type[kind][1].name,
             "is larger than its parts by", sum(rest), "; unlisted contexts have", unlisted)
        if min(points.values(), default=0) >= 0:
            need(min(rest) >= 0, where, ids.by_type[kind][1].name, "is less than its parts by",
                 min(rest))
    if len(found) == 2:
        for number, (one, other) in enumerate(zip(found[TRANSITIVE], found[EXECUTION])):
            need(close(one, other, scale), where, "context number", number,
                 "the rest is", one, "by function,", other, "by execution")
    if EXECUTION in found:
        whole = column(values, ids.get(EXECUTION)).get(0, 0.0)
        need(close(whole, sum(points.values()), scale), where, "the global context has", whole,
             "; all points are", sum(points.values()))
    if ids.get(CUSTOM) is not None and ids.by_type[CUSTOM][1].name == "lex_aware":
        need(TRANSITIVE in found, where, "has lex_aware without function")
        check_lex_aware(database, ids, points, found[TRANSITIVE], values, plain)


def has_values(pairs, present):
    return any(number in present for _, number in pairs)


def check_scopes(database, real):
    for number, profile in enumerate(database.profiles):
        if profile.is_summary:
            continue
        present = {metric for row in profile.values.values() for metric in row}
        for metric in database.metrics:
            if has_values(metric.instances, present):
                check_propagation(database, metric.instances, profile.values,
                                  f"profile {number}, {metric.name}:", real)
    summary = database.profiles[0].values
    for metric in database.metrics:
        sums = [(scope, number) for scope, formula, combine, number in metric.summaries
                if formula == "$$" and combine == 0]
        if sums and has_values(sums, {key for row in summary.values() for key in row}):
            check_propagation(database, sums, summary, f"summary, {metric.name}:", False)


# ---- statistics ----------------------------------------------------------------------------------

def combine_values(combine, values):
    return (sum, min, max)[combine](values)


def check_statistics(database, real):
    """The summary of each metric, scope and formula, over the threads that have a value."""
    if len(database.profiles) == 1 or not any(profile.values for profile in database.profiles[1:]):
        return  # without values of threads there is nothing to sum up
    summary = defaultdict(dict)
    for context, row in database.profiles[0].values.items():
        for number, value in row.items():
            summary[number][context] = value
    by_id = defaultdict(lambda: defaultdict(list))
    for context, row in enumerate(database.cct):
        for number, run in row.items():
            by_id[number][context] = [value for _, value in run]
    for metric in database.metrics:
        instances = dict(metric.instances)
        for scope, formula, combine, number in metric.summaries:
            if real and database.scopes[scope].type == CUSTOM:
                continue
            need(scope in instances, metric.name, "has a statistic of a scope it has not")
            function = formula_function(formula)
            wanted = {context: combine_values(combine, [function(value) for value in values])
                      for context, values in by_id[instances[scope]].items()}
            found = summary[number]
            for context in wanted.keys() | found.keys():
                one, other = found.get(context, 0.0), wanted.get(context, 0.0)
                if not close(one, other):
                    raise Bad(f"{metric.name}, {database.scopes[scope].name}, "
                              f"{formula}/{combine}: context {context} has {one}, "
                              f"the threads give {other}")


def verify(folder, real=False):
    """Raises Bad; the database where all is well."""
    database = read_database(folder)
    check_transposition(database)
    check_scopes(database, real)
    check_statistics(database, real)
    return database


if __name__ == "__main__":
    try:
        verify(sys.argv[1], "--real" in sys.argv)
    except (Bad, OSError) as bad:
        sys.exit(f"{sys.argv[1]}: {bad}")
