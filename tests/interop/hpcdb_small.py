#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small database, made after the document alone, as bytes that tests damage at places they know by name. Run with a
folder as argument it writes the golden one.

The tree (ids in brackets; [9] has values and is not listed):
    main thread [1] > main() [2] > line main.c:3 [3] > call work() [5] > loop :10 [6] > loop :11 [7] > line :12 [8] > [9]
    application thread [10] > work() [11]
"""
import os
import struct
import sys

SCOPES = ("point", "function", "lex_aware", "execution")
TYPES = (1, 3, 0, 2)
STATISTICS = (("$$", 0), ("1", 0), ("($$^2)", 0), ("$$", 1), ("$$", 2))
KINDS = ("SUMMARY", "NODE", "RANK", "THREAD", "GPUDEVICE", "GPUCONTEXT", "GPUSTREAM", "CORE")
METRIC = "CPUTIME (sec)"
# id -> (parent, is part of its parent, is a loop)
TREE = {1: (0, False, False), 2: (1, False, False), 3: (2, True, False), 5: (3, False, False),
        6: (5, True, True), 7: (6, True, True), 8: (7, True, False), 9: (8, True, False),
        10: (0, False, False), 11: (10, False, False)}
POINTS = ({3: 1.5, 6: 0.5, 9: 2.25}, {9: 0.25, 11: 4.0})
TRACES = ([(1000, 3), (1100, 8), (1200, 0), (1300, 6)], [(1050, 11), (1250, 0)])
YAML = """version: 0
inputs:
  - &time-sum-execution
    metric: CPUTIME (sec)
    scope: execution
    formula: $$
    combine: sum
  - &time-sum-function
    <<: *time-sum-execution
    scope: function
  - &time-count-execution
    metric: CPUTIME (sec)
    scope: execution
    formula: 1
  - &time-squares-execution
    metric: CPUTIME (sec)
    scope: execution
    formula: $$^2
roots:
  - name: CPUTIME (sec)
    description: Time of the processor
    variants:
      Sum:
        render: [number, percent]
        formula:
          inclusive:
            standard: *time-sum-execution
          exclusive:
            standard: *time-sum-function
      Mean:
        render: number
        format: "%.3f"
        formula:
          inclusive: {/: [*time-sum-execution, *time-count-execution]}
      StdDev:
        render: number
        formula:
          inclusive: {sqrt: [[*time-squares-execution, /, *time-count-execution, "- (",
                     *time-sum-execution, /, *time-count-execution, ")^2"]]}
    children:
      - name: twice
        visible by default: false
        variants:
          Sum: {render: number, formula: {inclusive: ["2 *", *time-sum-execution]}}
"""
SOURCE = "int main(void)\n{\n\treturn 0;\n}\n"


class Bytes:
    """Bytes at the end of which things are put; places have names."""

    def __init__(self, form, sections):
        self.data = bytearray(b"HPCTOOLKIT" + form + bytes([4, 0]) + bytes(16 * sections))
        self.places = {}

    def put(self, layout, *values, name=None, align=1):
        self.data += bytes(-len(self.data) % align)
        at = len(self.data)
        self.data += struct.pack("<" + layout, *values)
        if name:
            self.places[name] = at
        return at

    def text(self, text, name=None):
        at = self.put("", name=name)
        self.data += text.encode() + b"\0"
        return at

    def patch(self, at, layout, *values):
        struct.pack_into("<" + layout, self.data, at, *values)

    def section(self, number, start):
        self.patch(0x10 + 16 * number, "QQ", len(self.data) - start, start)

    def finish(self, footer):
        self.data += bytes(-len(self.data) % 8) + footer
        return bytes(self.data)


def ancestors(context, scope):
    """The contexts that a point value counts in."""
    if scope == "point":
        return [context]
    found, is_inner_loop = [context], TREE.get(context, (0, 0, False))[2]
    while context in TREE and (scope == "execution" or TREE[context][1]):
        context = TREE[context][0]
        is_loop = TREE.get(context, (0, 0, False))[2]
        if scope == "lex_aware" and is_loop and is_inner_loop:
            continue  # a loop within this one
        is_inner_loop |= is_loop
        found.append(context)
    return found


def propagate(points):
    """{context: {metric id: value}} of one profile."""
    values = {}
    for ordinal, scope in enumerate(SCOPES):
        for context, value in points.items():
            for target in ancestors(context, scope):
                row = values.setdefault(target, {})
                row[ordinal] = row.get(ordinal, 0) + value
    return values


def summarise(planes):
    rows = {}
    for plane in planes:
        for context, row in plane.items():
            for ordinal, value in row.items():
                rows.setdefault(context, {}).setdefault(ordinal, []).append(value)
    results = (sum, len, lambda values: sum(value * value for value in values), min, max)
    return {context: {number * 4 + ordinal: float(result(values)) for ordinal, values in row.items()
                      for number, result in enumerate(results)} for context, row in rows.items()}


def meta():
    db = Bytes(b"meta", 8)
    start = db.put("QQ", 0, 0, name="general", align=8)
    title, text = db.text("small", "title"), db.text("A small database.", "description")
    db.patch(start, "QQ", title, text)
    db.section(0, start)

    start = db.put("QB7x", 0, len(KINDS), name="kinds", align=8)
    names = db.put("8Q", *([0] * 8))
    db.patch(start, "Q", names)
    db.patch(names, "8Q", *[db.text(kind) for kind in KINDS])
    db.section(1, start)

    start = db.put("QIBBBxQHB5x", 0, 1, 32, 16, 24, 0, 4, 16, name="metrics", align=8)
    scopes = db.put("", name="scopes", align=8)
    for kind in TYPES:
        db.put("QBB6x", 0, kind, 0 if kind == 3 else 255)
    metric = db.put("QQQHH4x", 0, 0, 0, 4, 4 * len(STATISTICS), name="metric")
    instances = db.put("", name="instances")
    for ordinal in range(4):
        db.put("QH6x", scopes + 16 * ordinal, ordinal)
    summaries = db.put("", name="summaries")
    for number, (_, combine) in enumerate(STATISTICS):
        for ordinal in range(4):
            db.put("QQBxH4x", scopes + 16 * ordinal, 0, combine, number * 4 + ordinal)
    for ordinal, scope in enumerate(SCOPES):
        db.patch(scopes + 16 * ordinal, "Q", db.text(scope))
    for number, (formula, _) in enumerate(STATISTICS):
        at = db.text(formula)
        for ordinal in range(4):
            db.patch(summaries + 24 * (number * 4 + ordinal) + 8, "Q", at)
    db.patch(metric, "QQQ", db.text(METRIC, "metric name"), instances, summaries)
    db.patch(start, "Q", metric)
    db.patch(start + 16, "Q", scopes)
    db.section(2, start)

    start = db.put("", align=8)
    texts = {text: db.text(text, text) for text in
             ("/bin/small", "src/main.c", "main", "work", "main thread", "application thread")}
    db.section(4, start)
    start = db.put("QIH2x", 0, 1, 16, name="modules", align=8)
    module = db.put("I4xQ", 0, texts["/bin/small"], name="module")
    db.patch(start, "Q", module)
    db.section(5, start)
    start = db.put("QIH2x", 0, 1, 16, name="files", align=8)
    source = db.put("I4xQ", 1, texts["src/main.c"], name="file")
    db.patch(start, "Q", source)
    db.section(6, start)
    start = db.put("QIH2x", 0, 2, 40, name="functions", align=8)
    functions = {name: db.put("QQQQII", texts[name], module, 0x1000 * (i + 1), source, i + 1, 0,
                              name=name + "()") for i, name in enumerate(("main", "work"))}
    db.patch(start, "Q", functions["main"])
    db.section(7, start)
    tree(db, functions, source, module, texts)
    return db, db.finish(b"_meta.db")


def tree(db, functions, source, module, texts):
    """Children before their parents, as the existing program does."""
    start = db.put("QHB5x", 0, 2, 32, name="tree", align=8)

    def context(number, children, relation, kind, flags, *words):
        is_part = relation == 0
        return db.put("QQIBBBBH6x", *children, number, flags, relation, kind, len(words),
                      1 if is_part else 0, name=f"[{number}]"), words

    def array(*arguments):
        at, words = context(*arguments)
        for word in words:
            db.put("Q", word)
        return len(db.data) - at, at

    line8 = array(8, (0, 0), 0, 2, 2, source, 12)
    loop7 = array(7, line8, 0, 1, 6, source, 11, module, 0x2011)
    loop6 = array(6, loop7, 0, 1, 6, source, 10, module, 0x2010)
    work5 = array(5, loop6, 1, 0, 1, functions["work"])
    line3 = array(3, work5, 0, 2, 2, source, 3)
    main2 = array(2, line3, 1, 0, 1, functions["main"])
    work11 = array(11, (0, 0), 1, 0, 1, functions["work"])
    entries = db.put("QQIHxxQ", *main2, 1, 1, texts["main thread"], name="entries")
    db.put("QQIHxxQ", *work11, 10, 2, texts["application thread"])
    db.patch(start, "Q", entries)
    db.section(3, start)


def profile(planes, summary):
    db = Bytes(b"prof", 2)
    start = db.put("QIB3x", 0x40, len(planes) + 1, 0x30, name="infos", align=8)
    infos = db.put("", name="profiles")
    db.data += bytes(0x30 * (len(planes) + 1))
    db.section(0, start)
    start = db.put("", align=8, name="tuples")
    for number in range(len(planes)):
        tuple_at = db.put("H6xBxHIQBxHIQ", 2, 1, 1, 0, 0x11ac0300, 3, 0, number, number)
        db.patch(infos + 0x30 * (number + 1) + 0x20, "Q", tuple_at)
    db.section(1, start)
    db.patch(infos + 0x28, "I", 1)
    for number, plane in list(enumerate([summary] + planes))[1:] + [(0, summary)]:
        values = db.put("", align=2, name=f"values {number}")
        index = []
        for context in sorted(plane):
            index.append((context, (len(db.data) - values) // 10))
            for metric, value in sorted(plane[context].items()):
                db.put("Hd", metric, value)
        count = (len(db.data) - values) // 10
        indices = db.put("", align=4, name=f"index {number}")
        for row in index:
            db.put("IQ", *row)
        db.patch(infos + 0x30 * number, "QQIxxxxQ", count, values, len(index), indices)
    return db, db.finish(b"_prof.db")


def cct(planes):
    db = Bytes(b"ctxt", 1)
    db.data += bytes(16)
    count = max(context for plane in planes for context in plane) + 1
    start = db.put("QIB3x", 0x40, count, 0x20, name="infos", align=8)
    infos = db.put("", name="contexts")
    db.data += bytes(0x20 * count)
    db.section(0, start)
    for context in range(count):
        values, index = db.put("", align=4, name=f"values {context}"), []
        for metric in range(4):
            rows = [(number + 1, plane[context][metric]) for number, plane in enumerate(planes)
                    if metric in plane.get(context, {})]
            if rows:
                index.append((metric, (len(db.data) - values) // 12))
            for row in rows:
                db.put("Id", *row)
        found = (len(db.data) - values) // 12
        indices = db.put("", align=2, name=f"index {context}")
        for row in index:
            db.put("HQ", *row)
        db.patch(infos + 0x20 * context, "QQHxxxxxxQ", found, values, len(index), indices)
    return db, db.finish(b"__ctx.db")


def trace():
    db = Bytes(b"trce", 1)
    times = [time for line in TRACES for time, _ in line]
    start = db.put("QIB3xQQ", 0x40, len(TRACES), 24, min(times), max(times), name="head", align=8)
    headers = db.put("", name="headers")
    db.data += bytes(24 * len(TRACES))
    db.section(0, start)
    for number, line in enumerate(TRACES):
        first = db.put("", align=8, name=f"line {number}")
        for row in line:
            db.put("QI", *row)
        db.patch(headers + 24 * number, "I4xQQ", number + 1, first, len(db.data))
    return db, db.finish(b"trace.db")


def small():
    """({path: bytes}, {file: {name: place}})"""
    planes = [propagate(points) for points in POINTS]
    made = {"meta.db": meta(), "profile.db": profile(planes, summarise(planes)), "cct.db": cct(planes),
            "trace.db": trace()}
    files = {name: data for name, (_, data) in made.items()}
    files["metrics/default.yaml"] = YAML.encode()
    files["src/main.c"] = SOURCE.encode()
    return files, {name: db.places for name, (db, _) in made.items()}


def write(folder, files):
    for name, data in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)


if __name__ == "__main__":
    write(sys.argv[1], small()[0])
