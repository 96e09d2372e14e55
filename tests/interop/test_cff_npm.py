#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files that sonde writes, loaded by the existing reader of wtf-trace files (the npm package
tracing-framework): the same counts, names, zones and arguments. SONDE is the command; the package
is installed by tools/setup.sh.

Names of tests as arguments run only those.
"""
import os
import platform
import shutil
import struct
import subprocess
import unittest

import tap
from atf_writer import (DETAIL_CALL, ThreadWriter, function_id, function_payload, manifest_of,
                        write_process)
from cff_case import (CORPUS, LEAVE, CffCase, as_npm_shows, corpus_files, expected_from_raw,
                      expected_from_reader, larger_file, line_arguments, mark_scopes,
                      needs_corpus, needs_npm, npm_load, npm_rows, small_file)
from cff_reader import read_file
from cff_writer import CffWriter

HOURS = 3600 * 10 ** 9


class NpmCase(CffCase):
    def load(self, path):
        loaded, why = npm_load(path)
        self.assertIsNone(why, f"the npm reader refuses {os.path.basename(path)}")
        return loaded

    def assert_npm_shows(self, path, expected):
        """The npm reader shows the events of `expected` when it loads `path`."""
        loaded = self.load(path)
        flags = mark_scopes(dict(expected.flags), expected.builtins)
        self.assert_rows(npm_rows(loaded, expected.signatures),
                         as_npm_shows(expected.rows, flags))
        found = {(zone["name"], zone["type"], zone["location"]) for zone in loaded["zones"]}
        self.assertEqual(found, set(expected.zones))

    def assert_npm_agrees(self, path):
        """The npm reader, the Python reader and sonde all see the same in a binary file."""
        expected = expected_from_reader(path)
        self.assert_npm_shows(path, expected)
        self.assertEqual(self.findings(path), ([], 0))
        return expected


@needs_npm
class Loader(NpmCase):
    """cff_load.js itself."""

    @needs_corpus
    def test_shows_what_the_dumps_say(self):
        tested = 0
        for path in corpus_files():
            raw = path.rpartition(".")[0] + ".raw.txt"
            if os.path.exists(raw):
                with self.subTest(os.path.basename(path)):
                    self.assert_npm_shows(path, expected_from_raw(raw))
                    tested += 1
        self.assertGreaterEqual(tested, 7)

    def test_loads_files_of_the_python_writer(self):
        for name, writer in (("small", small_file()), ("larger", larger_file())):
            with self.subTest(name):
                path = self.written(writer, name + ".wtf-trace")
                self.assert_npm_shows(path, expected_from_reader(path))

    def test_refuses_what_is_no_trace(self):
        path = self.path("junk.wtf-trace")
        with open(path, "wb") as file:
            file.write(bytes(64))
        self.assertIsNone(npm_load(path)[0])


@needs_npm
class FromCff(NpmCase):
    """Written from CFF, binary and JSON."""

    def test_selected_events(self):
        for name, writer in (("small", small_file()), ("larger", larger_file())):
            with self.subTest(name):
                source = self.written(writer, name + ".wtf-trace")
                target = self.convert(source, name + "-part.wtf-trace", "-t", "cff", "--track",
                                      "0")
                found = self.assert_npm_agrees(target)
                zone = expected_from_reader(source).zones[0][0]
                wanted = [row for row in expected_from_reader(source).rows if row[0] == zone]
                self.assertEqual(len(found.rows), len(wanted))
                self.assertEqual([row[3] for row in found.rows if row[2].startswith("app#")],
                                 [row[3] for row in wanted if row[2].startswith("app#")])

    def test_json_styles(self):
        """Styles that the npm reader knows: one document, either spelling."""
        source = self.written(small_file())
        expected = expected_from_reader(source)
        for style in ("", "spec"):
            with self.subTest(style):
                target = self.convert(source, f"out{style}.wtf-json", "-t", "cff-json",
                                      *(["--style", style] if style else []))
                self.assert_npm_shows(target, expected)

    def test_from_json_with_events(self):
        source = self.written(larger_file())
        text = self.convert(source, "text.wtf-json", "-t", "cff-json", "--style", "events")
        self.assert_npm_shows(self.convert(text, "back.wtf-trace", "-t", "cff"),
                              expected_from_reader(source))

    def test_events_style_keeps_other_readers(self):
        """It loses events for the npm reader, and the loss report says so."""
        _, losses = self.losses(self.written(small_file()), "edit.wtf-json", "-t", "cff-json",
                                "--style", "events")
        self.assertTrue(any("reader" in loss["reason"] or "reader" in loss["what"]
                            for loss in losses), losses)

    @needs_corpus
    def test_corpus(self):
        for path in corpus_files():
            raw = path.rpartition(".")[0] + ".raw.txt"
            if not os.path.exists(raw):
                continue
            for kind, ending in (("cff", "trace"), ("cff-json", "json")):
                with self.subTest(os.path.basename(path), kind=kind):
                    target = self.convert(path, f"{os.path.basename(path)}.{kind}.wtf-{ending}",
                                          "-t", kind)
                    self.assert_npm_shows(target, expected_from_raw(raw))

    @needs_corpus
    def test_partial_json_of_the_corpus(self):
        """The npm reader refuses it as it is."""
        source = os.path.join(CORPUS, "js_all_partial_json.wtf-json")
        self.assertIsNone(npm_load(source)[0])
        loaded = self.load(self.convert(source, "whole.wtf-trace", "-t", "cff"))
        self.assertEqual(loaded["events"], len(self.dump(source)))


def relative(lines):
    """What happened, without what depends on the clock."""
    return [(line["track"], line["relative_ns"], line["kind"], line["name"], line["depth"])
            for line in lines]


@needs_npm
class FromAtf(NpmCase):
    """Written from ATF sessions, and back."""

    def session(self, threads, names=None, folder="session"):
        return write_process(self.path(folder), threads, manifest_of(threads, names))

    def assert_same_calls(self, source, target):
        """npm's view of the target is that of the calls in the source."""
        lines = self.dump(source)
        start = min(line["time_ns"] for line in lines)
        loaded = self.load(target)
        written = self.dump(target)
        self.assert_same_list(relative(written), relative(lines))
        zones = [zone for zone in loaded["zones"] if zone["events"]]
        tracks = {}
        for line in lines:
            name = LEAVE if line["kind"] in ("return", "exception") else line["name"]
            tracks.setdefault(line["track"], []).append((line["time_ns"] - start, name))
        self.assertEqual(len(zones), len(tracks))
        first = min(time for zone in zones for time, _, _ in zone["events"])
        named = {zone["name"]: zone for zone in zones}
        for track, rows in tracks.items():
            label = next(line["track_name"] for line in written if line["track"] == track)
            events = [event for event in named[label]["events"]
                      if not event[1].startswith(("wtf.scope#append", "sonde."))]
            self.assert_same_list([name for _, name, _ in events], [name for _, name in rows])
            for (time, _, _), (time_ns, _) in zip(events, rows):
                self.assertAlmostEqual(time - first, time_ns / 1000, delta=1.01)

    def test_calls(self):
        threads = [ThreadWriter(slot, start=1_000_000 + slot).busy(50) for slot in range(3)]
        source = self.session(threads)
        target, losses = self.losses(source, "out.wtf-trace", "-t", "cff")
        self.assert_same_calls(source, target)
        self.assert_npm_agrees(target)
        for loss in losses:
            self.assertTrue(loss["what"] and loss["reason"] and loss["count"], loss)

    def test_there_and_back(self):
        threads = [ThreadWriter(slot, start=1_000_000 + slot).busy(50) for slot in range(2)]
        source = self.session(threads)
        there = self.convert(source, "there.wtf-trace", "-t", "cff", "--strict")
        back = self.convert(there, "back", "-t", "atf", "--strict")
        self.assert_same_list(relative(self.dump(back)), relative(self.dump(source)))
        json_there = self.convert(source, "there.wtf-json", "-t", "cff-json", "--strict")
        json_back = self.convert(json_there, "json-back", "-t", "atf", "--strict")
        self.assert_same_list(relative(self.dump(json_back)), relative(self.dump(source)))

    def test_details_are_named_where_they_are_lost(self):
        thread = ThreadWriter(0)
        thread.call(function_id(1), (DETAIL_CALL, 0, function_payload(function_id(1), range(11))))
        thread.leave()
        target, losses = self.losses(self.session([thread]), "out.wtf-trace", "-t", "cff")
        self.assertEqual(len(self.dump(target)), 2)
        if not any(line_arguments(line) or "registers" in line.get("detail", {})
                   for line in self.dump(target)):
            self.assertTrue(any("detail" in loss["what"] or "register" in loss["what"]
                                for loss in losses), losses)

    def test_names_of_all_kinds(self):
        names = {1: "main", 2: "operator delete(void*)", 3: "ns::T<int, 4>::f() const", 4: "new",
                 5: "Ünï çödé"}
        thread = ThreadWriter(0)
        thread.call(function_id(1))
        for number in (2, 3, 4, 5):
            thread.call(function_id(number))
            thread.leave()
        thread.leave()
        source = self.session([thread], names)
        self.assert_same_calls(source, self.convert(source, "out.wtf-trace", "-t", "cff"))

    def test_longer_than_71_minutes(self):
        thread = ThreadWriter(0)
        thread.call(function_id(1))
        for _ in range(6):
            thread.time += HOURS // 2
            thread.call(function_id(2))
            thread.time += 1_234_567
            thread.leave()
        thread.leave()
        source = self.session([thread])
        target, losses = self.losses(source, "long.wtf-trace", "-t", "cff")
        self.assert_same_list(relative(self.dump(target)), relative(self.dump(source)))
        loaded = self.load(target)
        self.assertEqual(sum(len(zone["events"]) for zone in loaded["zones"]), len(thread.events))
        self.assertTrue(any("time" in loss["what"] or "time" in loss["reason"] or
                            "minutes" in loss["reason"] for loss in losses), losses)
        back = self.convert(target, "back", "-t", "atf")
        self.assert_same_list(relative(self.dump(back)), relative(self.dump(source)))

    def test_nanoseconds(self):
        thread = ThreadWriter(0)
        for step in (1, 3, 999, 1001, 7, 123_456_789):
            thread.time += step
            thread.call(function_id(1))
            thread.time += step
            thread.leave()
        source = self.session([thread])
        target = self.convert(source, "exact.wtf-trace", "-t", "cff")
        self.assert_same_list(relative(self.dump(target)), relative(self.dump(source)))
        self.assert_same_calls(source, target)
        self.assertTrue(any(event.nanoseconds for event in read_file(target).events))

    def test_more_than_65535_types(self):
        count = 66_000
        names = {number: f"f{number}" for number in range(1, count + 1)}
        thread = ThreadWriter(0)
        for number in names:
            thread.call(function_id(number))
            thread.leave()
        source = self.session([thread], names)
        target, losses = self.losses(source, "many.wtf-trace", "-t", "cff")
        self.assert_same_list(relative(self.dump(target)), relative(self.dump(source)))
        events = [event for zone in self.load(target)["zones"] for event in zone["events"]]
        self.assertEqual(len([event for event in events if event[1] == LEAVE]), count)
        # the npm reader has 16 bits for a type: the rest have their names as an argument
        shown = [(event[2] or {}).get("name", event[1]) for event in events if event[1] != LEAVE]
        self.assert_same_list(shown, list(names.values()))
        self.assertTrue(any("functions" in loss["what"] and "argument" in loss["reason"]
                            for loss in losses), losses)

    @unittest.skipUnless(platform.machine() == "x86_64" and shutil.which("cc"),
                         "recording needs a C compiler and x86_64")
    def test_recorded_program(self):
        with open(self.path("app.c"), "w", encoding="utf-8") as file:
            file.write("static int add(int a, int b) { return a + b; }\n"
                       "static int twice(int a) { return add(a, a); }\n"
                       "int main(void) { int n = 0; for (int i = 0; i < 20; i++) n = twice(n);\n"
                       "\treturn n; }\n")
        flags = self.sonde("cflags").split()
        subprocess.run(["cc", "-O0", *flags, self.path("app.c"), "-o", self.path("app")],
                       check=True)
        source = self.path("app.atf")
        self.sonde("record", "-o", source, self.path("app"))
        target = self.convert(source, "app.wtf-trace", "-t", "cff")
        self.assert_same_calls(source, target)
        names = {name for zone in self.load(target)["zones"] for _, name, _ in zone["events"]}
        self.assertLessEqual({"main", "twice", "add", LEAVE}, names)


@needs_npm
class Wide(NpmCase):
    """Arguments of 64 bits: split for others, whole for sonde."""

    def wide_file(self):
        writer = CffWriter()
        chunk = writer.begin("Z")
        chunk.define(5, "wide", "uint32 a, uint32 a_high_i64, uint32 b, uint32 b_high_u64, "
                                "float32 c, uint32 c_low_f64, uint32 c_high_f64, "
                                "uint32[] d_pairs_i64, uint32 e")
        for number, (a, b, c, d) in enumerate(((-1, 2 ** 64 - 1, 0.1, [-2, 2 ** 40]),
                                               (-2 ** 63, 2 ** 63, 1e300, []),
                                               (2 ** 62 + 1, 0, -2.5, [7]))):
            a, items = a % 2 ** 64, [item % 2 ** 64 for item in d]
            bits, = struct.unpack("<Q", struct.pack("<d", c))
            chunk.event(5, number, a % 2 ** 32, a >> 32, b % 2 ** 32, b >> 32,
                        c if abs(c) < 1e38 else float("inf"), bits % 2 ** 32, bits >> 32,
                        [half for item in items for half in (item % 2 ** 32, item >> 32)], 5)
        return self.written(writer)

    def test_joined_by_their_names(self):
        lines = self.dump(self.wide_file())
        self.assertEqual([line_arguments(line) for line in lines],
                         [{"a": -1, "b": 2 ** 64 - 1, "c": 0.1, "d": [-2, 2 ** 40], "e": 5},
                          {"a": -2 ** 63, "b": 2 ** 63, "c": 1e300, "d": [], "e": 5},
                          {"a": 2 ** 62 + 1, "b": 0, "c": -2.5, "d": [7], "e": 5}])

    def test_written_again(self):
        source = self.wide_file()
        target = self.convert(source, "again.wtf-trace", "-t", "cff", "--track", "0")
        self.assert_npm_agrees(target)
        self.assertEqual([line_arguments(line) for line in self.dump(target)],
                         [line_arguments(line) for line in self.dump(source)])
        self.assertEqual([event.values for event in read_file(target).events],
                         [event.values for event in read_file(source).events])

    def test_json_keeps_them(self):
        source = self.wide_file()
        for style in ([], ["--style", "events"]):
            with self.subTest(style):
                text = self.convert(source, f"wide{len(style)}.wtf-json", "-t", "cff-json", *style)
                self.assertEqual([line_arguments(line) for line in self.dump(text)],
                                 [line_arguments(line) for line in self.dump(source)])


if __name__ == "__main__":
    tap.main()
