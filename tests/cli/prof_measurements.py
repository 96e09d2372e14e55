#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""prof_measurements.py FOLDER: the measurements that doc/prof.md goes through: a made-up program heat, two processes of
two threads each, two metrics and a formula over them, an .hpcstruct file of the program and none of its library.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "interop"))

from hpcrun_reader import Epoch, Identity, Metric, Module, Node  # noqa: E402
from hpcrun_writer import HOST, KINDS, NODE, RANK, START, THREAD, Thread, placeholder  # noqa: E402

PROGRAM, LIBRARY = 1, 2
MODULES = [Module(PROGRAM, "/opt/heat/bin/heat", 1), Module(LIBRARY, "/opt/heat/lib/libgrid.so", 1)]
METRICS = [Metric("CPUTIME (sec)", description="Time of the processor", is_real=True),
           Metric("CYCLES", description="Cycles of the processor", period=1000000),
           Metric("GHZ", description="Cycles a nanosecond", formula="#1/#0/1000000000", format="%.2f",
                  show_percent=False)]

STRUCTURE = """<?xml version="1.0"?>
<HPCToolkitStructure i="0" version="4.9" n="">
<LM i="2" n="/opt/heat/bin/heat" has-calls="0" v="{}">
<F i="3" n="/build/heat/heat.c">
<P i="4" n="main" l="40" v="{[0x1100-0x1101)}">
<S i="5" l="42" v="{[0x1100-0x1120)}"/>
<L i="6" l="44" f="/build/heat/heat.c" v="{[0x1120-0x1121)}"><S i="7" l="45" v="{[0x1120-0x1160)}"/></L>
</P>
<P i="8" n="step" l="15" v="{[0x1200-0x1201)}">
<L i="9" l="18" f="/build/heat/heat.c" v="{[0x1210-0x1211)}">
<L i="10" l="19" f="/build/heat/heat.c" v="{[0x1220-0x1221)}">
<S i="11" l="20" v="{[0x1220-0x1240)}"/>
<A i="12" l="21" f="/build/heat/heat.c" n="" v="{}">
<A i="13" l="3" f="/build/heat/heat.h" n="flux" v="{}"><S i="14" l="5" v="{[0x1240-0x1260)}"/></A>
</A></L></L></P>
<P i="15" n="worker" l="30" v="{[0x1300-0x1301)}"><S i="16" l="33" v="{[0x1300-0x1320)}"/></P>
</F></LM></HPCToolkitStructure>
"""


def measured(rank, number):
    """One thread: the main one reads the grid and steps, the other one steps only. Nodes are (parent, module, address)."""
    epoch = Epoch()
    epoch.metrics, epoch.modules, epoch.kinds = METRICS, MODULES, dict(enumerate(KINDS))
    epoch.identities = (Identity(NODE, 1, HOST, 0), Identity(RANK, 3, rank, rank),
                        Identity(THREAD, 3, number, number))
    entry, outer = ("| Thread", (PROGRAM, 0x1304)) if number else ("| Main  ", (PROGRAM, 0x1128))
    nodes = [(0, 0, placeholder("^Primary")), (12, 0, placeholder(entry)), (14, *outer), (16, PROGRAM, 0x1230),
             (16, PROGRAM, 0x1244)]
    seconds = {18: 1.5 + rank, 20: 2.25 - number * 0.75}
    if not number:
        nodes += [(14, PROGRAM, 0x1108), (22, LIBRARY, 0x2f0)]
        seconds[24] = 0.5
    epoch.nodes = [Node(12 + 2 * place, parent, module, ip) for place, (parent, module, ip) in enumerate(nodes)]
    for node, value in seconds.items():
        epoch.values[node] = [(0, value), (1, int(value * (2500 if node == 18 else 3000)))]
    leaves = ([24] if not number else []) + [18, 20, 18, 20]
    trace = [(START + rank * 1000000 + place * 700000000, node) for place, node in enumerate(leaves)]
    return Thread(epoch, rank, number, trace, 2, "heat")


def main():
    folder = sys.argv[1]
    for rank in range(2):
        for number in range(2):
            measured(rank, number).write(folder)
    os.makedirs(os.path.join(folder, "structs"))
    with open(os.path.join(folder, "structs", "heat.hpcstruct"), "w", encoding="utf-8") as file:
        file.write(STRUCTURE)


if __name__ == "__main__":
    main()
