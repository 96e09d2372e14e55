#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hpcrun_writer.py OUT [--threads N --tree T --leaves K --metrics M --trace L --ranks R --seed S --odd --structs]:
writes measurement folders (.hpcrun 04.00b and .hpctrace), and single files of the older generations, out of the
Epoch of hpcrun_reader.py. Standard library only, no code of the program. --odd adds what real tools write now and
then: partial unwinds, placeholders, GPU code, derived metrics, load maps numbered otherwise in each process, call
traces and traces that are out of order. --structs adds .hpcstruct files.
"""
import argparse
import os
import random
import struct

from hpcrun_reader import END, FOOTER, Epoch, Identity, Metric, Module, Node
from hpcstruct_writer import write_structures

KINDS = ("SUMMARY", "NODE", "RANK", "THREAD", "GPUDEVICE", "GPUCONTEXT", "GPUSTREAM", "CORE")
NODE, RANK, THREAD, GPUCONTEXT, GPUSTREAM = 1, 2, 3, 5, 6
HOST = 0x11ac0300
METRICS = ("CPUTIME (sec)", "PAPI_TOT_CYC", "PAPI_TOT_INS", "PAPI_L1_DCM", "PAPI_L2_TCM",
           "PAPI_BR_MSP")
START = 1700000000000000000


def placeholder(text):
    return struct.unpack(">Q", text.encode().ljust(8)[:8])[0]


def text(value, order=">"):
    data = value.encode("utf-8", "surrogateescape")
    return struct.pack(order + "I", len(data)) + data


def pairs_bytes(pairs, order=">"):
    return struct.pack(order + "I", len(pairs)) + b"".join(text(key, order) + text(value, order)
                                                            for key, value in pairs.items())


def bits_of(metric, value):
    return struct.unpack(">Q", struct.pack(">d", value))[0] if metric.is_real else value


# ---- parts ---------------------------------------------------------------------------------------

def metric_bytes(metric, order=">", later=True):
    out = text(metric.name, order) + text(metric.description or metric.name, order)
    out += bytes([metric.type, metric.value_type, 2 if metric.is_real else 1,
                  int(metric.at_function)])
    out += struct.pack("<H", metric.partner) + bytes([metric.show,
                                                      int(metric.show_percent)]) + bytes(8)
    out += struct.pack(order + "Q", metric.period) + text(metric.formula,
                                                          order) + text(metric.format, order)
    if later:
        out += struct.pack(order + "HHdQ", metric.frequency, metric.multiplexed, metric.mean,
                           metric.samples)
    return out


def loadmap_bytes(modules, order=">"):
    return struct.pack(order + "I", len(modules)) + b"".join(
        struct.pack(order + "H", module.id) + text(module.path, order) + struct.pack(order + "Q",
                                                                                     module.flags)
        for module in modules)


def sparse_bytes(epoch, order=">"):
    out = struct.pack(order + "H", len(epoch.identities)) + b"".join(
        struct.pack(order + "HQQ", one.kind | one.interpretation << 14, one.physical, one.logical)
        for one in epoch.identities)
    values, index, total = b"", b"", 0
    for node, row in epoch.values.items():
        index += struct.pack(order + "IQ", node, total)
        values += b"".join(struct.pack(order + "QH", bits_of(epoch.metrics[metric], value), metric)
                           for metric, value in row)
        total += len(row)
    index += struct.pack(order + "IQ", END, total)
    return out + struct.pack(order + "QI", total, len(epoch.values)) + values + index


def sections_04(pairs, epoch, order=">"):
    letter = b"b" if order == ">" else b"l"
    return [b"HPCRUN-profile____04.00" + letter + pairs_bytes(pairs, order),
            loadmap_bytes(epoch.modules, order),
            struct.pack(order + "Q", len(epoch.nodes)) + b"".join(
                struct.pack(order + "IIHQB", node.id, node.parent, node.module, node.ip,
                            int(node.unwound))
                for node in epoch.nodes),
            struct.pack(order + "I", len(epoch.metrics)) + b"".join(metric_bytes(metric, order)
                                                                    for metric in epoch.metrics),
            struct.pack(order + "H", len(epoch.kinds)) + b"".join(
                struct.pack(order + "H", kind) + text(name, order) for kind,
                name in epoch.kinds.items()),
            sparse_bytes(epoch, order)]


def join_04(sections, order=">"):
    out, footer = bytearray(), []
    for section in sections:
        footer += [len(out), len(out) + len(section)]
        out += section
        out += bytes(-len(out) % 1024)
    return bytes(out) + struct.pack(order + "14Q", *footer, len(out), FOOTER)


def bytes_04(pairs, epoch, order=">"):
    return join_04(sections_04(pairs, epoch, order), order)


def dense(epoch, node, order):
    row = dict(epoch.values.get(node.id, ()))
    return b"".join(struct.pack(order + "Q", bits_of(metric, row[number]) if number in row else 0)
                    for number, metric in enumerate(epoch.metrics))


def old_node(epoch, node, order, with_module, lush):
    out = struct.pack(order + "ii", -node.id if node.leaf else node.id, node.parent)
    out += struct.pack(order + "I", node.association) if lush else b""
    out += struct.pack(order + "H", node.module) if with_module else b""
    out += struct.pack(order + "Q", node.ip)
    out += struct.pack(order + "QQ", *node.lip) if lush else b""
    return out + dense(epoch, node, order)


def bytes_02b(pairs, epochs, later=True):
    out = b"HPCRUN-profile____02.00b" + pairs_bytes(pairs)
    for epoch in epochs:
        out += b"EPOCH___" + struct.pack(">QQI", epoch.flags, epoch.granularity, epoch.distance)
        out += pairs_bytes(epoch.pairs)
        out += struct.pack(">I", len(epoch.metrics)) + b"".join(metric_bytes(metric, later=later)
                                                                for metric in epoch.metrics)
        out += loadmap_bytes(epoch.modules) + struct.pack(">Q", len(epoch.nodes))
        out += b"".join(old_node(epoch, node, ">", True, epoch.flags & 1) for node in epoch.nodes)
    return out


def bytes_02l(pairs, epochs, as_coded=False):
    out = b"HPCRUN____02.00l" + pairs_bytes(pairs, "<")
    out += b"" if as_coded else struct.pack("<I", len(epochs))
    for epoch in epochs:
        out += b"EPOCH___" + struct.pack("<QIQ", epoch.flags, epoch.distance, epoch.granularity)
        out += pairs_bytes(epoch.pairs, "<") + struct.pack("<I", len(epoch.metrics))
        out += b"".join(text(metric.name, "<") + struct.pack("<QQ", metric.flags, metric.period)
                        for metric in epoch.metrics)
        out += struct.pack("<I", len(epoch.modules))
        for module in epoch.modules:
            if as_coded:
                # in the file, and where it was mapped
                out += text(module.path, "<") + struct.pack("<QQ", module.offset, module.address)
            else:
                out += struct.pack("<QQ", module.address, module.offset)
                out += text(module.path, "<") + struct.pack("<I", module.flags)
        out += struct.pack("<Q" if as_coded else "<I", len(epoch.nodes))
        out += b"".join(old_node(epoch, node, "<", False, as_coded or epoch.flags & 1)
                        for node in epoch.nodes)
    return out


def trace_bytes(flags, records):
    out = b"HPCRUN-trace______01.01b" + struct.pack(">Q", flags)
    if flags & 1:
        return out + b"".join(struct.pack(">QII", time, node, 7) for time, node in records)
    return out + b"".join(struct.pack(">QI", time, node) for time, node in records)


# ---- folders -------------------------------------------------------------------------------------

class Thread:
    """One thread that is to be written."""

    def __init__(self, epoch, rank=0, thread=0, trace=None, trace_flags=0, program="synth",
                 host=HOST):
        self.epoch, self.rank, self.thread = epoch, rank, thread
        self.trace, self.trace_flags, self.program, self.host = trace, trace_flags, program, host

    def pairs(self):
        times = [time for time, _ in self.trace or ()] or [0]
        return {"program-name": self.program, "program-path": "/app/" + self.program,
                "env-path": "",
                "job-id": "", "mpi-rank": str(self.rank), "thread-id": str(self.thread),
                "host-id": f"{self.host:x}", "process-id": str(1000 + self.rank),
                "trace-min-time": str(min(times)), "trace-max-time": str(max(times)),
                "trace-disorder": "0"}

    def stem(self):
        return f"{self.program}-{self.rank:06d}-{self.thread:03d}-{self.host:08x}-{1000 + self.rank}-0"

    def write(self, folder):
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, self.stem())
        with open(path + ".hpcrun", "wb") as file:
            file.write(bytes_04(self.pairs(), self.epoch))
        if self.trace is not None:
            with open(path + ".hpctrace", "wb") as file:
                file.write(trace_bytes(self.trace_flags, self.trace))
        return path


class World:
    """A random program: one tree of calls in which all threads take samples."""

    def __init__(self, tree=200, modules=4, metrics=1, seed=1, ranks=1, odd=False,
                 odd_metrics=None):
        self.random = random.Random(seed)
        self.seed, self.ranks, self.odd = seed, ranks, odd
        pick = self.random
        self.parents = [-1] + [pick.randrange(max(0, number - 1 - int(3 * number ** 0.5)), number)
                               for number in range(1, tree)]
        self.paths = [f"/app/lib{number}.so" for number in range(1, modules + 1)]
        self.places = [(pick.randrange(modules), pick.randrange(0x1000, 0x7ffffff))
                       for _ in range(tree)]
        self.metrics = [Metric(METRICS[number] if number < len(METRICS) else f"METRIC_{number}",
                               is_real=number == 0, period=1 if number == 0
                               else pick.choice((1, 1, 1000)))
                        for number in range(metrics)]
        if odd if odd_metrics is None else odd_metrics:
            self.add_odd_metrics()

    def add_odd_metrics(self):
        """Derived ones, hidden and partly shown ones, one that belongs to functions."""
        base = len(self.metrics)
        self.metrics += [
            Metric("GPUOP (sec)", description="GPU time: all (seconds)", is_real=True,
                   at_function=True),
            Metric("ACUMU", description="[internal]", show=4, at_function=True),
            Metric("HIDDEN", show=0), Metric("INCLUSIVE", show=2), Metric("EXCLUSIVE", show=3),
            Metric("RATIO", description="two of them", show=3, show_percent=False,
                   formula=f"100*(#{base + 1}/#{base})", format="%6.2f %%"),
            Metric("SUM", show=1, show_percent=False, formula=f"#0+max(#{base},2)", format="%g")]

    def loadmap(self, rank):
        """Processes number their modules as they load them."""
        order = list(range(len(self.paths)))
        if self.odd:
            random.Random(rank).shuffle(order)
        modules = [Module(number + 1, self.paths[which], 1 if number % 2 else 0)
                   for number, which in enumerate(order)]
        return modules, {which: number + 1 for number, which in enumerate(order)}

    def epoch(self, rank, thread, identities=None):
        epoch = Epoch()
        epoch.metrics = list(self.metrics)
        epoch.modules, _ = self.loadmap(rank)
        epoch.kinds = dict(enumerate(KINDS))
        epoch.identities = identities or tuple(
            [Identity(NODE, 1, HOST, 0)] + ([Identity(RANK, 3, rank, rank)] if self.ranks > 1
                                            else []) +
            [Identity(THREAD, 3, thread, thread)])
        return epoch

    def value(self, metric, pick):
        return pick.randrange(1, 100000) * 1e-5 if metric.is_real else pick.randrange(1, 100000)

    def grow(self, epoch, rank, leaves, pick, entry):
        """Nodes on the way to the leaves; tree number -> id."""
        needed = set()
        for leaf in leaves:
            while leaf >= 0 and leaf not in needed:
                needed.add(leaf)
                leaf = self.parents[leaf]
        _, numbers = self.loadmap(rank)
        first = 12 if not self.odd else 12 + 1000 * pick.randrange(3)
        epoch.nodes += [Node(first, 0, 0, placeholder("^Primary")),
                        Node(first + 2, first, 0, placeholder(entry))]
        ids = {}
        for number in sorted(needed):
            module, ip = self.places[number]
            ids[number] = epoch.nodes[-1].id + 2 if epoch.nodes else 16
            parent = first + 2 if number == 0 else ids[self.parents[number]]
            epoch.nodes.append(Node(ids[number], parent, numbers[module], ip))
        return ids

    def thread(self, rank, number, leaves=40, trace=0):
        pick = random.Random(f"{self.seed}/{rank}/{number}")
        epoch = self.epoch(rank, number)
        chosen = sorted({pick.randrange(len(self.parents)) for _ in range(leaves)})
        ids = self.grow(epoch, rank, chosen, pick, "| Main  " if number == 0 else "| Thread")
        measured = [place for place, metric in enumerate(self.metrics) if not metric.formula]
        for leaf in chosen:
            row = [(metric, self.value(self.metrics[metric], pick)) for metric in measured
                   if metric == 0 or pick.random() < 0.7]
            epoch.values[ids[leaf]] = row
        visited = [ids[leaf] for leaf in chosen]
        if self.odd:
            visited += add_odd_nodes(self, epoch, pick)
        records, flags = self.trace(visited, trace, pick)
        return Thread(epoch, rank, number, records, flags)

    def trace(self, visited, count, pick):
        if not count:
            return None, 0
        time, records = START, []
        for _ in range(count):
            time += pick.randrange(1000, 2000000)
            records.append((time, pick.choice(visited)))
        flags = 2
        if self.odd:
            flags = pick.choice((2, 2, 4, 1))
            for _ in range(count // 10):
                at = pick.randrange(1, count) if count > 1 else 0
                records[at - 1], records[at] = records[at], records[at - 1]
            # the same time twice, and a node nobody has
            records.append((records[-1][0], pick.choice(visited)))
            records.append((records[-1][0] + 5, 999999))
        return records, flags

    def gpu_stream(self, rank, number, source):
        """A stream: no values, a call trace in the kernels that a thread has launched."""
        epoch = self.epoch(rank, 500 + number, (Identity(NODE, 1, HOST, 0),
                                                Identity(GPUCONTEXT, 3, 1, 1),
                                                 Identity(GPUSTREAM, 3, number, number)))
        epoch.nodes = list(source.epoch.nodes)
        pick = random.Random(number)
        kernels = [node.id for node in epoch.nodes if node.module == 65000 and node.unwound] or \
            [epoch.nodes[-1].id]
        root = epoch.nodes[0]
        idle = max(node.id for node in epoch.nodes) + 1
        epoch.nodes.append(Node(idle, root.id, 0, placeholder("NoActvty")))
        epoch.modules = list(source.epoch.modules)
        records, time = [], START
        for _ in range(20):
            time += pick.randrange(1, 5000)
            records.append((time, pick.choice(kernels)))
            time += pick.randrange(1, 5000)
            records.append((time, idle))
        return Thread(epoch, rank, 500 + number, records, 4)


def add_odd_nodes(world, epoch, pick):
    """Below the root: a partial unwind, idle time, code without an entry, OpenMP and GPU things."""
    root, main = epoch.nodes[0].id, epoch.nodes[1].id
    deep = epoch.nodes[-1].id
    modules = [module.id for module in epoch.modules]
    epoch.modules.append(Module(65000, "gpubins/kernel.gpubin", 1))
    visited = []

    def add(parent, module, ip, values=(), unwound=True):
        number = epoch.nodes[-1].id + 2
        epoch.nodes.append(Node(number, parent, module, ip, unwound))
        row = sorted((place, world.value(metric, pick)) for place,
                     metric in enumerate(epoch.metrics)
                     if metric.name in values)
        if row:
            epoch.values[number] = row
        visited.append(number)
        return number
    first = epoch.metrics[0].name
    partial = add(root, 0, placeholder("^Partial"), (first,))
    add(add(partial, modules[0], 0x4242, (first,)), modules[-1], 0x4343, (first, "HIDDEN"))
    add(root, 0, placeholder("NoActvty"))
    add(add(root, modules[1 % len(modules)], 0x5151, (first,)), modules[0], 0x5252,
        (first, "EXCLUSIVE"))
    add(main, 0, placeholder("*Unnorm "), (first,))
    add(deep, 0, placeholder("OMP Idle"), (first, "INCLUSIVE"))
    add(deep, 0, placeholder("OMPBarrW"), (first,))
    add(add(deep, 0, placeholder("^Partial"), (first,)), modules[0], 0x6060, (first,))
    kernel = add(deep, 0, placeholder("GPUKernl"))
    add(kernel, 65000, 0x2e00, ("GPUOP (sec)", "ACUMU"))
    add(add(deep, 0, placeholder("GPUTrace")), 65000, 0x2e00)
    add(kernel, 65000, 0x2f10, (first,), unwound=False)
    add(add(deep, 0, placeholder("GPUCpH2D")), 0, placeholder("GPU Sync"), ("GPUOP (sec)",))
    # the same place twice below one parent, as two nodes
    add(deep, modules[0], 0x7070, (first,))
    add(deep, modules[0], 0x7070, (first,))
    return visited


def write_folder(folder, threads=4, tree=200, leaves=40, metrics=1, trace=0, ranks=1, seed=1,
                 odd=False, structs=False, odd_metrics=None):
    """A whole folder; the threads that were written."""
    world = World(tree, 4, metrics, seed, ranks, odd, odd_metrics)
    out = [world.thread(number % ranks, number // ranks, leaves, trace)
           for number in range(threads)]
    if odd:
        out.append(world.gpu_stream(out[0].rank, 7, out[0]))
    for thread in out:
        thread.write(folder)
    if structs:
        write_structures(folder, out, seed)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("out")
    for name, default in (("threads", 8), ("tree", 2000), ("leaves", 300), ("metrics", 1),
                          ("trace", 0),
                          ("ranks", 1), ("seed", 1)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--odd", action="store_true")
    parser.add_argument("--structs", action="store_true")
    options = vars(parser.parse_args())
    write_folder(options.pop("out"), **options)


if __name__ == "__main__":
    main()
