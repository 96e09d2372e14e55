# SPDX-License-Identifier: Apache-2.0
"""What the tests of wtf-trace files share: files to test with, and events of a file as rows that can
be compared, from whichever program they come: a *.raw.txt dump of the existing reader, our Python
reader, `sonde dump --json`, or the npm reader.

A row is (zone, time in us, name, arguments). Arguments are {name: value} or None; floats have the
precision of float32, what is no number is None, and time32 is in microseconds.
"""
import glob
import json
import os
import shutil
import struct
import subprocess
import unittest

from cff_reader import parse_signature, read_file
from cff_writer import CffWriter
from sonde_case import SondeCase

HERE = os.path.dirname(os.path.abspath(__file__))
CORPUS = os.path.join(os.environ["SONDE_CORPUS"], "cff") if os.environ.get("SONDE_CORPUS") else None
PROBES = os.path.join(CORPUS, "probes") if CORPUS else None
LEAVE, ENTER = "wtf.scope#leave", "wtf.scope#enter"
STRUCTURE = ("wtf.event#define", "wtf.zone#create", "wtf.zone#delete", "wtf.zone#set")
RANGES = ("wtf.timeRange#begin", "wtf.timeRange#end")
APPEND_SCOPE = 16
NOT_NUMBERS = {"NaN": None, "Infinity": None, "-Infinity": None, "-0": -0.0}

needs_corpus = unittest.skipUnless(CORPUS, "SONDE_CORPUS is not set")


def corpus_files(pattern="*"):
    return sorted(path for path in glob.glob(os.path.join(CORPUS or "", pattern))
                  if CORPUS and path.rpartition(".")[2] in ("wtf-trace", "wtf-json"))


def verdicts():
    """[(name, strict reader loads it, events or None)] of the probes."""
    result = []
    with open(os.path.join(PROBES, "VERDICTS.tsv"), encoding="utf-8") as file:
        for line in file:
            if not line.startswith("#"):
                name, _, strict, events = line.rstrip("\n").split("\t")
                result.append((name, strict == "loads", None if events == "-" else int(events)))
    return result


# ---- values ------------------------------------------------------------------------------------

def parse_json(text):
    """JSON in which -0 stays what it is."""
    return json.loads(text, parse_int=lambda digits: -0.0 if digits == "-0" else int(digits))


def single(value):
    if value is None:
        return None
    try:
        rounded, = struct.unpack("<f", struct.pack("<f", value))
    except OverflowError:
        return None
    if rounded != rounded or rounded in (float("inf"), float("-inf")):
        return None
    return "-0" if rounded == 0 and str(rounded)[0] == "-" else rounded


def canonical_item(word, value, milliseconds):
    if isinstance(value, str) and word in ("float32", "float64"):
        value = NOT_NUMBERS[value]
    if word == "float32":
        return single(value)
    if word == "bool":
        return bool(value)
    if word == "time32" and milliseconds:
        return round(value * 1000)
    return value


def canonical(signature, values, milliseconds):
    """Arguments as rows have them; `milliseconds` says in which unit time32 comes."""
    words = {name: word for word, _, name in signature}
    if not words:
        return values or None
    result = {}
    for name, value in (values or {}).items():
        word = words.get(name)
        if isinstance(value, list) and word != "any":
            value = [canonical_item(word, item, milliseconds) for item in value]
        elif value is not None:
            value = canonical_item(word, value, milliseconds)
        result[name] = value
    return result or None


# ---- where rows come from ----------------------------------------------------------------------

class Expected:
    """What is in a file: rows, signatures and flags of types, zones, and the structure of it."""

    def __init__(self):
        self.rows, self.signatures, self.flags = [], {}, {}
        self.chunks, self.builtins = [], []
        self.zones = []

    def define(self, values):
        if values["name"] not in self.signatures:
            self.signatures[values["name"]] = parse_signature(values["args"])
            self.flags[values["name"]] = values["flags"]

    def add(self, zone, time, name, values, milliseconds=True):
        self.rows.append((zone, time, name,
                          canonical(self.signatures.get(name, []), values, milliseconds)))

    def by_zone(self):
        zones = {}
        for row in self.rows:
            zones.setdefault(row[0], []).append(row[1:])
        return zones


def expected_from_raw(path):
    """The dump of the existing reader. Chunks are (id, type, start, end, [parts' lines])."""
    expected = Expected()
    with open(path, encoding="utf-8") as file:
        for line in file.read().split("\n"):
            kind, _, rest = line.partition("\t")
            words = rest.split("\t")
            if kind == "CHUNK":
                fields = dict(word.split("=") for word in words if "=" in word)
                expected.chunks.append((int(fields["id"]), words[1], int(fields["start"]),
                                        int(fields["end"]), []))
            elif kind == "PART":
                expected.chunks[-1][4].append(tuple(words))
            elif kind == "BI":
                time, wire, name, values = words
                values = parse_json(values)
                expected.builtins.append((int(time), int(wire.partition("=")[2]), name, values))
                if name == "wtf.event#define":
                    expected.define(values)
                elif name == "wtf.zone#create":
                    expected.zones.append((values["name"], values["type"], values["location"]))
            elif kind == "EV":
                time, zone, name, values = words
                expected.add(json.loads(zone), int(time), name,
                             None if values == "-" else parse_json(values))
    return expected


def expected_from_reader(path):
    """A binary file through the Python reader."""
    expected, trace = Expected(), read_file(path)
    for event in trace.builtins:
        expected.builtins.append((event.time, event.wire, event.name, event.values))
        if event.name == "wtf.event#define":
            expected.define(event.values)
    for kind in trace.types.values():
        expected.flags.setdefault(kind.name, kind.flags)
    for event in trace.events:
        expected.add(event.zone.name, event.time, event.name, event.values or None)
    expected.zones = [(zone.name, zone.type, zone.location) for zone in trace.zones]
    return expected


def line_arguments(line):
    """Those of a line of `sonde dump --json --detail`; None where it has none."""
    values = line.get("arguments")
    return values if values is not None else line.get("detail", {}).get("arguments")


def rows_of_dump(lines, signatures):
    """Lines of `sonde dump --json` as rows: what happened, not what the model calls it."""
    rows = []
    for line in lines:
        name, values = line["name"], line_arguments(line)
        if line["kind"] in ("return", "exception"):
            name, values = LEAVE, None
        elif line["kind"] == "call" and name not in signatures and ENTER in signatures:
            name = ENTER
        rows.append((line["track_name"], line["time_ns"] // 1000, name,
                     canonical(signatures.get(name, []), values, False)))
    return rows


def by_zone(rows):
    zones = {}
    for row in rows:
        zones.setdefault(row[0], []).append(row[1:])
    return zones


def renumber_ranges(rows):
    """Time ranges get numbers from 1 in the order they come, as the existing reader has it."""
    numbers, result = {}, []
    for zone, time, name, values in rows:
        if name in RANGES:
            number = numbers.setdefault(values["id"], len(numbers) + 1)
            values = dict(values, id=number)
        result.append((zone, time, name, values))
    return result


# ---- what the npm reader makes of it -----------------------------------------------------------

def npm_is_there():
    return bool(shutil.which("node")) and os.path.isdir(
        os.path.join(HERE, "node_modules", "tracing-framework"))


needs_npm = unittest.skipUnless(
    npm_is_there(), "the npm reader is not installed: tools/setup.sh test installs it")


def npm_load(path):
    """(what the npm reader says, None), or (None, why it refuses)."""
    done = subprocess.run(["node", os.path.join(HERE, "cff_load.js"), path], check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    if done.returncode:
        return None, done.stderr.strip().splitlines()[0]
    # the reader warns on stdout
    return parse_json(done.stdout.splitlines()[-1]), None


def npm_rows(loaded, signatures):
    """As above, names as the npm reader shows them."""
    return [(zone["name"], time, name, canonical(signatures.get(name, []), values, True))
            for zone in loaded["zones"] for time, name, values in zone["events"]]


def as_npm_shows(rows, flags):
    """What the npm reader does to events: scopes and time stamps are shown by the name they were
    given, without spaces; data appended to a scope is moved into the scope."""
    stacks, result = {}, []
    for zone, time, name, values in renumber_ranges(rows):
        stack = stacks.setdefault(zone, [])
        shown = [zone, time, name, values]
        if name == ENTER:
            shown[2:] = [(values["name"] or "unnamed.scope").replace(" ", ""), None]
        elif name == "wtf.trace#timeStamp":
            shown[2:] = [values["name"].replace(" ", ""), None]
        elif flags.get(name, 0) & APPEND_SCOPE and stack:
            added = values or {}
            if name == "wtf.scope#appendData":
                added = {values["name"]: values["value"]}
            stack[-1][3] = dict(stack[-1][3] or {}, **added)
            shown[3] = None
        if name == LEAVE:
            if stack:
                stack.pop()
        elif name == ENTER or name == "wtf.scope#enterTracing" or flags.get("scope " + name):
            stack.append(shown)
        result.append(shown)
    return [tuple(row) for row in result]


def mark_scopes(flags, builtins):
    """Adds "scope NAME" to the flags for types that are scopes."""
    for _, _, name, values in builtins:
        if name == "wtf.event#define" and values["eventClass"] == 1:
            flags["scope " + values["name"]] = True
    return flags


# ---- files -------------------------------------------------------------------------------------

def small_file():
    """One chunk with a bit of everything."""
    writer = CffWriter()
    chunk = writer.begin(("Main", "script", "here"), ("Worker-é", None, None))
    chunk.define(5, "app#numbers",
                 "bool b, int8 i8, uint8 u8, int16 i16, uint16 u16, int32 i32, uint32 u32, "
                 "float32 f")
    chunk.define(6, "app#texts", "ascii a, utf8 u, any x")
    chunk.define(7, "app#arrays", "int8[] a, uint16[] b, float32[] c, char[] d, wchar[] e")
    chunk.scope(8, "app#work", "uint32 n")
    chunk.define(9, "app#rest", "char c, wchar w, time32 t, flowId id")
    chunk.define(10, ENTER, "ascii name", 1, 32)
    chunk.define(11, "wtf.trace#mark", "ascii name, any value", 0, 40)
    chunk.define(12, "wtf.timeRange#begin", "uint32 id, ascii name, any value", 0, 40)
    chunk.define(13, "wtf.timeRange#end", "uint32 id", 0, 40)
    chunk.define(14, "wtf.flow#branch", "flowId id, flowId parentId, ascii name, any value", 0, 40)
    chunk.define(15, "wtf.flow#terminate", "flowId id, any value", 0, 40)
    chunk.define(16, "app#nothing")
    chunk.event(5, 10, True, -128, 255, -32768, 65535, -2 ** 31, 2 ** 32 - 1, 1.5)
    chunk.event(5, 11, False, 127, 0, 32767, 0, 2 ** 31 - 1, 0, -0.0)
    chunk.event(5, 12, False, 1, 2, 3, 4, 5, 6, float("nan"))
    chunk.event(6, 13, "plain", "é中😀", {"a": [1, None, "x"]})
    chunk.event(6, 14, None, "", None)
    chunk.event(7, 15, [-1, 2], [1, 65535, 3], [0.5, -2], "hé", "wíde")
    chunk.event(7, 16, [], None, [0.1], "", None)
    chunk.event(8, 20, 7).event(16, 21).event(10, 22, "inner").leave(23).leave(24)
    chunk.event(9, 30, "A", "中", 12345, 9)
    chunk.event(11, 31, "phase", {"x": 1})
    chunk.event(12, 32, 4, "range", None).event(13, 33, 4)
    chunk.event(14, 34, 1, 0, "flow", 3).event(15, 35, 1, "done")
    chunk.event("wtf.zone#set", 40, 2)
    chunk.event(8, 41, 8).leave(42)
    return writer


def larger_file(chunks=6, calls=200):
    """Several chunks, two zones, a resource in each."""
    writer = CffWriter()
    first = writer.begin("Main", "Other")
    first.scope(5, "app#work", "uint32 n, utf8 text")
    first.define(6, "app#tick")
    for number in range(chunks):
        chunk = writer.chunk()
        time = 1000 * (number + 1)
        chunk.event("wtf.zone#set", time, 1 + number % 2)
        for call in range(calls):
            chunk.event(5, time + 2 * call, call, f"text {call % 7}")
            if call % 5 == 0:
                chunk.event(6, time + 2 * call)
            chunk.leave(time + 2 * call + 1)
        chunk.resource(f"résumé {number}").resource(bytes(range(number + 3)))
    return writer


class CffCase(SondeCase):
    def dump(self, path, expect=(0,)):
        return [parse_json(line) for line in
                self.sonde("dump", "--json", "--detail", path, expect=expect).splitlines()]

    def findings(self, path):
        """What check reports (severity, id, offset, expected, found ...), and its exit code."""
        done = self.run_sonde("check", "--json", path)
        report, = json.loads(done.stdout)["recordings"]
        return report["findings"], done.returncode

    def convert(self, source, name, *options, expect=(0,)):
        target = self.path(name)
        self.sonde("convert", source, "-o", target, *options, expect=expect)
        return target

    def losses(self, source, name, *options):
        """Converts; (target, what was lost)."""
        report = self.path("loss.json")
        target = self.convert(source, name, "--loss-report", report, *options)
        with open(report, encoding="utf-8") as file:
            return target, json.load(file)["losses"]

    def read_bytes(self, path):
        with open(path, "rb") as file:
            return file.read()

    def written(self, writer, name="made.wtf-trace", **fields):
        return writer.write(self.path(name), **fields)

    def assert_same_list(self, found, wanted):
        """Lists of any length: only the first difference is shown, at once."""
        self.assertEqual(len(found), len(wanted))
        for number, (one, two) in enumerate(zip(found, wanted)):
            if one != two:
                self.assertEqual(one, two, number)

    def assert_rows(self, found, wanted):
        """The same rows in the same order within each zone."""
        found, wanted = by_zone(found), by_zone(wanted)
        self.assertEqual(sorted(found), sorted(wanted))
        for zone, rows in wanted.items():
            self.assertEqual(len(found[zone]), len(rows), zone)
            for number, (one, two) in enumerate(zip(found[zone], rows)):
                self.assertEqual(one, two, (zone, number))

    def assert_dump(self, path, expected):
        self.assert_rows(renumber_ranges(rows_of_dump(self.dump(path), expected.signatures)),
                         renumber_ranges(expected.rows))
