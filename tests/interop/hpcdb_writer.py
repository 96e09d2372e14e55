# SPDX-License-Identifier: Apache-2.0
"""Writes a database of hpcdb_reader.Database, from the document alone. It can be asked for what the document
allows and the existing program never does: larger strides, sections in another order, gaps; and it gives
contexts other numbers, so that comparisons can be tried. cct.db is always worked out of the profiles.
"""
import copy
import json
import os
import random
import struct
from collections import defaultdict

from hpcdb_reader import ENTRY, FOOTERS

META_SECTIONS = ("General", "IdNames", "Metrics", "Context", "Strings", "Modules", "Files",
                 "Functions")
LAYOUT = ("General", "IdNames", "Metrics", "Strings", "Modules", "Files", "Functions", "Context")


class Style:
    """How a database is written."""

    def __init__(self, extra=0, layout=LAYOUT, gap=0, minor=0, fill=b"\0"):
        self.extra, self.layout, self.gap, self.minor, self.fill = extra, layout, gap, minor, fill


class Out:
    """Bytes at their place in the file."""

    def __init__(self, start):
        self.start, self.bytes = start, bytearray()

    def here(self):
        return self.start + len(self.bytes)

    def align(self, size):
        self.bytes += bytes(-self.here() % size)
        return self.here()

    def add(self, data):
        at = self.here()
        self.bytes += data
        return at

    def put(self, at, form, *values):
        struct.pack_into("<" + form, self.bytes, at - self.start, *values)


class Meta:
    def __init__(self, database, style):
        self.database, self.style = database, style
        self.strings, self.where = None, {}
        self.place = {}

    def array(self, out, items, form, tail=b""):
        """Elements with the extra bytes of the style; their addresses."""
        out.align(8)
        return [out.add(struct.pack("<" + form, *item) + tail + self.style.fill * self.style.extra)
                for item in items]

    def text(self, value):
        """In the common table, each once."""
        if value not in self.where:
            self.where[value] = self.strings.add(value.encode() + b"\0")
        return self.where[value]

    def general(self, out):
        out.add(bytes(16))
        for number, text in enumerate((self.database.title, self.database.description)):
            at = out.add(text.encode() + b"\0")
            out.put(out.start + 8 * number, "Q", at)

    def id_names(self, out):
        out.add(bytes(16))
        names = self.database.kinds
        at = out.add(bytes(8 * len(names)))
        out.put(out.start, "QB", at, len(names))
        for number, name in enumerate(names):
            out.put(at + 8 * number, "Q", out.add(name.encode() + b"\0"))

    def metrics(self, out):
        out.add(bytes(32))
        extra = self.style.extra
        scopes = self.array(out, [(0, scope.type, scope.bit) for scope in self.database.scopes],
                            "QBB6x")
        metrics = self.array(out, [(0, 0, 0, len(metric.instances), len(metric.summaries))
                                   for metric in self.database.metrics], "QQQHHxxxx")
        for place, metric in zip(metrics, self.database.metrics):
            out.align(8)
            instances = self.array(out, [(scopes[scope], number)
                                         for scope, number in metric.instances], "QH6x")
            summaries = self.array(out, [(scopes[scope], 0, combine, number)
                                         for scope, _, combine, number in metric.summaries],
                                   "QQBxHxxxx")
            out.put(place, "QQQ", out.add(metric.name.encode() + b"\0"),
                    instances[0] if instances else 0, summaries[0] if summaries else 0)
            for item, summary in zip(summaries, metric.summaries):
                out.put(item + 8, "Q", out.add(summary[1].encode() + b"\0"))
        for place, scope in zip(scopes, self.database.scopes):
            out.put(place, "Q", out.add(scope.name.encode() + b"\0"))
        out.put(out.start, "QIBBB", metrics[0] if metrics else 0, len(metrics), 32 + extra,
                16 + extra,
                24 + extra)
        out.put(out.start + 16, "QHB", scopes[0] if scopes else 0, len(scopes), 16 + extra)

    def table(self, out, name, items, form, size):
        out.add(bytes(16))
        self.place[name] = self.array(out, items, form)
        out.put(out.start, "QIH", self.place[name][0] if items else 0, len(items),
                size + self.style.extra)

    def modules(self, out):
        self.table(out, "module", [(0, self.text(path)) for path in self.database.modules],
                   "IxxxxQ", 16)

    def files(self, out):
        self.table(out, "file", [(int(file.copied), self.text(file.path))
                                 for file in self.database.files], "IxxxxQ", 16)

    def functions(self, out):
        place = self.place
        self.table(out, "function", [
            (0 if function.name is None else self.text(function.name),
             0 if function.module is None else place["module"][function.module], function.offset,
             0 if function.file is None else place["file"][function.file], function.line, 0)
            for function in self.database.functions], "QQQQII", 40)

    def one_context(self, context, below):
        """The bytes of a context whose children are at `below`."""
        place, words, flags = self.place, [], 0
        if context.function is not None:
            flags |= 1
            words.append(struct.pack("<Q", place["function"][context.function]))
        if context.file is not None:
            flags |= 2
            words.append(struct.pack("<QII", place["file"][context.file], context.line, 0))
        if context.module is not None:
            flags |= 4
            words.append(struct.pack("<QQ", place["module"][context.module], context.offset))
        flex = b"".join(words) + self.style.fill * self.style.extra
        return struct.pack("<QQIBBBBH6x", below[1], below[0], context.id, flags, context.relation,
                           context.kind, len(flex) // 8, context.propagation) + flex

    def contexts(self, out):
        out.add(bytes(16))
        contexts = self.database.contexts
        below = {}
        for number in range(len(contexts) - 1, -1, -1):
            children = contexts[number].children
            at = out.align(8)
            for child in children:
                out.add(self.one_context(contexts[child], below[child]))
            below[number] = (at if children else 0, out.here() - at)
        entries = [(below[number][1], below[number][0], context.id, context.entry,
                    self.text(context.name))
                   for number, context in enumerate(contexts) if context.kind == ENTRY]
        places = self.array(out, entries, "QQIHxxQ")
        out.put(out.start, "QHB", places[0] if places else 0, len(places), 32 + self.style.extra)

    def write(self):
        """Twice: the first time to learn how large each section is, and where strings are."""
        makers = {"General": self.general, "IdNames": self.id_names, "Metrics": self.metrics,
                  "Modules": self.modules, "Files": self.files, "Functions": self.functions,
                  "Context": self.contexts}
        sizes = {name: 0 for name in META_SECTIONS}
        starts = {name: 0 for name in META_SECTIONS}
        order = [name for name in ("Modules", "Files", "Functions", "Context", "General",
                                   "IdNames", "Metrics")]
        for _ in range(2):
            at = 0x90
            for name in self.style.layout:
                at += -at % 8 + self.style.gap
                starts[name] = at
                at += sizes[name]
            self.strings, self.where = Out(starts["Strings"]), {}
            outs = {}
            for name in order:
                outs[name] = Out(starts[name])
                makers[name](outs[name])
                sizes[name] = len(outs[name].bytes)
            outs["Strings"] = self.strings
            sizes["Strings"] = len(self.strings.bytes)
        image = bytearray(at)
        for name, out in outs.items():
            image[out.start:out.here()] = out.bytes
        return finish("meta", image, [(sizes[name], starts[name]) for name in META_SECTIONS],
                      self.style)


def finish(form, image, sections, style):
    """Header in front of, footer behind the bytes of a file."""
    header = b"HPCTOOLKIT" + form.encode() + bytes([4, style.minor]) + \
        b"".join(struct.pack("<QQ", *section) for section in sections)
    image[:len(header)] = header
    image += bytes(-len(image) % 8)
    return bytes(image) + FOOTERS[form]


def block(out, rows, forms, aligns):
    """A sparse block: {index: {key: value}}; what its header says."""
    out.align(aligns[0])
    keys = sorted(key for key, row in rows.items() if row)
    values = [item for key in keys for item in sorted(rows[key].items())]
    values_at = out.add(b"".join(struct.pack(forms[0], *item) for item in values))
    index_at, start = out.align(aligns[1]), 0
    for key in keys:
        out.add(struct.pack(forms[1], key, start))
        start += len(rows[key])
    return len(values), values_at, len(keys), index_at


def profile_file(database, style):
    stride = 0x30 + style.extra
    tuples = Out(0x40 + stride * len(database.profiles))
    tuple_at = []
    for profile in database.profiles:
        tuple_at.append(tuples.add(struct.pack("<H6x", len(profile.identities)) + b"".join(
            struct.pack("<BxHIQ", *identity) for identity in profile.identities)))
    out = Out(tuples.here())
    infos = bytearray(struct.pack("<QIB3x", 0x40, len(database.profiles), stride))
    for number, profile in enumerate(database.profiles):
        head = block(out, profile.values, ("<Hd", "<IQ"), (2, 4))
        infos += struct.pack("<QQIxxxxQQIxxxx", *head, tuple_at[number] if number else 0,
                             int(profile.is_summary)) + style.fill * style.extra
    image = bytearray(0x30) + infos + tuples.bytes + out.bytes
    return finish("prof", image, [(len(infos), 0x30), (len(tuples.bytes), tuples.start)], style)


def transposed(database):
    turned = defaultdict(lambda: defaultdict(dict))
    for number, profile in enumerate(database.profiles):
        for context, row in ({} if profile.is_summary else profile.values).items():
            for metric, value in row.items():
                turned[context][metric][number] = value
    return turned


def cct_file(database, style):
    turned, stride = transposed(database), 0x20 + style.extra
    count = 1 + max([context.id for context in database.contexts] + list(turned) +
                    [context for context in database.profiles[0].values] + [0])
    out = Out(0x40 + stride * count)
    infos = bytearray(struct.pack("<QIB3x", 0x40, count, stride))
    for context in range(count):
        head = block(out, turned.get(context, {}), ("<Id", "<HQ"), (4, 2))
        infos += struct.pack("<QQH6xQ", *head) + style.fill * style.extra
    image = bytearray(0x30) + infos + out.bytes
    return finish("ctxt", image, [(len(infos), 0x30)], style)


def trace_file(database, style):
    stride = 24 + style.extra
    out = Out(0x40 + stride * len(database.traces))
    times = [time for _, line in database.traces for time, _ in line] or [0]
    infos = bytearray(struct.pack("<QIB3xQQ", 0x40, len(database.traces), stride, min(times),
                                  max(times)))
    for profile, line in database.traces:
        at = out.align(8)
        out.add(b"".join(struct.pack("<QI", *sample) for sample in line))
        infos += struct.pack("<IxxxxQQ", profile, at, out.here()) + style.fill * style.extra
    image = bytearray(0x20) + infos + out.bytes
    return finish("trce", image, [(len(infos), 0x20)], style)


def taxonomy(database):
    """metrics/default.yaml: each metric with the sum over the threads, where it has that."""
    inputs, roots = [], []
    for number, metric in enumerate(database.metrics):
        anchors = {}
        for scope, formula, combine, _ in metric.summaries:
            name = database.scopes[scope].name
            if (formula, combine) == ("$$", 0):
                anchors[name] = f"m{number}-{scope}"
                inputs.append(f"  - &{anchors[name]}\n    metric: {json.dumps(metric.name)}\n"
                              f"    scope: {json.dumps(name)}\n    formula: $$\n    combine: sum\n")
        if "execution" in anchors:
            roots.append(f"  - name: {json.dumps(metric.name)}\n"
                         f"    description: {json.dumps(metric.name)}\n    variants:\n"
                         f"      Sum:\n        render: [number, percent]\n        formula:\n"
                         f"          inclusive:\n            standard: *{anchors['execution']}\n")
    return ("version: 0\ninputs:\n" + "".join(inputs) + "roots:\n" + "".join(roots)).encode()


def write_database(folder, database, style=None):
    style = style or Style()
    os.makedirs(os.path.join(folder, "metrics"), exist_ok=True)
    files = {"meta.db": Meta(database, style).write(), "profile.db": profile_file(database, style),
             "cct.db": cct_file(database, style),
             os.path.join("metrics", "default.yaml"): taxonomy(database)}
    if database.traces is not None:
        files["trace.db"] = trace_file(database, style)
    for name, data in files.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)


# ---- other numbers -------------------------------------------------------------------------------

def shuffled(items, generator):
    """A shuffled copy, and where each went."""
    order = list(range(len(items)))
    generator.shuffle(order)
    where = {old: new for new, old in enumerate(order)}
    return [items[old] for old in order], where


def rearrange_contexts(contexts, generator):
    """Siblings in another order, the list in preorder again."""
    out, pending = [], [(number, -1) for number, context in enumerate(contexts)
                        if context.parent < 0]
    generator.shuffle(pending)
    while pending:
        old, parent = pending.pop()
        context = copy.copy(contexts[old])
        children = list(context.children)
        context.parent, context.children = parent, []
        if parent >= 0:
            out[parent].children.append(len(out))
        out.append(context)
        generator.shuffle(children)
        pending += [(child, len(out) - 1) for child in children]
    return out


def renumbered(database, seed=1):
    """The same in other words: contexts, tables, metrics and threads in another order, under other numbers."""
    generator, new = random.Random(seed), copy.deepcopy(database)
    new.modules, module = shuffled(database.modules, generator)
    new.files, file = shuffled(database.files, generator)
    module[None] = file[None] = None
    functions = [function._replace(module=module[function.module], file=file[function.file])
                 for function in database.functions]
    new.functions, function = shuffled(functions, generator)
    function[None] = None
    new.metrics, _ = shuffled(database.metrics, generator)
    contexts = rearrange_contexts(new.contexts, generator)
    used = {context.id for context in contexts} | {key for profile in new.profiles
                                                   for key in profile.values}
    numbers = random.Random(seed + 1).sample(range(1, 2 * len(used) + 5), len(used))
    number = {**dict(zip(sorted(used), numbers)), 0: 0}
    for context in contexts:
        context.id = number[context.id]
        context.module, context.file = module[context.module], file[context.file]
        context.function = function[context.function]
    new.contexts = contexts
    threads, where = shuffled(new.profiles[1:], generator)
    new.profiles = [new.profiles[0]] + threads
    for profile in new.profiles:
        profile.values = {number[key]: row for key, row in profile.values.items()}
    if new.traces is not None:
        new.traces = [(where[profile - 1] + 1, [(time, number[context]) for time, context in line])
                      for profile, line in new.traces]
    return new
