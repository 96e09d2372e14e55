# SPDX-License-Identifier: Apache-2.0
"""Reads .hpcstruct files, plainly: for each module the chains of scopes (function, loops, lines,
inlined functions) that its address ranges lie in. It shares no code with the program; standard
library only.

A scope is a tuple: kind, relation, and what it is. Functions carry the number of their element,
since two records may look alike and are two nevertheless.
"""
import bisect
import glob
import os
import re
import xml.etree.ElementTree

from hpcdb_reader import CALL, INLINED, LEXICAL

RANGE = re.compile(r"\[(0x[0-9a-fA-F]+)-(0x[0-9a-fA-F]+)\)")


def ranges(element):
    return [(int(low, 16), int(high, 16)) for low, high in RANGE.findall(element.get("v", ""))]


def head(element):
    found = ranges(element)
    return found[0][0] if found else 0


class Structure:
    """One module."""

    def __init__(self, element):
        self.path = element.get("n")
        self.found = []
        for child in element:
            if child.tag == "F":
                for inner in child:
                    self.scope(inner, child.get("n"), ())
        self.in_order = list(self.found)  # as the file has them; of those that overlap the first counts
        self.found.sort(key=lambda item: item[0])
        self.starts = [low for low, _, _ in self.found]

    def scope(self, element, file, chain):
        """What is in an element; `file` is that of the statements in it."""
        line = int(element.get("l", "0").split("-")[0])
        if element.tag in ("S", "C"):
            whole = chain + (("line", LEXICAL, file, line),)
            self.found += [(low, high, whole) for low, high in ranges(element)]
            for child in element:
                self.scope(child, file, chain)
            return
        if element.tag == "P":
            chain += (("function", CALL, element.get("i"), element.get("n"), self.path,
                       head(element), file, line),)
        elif element.tag == "L":
            file = element.get("f") or file
            chain += (("loop", LEXICAL, file, line, self.path, head(element)),)
        elif element.tag == "A" and not element.get("n"):
            file = element.get("f") or file
            chain += (("line", LEXICAL, file, line),)
        elif element.tag == "A":
            file = element.get("f") or file
            chain += (("function", INLINED, element.get("i"), element.get("n"), self.path, 0, file,
                       line),)
        for child in element:
            self.scope(child, file, chain)

    def find(self, address):
        """The scopes around an address, from the function inwards; () where nothing is known."""
        at = bisect.bisect_right(self.starts, address) - 1
        return self.found[at][2] if at >= 0 and address < self.found[at][1] else ()


def read_structures(folder):
    """Of a measurement folder: {path of a module: Structure}."""
    out = {}
    for path in sorted(glob.glob(os.path.join(folder, "structs", "*.hpcstruct"))):
        for element in xml.etree.ElementTree.parse(path).getroot():
            out[element.get("n")] = Structure(element)
    return out
