#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Structures of binaries against addr2line of binutils, over the addresses of every function of a C
and a C++ program, and structures of .hpcstruct files against a reader of a few lines. With
SONDE_CORPUS set the real files take part."""
import glob
import os
import re
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as xml

import tap
from hpcdb_reader import CALL
from hpcstruct_reader import Structure

STRUCTURE_AT = os.environ.get("STRUCTURE_AT", "structure_at")
CORPUS = os.path.join(os.environ.get("SONDE_CORPUS", ""), "hpcrun")

C_PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node { struct node *left, *right; int key; char text[8]; };
static volatile int sink;

static inline int compare(int a, int b) { return a < b ? -1 : a > b; }

static inline __attribute__((always_inline)) struct node *make(int key)
{
	struct node *node = calloc(1, sizeof(*node));

	if (!node) {
		fputs("memory\n", stderr);
		abort();
	}
	node->key = key;
	return node;
}

static struct node *insert(struct node *tree, int key)
{
	if (!tree)
		return make(key);
	if (compare(key, tree->key) < 0)
		tree->left = insert(tree->left, key);
	else if (compare(key, tree->key) > 0)
		tree->right = insert(tree->right, key);
	return tree;
}

static int sum(const struct node *tree)
{
	return tree ? tree->key + sum(tree->left) + sum(tree->right) : 0;
}

__attribute__((noinline)) static int loops(int n)
{
	int total = 0;

	for (int i = 0; i < n; i++)
		for (int k = 0; k < i; k++)
			total += compare(i & 3, k & 3) * sink;
	switch (n) {
	case 1: return total;
	case 2: return total + 5;
	case 3: sink = 9; return total - 1;
	default: return total + n;
	}
}

int main(int argc, char **argv)
{
	struct node *tree = NULL;

	for (int i = 0; i < 100; i++)
		tree = insert(tree, (i * 37 + argc) % 101);
	printf("%d %d %zu\n", sum(tree), loops(argc + 5), strlen(argv[0]));
	return 0;
}
"""

CXX_PROGRAM = r"""
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace shapes {
struct base {
	virtual ~base() = default;
	virtual double area() const = 0;
};
template <int Sides> struct regular : base {
	double side;
	explicit regular(double s) : side(s) {}
	double area() const override { return side * side * Sides / 4; }
};
template <class Range> double total(const Range &range)
{
	double sum = 0;
	for (const auto &item : range)
		sum += item->area();
	return sum;
}
}

struct by_length {
	bool operator()(const std::string &a, const std::string &b) const
	{
		return a.size() != b.size() ? a.size() < b.size() : a < b;
	}
};

int main(int count, char **arguments)
{
	std::vector<std::unique_ptr<shapes::base>> all;
	std::map<std::string, int, by_length> words;
	std::vector<std::string> names(arguments, arguments + count);

	for (int i = 0; i < 10 + count; i++) {
		all.emplace_back(new shapes::regular<4>(i));
		all.emplace_back(new shapes::regular<6>(i));
		words[std::string(i % 5, 'x')] += i;
		names.push_back(std::to_string(i));
	}
	std::sort(names.begin(), names.end(), by_length());
	std::printf("%g %zu %s\n", shapes::total(all), words.size(), names.front().c_str());
	return 0;
}
"""


def output_of(*command, text=None):
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def function_addresses(binary):
    """Every third byte of the functions that the symbols name."""
    found = set()
    for line in output_of("nm", "-S", binary).splitlines():
        fields = line.split()
        if len(fields) == 4 and fields[2] in "tTwW":
            start, size = int(fields[0], 16), int(fields[1], 16)
            found.update(range(start, start + size, 3))
    return sorted(found)


def ours(binary, addresses):
    """For each address the frames, innermost first: name, file, line."""
    text = output_of(STRUCTURE_AT, binary, text="".join(f"{a:x}\n" for a in addresses))
    frames = {}
    for line in text.splitlines():
        address, *pieces = line.split("\t")
        chain, place = [], ("??", 0)
        for piece in pieces:
            kind, *fields = piece.split("\x01")
            if kind == "S":
                place = fields[0], int(fields[1])
            else:
                chain.append((fields[0],) + place)
                place = ("??", 0)
        frames[int(address, 16)] = chain
    return frames


def theirs(binary, addresses):
    text = output_of("addr2line", "-a", "-i", "-f", "-C", "-e", binary,
                     text="".join(f"{a:x}\n" for a in addresses))
    frames, lines, chain = {}, text.splitlines(), None
    while lines:
        line = lines.pop(0)
        if re.fullmatch("0x[0-9a-f]+", line):
            chain = frames[int(line, 16)] = []
            continue
        path, _, number = lines.pop(0).split(" (")[0].rpartition(":")
        chain.append((line, path, int(number) if number.isdigit() else 0))
    return frames


def plain(chain):
    """What both agree on: no folders, and no endings that compilers put to names of clones."""
    return [(re.sub(r"\.(cold|isra|constprop|part).*| \[clone.*", "", name),
             os.path.basename(path) if line else "??", line) for name, path, line in chain]


class Binaries(unittest.TestCase):
    def compare(self, compiler, source, name, *options):
        if not shutil.which(compiler):
            self.skipTest(f"no {compiler}")
        if not shutil.which("addr2line") or not shutil.which("nm"):
            self.skipTest("no binutils")
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(source)
            made = subprocess.run([compiler, *options, name, "-o", "program"], cwd=folder,
                                  capture_output=True, text=True, check=False)
            if made.returncode:
                self.skipTest(f"{compiler} cannot build it: {made.stderr[:200]}")
            binary = os.path.join(folder, "program")
            addresses = function_addresses(binary)
            here, there = ours(binary, addresses), theirs(binary, addresses)
        known = inlined = 0
        for address in addresses:
            expected = plain(there[address])
            if not expected[0][2]:
                continue
            known += 1
            inlined += len(expected) > 1
            self.assertEqual(plain(here[address]), expected, f"{address:#x}")
        self.assertGreater(known, 100)
        self.assertGreater(inlined, 20)

    def test_c(self):
        self.compare("gcc", C_PROGRAM, "program.c", "-O2", "-g")

    def test_c_version_4(self):
        self.compare("gcc", C_PROGRAM, "program.c", "-O2", "-gdwarf-4", "-no-pie")

    def test_c_clang(self):
        # Of version 5 addr2line does not follow the ranges of clang's inlined calls.
        self.compare("clang", C_PROGRAM, "program.c", "-O2", "-gdwarf-4")

    def test_cxx(self):
        self.compare("g++", CXX_PROGRAM, "program.cc", "-O2", "-g")

    def test_cxx_compressed_sections(self):
        self.compare("g++", CXX_PROGRAM, "program.cc", "-O3", "-g", "-gz", "-ffunction-sections",
                     "-Wl,--gc-sections")

    def test_cxx_clang(self):
        self.compare("clang++", CXX_PROGRAM, "program.cc", "-O2", "-gdwarf-4")


STRUCT_FILE = """<?xml version="1.0"?>
<HPCToolkitStructure i="0" version="4.9" n="">
<LM i="2" n="/bin/loops" has-calls="0" v="{}">
<F i="3" n="/src/loops.c">
<P i="4" n="outer &lt;T&gt;" l="38" v="{[0x13b6-0x13b7)}">
<S i="5" l="38" v="{[0x13b6-0x13c2) [0x1500-0x1510)}"/>
<L i="6" l="40" f="/src/loops.h" v="{[0x1401-0x1402)}">
<S i="7" l="40" v="{[0x13cb-0x13d3) [0x13f8-0x1409)}"/>
<A i="8" l="41" f="/src/loops.c" n="" v="{}">
<A i="9" l="35" f="/src/help.h" n="helper" v="{}">
<S i="10" l="36" v="{[0x13d3-0x13f7)}"/>
</A>
</A>
</L>
</P>
<P i="11" n="shares" l="50" v="{[0x1600-0x1601)}">
<S i="12" l="51" v="{[0x1600-0x1610) [0x1500-0x1510)}"/>
</P>
</F>
</LM>
</HPCToolkitStructure>
"""


def shown(scope):
    """A scope as structure_at prints it."""
    kind, relation, *rest = scope
    if kind == "line":
        return ("S", rest[0], str(rest[1]))
    if kind == "loop":
        return ("L", rest[0], str(rest[1]), f"{rest[3]:x}")
    _, name, _, address, file, line = rest
    return ("F" if relation == CALL else "I", name, f"{address:x}", file, str(line))


def chains_of(path):
    """(start, end, chain) of all statements in the order of the file, innermost scope first."""
    structure = Structure(xml.parse(path).getroot().find("LM"))
    return [(low, high, [shown(scope) for scope in reversed(chain)])
            for low, high, chain in structure.in_order]


class Files(unittest.TestCase):
    def check_file(self, path):
        statements = chains_of(path)
        addresses = sorted({a for a, _, _ in statements} | {b - 1 for _, b, _ in statements} |
                           {b for _, b, _ in statements})
        events = sorted((a, b, i) for i, (a, b, _) in enumerate(statements))
        text = output_of(STRUCTURE_AT, "-f", path, text="".join(f"{a:x}\n" for a in addresses))
        begun, active = 0, []
        for line, address in zip(text.splitlines(), addresses, strict=True):
            while begun < len(events) and events[begun][0] <= address:
                active.append(events[begun])
                begun += 1
            active = [event for event in active if event[1] > address]
            first = min((number for _, _, number in active), default=None)
            expected = [] if first is None else statements[first][2]
            found = [tuple(piece.split("\x01")) for piece in line.split("\t")[1:]]
            self.assertEqual(found, expected, f"{path}: {address:#x}")

    def test_made(self):
        with tempfile.NamedTemporaryFile("w", suffix=".hpcstruct") as file:
            file.write(STRUCT_FILE)
            file.flush()
            self.check_file(file.name)

    @unittest.skipUnless(os.path.isdir(CORPUS), "no corpus of real measurements ($SONDE_CORPUS)")
    def test_real(self):
        paths = glob.glob(os.path.join(CORPUS, "*", "structs", "*.hpcstruct"))
        self.assertTrue(paths)
        for path in paths:
            self.check_file(path)


if __name__ == "__main__":
    tap.main()
