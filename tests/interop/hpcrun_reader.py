#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads .hpcrun files of all generations (04.00b, 02.00b, 02.00l as in its document and as it was
once coded) and .hpctrace, from the document and what is known of real files alone: it shares no
code with the program. Everything is checked to the last byte; what is wrong raises Bad. Standard
library only.
"""
import os
import struct
import sys
from collections import namedtuple

Module = namedtuple("Module", "id path flags address offset", defaults=(0, 0))
# parent is an id; values are {metric: number as in the file}
Node = namedtuple("Node", "id parent module ip unwound leaf association lip",
                  defaults=(True, False, 0, (0, 0)))
Identity = namedtuple("Identity", "kind interpretation physical logical")

SECTIONS = ("header", "loadmap", "cct", "metrics", "dictionary", "sparse")
FOOTER = 0x48504352554E736D
END = 0x656E6421
LOGICAL_UNWIND = 1


class Bad(Exception):
    """The file is not as the format has it."""


class Metric:
    """A description; flag bytes taken apart."""

    def __init__(self, name, **fields):
        self.name, self.description, self.formula, self.format = name, "", "", ""
        self.type, self.value_type, self.is_real, self.at_function = 1, 0, False, False
        self.partner, self.show, self.show_percent = 0, 1, True
        self.period, self.flags, self.frequency, self.multiplexed = 1, 0, 0, 0
        self.mean, self.samples = 0.0, 0
        for key, value in fields.items():
            if not hasattr(self, key):
                raise AttributeError(key)
            setattr(self, key, value)

    def __eq__(self, other):
        return vars(self) == vars(other)


class Epoch:
    """One profile: 04.00b files have exactly one."""

    def __init__(self):
        self.flags, self.granularity, self.distance, self.pairs = 0, 0, 0, {}
        self.modules, self.metrics, self.nodes = [], [], []
        self.values = {}  # node id -> [(metric, number)]
        self.kinds, self.identities = {}, ()


class File:
    def __init__(self, generation, pairs, epochs):
        self.generation, self.pairs, self.epochs = generation, pairs, epochs
        self.epoch = epochs[0] if epochs else None


class Cursor:
    def __init__(self, data, order, at=0, end=None):
        self.data, self.order, self.at = data, order, at
        self.end = len(data) if end is None else end

    def get(self, form):
        form = self.order + form
        size = struct.calcsize(form)
        if self.at + size > self.end:
            raise Bad(f"{size} bytes at {self.at} are not there")
        values = struct.unpack_from(form, self.data, self.at)
        self.at += size
        return values if len(values) > 1 else values[0]

    def text(self):
        size = self.get("I")
        if self.at + size > self.end:
            raise Bad(f"a text of {size} bytes at {self.at} is cut")
        self.at += size
        return self.data[self.at - size:self.at].decode("utf-8", "surrogateescape")

    def count(self, form, least):
        """A count whose items, `least` bytes each, can be there."""
        count = self.get(form)
        if count * least > self.end - self.at:
            raise Bad(f"a count of {count} before {self.end - self.at} bytes")
        return count

    def pairs(self):
        return {self.text(): self.text() for _ in range(self.count("I", 8))}

    def finish(self):
        if self.at != self.end:
            raise Bad(f"{self.end - self.at} bytes are left at {self.at}")


def number_of(metric, bits, order):
    return struct.unpack(order + "d", struct.pack(order + "Q", bits))[0] if metric.is_real else bits


# ---- metrics and load maps -----------------------------------------------------------------------

def read_metric(cursor, later):
    metric = Metric(cursor.text(), description=cursor.text())
    metric.type, metric.value_type, form, at_function = cursor.get("BBBB")
    metric.is_real, metric.at_function = form == 2, bool(at_function)
    # the partner is in the writer's own order
    metric.partner = struct.unpack("<H", cursor.data[cursor.at:cursor.at + 2])[0]
    cursor.at += 2
    metric.show, percent = cursor.get("BB")
    metric.show_percent = bool(percent)
    if cursor.get("8s") != bytes(8):
        raise Bad("reserved flags of a metric are not 0")
    metric.period = cursor.get("Q")
    metric.formula, metric.format = cursor.text(), cursor.text()
    if later:
        metric.frequency, metric.multiplexed, metric.mean, metric.samples = cursor.get("HHdQ")
    return metric


def read_modules(cursor):
    return [Module(cursor.get("H"), cursor.text(), cursor.get("Q"))
            for _ in range(cursor.count("I", 14))]


def check_nodes(nodes, modules):
    seen = {0}
    known = {module.id for module in modules} | {0, 65531, 65532, 65533}
    for node in nodes:
        if node.id in seen or node.id == 0:
            raise Bad(f"node {node.id} occurs twice or is 0")
        if node.parent not in seen:
            raise Bad(f"parent {node.parent} of node {node.id} does not come before it")
        if node.module not in known:
            raise Bad(f"node {node.id} is in module {node.module}")
        seen.add(node.id)


# ---- 04.00 ---------------------------------------------------------------------------------------

def section_cursors(data, order):
    if len(data) < 112:
        raise Bad("no footer")
    footer = struct.unpack(order + "14Q", data[-112:])
    if footer[13] != FOOTER:
        raise Bad(f"footer ends with {footer[13]:#x}")
    if footer[12] != len(data) - 112:
        raise Bad(f"footer is said to be at {footer[12]}")
    out, last = {}, 0
    for number, name in enumerate(SECTIONS):
        start, end = footer[2 * number:2 * number + 2]
        if start % 1024 or not last <= start <= end <= footer[12]:
            raise Bad(f"section {name} from {start} to {end}")
        if any(data[last:start]):
            raise Bad(f"padding before {name} is not 0")
        out[name], last = Cursor(data, order, start, end), end
    return out


def read_sparse(cursor, epoch, order):
    identities = []
    for _ in range(cursor.count("H", 18)):
        kind, physical, logical = cursor.get("HQQ")
        identities.append(Identity(kind & 0x3fff, kind >> 14, physical, logical))
    epoch.identities = tuple(identities)
    count = cursor.count("Q", 10)
    rows = cursor.get("I")
    values = [cursor.get("QH") for _ in range(count)]
    index = [cursor.get("IQ") for _ in range(rows + 1)]
    if index[-1] != (END, count):
        raise Bad(f"values end with {index[-1]}")
    ids = {node.id for node in epoch.nodes}
    for (node, start), (_, end) in zip(index, index[1:]):
        if not start <= end <= count or node not in ids:
            raise Bad(f"values {start} to {end} of node {node}")
        for bits, metric in values[start:end]:
            if metric >= len(epoch.metrics):
                raise Bad(f"value of metric {metric}")
            epoch.values.setdefault(node, []).append(
                (metric, number_of(epoch.metrics[metric], bits, order)))


def read_04(data, order):
    sections = section_cursors(data, order)
    sections["header"].at += 24
    pairs = sections["header"].pairs()
    epoch = Epoch()
    epoch.modules = read_modules(sections["loadmap"])
    cursor = sections["cct"]
    for _ in range(cursor.count("Q", 19)):
        number, parent, module, ip, flags = cursor.get("IIHQB")
        epoch.nodes.append(Node(number, parent, module, ip, bool(flags & 1)))
    cursor = sections["metrics"]
    epoch.metrics = [read_metric(cursor, True) for _ in range(cursor.count("I", 60))]
    cursor = sections["dictionary"]
    epoch.kinds = {cursor.get("H"): cursor.text() for _ in range(cursor.get("H"))}
    check_nodes(epoch.nodes, epoch.modules)
    read_sparse(sections["sparse"], epoch, order)
    for cursor in sections.values():
        cursor.finish()
    return File("04.00", pairs, [epoch])


# ---- 02.00 ---------------------------------------------------------------------------------------

def add_dense(epoch, node, values, order):
    row = [(metric, number_of(epoch.metrics[metric], bits, order))
           for metric, bits in enumerate(values) if bits]
    if row:
        epoch.values[node] = row


def dense_values(cursor, count):
    values = cursor.get(f"{count}Q") if count else ()
    return (values,) if count == 1 else values


def read_node(cursor, epoch, with_module, lush):
    number, parent = cursor.get("ii")
    association = cursor.get("I") if lush else 0
    module = cursor.get("H") if with_module else 0
    ip = cursor.get("Q")
    lip = cursor.get("QQ") if lush else (0, 0)
    node = Node(abs(number), abs(parent), module, ip, True, number < 0, association, lip)
    epoch.nodes.append(node)
    add_dense(epoch, node.id, dense_values(cursor, len(epoch.metrics)), cursor.order)


def epoch_tag(cursor):
    if cursor.get("8s") != b"EPOCH___":
        raise Bad(f"no epoch at {cursor.at - 8}")


def read_02b(data, order, later):
    cursor = Cursor(data, order, 24)
    pairs, epochs = cursor.pairs(), []
    while cursor.at < cursor.end:
        epoch_tag(cursor)
        epoch = Epoch()
        epoch.flags, epoch.granularity, epoch.distance = cursor.get("QQI")
        epoch.pairs = cursor.pairs()
        epoch.metrics = [read_metric(cursor, later) for _ in range(cursor.count("I", 40))]
        epoch.modules = read_modules(cursor)
        for _ in range(cursor.count("Q", 18)):
            read_node(cursor, epoch, True, bool(epoch.flags & LOGICAL_UNWIND))
        epochs.append(epoch)
    return File("02.00b", pairs, epochs)


def simple_metrics(cursor):
    out = []
    for _ in range(cursor.count("I", 20)):
        metric = Metric(cursor.text())
        metric.flags, metric.period = cursor.get("QQ")
        metric.is_real = bool(metric.flags & 4)
        out.append(metric)
    return out


def read_02l(data, order, as_coded):
    cursor = Cursor(data, order, 16)
    pairs, epochs = cursor.pairs(), []
    left = None if as_coded else cursor.get("I")
    while cursor.at < cursor.end if as_coded else left:
        left = None if as_coded else left - 1
        epoch_tag(cursor)
        epoch = Epoch()
        epoch.flags, epoch.distance, epoch.granularity = cursor.get("QIQ")
        epoch.pairs = cursor.pairs()
        epoch.metrics = simple_metrics(cursor)
        for number in range(cursor.count("I", 20)):
            if as_coded:
                path = cursor.text()
                offset, address = cursor.get("QQ")
                epoch.modules.append(Module(number + 1, path, 0, address, offset))
            else:
                address, offset = cursor.get("QQ")
                epoch.modules.append(Module(number + 1, cursor.text(), cursor.get("I"), address,
                                            offset))
        for _ in range(cursor.count("Q" if as_coded else "I", 16)):
            read_node(cursor, epoch, False, as_coded or bool(epoch.flags & LOGICAL_UNWIND))
        epochs.append(epoch)
    cursor.finish()
    return File("02.00l as coded" if as_coded else "02.00l", pairs, epochs)


def one_of(ways, *arguments):
    """Two layouts share a magic: exactly one fits to the end."""
    found, reasons = [], []
    for last, name in ways:
        try:
            found.append(name(*arguments, last))
        except Bad as bad:
            reasons.append(str(bad))
    if len(found) != 1:
        raise Bad("both layouts fit" if found else "; ".join(reasons))
    return found[0]


def decode(data):
    orders = {b"b": ">", b"l": "<"}
    if data[:18] == b"HPCRUN-profile____":
        order = orders.get(data[23:24])
        if order and data[18:23] == b"04.00":
            return read_04(data, order)
        if order and data[18:23] == b"02.00":
            return one_of(((False, read_02b), (True, read_02b)), data, order)
    if data[:15] == b"HPCRUN____02.00" and data[15:16] in orders:
        return one_of(((False, read_02l), (True, read_02l)), data, orders[data[15:16]])
    raise Bad("no .hpcrun file")


def read_hpcrun(path):
    with open(path, "rb") as file:
        return decode(file.read())


def read_hpctrace(path):
    """Flags and [(time, node id)]."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:24] != b"HPCRUN-trace______01.01b" or len(data) < 32:
        raise Bad("no .hpctrace file")
    flags, = struct.unpack_from(">Q", data, 24)
    size = 16 if flags & 1 else 12
    if (len(data) - 32) % size:
        raise Bad(f"{(len(data) - 32) % size} bytes are left over")
    return flags, [record[:2] for record in struct.iter_unpack(">QII" if flags & 1 else ">QI",
                                                               data[32:])]


class Measurement:
    """One thread of a folder: its profile, and its trace where it has one."""

    def __init__(self, path):
        self.path, self.file = path, read_hpcrun(path)
        self.epoch = self.file.epoch
        trace = path[:-len(".hpcrun")] + ".hpctrace"
        self.trace_flags, self.trace = read_hpctrace(trace) if os.path.exists(trace) else (0, None)


def read_folder(folder, skip=()):
    return [Measurement(os.path.join(folder, name)) for name in sorted(os.listdir(folder))
            if name.endswith(".hpcrun") and name not in skip]


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        try:
            profile = read_hpcrun(argument)
            print(argument, profile.generation, profile.pairs, f"{len(profile.epochs)} epochs,",
                  ", ".join(f"{len(one.nodes)} nodes" for one in profile.epochs))
        except Bad as reason:
            sys.exit(f"{argument}: {reason}")
