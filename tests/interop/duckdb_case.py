# SPDX-License-Identifier: Apache-2.0
"""Test cases that ask DuckDB about files, and recordings to make such files of."""
import json
import os
import random
import re
import shutil
import subprocess
import unittest

from atf_reader import EXCEPTION, MARK
from atf_writer import (ANNOTATIONS, ThreadWriter, annotations_module, arguments_detail, event_type_symbol,
                        function_id, manifest_of, pack_arguments, write_process)
from sonde_case import SondeCase

HERE = os.path.dirname(os.path.abspath(__file__))
DOC = os.path.join(HERE, os.pardir, os.pardir, "doc", "formats")


def duckdb_is_there():
    return bool(shutil.which("node")) and os.path.isdir(
        os.path.join(HERE, "node_modules", "@duckdb", "node-api"))


needs_duckdb = unittest.skipUnless(
    duckdb_is_there(), "DuckDB is not installed: tools/setup.sh test installs it")


def as_int(pairs):
    return int(pairs["int"]) if set(pairs) == {"int"} else pairs


class Answer:
    """What a statement gave."""

    def __init__(self, line):
        answer = json.loads(line, object_hook=as_int)
        self.columns, self.rows = answer["columns"], answer["rows"]

    def dicts(self):
        names = [name for name, _ in self.columns]
        return [dict(zip(names, row)) for row in self.rows]


def random_thread(slot, seed, pairs=400, functions=6, start=1_000_000, close=True):
    """Nested calls with recursion and exceptions; perhaps some stay open."""
    generator = random.Random(seed)
    thread = ThreadWriter(slot, start=start)
    thread.call(function_id(1))
    for _ in range(pairs):
        thread.time += generator.randrange(1000)
        if generator.random() < 0.5 and len(thread.stack) < 20 or len(thread.stack) < 2:
            thread.call(function_id(generator.randrange(2, functions + 2)))
        else:
            thread.leave(kind=EXCEPTION if generator.random() < 0.05 else 2)
    while close and thread.stack:
        thread.leave()
    return thread


def names_of(count):
    return {number: f"function {number}" for number in range(1, count + 2)}


class DuckCase(SondeCase):
    maxDiff = 4000

    def ask_all(self, *statements):
        done = subprocess.run(["node", os.path.join(HERE, "duckdb_query.js")],
                              input="\n".join(json.dumps(text) for text in statements),
                              cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, f"{statements}\n{done.stderr}")
        return [Answer(line) for line in done.stdout.splitlines()]

    def ask(self, statement):
        return self.ask_all(statement)[0]

    def convert(self, source, name, *options):
        self.sonde("convert", source, "-o", self.path(name), "--quiet", *options)
        return self.path(name)

    def losses(self, source, name, *options):
        text = self.sonde("convert", source, "-o", self.path(name), "--json", *options)
        return {(loss["what"], loss["reason"]): loss["count"]
                for loss in json.loads(text)["losses"]}

    def session(self, threads, names=None, folder="trace", **additional):
        return write_process(self.path(folder), threads,
                             manifest_of(threads, names, **additional))

    def random_session(self, count=3, **options):
        threads = [random_thread(slot, slot + 7, **options) for slot in range(count)]
        return self.session(threads, names_of(8))

    def annotated_session(self):
        """Calls with arguments, and marks without."""
        signature = "uint32 n, utf8 text"
        kind = function_id(9, ANNOTATIONS)
        thread = ThreadWriter(0)
        thread.call(function_id(1))
        for number in range(5):
            values = pack_arguments(signature, [number, f'"{number}, \n'])
            thread.call(function_id(2), arguments_detail(kind, 0, values))
            thread.add(MARK, kind, 2)
            thread.leave()
        thread.leave()
        manifest = manifest_of([thread])
        manifest["modules"].append(annotations_module())
        manifest["symbols"].append(event_type_symbol(9, "work", signature, scope=True))
        return write_process(self.path("annotated"), [thread], manifest)

    def report(self, path):
        """{function: (calls, self, total)} as `sonde report` has it."""
        rows = json.loads(self.sonde("report", "--json", "--no-cache", "--limit", "0", path))["rows"]
        found = {}
        for row in rows:
            known = found.setdefault(row["name"], [0, 0, 0])
            for place, key in enumerate(("calls", "self_ns", "total_ns")):
                known[place] += row.get(key) or 0
        return {name: tuple(numbers) for name, numbers in found.items()}


def doc_statements(page, kind="sql"):
    """The SQL of a page, in blocks of this kind."""
    with open(os.path.join(DOC, page), encoding="utf-8") as file:
        text = file.read()
    return [block.strip().rstrip(";")
            for block in re.findall(rf"^```{kind}\n(.*?)^```", text, re.M | re.S)]


def doc_columns(page):
    """{table: [(column, type, is optional)]} of the tables under headings of a page."""
    tables, current = {}, None
    with open(os.path.join(DOC, page), encoding="utf-8") as file:
        for line in file:
            if line.startswith("#"):
                current = line[4:].strip() if line.startswith("### ") else None
            found = re.match(r"\| `(\w+)` \| (\w+)(\??) \|", line)
            if current and found:
                tables.setdefault(current, []).append(
                    (found.group(1), found.group(2), bool(found.group(3))))
    return tables
