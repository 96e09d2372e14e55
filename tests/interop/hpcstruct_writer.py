# SPDX-License-Identifier: Apache-2.0
"""Writes .hpcstruct files for made-up programs: functions with loops in loops, inlined calls (also
two that look alike), and statements of several ranges, around addresses that are given. Some
addresses stay unknown.
"""
import os
import random
from xml.sax.saxutils import quoteattr

NAMES = ("run", "operator<< <char>", "solve(double&, \"x\")", "k's", "größe")


class Writer:
    def __init__(self, path, seed):
        self.path, self.random, self.number, self.lines = path, random.Random(seed), 2, []

    def element(self, tag, closed=False, **attributes):
        self.number += 1
        text = " ".join(f"{name}={quoteattr(str(value))}" for name, value in attributes.items())
        self.lines.append(f"<{tag} i=\"{self.number}\" {text}{'/' if closed else ''}>")

    def close(self, tag):
        self.lines.append(f"</{tag}>")

    @staticmethod
    def ranges(places):
        return "{" + " ".join(f"[{low:#x}-{high:#x})" for low, high in places) + "}"

    def statements(self, addresses, limits):
        """One or two statements; each address in a range of its own."""
        half = self.random.randrange(len(addresses)) if len(addresses) > 1 else 0
        for some in (addresses[:half], addresses[half:]):
            if some:
                self.element("S", True, l=self.random.randrange(1, 60),
                             v=self.ranges([(address - 1 if address - 1 >= limits[address][0]
                                             else address,
                                             min(address + 3, limits[address][1]))
                                            for address in some]))

    def inside(self, addresses, limits, file, depth):
        """Spreads addresses over statements, loops and inlined calls."""
        pick = self.random
        while addresses:
            size = pick.randrange(1, len(addresses) + 1)
            some, addresses = addresses[:size], addresses[size:]
            way = pick.random() if depth < 4 else 0
            if way < 0.4:
                self.statements(some, limits)
            elif way < 0.75:
                self.element("L", l=pick.randrange(1, 40), f=file,
                             v=self.ranges([(some[0], some[0] + 1)]))
                self.inside(some, limits, file, depth + 1)
                self.close("L")
            else:
                self.element("A", l=pick.randrange(1, 5), f=file, n="", v="{}")
                other = pick.choice((file, "/src/inline.h"))
                self.element("A", l=9, f=other, n=pick.choice(("helper", "min<int>")), v="{}")
                self.inside(some, limits, other, depth + 1)
                self.close("A")
                self.close("A")

    def text(self, addresses):
        addresses = sorted(set(addresses))
        limits = {address: (before + 3, after - 1) for before, address, after in
                  zip([-8] + addresses, addresses, addresses[1:] + [1 << 40])}
        pick = self.random
        addresses = [address for address in addresses if limits[address][1] > address
                     and pick.random() < 0.85]
        self.lines = ['<?xml version="1.0"?>', '<HPCToolkitStructure i="0" version="4.9" n="">']
        self.element("LM", n=self.path, **{"has-calls": 0}, v="{}")
        while addresses:
            file = pick.choice(("/src/a.c", "/src/b.cpp", f"[{os.path.basename(self.path)}]"))
            self.element("F", n=file)
            for _ in range(pick.randrange(1, 4)):
                size = pick.randrange(1, 9)
                some, addresses = addresses[:size], addresses[size:]
                if some:
                    entry = max(some[0] - pick.randrange(3), 1)
                    self.element("P", n=pick.choice(NAMES) + str(self.number), l=pick.randrange(50),
                                 v=self.ranges([(entry, entry + 1)]))
                    self.inside(some, limits, file, 0)
                    self.close("P")
            self.close("F")
        self.close("LM")
        self.close("HPCToolkitStructure")
        return "\n".join(self.lines) + "\n"


def write_structures(folder, threads, seed=1):
    """For all modules but the last that the nodes of some threads lie in."""
    places = {}
    for thread in threads:
        paths = {module.id: module.path for module in thread.epoch.modules}
        for node in thread.epoch.nodes:
            if node.module in paths:
                places.setdefault(paths[node.module], set()).add(node.ip)
    os.makedirs(os.path.join(folder, "structs"), exist_ok=True)
    for number, path in enumerate(sorted(places)[:-1]):
        name = os.path.join(folder, "structs", os.path.basename(path) + ".hpcstruct")
        with open(name, "w", encoding="utf-8") as file:
            file.write(Writer(path, f"{seed}/{number}").text(places[path]))
