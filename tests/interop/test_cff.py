#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wtf-trace files: what sonde reads, checks, recovers and writes, held against dumps of the existing
reader and against a Python reader that shares no code with sonde. SONDE is the command; with
SONDE_CORPUS set the real files take part, without it only those made here.

Names of tests as arguments run only those.
"""
import itertools
import json
import os
import shutil
import struct

import tap
from cff_case import (CORPUS, LEAVE, PROBES, CffCase, corpus_files, expected_from_raw,
                      expected_from_reader, larger_file, line_arguments, needs_corpus, small_file,
                      verdicts)
from cff_reader import (BINARY_RESOURCE, EVENT_DATA, EVENTS_PART, NO_TIME, STRING_RESOURCE,
                        STRINGS_PART, read_file)
from cff_writer import (CffWriter, chunk_bytes, file_bytes, header_chunk, legacy_bytes,
                        legacy_event)
from sonde_case import GOLDEN

# What the existing readers load and ours must find a fault in: they read past a buffer.
PAST_THE_BUFFER = ("array_past_end.wtf-trace", "truncated_event.wtf-trace")
STYLES = [",".join(words) for count in range(4)
          for words in itertools.combinations(("events", "partial", "spec"), count)]
PART_WORDS = {STRINGS_PART: "string_table", EVENTS_PART: "binary_event_buffer",
              STRING_RESOURCE: "string_resource", BINARY_RESOURCE: "binary_resource"}


def raw_dumps():
    """[(file, its dump)] of the corpus."""
    return [(path, path.rpartition(".")[0] + ".raw.txt") for path in corpus_files()
            if os.path.exists(path.rpartition(".")[0] + ".raw.txt")]


def is_canonical(path):
    """The parts of each chunk follow each other in order, without gaps: JSON can say it all."""
    trace = read_file(path)
    for chunk in trace.chunks:
        at = chunk.offset + 24 + 12 * chunk.part_count
        for part in chunk.parts:
            padding = -len(part.data) % 4
            end = part.offset + len(part.data)
            if part.offset != at or any(trace.data[end:end + padding]):
                return False
            at = end + padding
        if at != chunk.offset + chunk.length:
            return False
    return True


def plain(value, strings):
    """A value of an event in JSON; texts that are in a table twice are given by their ordinals."""
    if isinstance(value, dict) and "ordinal" in value:
        ordinal = value["ordinal"]
        return (strings[ordinal] or None) if ordinal < len(strings) else None
    if isinstance(value, dict) and "raw" in value:
        return value["raw"][0] & 0xFFFF  # only of uint16 here
    return value


class Reading(CffCase):
    """dump shows the events of the file, in the order of the file within each zone."""

    def test_made_files(self):
        for name, writer in (("small", small_file()), ("larger", larger_file())):
            with self.subTest(name):
                path = self.written(writer, name + ".wtf-trace")
                self.assert_dump(path, expected_from_reader(path))
                self.sonde("check", path)
                self.sonde("info", path)

    @needs_corpus
    def test_dumps_of_the_existing_reader(self):
        files = raw_dumps()
        self.assertGreaterEqual(len(files), 7)
        for path, raw in files:
            with self.subTest(os.path.basename(path)):
                self.assert_dump(path, expected_from_raw(raw))
                self.assertEqual(self.findings(path)[1], 0)

    @needs_corpus
    def test_python_reader_agrees_with_the_dumps(self):
        for path, raw in raw_dumps():
            if path.endswith("trace"):
                with self.subTest(os.path.basename(path)):
                    found, wanted = expected_from_reader(path), expected_from_raw(raw)
                    self.assertEqual(found.builtins, wanted.builtins)
                    self.assertEqual(len(found.rows), len(wanted.rows))

    @needs_corpus
    def test_partial_json_holds_the_same_kind_of_events(self):
        """It has no dump: the same program, recorded again."""
        raw = expected_from_raw(os.path.join(CORPUS, "js_all_json.raw.txt"))
        lines = self.dump(os.path.join(CORPUS, "js_all_partial_json.wtf-json"))
        names = [line["name"] for line in self.dump(os.path.join(CORPUS, "js_all_json.wtf-json"))]
        self.assertEqual(len(lines), len(raw.rows))
        self.assertEqual(sorted(line["name"] for line in lines), sorted(names))

    def test_kinds_and_depths(self):
        lines = self.dump(self.written(small_file()))
        found = [(line["kind"], line["name"], line["depth"]) for line in lines
                 if 20 <= line["time_ns"] // 1000 <= 35]
        self.assertEqual([kind for kind, _, _ in found],
                         ["call", "instant", "call", "return", "return", "instant", "mark",
                          "range-begin", "range-end", "flow-begin", "flow-end"])
        self.assertEqual(found[0], ("call", "app#work", 1))
        self.assertEqual(found[2:5], [("call", "inner", 2), ("return", "inner", 2),
                                      ("return", "app#work", 1)])

    def test_zones_are_tracks(self):
        lines = self.dump(self.written(small_file()))
        self.assertEqual({line["track_name"] for line in lines}, {"Main", "Worker-é"})
        self.assertEqual([line["name"] for line in lines if line["track_name"] == "Worker-é"],
                         ["app#work", "app#work"])

    def test_times_unwrap(self):
        writer = CffWriter()
        chunk = writer.begin("Z")
        chunk.define(5, "tick", "uint32 n")
        times = [10, 2 ** 31, 2 ** 32 - 5, 2 ** 32 + 7, 2 ** 32 + 2 ** 31 + 100, 2 ** 33 + 1]
        for number, time in enumerate(times):
            chunk.event(5, time, number)
        path = self.written(writer)
        self.assertEqual([line["time_ns"] for line in self.dump(path)],
                         [time * 1000 for time in times])

    def test_garbage_above_small_numbers(self):
        writer = CffWriter()
        chunk = writer.begin("Z")
        chunk.define(5, "odd", "bool b, int8 a, uint16 c, char d")
        chunk.raw(struct.pack("<6I", 5, 1, 0xFFFFFF01, 0xABCDEFFF, 0xFFFF8000, 0xFFFFFF41))
        line, = self.dump(self.written(writer))
        self.assertEqual(line_arguments(line), {"b": True, "a": -1, "c": 0x8000, "d": "A"})

    def test_wire_ids_change_their_meaning(self):
        writer = CffWriter()
        chunk = writer.begin("Z")
        chunk.define(5, "first", "uint32 a").event(5, 1, 11)
        chunk.define(5, "second", "utf8 b").event(5, 2, "x")
        chunk.define(6, "first", "uint32 a").event(6, 3, 12)
        path = self.written(writer)
        self.assertEqual([(line["name"], line_arguments(line)) for line in self.dump(path)],
                         [("first", {"a": 11}), ("second", {"b": "x"}), ("first", {"a": 12})])


    def test_zones_take_turns(self):
        """Runs of any length, with scopes left open from one to the next; and some of the events."""
        writer = CffWriter()
        zones = 8
        chunk = writer.begin(*(f"zone {number}" for number in range(zones)))
        chunk.scope(5, "call").scope(6, "scope", "uint32 n").define(7, "x", "utf8 text")
        wanted, depths, time = {}, [0] * zones, 0
        for turn in range(400):
            zone, length = turn * 3 % zones, (1, 2, 90, 300)[turn // 100]
            chunk.event("wtf.zone#set", time, zone + 1)
            for number in range(length):
                time += 1
                if number % 5 == 0:
                    chunk.event(5, time)
                    depths[zone] += 1
                    row = ("call", "call", depths[zone])
                elif number % 5 == 3 and depths[zone] > turn // 20:
                    chunk.leave(time)
                    row = ("return", "call", depths[zone])
                    depths[zone] -= 1
                else:
                    chunk.event(7, time, f"text {number}")
                    row = ("instant", "x", depths[zone])
                wanted.setdefault(f"zone {zone}", []).append((time, *row))
        path = self.written(writer)
        found = {}
        for line in self.dump(path):
            found.setdefault(line["track_name"], []).append(
                (line["time_ns"] // 1000, line["kind"], line["name"], line["depth"]))
        self.assertEqual(sorted(found), sorted(wanted))
        for zone, rows in wanted.items():
            self.assert_same_list(found[zone], rows)
        some = [json.loads(line) for line in self.sonde(
            "dump", "--json", "--track", "3", "--from", "30ms", "--limit", "500", path).splitlines()]
        self.assert_same_list([(line["time_ns"] // 1000, line["kind"]) for line in some],
                              [row[:2] for row in wanted["zone 3"] if row[0] >= 30000][:500])


class Structure(CffCase):
    """convert -t cff-json --style events says what is in each chunk."""

    def chunks_of(self, path):
        target = self.convert(path, os.path.basename(path) + ".wtf-json", "-t", "cff-json",
                              "--style", "events")
        with open(target, encoding="utf-8") as file:
            document = json.load(file)
        os.remove(target)
        return document["chunks"]

    def test_chunks_and_definitions(self):
        for path, raw in raw_dumps():
            with self.subTest(os.path.basename(path)):
                expected, chunks = expected_from_raw(raw), self.chunks_of(path)
                self.assertEqual(len(chunks), len(expected.chunks))
                for chunk, (number, kind, start, end, parts) in zip(chunks, expected.chunks):
                    self.assertEqual((chunk["id"], chunk["type"]), (number, kind))
                    self.assertEqual(chunk.get("startTime", NO_TIME), start)
                    self.assertEqual(chunk.get("endTime", NO_TIME), end)
                    self.assert_parts(chunk["parts"], parts)
                self.assert_builtins(chunks, expected.builtins)

    def assert_parts(self, found, wanted):
        self.assertEqual([part["type"].replace("json_event", "binary_event") for part in found],
                         [words[0] for words in wanted])
        for part, words in zip(found, wanted):
            if words[0] == "string_table":
                count, _, strings = words[1].partition(" ")
                strings = json.loads(strings)
                # the dump shows what follows the last NUL of a table as one more text, and of
                # a large table only the start
                self.assertIn(count, (f"strings={len(part['value']) + more}" for more in (0, 1)))
                self.assertEqual((part["value"] + [""])[:len(strings)], strings)
            elif words[0] == "string_resource":
                self.assertEqual(f"chars={len(part['value'])}", words[1])
            elif words[0] == "binary_resource":
                self.assertEqual(f"bytes={part['byteLength']}", words[1])

    def assert_builtins(self, chunks, wanted):
        wires = {wire for _, wire, _, _ in wanted}
        found = []
        for chunk in chunks:
            parts = {part["type"]: part for part in chunk["parts"]}
            strings = parts.get("string_table", {}).get("value", [])
            found += [[plain(value, strings) for value in event]
                      for event in parts.get("json_event_buffer", {}).get("events", [])
                      if event[0] in wires]
        self.assertEqual(len(found), len(wanted))
        for event, (time, wire, _, values) in zip(found, wanted):
            self.assertEqual(event, [wire, time, *values.values()])

    def test_events_can_be_edited(self):
        """A text is changed with an editor, and the trace has it."""
        source = self.convert(self.written(small_file()), "edit.wtf-json", "-t", "cff-json",
                              "--style", "events")
        with open(source, encoding="utf-8") as file:
            text = file.read()
        self.assertIn('"phase"', text)
        with open(source, "w", encoding="utf-8") as file:
            file.write(text.replace('"phase"', '"another phase"'))
        target = self.convert(source, "edited.wtf-trace", "-t", "cff")
        marks = [row for row in expected_from_reader(target).rows if row[2] == "wtf.trace#mark"]
        self.assertEqual([row[3]["name"] for row in marks], ["another phase"])


class Probes(CffCase):
    """The verdicts of the strict reader, and no crash whatever the file."""

    @needs_corpus
    def test_verdicts(self):
        for name, loads, _ in verdicts():
            with self.subTest(name):
                findings, code = self.findings(os.path.join(PROBES, name))
                has_error = any(finding["severity"] == "error" for finding in findings)
                self.assertEqual(has_error, not loads or name in PAST_THE_BUFFER, findings)
                self.assertEqual(code, 1 if has_error else 0)

    @needs_corpus
    def test_event_counts(self):
        for name, loads, events in verdicts():
            if loads and name not in PAST_THE_BUFFER:
                with self.subTest(name):
                    self.assertEqual(len(self.dump(os.path.join(PROBES, name))), events)

    @needs_corpus
    def test_commands_end_well(self):
        for name, _, _ in verdicts():
            path = os.path.join(PROBES, name)
            with self.subTest(name):
                for number, words in enumerate((
                        ("info", path), ("dump", "--json", "--detail", path),
                        ("convert", path, "-t", "cff", "-o", self.path(name + ".cff")),
                        ("convert", path, "-t", "cff-json", "--style", "events", "-o",
                         self.path(name + ".json")),
                        ("convert", path, "-t", "atf", "-o", self.path(name + ".atf")),
                        ("recover", path, "-o", self.path(name + ".recovered")))):
                    self.assertIn(self.run_sonde(*words).returncode, (0, 1, 3), (number, words))

    @needs_corpus
    def test_past_the_buffer_has_an_offset(self):
        for name in PAST_THE_BUFFER:
            with self.subTest(name):
                path = os.path.join(PROBES, name)
                findings, _ = self.findings(path)
                errors = [finding for finding in findings if finding["severity"] == "error"]
                self.assertTrue(errors)
                for error in errors:
                    self.assertLessEqual(0, error["offset"])
                    self.assertLess(error["offset"], os.path.getsize(path))

    def faulty_files(self):
        """name -> bytes with one fault each, and where: all made here."""
        def with_event(raw, signature="uint32 n", **fields):
            writer = CffWriter()
            chunk = writer.begin("Z")
            chunk.define(5, "x", signature)
            chunk.raw(raw)
            chunk.fields.update(fields)
            return writer.bytes()

        good = small_file().bytes()
        return {
            "array past the end": with_event(struct.pack("<3I", 5, 1, 100), "uint32[] a"),
            "event cut": with_event(struct.pack("<2I", 5, 1)),
            "head cut": with_event(struct.pack("<I", 5)),
            "undefined wire id": with_event(struct.pack("<2I", 77, 1)),
            "unknown type": with_event(b"", "uint64 n"),
            "no magic": b"\0" + good[1:],
            "version 9": file_bytes(header_chunk(), version=9),
            "trailing bytes": good + bytes(24),
            "chunk length 0": file_bytes(header_chunk(), header_chunk(length=0)),
            "chunk longer than the file": file_bytes(header_chunk(), header_chunk(length=4096)),
            "header is no JSON": file_bytes(header_chunk(text="{")),
            "header without timebase": file_bytes(header_chunk({"flags": []})),
            "no event part": file_bytes(header_chunk(), chunk_bytes(EVENT_DATA, [])),
            "event part of 6 bytes": file_bytes(header_chunk(), chunk_bytes(
                EVENT_DATA, [(EVENTS_PART, bytes(6))])),
        }

    def test_made_faults_are_found(self):
        for name, data in self.faulty_files().items():
            with self.subTest(name):
                path = self.path("faulty.wtf-trace")
                with open(path, "wb") as file:
                    file.write(data)
                words = ("check", "--json", "--format", "cff", path) if name == "no magic" else (
                    "check", "--json", path)
                done = self.run_sonde(*words)
                self.assertEqual(done.returncode, 1, name)
                report, = json.loads(done.stdout)["recordings"]
                errors = [finding for finding in report["findings"]
                          if finding["severity"] == "error"]
                self.assertTrue(errors)
                self.assertTrue(all(error["offset"] is not None for error in errors), errors)

    def test_zone_that_is_not_there(self):
        """An error only where an event follows."""
        for follows in (False, True):
            writer = CffWriter()
            chunk = writer.begin("Z")
            chunk.define(5, "x").event(5, 1).event("wtf.zone#set", 2, 9)
            if follows:
                chunk.event(5, 3)
            with self.subTest(follows):
                self.assertEqual(self.findings(self.written(writer))[1], int(follows))


class Json(CffCase):
    """binary -> JSON -> binary: the same bytes, in every style."""

    def sources(self):
        for name, writer in (("small", small_file()), ("larger", larger_file())):
            yield self.written(writer, name + ".wtf-trace")
        yield from (path for path in corpus_files() if path.endswith("trace"))
        if PROBES:
            yield from (os.path.join(PROBES, name) for name, loads, _ in verdicts()
                        if loads and name.endswith("trace") and name not in PAST_THE_BUFFER and
                        not name.startswith("legacy"))

    def test_same_bytes(self):
        for path in self.sources():
            for style in STYLES:
                with self.subTest(os.path.basename(path), style=style):
                    self.assert_round_trip(path, style)

    def assert_round_trip(self, path, style):
        options = ["-t", "cff-json"] + (["--style", style] if style else [])
        made, losses = self.losses(path, "made.wtf-json", *options)
        try:
            self.assertIn(self.findings(made)[1], (0, self.findings(path)[1]))
            back = self.convert(made, "back.wtf-trace", "-t", "cff")
            if is_canonical_or_odd(path):
                self.assertEqual(self.read_bytes(back), self.read_bytes(path))
            else:
                self.assertTrue(losses)
        finally:
            os.remove(made)
            if os.path.exists(self.path("back.wtf-trace")):
                os.remove(self.path("back.wtf-trace"))

    def test_strict_passes_where_nothing_is_lost(self):
        path = self.written(larger_file())
        for style in STYLES:
            with self.subTest(style):
                options = ["--style", style] if style else []
                self.convert(path, f"strict {style}.wtf-json", "-t", "cff-json", "--strict",
                             *options)

    def test_spellings(self):
        path = self.written(small_file())
        for style, words in (("", ("wtfVersion", "formatVersion")),
                             ("spec", ("wtf_version", "format_version"))):
            with self.subTest(style):
                target = self.convert(path, f"spelling{style}.wtf-json", "-t", "cff-json",
                                      *(["--style", style] if style else []))
                with open(target, encoding="utf-8") as file:
                    document = json.load(file)
                self.assertEqual([document[words[1]], len(document["chunks"])], [10, 2])
                self.assertIn(words[0], document)

    def test_partial_is_a_fragment_a_line(self):
        path = self.written(larger_file())
        for style in ("partial", "partial,spec"):
            with self.subTest(style):
                target = self.convert(path, style + ".wtf-json", "-t", "cff-json", "--style",
                                      style)
                with open(target, encoding="utf-8") as file:
                    text = file.read()
                header, end = json.JSONDecoder().raw_decode(text)
                self.assertEqual(len(header), 2)
                fragments = [json.loads(line) for line in text[end:].splitlines() if line]
                self.assertEqual(len(fragments), len(read_file(path).chunks))
                for fragment in fragments:
                    self.assertIn("parts" if "spec" in style else "chunks", fragment)

    @needs_corpus
    def test_json_of_the_corpus_becomes_binary(self):
        for path in corpus_files():
            raw = path.rpartition(".")[0] + ".raw.txt"
            if path.endswith("json") and os.path.exists(raw):
                with self.subTest(os.path.basename(path)):
                    target = self.convert(path, os.path.basename(path) + ".wtf-trace", "-t", "cff")
                    found = expected_from_reader(target)
                    self.assertEqual(found.builtins, expected_from_raw(raw).builtins)
                    self.assert_dump(target, expected_from_raw(raw))


def is_canonical_or_odd(path):
    """False also where the strict Python reader refuses what the existing readers load."""
    try:
        return is_canonical(path)
    except Exception:  # pylint: disable=broad-except
        return False


class Writing(CffCase):
    """CFF to CFF keeps everything, byte for byte."""

    def test_same_bytes(self):
        for name, writer in (("small", small_file()), ("larger", larger_file())):
            with self.subTest(name):
                path = self.written(writer, name + ".wtf-trace")
                target, losses = self.losses(path, name + "-copy.wtf-trace", "--strict")
                self.assertEqual(losses, [])
                self.assertEqual(self.read_bytes(target), self.read_bytes(path))

    @needs_corpus
    def test_corpus_stays_the_same(self):
        for path in corpus_files():
            if path.endswith("trace"):
                with self.subTest(os.path.basename(path)):
                    target = self.convert(path, os.path.basename(path))
                    self.assertEqual(self.read_bytes(target), self.read_bytes(path))

    def test_resources_stay(self):
        path = self.written(larger_file())
        target = self.convert(path, "cut.wtf-trace", "--track", "0", "-t", "cff")
        found = [bytes(part.data) for chunk in read_file(target).chunks
                 for part in chunk.resources]
        wanted = [bytes(part.data) for chunk in read_file(path).chunks for part in chunk.resources]
        self.assertEqual([data for data in found if data in wanted], wanted)
        # what else there is, is sonde's own
        self.assertTrue(all(b"sonde" in data[:20] for data in found if data not in wanted))

    def test_selection_writes_events_anew(self):
        path = self.written(small_file())
        target = self.convert(path, "some.wtf-trace", "--track", "0", "-t", "cff")
        wanted = [row for row in expected_from_reader(path).rows if row[0] == "Main"]
        found = expected_from_reader(target)
        self.assertEqual([row[1:3] for row in found.rows if row[2] == LEAVE],
                         [row[1:3] for row in wanted if row[2] == LEAVE])
        self.assertEqual([row for row in found.rows if row[2].startswith("app#")],
                         [row for row in wanted if row[2].startswith("app#")])
        self.sonde("check", target)


    def test_strict_sees_what_definitions_lose(self):
        """A name that is not UTF-8, of a type without events: only in the definitions, at the end."""
        writer = CffWriter()
        writer.begin("Z").define(5, "x").define(6, "name").event(5, 1)
        path = self.path("odd.wtf-trace")
        with open(path, "wb") as file:
            file.write(writer.bytes().replace(b"\0name\0", b"\0n\xffme\0"))
        target, losses = self.losses(path, "some.wtf-trace", "--track", "0", "-t", "cff")
        self.assertEqual([loss["what"] for loss in losses], ["names that are not UTF-8"])
        os.remove(target)
        for kind in ("cff", "cff-json"):
            self.convert(path, "some.wtf-trace", "--track", "0", "-t", kind, "--strict",
                         expect=(1,))
            self.assertFalse(os.path.exists(target))


class ThroughAtf(CffCase):
    """ATF to CFF and back is the same session: definitions and events, byte for byte."""

    def there_and_back(self, session):
        trace = self.convert(session, "there.wtf-trace")
        return self.convert(trace, "back", "-t", "atf")

    def test_definitions_come_back(self):
        session = os.path.join(GOLDEN, "nodetail")
        manifests = [self.read_bytes(os.path.join(path, "manifest.json"))
                     for path in (session, self.there_and_back(session))]
        self.assertEqual(manifests[1], manifests[0])

    def test_annotations_come_back(self):
        for name, writer in (("small", small_file()), ("larger", larger_file())):
            with self.subTest(name):
                path = self.written(writer, name + ".wtf-trace")
                session = self.convert(path, name, "-t", "atf")
                back = self.there_and_back(session)
                for folder, _, files in os.walk(session):
                    for file in files:
                        one = os.path.join(folder, file)
                        two = os.path.join(back, os.path.relpath(one, session))
                        self.assertEqual(self.read_bytes(one), self.read_bytes(two), one)
                shutil.rmtree(back)
                os.remove(self.path("there.wtf-trace"))

    def test_sessions_check_without_warnings(self):
        """Also where the machine is not known, and functions are of no module."""
        plain = CffWriter()
        plain.begin("Z").scope(5, "plain").event(5, 1).leave(2)
        for name, writer in (("plain", plain), ("small", small_file()), ("larger", larger_file())):
            with self.subTest(name):
                session = self.convert(self.written(writer, name + ".wtf-trace"), name, "-t", "atf")
                found, _ = self.findings(session)
                self.assertEqual({finding["id"] for finding in found}, {"atf-index-machine-none"})
                self.assertEqual({finding["severity"] for finding in found}, {"note"})

    def test_only_what_events_are_of(self):
        """No event types for structure, for leaves, and for scopes without arguments."""
        writer = CffWriter()
        chunk = writer.begin("Z").scope(5, "plain").scope(6, "scope", "uint32 n").define(7, "x")
        chunk.event(5, 1).event(6, 2, 3).event(7, 3).leave(4).leave(5)
        report = json.loads(self.sonde("info", "--json", self.written(writer)))
        self.assertEqual([kind["name"] for kind in report["recordings"][0]["event_types"]],
                         ["scope", "x"])


class Legacy(CffCase):
    """Version 3, and wtf-calls."""

    def test_made_legacy_file(self):
        def ascii_text(text):
            return struct.pack(">H", len(text)) + text.encode()

        def define(wire, kind, flags, name, arguments):
            return legacy_event(1, 0, struct.pack(">HHI", wire, kind, flags) + ascii_text(name) +
                                ascii_text(arguments))

        data = legacy_bytes([
            define(2, 0, 40, "wtf.zone#create",
                   "uint16 zoneId, ascii name, ascii type, ascii location"),
            define(3, 0, 40, "wtf.zone#set", "uint16 zoneId"),
            define(4, 0, 40, LEAVE, ""),
            define(5, 1, 0, "work", "uint32 n, utf8 s, uint16[] q, float32 f"),
            legacy_event(2, 1, struct.pack(">H", 1) + ascii_text("Z") + ascii_text("script") +
                         ascii_text("")),
            legacy_event(3, 1, struct.pack(">H", 1)),
            legacy_event(5, 10, struct.pack(">I", 7) + struct.pack(">HH", 2, 3) + "hé".encode() +
                         struct.pack(">I2H", 2, 1, 65535) + struct.pack("<f", 1.5)),
            legacy_event(4, 30)], timebase=1000)
        path = self.path("old.wtf-trace")
        with open(path, "wb") as file:
            file.write(data)
        call, leave = self.dump(path)
        self.assertEqual((call["kind"], call["name"], call["time_ns"], call["track_name"]),
                         ("call", "work", 10_000, "Z"))
        self.assertEqual(line_arguments(call), {"n": 7, "s": "hé", "q": [1, 65535], "f": 1.5})
        self.assertEqual((leave["kind"], leave["name"]), ("return", "work"))

    @needs_corpus
    def test_legacy_probe(self):
        lines = self.dump(os.path.join(PROBES, "legacy_v3.wtf-trace"))
        self.assertEqual([(line["time_ns"], line["kind"], line["name"]) for line in lines],
                         [(10_000, "instant", "a#b"), (20_000, "call", "sc"),
                          (30_000, "return", "sc")])
        # q is int16[] with FFFF in it; the existing reader shows 65535
        self.assertEqual(line_arguments(lines[0]), {"n": 200, "s": "hé", "q": [1, -1], "f": 1.5})

    def assert_calls(self, path):
        data = self.read_bytes(path)
        size, = struct.unpack_from("<I", data)
        header = json.loads(data[4:4 + size])
        names = {}
        for module in header["modules"].values():
            names.update(zip(module["fns"][::4], module["fns"][1::4]))
        step = 1 + len(header.get("metadata", {}).get("attributes", []))
        start = 4 + size + -size % 4
        records = [item for item, in struct.iter_unpack("<i", data[start:])][::step]
        lines = self.dump(path)
        self.assertEqual([(line["kind"], line["name"]) for line in lines
                          if line["kind"] in ("call", "return")],
                         [("call" if item > 0 else "return", names[abs(item)])
                          for item in records])
        return lines

    def test_made_calls_file(self):
        header = json.dumps({"version": 1, "context": {"uri": "u", "title": "t"},
                             "metadata": {"attributes": ["time"]},
                             "modules": {"0": {"src": "a.js", "fns": [7, "one", 0, 5, 9, "two", 6,
                                                                      8]}}}).encode()
        records = [7, 1, 9, 2, -9, 3, 9, 4, -9, 5, -7, 6]
        path = self.path("made.wtf-calls")
        with open(path, "wb") as file:
            file.write(struct.pack("<I", len(header)) + header + bytes(-len(header) % 4) +
                       struct.pack(f"<{len(records)}i", *records))
        lines = self.assert_calls(path)
        # attributes of calls are theirs, those of returns an event before the return
        self.assertEqual([line_arguments(line)["time"] for line in lines if line_arguments(line)],
                         [1, 2, 3, 4, 5, 6])

    @needs_corpus
    def test_calls_of_the_corpus(self):
        self.assert_calls(os.path.join(CORPUS, "js_instrument.wtf-calls"))


class Recover(CffCase):
    """Every whole chunk stays, and every event before the fault."""

    def recovered(self, data):
        with open(self.path("cut.wtf-trace"), "wb") as file:
            file.write(data)
        target = self.path("whole.wtf-trace")
        done = self.run_sonde("recover", self.path("cut.wtf-trace"), "--force", "-o", target)
        if done.returncode == 3:
            return None
        findings, code = self.findings(target)
        self.assertEqual(code, 0, findings)
        return read_file(target)

    def assert_kept(self, whole, data, size):
        """`data` cut to `size` bytes."""
        kept = self.recovered(data[:size])
        first = whole.chunks[0]
        if kept is None:
            self.assertLess(size, first.offset + first.length + 24, "nothing could be recovered")
            return
        wanted = [event for event in whole.events if self.is_there(whole, event, size)]
        found = [self.shown(event) for event in kept.events]
        self.assertGreaterEqual(len(found), len(wanted), size)
        self.assertEqual(found, [self.shown(event) for event in whole.events[:len(found)]], size)

    @staticmethod
    def shown(event):
        """As text, in which one NaN is like another."""
        return repr((event.zone.name, event.time, event.name, event.values))

    @staticmethod
    def is_there(whole, event, size):
        """Its chunk is whole."""
        return any(chunk.offset <= event.offset < chunk.offset + chunk.length <= size
                   for chunk in whole.chunks)

    def test_cut_anywhere(self):
        data = larger_file(4, 12).bytes()
        path = self.path("all.wtf-trace")
        with open(path, "wb") as file:
            file.write(data)
        whole = read_file(path)
        places = sorted({len(data) * step // 60 for step in range(1, 60)} |
                        {chunk.offset + extra for chunk in whole.chunks for extra in (0, 4, 24)})
        for size in places:
            with self.subTest(size):
                self.assert_kept(whole, data, size)

    @needs_corpus
    def test_cut_corpus(self):
        for name in ("js_all_binary.wtf-trace", "cpp_testbuf.wtf-trace"):
            path = os.path.join(CORPUS, name)
            data, whole = self.read_bytes(path), read_file(path)
            for step in range(1, 25):
                size = len(data) * step // 25
                with self.subTest(name, size=size):
                    self.assert_kept(whole, data, size)

    def test_events_before_a_fault(self):
        writer = CffWriter()
        chunk = writer.begin("Z")
        chunk.define(5, "tick", "uint32 n")
        for number in range(10):
            chunk.event(5, number, number)
        chunk.raw(struct.pack("<2I", 99, 50)).event(5, 60, 60)
        later = writer.chunk()
        later.event(5, 70, 70)
        kept = self.recovered(writer.bytes())
        numbers = [event.values["n"] for event in kept.events]
        self.assertEqual(numbers[:10], list(range(10)))
        self.assertEqual(numbers[-1], 70)

    def test_findings_say_where(self):
        data = larger_file(4, 12).bytes()
        with open(self.path("cut.wtf-trace"), "wb") as file:
            file.write(data[:len(data) * 2 // 3])
        findings, code = self.findings(self.path("cut.wtf-trace"))
        self.assertEqual(code, 1)
        for finding in findings:
            self.assertIsNotNone(finding["offset"], finding)
        self.assertTrue(any("chunk" in finding["expected"] + finding["found"]
                            for finding in findings), findings)

    def test_sound_file_stays_as_it_is(self):
        path = self.written(larger_file())
        target = self.path("copy.wtf-trace")
        self.sonde("recover", path, "-o", target)
        self.assertEqual(self.read_bytes(target), self.read_bytes(path))


if __name__ == "__main__":
    tap.main()
