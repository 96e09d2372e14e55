#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads HPCToolkit databases, version 4.0, from the format's document and what is known of real
files alone: it shares no code with the program. Every pointer is followed and every statement of
the document is checked; what is wrong raises Bad with words. Standard library only. What the
numbers should be is checked in hpcdb_verify.py.
"""
import os
import struct
from collections import namedtuple

FOOTERS = {"meta": b"_meta.db", "prof": b"_prof.db", "ctxt": b"__ctx.db", "trce": b"trace.db"}
CUSTOM, POINT, EXECUTION, TRANSITIVE = range(4)
LEXICAL, CALL, INLINED = range(3)
FUNCTION, LOOP, LINE, INSTRUCTION, ENTRY = range(5)
COMBINE = ("sum", "min", "max")
NO_BIT = 255

Scope = namedtuple("Scope", "name type bit")
Metric = namedtuple("Metric",
                    "name instances summaries")  # [(scope, id)], [(scope, formula, combine, id)]
File = namedtuple("File", "path copied")
Function = namedtuple("Function",
                      "name module offset file line")  # numbers of module and file, or None
Identity = namedtuple("Identity", "kind physical_flag logical physical")


class Bad(Exception):
    """The database is not as the format has it."""


def need(good, *words):
    if not good:
        raise Bad(" ".join(str(word) for word in words))


class Context:
    """One listed context; `parent` is an index in Database.contexts, -1 below the global context.
    """
    __slots__ = ("id", "parent", "kind", "relation", "propagation", "function", "file", "line",
                 "module", "offset", "name", "entry", "children")

    def __init__(self, number, parent, kind, **fields):
        self.id, self.parent, self.kind = number, parent, kind
        self.relation, self.propagation = LEXICAL, 0
        self.function = self.file = self.line = self.module = self.offset = None
        self.name = self.entry = None
        self.children = []
        for name, value in fields.items():
            setattr(self, name, value)


class Profile:
    """Values of one thread: {ctxId: {metricId: value}}."""
    __slots__ = ("identities", "is_summary", "values")

    def __init__(self, identities, is_summary, values):
        self.identities, self.is_summary, self.values = identities, is_summary, values


class Database:
    def __init__(self):
        self.title = self.description = ""
        self.kinds, self.scopes, self.metrics = [], [], []
        self.modules, self.files, self.functions = [], [], []
        self.contexts = []  # in preorder
        self.profiles = []  # [0] is the summary
        self.cct = []  # one {metricId: [(profile, value)]} a ctxId
        self.traces = None  # [(profile, [(time, ctxId)])], None: no trace.db
        self.time_range = None
        self.notes = {}

    def listed(self):
        return {context.id: number for number, context in enumerate(self.contexts)}


# ---- files and sections --------------------------------------------------------------------------

class DbFile:
    """The bytes of one file, with its sections and a list of what has been used of it."""

    def __init__(self, path, form, sections):
        self.name = os.path.basename(path)
        with open(path, "rb") as file:
            self.bytes = file.read()
        data = self.bytes
        self.size = len(data)
        header = 0x10 + 16 * len(sections)
        need(self.size >= header + 8, self.name, "is too small")
        need(data[:10] == b"HPCTOOLKIT", self.name, "has no magic")
        need(data[10:14] == form.encode(), self.name, "is of format", data[10:14])
        need(data[14] == 4, self.name, "has major version", data[14])
        self.minor = data[15]
        need(data[-8:] == FOOTERS[form], self.name, "ends with", data[-8:])
        self.used = [(0, header, "header"), (self.size - 8, self.size, "footer")]
        self.sections = {}
        for number, name in enumerate(sections):
            size, start = self.get("QQ", 0x10 + 16 * number)
            need(start % 8 == 0 or name == "Strings", self.name, "section", name, "not aligned")
            need(header <= start and start + size <= self.size - 8, self.name, "section", name,
                 f"at {start:#x} of {size} bytes reaches outside")
            self.sections[name] = (start, start + size)
            if size:
                self.used.append((start, start + size, name))

    def get(self, form, at):
        need(0 <= at and at + struct.calcsize("<" + form) <= self.size, self.name, "read at",
             hex(at))
        return struct.unpack_from("<" + form, self.bytes, at)

    def inside(self, section, at, size, what, align=8):
        start, end = self.sections[section]
        need(at % align == 0, self.name, what, "at", hex(at), "is not aligned to", align)
        need(start <= at and at + size <= end, self.name, what,
             f"at {at:#x} of {size} bytes is outside",
             "of section", section)

    def outside(self, at, size, what, align):
        need(at % align == 0, self.name, what, "at", hex(at), "is not aligned to", align)
        need(at + size <= self.size - 8, self.name, what, "at", hex(at), "reaches outside")
        if size:
            self.used.append((at, at + size, what))

    def string(self, section, at, what):
        start, end = self.sections[section]
        need(start <= at < end, self.name, what, "string at", hex(at), "is outside of", section)
        stop = self.bytes.find(b"\0", at, end)
        need(stop >= 0, self.name, what, "string at", hex(at), "does not end in", section)
        try:
            return self.bytes[at:stop].decode()
        except UnicodeDecodeError:
            raise Bad(f"{self.name} {what} string at {at:#x} is not UTF-8") from None

    def no_overlap(self):
        self.used.sort()
        for (_, end, what), (start, _, other) in zip(self.used, self.used[1:]):
            need(end <= start, self.name, what, "and", other, "overlap at", hex(start))


class Array:
    """An array with a saved stride: its place, and pointers to its elements."""

    def __init__(self, file, section, at, count, stride, least, what):
        need(stride >= least and stride % 8 == 0, file.name, what, "stride", stride)
        if count:
            file.inside(section, at, count * stride, what)
        self.file, self.at, self.count, self.stride, self.what = file, at, count, stride, what

    def __iter__(self):
        return iter(range(self.at, self.at + self.count * self.stride, self.stride))

    def number(self, pointer):
        distance = pointer - self.at
        need(0 <= distance < self.count * self.stride and distance % self.stride == 0,
             self.file.name, "pointer", hex(pointer), "is to no element of", self.what)
        return distance // self.stride


# ---- meta.db -------------------------------------------------------------------------------------

def read_metrics(file, database):
    start, _ = file.sections["Metrics"]
    file.inside("Metrics", start, 0x1b, "metrics header")
    at, count, metric_size, instance_size, summary_size = file.get("QIBBB", start)
    scopes_at, scope_count, scope_size = file.get("QHB", start + 0x10)
    scopes = Array(file, "Metrics", scopes_at, scope_count, scope_size, 16, "scopes")
    for place in scopes:
        name, kind, bit = file.get("QBB", place)
        need(kind != TRANSITIVE or bit < 16, "scope with bit", bit)
        database.scopes.append(Scope(file.string("Metrics", name, "scope"), kind, bit))
    names = [scope.name for scope in database.scopes]
    need(len(set(names)) == len(names), "two scopes of one name:", names)
    property_ids, statistic_ids = set(), set()
    for place in Array(file, "Metrics", at, count, metric_size, 32, "metrics"):
        name, instances_at, summaries_at, instance_count, summary_count = file.get("QQQHH", place)
        instances, summaries = [], []
        for item in Array(file, "Metrics", instances_at, instance_count, instance_size, 16,
                          "scope instances"):
            scope, number = file.get("QH", item)
            need(number not in property_ids, "propMetricId", number, "occurs twice")
            property_ids.add(number)
            instances.append((scopes.number(scope), number))
        for item in Array(file, "Metrics", summaries_at, summary_count, summary_size, 24,
                          "summaries"):
            scope, formula, combine, number = file.get("QQBxH", item)
            need(combine < 3, "combine", combine)
            need(number not in statistic_ids, "statMetricId", number, "occurs twice")
            statistic_ids.add(number)
            summaries.append((scopes.number(scope), file.string("Metrics", formula, "formula"),
                              combine, number))
        database.metrics.append(Metric(file.string("Metrics", name, "metric"), instances,
                                       summaries))


def listed_array(file, section, least):
    start, _ = file.sections[section]
    file.inside(section, start, 0x0e, section + " header")
    at, count, stride = file.get("QIH", start)
    return Array(file, section, at, count, stride, least, section)


def read_tables(file, database):
    modules = listed_array(file, "Modules", 16)
    for place in modules:
        _, path = file.get("IxxxxQ", place)
        database.modules.append(file.string("Strings", path, "module path"))
    files = listed_array(file, "Files", 16)
    for place in files:
        flags, path = file.get("IxxxxQ", place)
        database.files.append(File(file.string("Strings", path, "source path"), bool(flags & 1)))
    functions = listed_array(file, "Functions", 40)
    for place in functions:
        name, module, offset, source, line = file.get("QQQQI", place)
        need(name or module or source, "function at", hex(place), "is nothing")
        database.functions.append(Function(
            file.string("Strings", name, "function name") if name else None,
            modules.number(module) if module else None, offset,
            files.number(source) if source else None, line))
    return modules, files, functions


class Flex:
    """Sub-fields in packing order: 8 bytes each, two u32 share a word."""

    def __init__(self, file, at, words):
        self.file, self.at, self.end, self.half = file, at, at + 8 * words, None

    def take64(self):
        need(self.at + 8 <= self.end, "flex words of a context are too few")
        value, = self.file.get("Q", self.at)
        self.at += 8
        return value

    def take32(self):
        if self.half is not None:
            at, self.half = self.half, None
        else:
            need(self.at + 8 <= self.end, "flex words of a context are too few")
            at, self.half = self.at, self.at + 4
            self.at += 8
        return self.file.get("I", at)[0]


def read_context(file, at, end, parent, tables):
    """One {Ctx}: it, where its children are, and where the next begins."""
    modules, files, functions = tables
    need(at + 0x20 <= end, "context at", hex(at), "is cut")
    size, children, number, flags, relation, kind, words, propagation = file.get("QQIBBBBH", at)
    stop = at + 0x20 + 8 * words
    need(stop <= end, "flex words of the context at", hex(at), "are cut")
    need(relation < 3 and kind < 4, "context", number, "relation", relation, "type", kind)
    context = Context(number, parent, kind, relation=relation, propagation=propagation)
    flex = Flex(file, at + 0x20, words)
    if flags & 1:
        context.function = functions.number(flex.take64())
    if flags & 2:
        context.file = files.number(flex.take64())
        context.line = flex.take32()
    if flags & 4:
        context.module = modules.number(flex.take64())
        context.offset = flex.take64()
    need(kind not in (LOOP, LINE) or flags & 2, "context", number, "has no source")
    need(kind != INSTRUCTION or flags & 4, "context", number, "has no point")
    return context, (children, size), stop


def read_contexts(file, database, tables):
    start, _ = file.sections["Context"]
    file.inside("Context", start, 0x0b, "context header")
    at, count, stride = file.get("QHB", start)
    entries = Array(file, "Context", at, count, stride, 32, "entry points")
    ids, ranges, out = {0}, [], database.contexts
    pending = []
    for place in reversed(list(entries)):
        size, children, number, entry, name = file.get("QQIHxxQ", place)
        pending.append((Context(number, -1, ENTRY, entry=entry,
                                name=file.string("Strings", name, "entry name")), (children, size)))
    while pending:
        context, (children, size) = pending.pop()
        need(context.id not in ids, "ctxId", context.id, "occurs twice or is 0")
        ids.add(context.id)
        mine = len(out)
        out.append(context)
        if context.parent >= 0:
            out[context.parent].children.append(mine)
        if not size:
            continue
        file.inside("Context", children, size, "children")
        ranges.append((children, children + size, "children"))
        at, end, found = children, children + size, []
        while at < end:
            child, below, at = read_context(file, at, end, mine, tables)
            found.append((child, below))
        pending.extend(reversed(found))
    ranges += [(entries.at, entries.at + count * stride, "entry points")] if count else []
    ranges.sort()
    for (_, end, _), (begin, _, _) in zip(ranges, ranges[1:]):
        need(end <= begin, "two arrays of children overlap at", hex(begin))


def read_meta(path, database):
    file = DbFile(path, "meta", ("General", "IdNames", "Metrics", "Context", "Strings", "Modules",
                                 "Files", "Functions"))
    start, _ = file.sections["General"]
    file.inside("General", start, 0x10, "general header")
    title, description = file.get("QQ", start)
    database.title = file.string("General", title, "title")
    database.description = file.string("General", description, "description")
    start, _ = file.sections["IdNames"]
    file.inside("IdNames", start, 9, "names header")
    names, count = file.get("QB", start)
    if count:
        file.inside("IdNames", names, 8 * count, "names")
    database.kinds = [file.string("IdNames", file.get("Q", names + 8 * kind)[0], "kind")
                      for kind in range(count)]
    read_metrics(file, database)
    read_contexts(file, database, read_tables(file, database))
    file.no_overlap()


# ---- profile.db, cct.db --------------------------------------------------------------------------

def read_block(file, at, kind, check_ids):
    """A sparse block: {index id: [(id, value)]}; kind says how the two are packed."""
    value_form, value_align, count_form, index_form, index_align = kind
    count, values_at, index_count, index_at = file.get("QQ" + count_form + "Q", at)
    what = f"values of the block at {at:#x}"
    if not count and not index_count:
        return {}
    value_size, index_size = struct.calcsize(value_form), struct.calcsize(index_form)
    file.outside(values_at, count * value_size, what, value_align)
    file.outside(index_at, index_count * index_size, "indices: " + what, index_align)
    gap = index_at - values_at - count * value_size
    need(0 <= gap < 8, file.name, what, "and their indices are", gap, "bytes apart")
    view = memoryview(file.bytes)
    pairs = list(struct.iter_unpack(value_form, view[values_at:values_at + count * value_size]))
    indices = list(struct.iter_unpack(index_form, view[index_at:index_at + index_count *
                                                       index_size]))
    need(indices and indices[0][1] == 0, file.name, what, "do not begin at 0")
    out = {}
    for (number, begin), (following, end) in zip(indices, indices[1:] + [(1 << 64, count)]):
        need(number < following, file.name, "indices of", what, "are not sorted")
        need(begin < end <= count, file.name, "startIndex of", number, "in", what)
        run = pairs[begin:end]
        if end - begin > 1:
            keys = [key for key, _ in run]
            need(all(a < b for a, b in zip(keys, keys[1:])), file.name, what, "are not sorted")
        out[number] = run
    need(all(value != 0 and value == value for _, value in pairs), file.name, what,
         "hold 0 or no number")
    check_ids(pairs, indices)
    return out


PROFILE_BLOCK = ("<Hd", 2, "Ixxxx", "<IQ", 4)
CONTEXT_BLOCK = ("<Id", 4, "Hxxxxxx", "<HQ", 2)


def read_identities(file, at, database):
    file.inside("IdTuples", at, 8, "id tuple")
    count, = file.get("H", at)
    file.inside("IdTuples", at + 8, 16 * count, "ids")
    out = []
    for number in range(count):
        kind, flags, logical, physical = file.get("BxHIQ", at + 8 + 16 * number)
        need(kind < len(database.kinds), "kind", kind, "has no name")
        need(flags & 1 or physical == logical, "logical id", logical, "with physical", physical)
        out.append(Identity(kind, bool(flags & 1), logical, physical))
    return tuple(out)


def read_profiles(path, database, context_limit):
    file = DbFile(path, "prof", ("ProfileInfos", "IdTuples"))
    start, _ = file.sections["ProfileInfos"]
    file.inside("ProfileInfos", start, 0x0d, "profiles header")
    at, count, stride = file.get("QIB", start)
    need(count > 0, "profile.db has no summary")
    measured = {number for metric in database.metrics for _, number in metric.instances}
    statistic = {item[3] for metric in database.metrics for item in metric.summaries}
    for number, place in enumerate(Array(file, "ProfileInfos", at, count, stride, 0x30,
                                         "profiles")):
        tuple_at, flags = file.get("QI", place + 0x20)
        summary = bool(flags & 1)
        need(summary == (number == 0) or number > 0, "the first profile is no summary")
        need(bool(tuple_at) == (number > 0), "profile", number, "id tuple at", tuple_at)
        known = statistic if summary else measured

        def check(pairs, indices, known=known, number=number):
            strange = {key for key, _ in pairs} - known
            need(not strange, "profile", number, "has unknown metrics", sorted(strange)[:5])
            need(indices[-1][0] < context_limit, "profile", number, "has context", indices[-1][0])
        block = read_block(file, place, PROFILE_BLOCK, check)
        identities = read_identities(file, tuple_at, database) if tuple_at else ()
        database.profiles.append(Profile(identities, summary,
                                         {key: dict(run) for key, run in block.items()}))
    file.no_overlap()


def read_cct(path, database):
    file = DbFile(path, "ctxt", ("CtxInfos",))
    start, _ = file.sections["CtxInfos"]
    file.inside("CtxInfos", start, 0x0d, "contexts header")
    at, count, stride = file.get("QIB", start)
    measured = {number for metric in database.metrics for _, number in metric.instances}

    def check(pairs, indices):
        strange = {number for number, _ in indices} - measured
        need(not strange, "cct.db has unknown metrics", sorted(strange)[:5])
        database.notes["cct profiles"] = max(database.notes.get("cct profiles", 0),
                                             max(key for key, _ in pairs))
    database.cct = [read_block(file, place, CONTEXT_BLOCK, check)
                    for place in Array(file, "CtxInfos", at, count, stride, 0x20, "contexts")]
    file.no_overlap()


# ---- trace.db ------------------------------------------------------------------------------------

def read_traces(path, database):
    file = DbFile(path, "trce", ("CtxTraces",))
    start, _ = file.sections["CtxTraces"]
    file.inside("CtxTraces", start, 0x20, "traces header")
    at, count, stride = file.get("QIB", start)
    low, high = database.time_range = file.get("QQ", start + 0x10)
    database.traces, seen, listed = [], set(), set(database.listed()) | {0}
    for place in Array(file, "CtxTraces", at, count, stride, 24, "traces"):
        profile, begin, end = file.get("IxxxxQQ", place)
        need(0 < profile < len(database.profiles), "trace of profile", profile)
        need(not database.profiles[profile].is_summary, "trace of summary", profile)
        need(profile not in seen, "two traces of profile", profile)
        seen.add(profile)
        need(begin <= end and (end - begin) % 12 == 0, "trace line", hex(begin), hex(end))
        file.outside(begin, end - begin, f"trace of profile {profile}", 4)
        line = list(struct.iter_unpack("<QI", memoryview(file.bytes)[begin:end]))
        if line:
            need(low <= line[0][0] and line[-1][0] <= high, "trace of profile", profile,
                 "is outside of the range")
        for (time, context), (following, other) in zip(line, line[1:]):
            need(time <= following, "trace of profile", profile, "goes back at", following)
            need(context or other, "two samples in no context follow each other in", profile)
        strange = {context for _, context in line} - listed
        need(not strange, "trace of profile", profile, "names unlisted", sorted(strange)[:5])
        database.traces.append((profile, line))
    file.no_overlap()


def read_database(folder):
    """All four files, checked; Bad where one is not as the document has it."""
    database = Database()
    database.folder = folder
    read_meta(os.path.join(folder, "meta.db"), database)
    read_cct(os.path.join(folder, "cct.db"), database)
    read_profiles(os.path.join(folder, "profile.db"), database, len(database.cct))
    need(database.notes.get("cct profiles", 0) < len(database.profiles), "cct.db names profile",
         database.notes.get("cct profiles"))
    largest = max((context.id for context in database.contexts), default=0)
    need(largest < len(database.cct), "ctxId", largest, "is not in cct.db")
    if os.path.exists(os.path.join(folder, "trace.db")):
        read_traces(os.path.join(folder, "trace.db"), database)
    return database
