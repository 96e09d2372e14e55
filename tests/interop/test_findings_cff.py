#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every finding that `sonde check` knows in files of the wtf-trace family, shown by a file with that
fault: the check must name the fault, and where in the file it is. A finding without a fault here
fails the test.
"""
import base64
import copy
import json
import os
import struct

import tap
from cff_case import CffCase, small_file
from cff_reader import EVENT_DATA, EVENTS_PART, HEADER_PART, FILE_HEADER, STRINGS_PART
from cff_writer import (CHUNK_HEAD, PART_HEAD, CffWriter, chunk_bytes, file_bytes, header_chunk,
                        legacy_bytes, legacy_event)
from sonde_case import GOLDEN

GOOD = small_file().bytes()
HEADER_END = len(file_bytes(header_chunk(small_file().header)))
ANYWHERE = ...  # an offset within the file


# ---- binary ------------------------------------------------------------------------------------

def trace(fill, *chunks):
    """A file whose event chunk `fill` puts together; other chunks may follow it."""
    writer = CffWriter()
    chunk = writer.begin("Z")
    fill(chunk)
    return writer.bytes() + b"".join(chunks)


def raw_events(*words, signature="uint32 n"):
    """A file that ends in these 32-bit values as events, after a definition of wire id 5."""
    return trace(lambda chunk: chunk.define(5, "x", signature).raw(
        struct.pack(f"<{len(words)}I", *words)))


def with_parts(change):
    """A file whose list of parts is changed."""
    def fill(chunk):
        chunk.define(5, "x").event(5, 1)
        chunk.fields["parts"] = change(chunk.parts())
    return trace(fill)


def end_of(data, words):
    """Offset of the last `words` 32-bit values, where those are the last in a file."""
    return len(data) - 4 * words


def with_times(chunk):
    chunk.define(5, "x").event(5, 20)
    chunk.fields.update(start=20, end=10)


def go_back(chunk):
    chunk.define(5, "x").event(5, 1000).event(5, 10)


HEADER_VALUE = file_bytes(header_chunk({"flags": [], "timebase": "0"}))
BUILTIN = trace(lambda chunk: chunk.define(5, "wtf.flow#branch", "utf8 name", flags=40))
UNDEFINED = raw_events(77, 1)
PAST_END = raw_events(5, 1, 100, signature="uint32[] a")

# id -> (bytes, offset)
BINARY = {
    "cff-version": (file_bytes(header_chunk(), version=9), 8),
    "cff-size": (GOOD + b"x", ANYWHERE),
    "cff-trailing": (GOOD + bytes(8), len(GOOD)),
    "cff-chunk-length": (file_bytes(header_chunk(), header_chunk(length=8)), ANYWHERE),
    "cff-chunk-cut": (GOOD[:-20], ANYWHERE),
    "cff-chunk-parts": (file_bytes(header_chunk(), CHUNK_HEAD.pack(2, 2, 36, 0, 0, 1000) +
                                   bytes(12)), ANYWHERE),
    "cff-chunk-type": (GOOD + chunk_bytes(9, []), ANYWHERE),
    "cff-chunk-times": (trace(with_times), ANYWHERE),
    "cff-part-outside": (file_bytes(header_chunk(), CHUNK_HEAD.pack(2, 2, 36, 0, 0, 1) +
                                    struct.pack("<3I", EVENTS_PART, 0, 400)), ANYWHERE),
    "cff-part-type": (with_parts(lambda parts: parts + [(0x40002, b"abcd")]), ANYWHERE),
    "cff-part-second": (with_parts(lambda parts: parts + parts[1:]),
                        HEADER_END + CHUNK_HEAD.size + 2 * PART_HEAD.size),
    "cff-events-missing": (file_bytes(header_chunk(), chunk_bytes(EVENT_DATA, [])), ANYWHERE),
    "cff-events-form": (file_bytes(header_chunk(), chunk_bytes(
        EVENT_DATA, [(0x20000, b'{"events":[]}')])), ANYWHERE),
    "cff-events-length": (file_bytes(header_chunk(), chunk_bytes(
        EVENT_DATA, [(EVENTS_PART, bytes(6))])), ANYWHERE),
    "cff-strings-end": (with_parts(lambda parts: [(STRINGS_PART, parts[0][1][:-1])] + parts[1:]),
                        ANYWHERE),
    "cff-times-resource": (trace(lambda chunk: chunk.define(5, "x").event(5, 1).resource(
        b"sondeNS1\0\0\0\0")), ANYWHERE),
    "cff-header-missing": (file_bytes(GOOD[HEADER_END:]), 12),
    "cff-header-late": (file_bytes(GOOD[HEADER_END:], header_chunk()), ANYWHERE),
    "cff-header-second": (GOOD + header_chunk(), ANYWHERE),
    "cff-header-json": (file_bytes(header_chunk(text='{"timebase":0')), ANYWHERE),
    "cff-header-timebase": (file_bytes(header_chunk({"flags": []})), ANYWHERE),
    "cff-header-value": (HEADER_VALUE, HEADER_VALUE.index(b'"timebase"')),
    "cff-event-undefined": (UNDEFINED, end_of(UNDEFINED, 2)),
    "cff-event-past-end": (PAST_END, end_of(PAST_END, 3)),
    "cff-event-zone": (trace(lambda chunk: chunk.define(5, "x").event("wtf.zone#set", 1, 9)
                             .event(5, 2)), ANYWHERE),
    "cff-event-time": (trace(go_back), ANYWHERE),
    "cff-zone-unknown": (trace(lambda chunk: chunk.event("wtf.zone#set", 1, 9)), ANYWHERE),
    "cff-define": (raw_events(signature="uint64 n"), ANYWHERE),
    "cff-define-others": (trace(lambda chunk: chunk.define(5, "x", "uint32 a")
                                .define(6, "x", "utf8 b")), ANYWHERE),
    "cff-builtin": (BUILTIN, end_of(BUILTIN, 7)),
    "cff-scope-leave": (trace(lambda chunk: chunk.leave(5)), ANYWHERE),
    "cff-string-ordinal": (raw_events(5, 1, 1000, signature="utf8 s"), ANYWHERE),
    "cff-any-json": (trace(lambda chunk: chunk.define(5, "x", "any v").raw(
        struct.pack("<3I", 5, 1, chunk.string("{")))), ANYWHERE),
}


# ---- JSON --------------------------------------------------------------------------------------

def encoded(data, **fields):
    return dict({"mode": "base64", "byteLength": len(data),
                 "value": base64.b64encode(data).decode()}, **fields)


DOCUMENT = {
    "wtfVersion": 20150715, "formatVersion": 10, "chunks": [
        {"id": 1, "type": "file_header", "parts": [
            {"type": "file_header", "flags": [], "timebase": 0}]},
        {"id": 2, "type": "event_data", "parts": [
            {"type": "json_event_buffer", "events": [
                [1, 0, 2, 0, 0, "x", "uint32 n, utf8 s"], [2, 5, 7, "text"]]}]},
    ],
}


def document(change):
    """The document with a change, as bytes."""
    result = copy.deepcopy(DOCUMENT)
    change(result)
    return json.dumps(result).encode()


def with_events(*events):
    return document(lambda d: d["chunks"][1]["parts"][0]["events"].extend(events))


def with_part(part):
    return document(lambda d: d["chunks"][1]["parts"].append(part))


JSON = {
    "cff-json-broken": (document(lambda d: None)[:-40], ANYWHERE),
    "cff-json-version": (document(lambda d: d.update(formatVersion=9)), ANYWHERE),
    "cff-json-wtf-version": (document(lambda d: d.update(wtfVersion=2 ** 41)), ANYWHERE),
    "cff-json-value": (document(lambda d: d["chunks"][1].update(id="one")), ANYWHERE),
    "cff-json-chunk-type": (document(lambda d: d["chunks"].append(
        {"id": 3, "type": "other", "parts": []})), ANYWHERE),
    "cff-json-part-type": (with_part({"type": "other"}), ANYWHERE),
    "cff-json-part": (with_part({"type": "string_resource"}), ANYWHERE),
    "cff-json-mode": (with_part({"type": "binary_resource", **encoded(b"abc", mode="hex")}),
                      ANYWHERE),
    "cff-json-base64": (with_part({"type": "binary_resource", **encoded(b"abc", value="!!!!")}),
                        ANYWHERE),
    "cff-json-length": (with_part({"type": "binary_resource", **encoded(b"abc", byteLength=9)}),
                        ANYWHERE),
    "cff-json-event": (with_events("not an event"), ANYWHERE),
    "cff-json-event-type": (with_events([99, 6]), ANYWHERE),
    "cff-json-definition": (with_events([1, 6, 3, 0, 0, "y", "uint64 n"]), ANYWHERE),
    "cff-json-argument": (with_events([2, 6, "not a number", "text"]), ANYWHERE),
    "cff-json-argument-name": (with_events([2, 6, {"n": 1, "s": "t", "other": 5}]), ANYWHERE),
}


def chunk_in_json(change):
    return document(lambda d: change(d["chunks"]))


# Found in what a document is made into: places in that are none in the document.
MADE_OF_JSON = {
    "cff-chunk-times": chunk_in_json(lambda c: c[1].update(startTime=20, endTime=10)),
    "cff-header-missing": chunk_in_json(lambda c: c.pop(0)),
    "cff-header-late": chunk_in_json(lambda c: c.reverse()),
    "cff-header-second": chunk_in_json(lambda c: c.append(c[0])),
    "cff-header-value": chunk_in_json(lambda c: c[0]["parts"][0].update(timebase="0")),
    "cff-header-timebase": chunk_in_json(lambda c: c[0]["parts"][0].pop("timebase")),
    "cff-part-second": with_part({"type": "binary_event_buffer", **encoded(b"")}),
    "cff-events-missing": chunk_in_json(lambda c: c[1]["parts"].clear()),
    "cff-event-undefined": with_part({"type": "binary_event_buffer",
                                      **encoded(struct.pack("<2I", 99, 0))}),
    "cff-builtin": with_events([1, 6, 3, 0, 40, "wtf.flow#branch", "utf8 name"]),
    "cff-size": document(lambda d: d["chunks"].clear()),
}
OLD_JSON = json.dumps([{"type": "wtf.json#header", "format_version": 2, "timebase": 10000},
                       {"event": 1, "time": 1}]).encode()


# ---- the rest ----------------------------------------------------------------------------------

def calls(records, cut=0, **header):
    text = json.dumps({"version": 1, "context": {}, "metadata": {},
                       "modules": {"0": {"src": "a.js", "fns": [1, "one", 0, 5]}},
                       **header}).encode()
    data = (struct.pack("<I", len(text)) + text + bytes(-len(text) % 4) +
            struct.pack(f"<{len(records)}i", *records))
    return data[:len(data) - cut]


LEGACY = {
    "cff-legacy-header": (legacy_bytes([], context="no JSON"), ANYWHERE),
    "cff-legacy-event": (legacy_bytes([legacy_event(99, 1)]), ANYWHERE),
}
CALLS = {
    "cff-calls-version": (calls([1, -1], version=2), ANYWHERE),
    "cff-calls-function": (calls([1, 7, -7, -1]), ANYWHERE),
    "cff-calls-record": (calls([1, -1], cut=2), ANYWHERE),
    "cff-calls-header": (calls([1, -1]).replace(b'"fns": [1', b'"fns": {1'), ANYWHERE),
}
KINDS = ((".wtf-trace", BINARY), (".wtf-json", JSON), (".wtf-json", {
    "cff-json-old": (OLD_JSON, ANYWHERE)}), (".wtf-trace", LEGACY), (".wtf-calls", CALLS))

# ---- sonde's own -------------------------------------------------------------------------------

DEFINITIONS, INDEX = b'{"sonde_definitions":1,', b"sondeIX1"
INDEX_HEAD = struct.Struct("<8sQ4I")
INDEX_TRACK_SIZE, INDEX_CHUNK_FIRST = 32, 16


def cut_definitions(data):
    """The JSON breaks off behind a key; the rest of the resource is spaces."""
    start, end = data.index(DEFINITIONS), data.index(INDEX)
    cut = data.index(b":", start + len(DEFINITIONS)) + 1
    return data[:cut] + b" " * (end - cut) + data[end:], ANYWHERE


def drop_definitions(data):
    """Nobody knows the resource for what it is."""
    start = data.index(DEFINITIONS)
    return data[:start] + b"[" + data[start + 1:], ANYWHERE


def spoil_index(data):
    """An index of a file of another size."""
    start = data.index(INDEX)
    return data[:start + 8] + struct.pack("<Q", len(data) + 4) + data[start + 16:], start


def lie_in_index(data):
    """The first chunk of events starts a nanosecond later than its first event."""
    start = data.index(INDEX)
    _, _, tracks, _, definitions, _ = INDEX_HEAD.unpack_from(data, start)
    time = (start + INDEX_HEAD.size + 8 * definitions + INDEX_TRACK_SIZE * tracks +
            INDEX_CHUNK_FIRST)
    return data[:time] + struct.pack("<Q", struct.unpack_from("<Q", data, time)[0] + 1) + \
        data[time + 8:], start


OWN = (("cff-definitions", cut_definitions), ("cff-definitions", drop_definitions),
       ("cff-index", spoil_index), ("cff-index-wrong", lie_in_index))

# Shown elsewhere: what only recover finds, what takes more than 4 GB, and files that are refused.
ELSEWHERE = {"cff-recover-gap", "cff-recover-header", "cff-json-chunk-size", "cff-refused",
             "cff-magic"}


class Findings(CffCase):
    def findings_of(self, data, ending, *options):
        path = self.path("fault" + ending)
        with open(path, "wb") as file:
            file.write(data)
        done = self.run_sonde("check", "--json", *options, path)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        report, = json.loads(done.stdout)["recordings"]
        return report["findings"]

    def test_clean(self):
        self.assertEqual(self.findings_of(GOOD, ".wtf-trace"), [])
        self.assertEqual(self.findings_of(document(lambda d: None), ".wtf-json"), [])
        self.assertEqual(self.findings_of(calls([1, 1, -1, -1]), ".wtf-calls"), [])

    def assert_found(self, name, data, ending, offset):
        found = self.findings_of(data, ending)
        places = [finding["offset"] for finding in found if finding["id"] == name]
        self.assertTrue(places, [finding["id"] for finding in found])
        if offset is ANYWHERE:
            self.assertTrue(any(place is not None and place <= len(data) for place in places),
                            places)
        else:
            self.assertIn(offset, places)

    def test_each(self):
        for ending, faults in KINDS:
            for name, (data, offset) in faults.items():
                with self.subTest(name):
                    self.assert_found(name, data, ending, offset)

    def test_own(self):
        """A file that sonde wrote from events, and what only such files have, damaged."""
        session = os.path.join(GOLDEN, "normal")
        good = self.read_bytes(self.convert(session, "own.wtf-trace"))
        self.assertEqual(self.findings_of(good, ".wtf-trace"), [])
        for name, damage in OWN:
            with self.subTest(damage.__name__):
                data, offset = damage(good)
                self.assert_found(name, data, ".wtf-trace", offset)

    def test_magic(self):
        found = self.findings_of(b"\0" + GOOD[1:], ".wtf-trace", "--format", "cff")
        self.assertLessEqual({finding["id"] for finding in found}, {"cff-magic", "cff-refused"})
        self.assertTrue(found)

    def test_errors_name_chunk_and_part(self):
        """Whoever looks for the fault in the file is told which chunk it is in."""
        for name in ("cff-event-undefined", "cff-event-past-end", "cff-part-outside",
                     "cff-part-second", "cff-header-value", "cff-builtin", "cff-define"):
            with self.subTest(name):
                found = [finding for finding in self.findings_of(BINARY[name][0], ".wtf-trace")
                         if finding["id"] == name]
                self.assertRegex(found[0]["expected"] + found[0]["found"],
                                 "chunk [0-9]+.* part [0-9]+")

    def test_offsets_are_of_the_file(self):
        for name, data in MADE_OF_JSON.items():
            with self.subTest(name):
                found = [finding["offset"] for finding in self.findings_of(data, ".wtf-json")
                         if finding["id"] == name]
                self.assertEqual(found, [None])

    def test_all_have_a_fault(self):
        listed = json.loads(self.sonde("check", "--list", "--json"))
        shown = {name for _, faults in KINDS for name in faults} | {name for name, _ in OWN}
        self.assertEqual({finding["id"] for finding in listed
                          if finding["id"].startswith("cff-")} - ELSEWHERE, shown)

    def test_header_part_is_needed(self):
        data = file_bytes(chunk_bytes(FILE_HEADER, []), GOOD[HEADER_END:])
        self.assertTrue(any(finding["severity"] == "error"
                            for finding in self.findings_of(data, ".wtf-trace")))
        good = file_bytes(chunk_bytes(FILE_HEADER, [(HEADER_PART, b'{"timebase":5}')]),
                          GOOD[HEADER_END:])
        self.assertFalse(any(finding["severity"] == "error"
                             for finding in self.findings_of(good, ".wtf-trace")))


if __name__ == "__main__":
    tap.main()
