#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pprof profiles: protoc decodes what is written by a description of our own, all rules of the format hold, and sums
are those of `sonde report`; profiles made by protoc, as other tools would write them, are read.
"""
import collections
import gzip
import json
import os
import re
import shutil
import subprocess
import unittest

import tap
from profile_case import HARD_NAMES, ProfileCase
from sonde_case import GOLDEN

HERE = os.path.dirname(os.path.abspath(__file__))
PROTOC = shutil.which("protoc")
ESCAPE = re.compile(rb"\\([0-7]{3}|.)")
LETTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r"}


def unquote(text):
    """The string behind what protoc prints."""
    def replace(match):
        found = match[1]
        return bytes([int(found, 8)]) if len(found) == 3 else LETTERS.get(found, found)
    return ESCAPE.sub(replace, text.encode()[1:-1]).decode()


def parse(lines):
    """A message as protoc prints it: by field the list of its values."""
    message = collections.defaultdict(list)
    for line in lines:
        line = line.strip()
        if line == "}":
            break
        if not line:
            continue
        if line.endswith("{"):
            message[line[:-2]].append(parse(lines))
            continue
        key, _, value = line.partition(": ")
        message[key].append(unquote(value) if value.startswith('"') else value if value in ("true", "false")
                            else int(value))
    return message


def one(message, field):
    """A field that is there once, or 0."""
    return message[field][-1] if message[field] else 0


class Profile:
    def __init__(self, data):
        done = subprocess.run([PROTOC, "--decode=pprof.Profile", f"-I{HERE}", "pprof.proto"], input=data, check=True,
                              stdout=subprocess.PIPE)
        self.message = parse(iter(done.stdout.decode().split("\n")))
        self.strings = self.message["string_table"]
        self.types = [self.text(one(entry, "type")) for entry in self.message["sample_type"]]
        self.units = [self.text(one(entry, "unit")) for entry in self.message["sample_type"]]
        self.functions = self.by_id("function")
        self.locations = self.by_id("location")
        self.mappings = self.by_id("mapping")

    def text(self, number):
        return self.strings[number]

    def by_id(self, field):
        found = {one(entry, "id"): entry for entry in self.message[field]}
        assert len(found) == len(self.message[field]), f"ids of {field} repeat"
        assert 0 not in found, f"an id of {field} is 0"
        return found

    def name(self, line):
        return self.text(one(self.functions[one(line, "function_id")], "name"))

    def stack(self, sample):
        """Names from the innermost on; a location without lines is None."""
        for number in sample["location_id"]:
            location = self.locations[number]
            if not location["line"]:
                yield None
            for line in location["line"]:
                yield self.name(line)

    def labels(self, sample):
        return {self.text(one(label, "key")): self.text(one(label, "str")) or one(label, "num")
                for label in sample["label"]}

    def sums(self, column):
        """Self and total of a type of samples, by function; recursion counted once."""
        own, total = collections.Counter(), collections.Counter()
        for sample in self.message["sample"]:
            names = list(self.stack(sample))
            own[names[0]] += sample["value"][column]
            for name in set(names):
                total[name] += sample["value"][column]
        return own, total


@unittest.skipUnless(PROTOC, "no protoc")
class Written(ProfileCase):
    def profile(self, source, *options):
        path = self.convert(source, os.path.basename(source) + ".pb.gz", *options)
        with gzip.open(path) as file:
            return Profile(file.read())

    def check_rules(self, profile):
        self.assertEqual(profile.strings[0], "")
        self.assertEqual(len(set(profile.strings)), len(profile.strings))
        self.assertTrue(profile.types)
        for sample in profile.message["sample"]:
            self.assertEqual(len(sample["value"]), len(profile.types))
            self.assertTrue(sample["location_id"])
            self.assertTrue(set(sample["location_id"]) <= set(profile.locations))
            for label in sample["label"]:
                self.assertTrue(profile.text(one(label, "key")))
        for location in profile.locations.values():
            if one(location, "mapping_id"):
                self.assertIn(one(location, "mapping_id"), profile.mappings)
            for line in location["line"]:
                self.assertIn(one(line, "function_id"), profile.functions)
        self.assertIn(profile.text(one(profile.message, "default_sample_type")), ["", *profile.types])

    def test_same_as_report(self):
        for source in self.sources():
            with self.subTest(source=source):
                profile = self.profile(source)
                self.check_rules(profile)
                column = profile.types.index(profile.text(one(profile.message, "default_sample_type")))
                self.assertEqual(profile.units[column], "nanoseconds")
                own, total = profile.sums(column)
                for name, (calls, own_ns, total_ns) in self.functions(source).items():
                    if "+0x" in name:
                        continue  # an address that nobody knows the function of
                    self.assertLessEqual(abs(own[name] - own_ns), len(profile.message["sample"]), name)
                    self.assertLessEqual(abs(total[name] - total_ns), len(profile.message["sample"]), name)
                    if "calls" in profile.types and calls is not None:
                        self.assertEqual(profile.sums(profile.types.index("calls"))[0][name], calls, name)

    def test_threads(self):
        source = os.path.join(GOLDEN, "normal")
        profile = self.profile(source)
        self.assertEqual({profile.labels(sample)["thread"] for sample in profile.message["sample"]},
                         {f"thread {i}" for i in range(4)})
        self.assertEqual({profile.labels(sample)["entry"] for sample in profile.message["sample"]},
                         {"main thread", "application thread"})
        os.remove(self.path("normal.pb.gz"))
        together = self.profile(source, "--style", "sum")
        self.check_rules(together)
        self.assertFalse(any("thread" in together.labels(sample) for sample in together.message["sample"]))
        self.assertEqual(together.sums(0), profile.sums(0))
        self.assertLess(len(together.message["sample"]), len(profile.message["sample"]))

    def test_mappings(self):
        profile = self.profile(os.path.join(GOLDEN, "normal"))
        files = {profile.text(one(mapping, "filename")): mapping for mapping in profile.mappings.values()}
        self.assertEqual(set(files), {"/opt/demo/bin/demo", "/opt/demo/lib/libwork.so"})
        for mapping in files.values():
            self.assertTrue(profile.text(one(mapping, "build_id")))
            self.assertLess(one(mapping, "memory_start"), one(mapping, "memory_limit"))

    def test_hard_names(self):
        source = self.hard_session()
        profile = self.profile(source)
        self.check_rules(profile)
        names = {profile.text(one(function, "name")) for function in profile.functions.values()}
        self.assertEqual(names, set(HARD_NAMES))
        self.assertEqual(self.functions(self.path("hard.pb.gz")), self.functions(source))

    def test_deep(self):
        source = self.deep_session()
        lost = self.lost(source, "deep.pb.gz")
        moved = sum(count for (what, reason), count in lost.items() if what == "stacks" and "too deep" in reason)
        self.assertTrue(0 < moved < 95_000, moved)  # all deep stacks but the last, and some on the way to it
        for name, row in self.functions(self.path("deep.pb.gz")).items():
            self.assertEqual((name, row[2]), (name, self.functions(source)[name][2]))

    def test_empty(self):
        profile = self.profile(self.empty_session())
        self.check_rules(profile)
        self.assertFalse(profile.message["sample"])
        self.assertEqual(self.functions(self.path("empty.pb.gz")), {})

    def test_round_trips(self):
        for source in self.sources():
            with self.subTest(source=source):
                name = os.path.basename(source)
                first = self.convert(source, name + ".pb.gz")
                database = self.convert(first, name + ".2.d", "--to-format", "hpcdb")
                second = self.convert(database, name + ".2.pb.gz")
                self.assertEqual(self.functions(second), self.functions(first))
                for function, row in self.functions(source).items():
                    for got, expected in zip(self.functions(second)[function], row):
                        self.assertEqual(got or 0, expected or 0, function)


TEXT = r"""
sample_type { type: 1 unit: 2 } sample_type { type: 3 unit: 4 } sample_type { type: 16 unit: 17 }
sample { location_id: 3 location_id: 2 location_id: 1 value: 5 value: 50000000 value: 64
         label { key: 10 str: 11 } label { key: 12 num: 77 } label { key: 18 num: 1 } }
sample { location_id: 2 location_id: 1 value: 1 value: 10000000 value: 32 label { key: 10 str: 19 } }
sample { location_id: 4 location_id: 1 value: 2 value: 20000000 value: -8 }
mapping { id: 1 memory_start: 4194304 memory_limit: 4259840 file_offset: 4096 filename: 13 build_id: 14 }
location { id: 1 mapping_id: 1 address: 4194320 line { function_id: 1 line: 12 } }
location { id: 2 mapping_id: 1 address: 4194330 line { function_id: 3 line: 5 } line { function_id: 2 line: 40 } }
location { id: 3 mapping_id: 1 address: 4194340 line { function_id: 2 line: 41 } }
location { id: 4 mapping_id: 1 address: 4194560 }
function { id: 1 name: 5 system_name: 6 filename: 9 start_line: 10 }
function { id: 2 name: 7 system_name: 7 filename: 9 }
function { id: 3 name: 8 system_name: 8 filename: 9 }
string_table: "" string_table: "samples" string_table: "count" string_table: "cpu" string_table: "nanoseconds"
string_table: "main.main" string_table: "_Zmain" string_table: "work" string_table: "inner" string_table: "/src/a.go"
string_table: "thread" string_table: "worker" string_table: "thread_id" string_table: "/bin/prog"
string_table: "abcdef" string_table: "a comment" string_table: "alloc" string_table: "bytes" string_table: "request"
string_table: "other"
time_nanos: 1700000000000000000 duration_nanos: 2000000000
period_type { type: 3 unit: 4 } period: 10000000 comment: 15 drop_frames: 8
"""


@unittest.skipUnless(PROTOC, "no protoc")
class Read(ProfileCase):
    def encode(self, text, name, pack=True):
        done = subprocess.run([PROTOC, "--encode=pprof.Profile", f"-I{HERE}", "pprof.proto"], input=text.encode(),
                              check=True, stdout=subprocess.PIPE)
        with open(self.path(name), "wb") as file:
            file.write(gzip.compress(done.stdout) if pack else done.stdout)
        return self.path(name)

    def test_another_tools_profile(self):
        for pack in (True, False):
            path = self.encode(TEXT, f"other{pack}", pack)
            info = json.loads(self.sonde("info", "--json", path))["recordings"][0]
            self.assertEqual(info["format"], "pprof")
            report = json.loads(self.sonde("report", "--json", "--no-cache", "--metric", "cpu", path))
            rows = {row["name"]: row for row in report["rows"]}
            self.assertEqual(report["whole_ns"], 80_000_000)
            self.assertEqual(rows["work"]["self_ns"], 50_000_000)
            self.assertEqual(rows["inner"]["self_ns"], 10_000_000)
            self.assertEqual(rows["inner"]["total_ns"], 60_000_000)
            self.assertEqual(rows["main.main"]["total_ns"], 80_000_000)
            self.assertEqual(rows["main.main"]["module"], "/bin/prog")
            self.assertEqual((rows["main.main"]["file"], rows["main.main"]["line"]), ("/src/a.go", 10))
            self.assertEqual(rows["work"]["samples.self"], 5)
            self.assertEqual(rows["work"]["alloc (bytes).self"], 64)
            tree = self.sonde("dump", path, "--metric", "cpu (sec)")
            self.assertIn("prog+0x1100", tree)

    def test_inlined_threads_and_the_rest(self):
        path = self.encode(TEXT, "other")
        info = json.loads(self.sonde("info", "--json", path))["recordings"][0]
        self.assertEqual(sorted(track["name"] for track in info["tracks"]), ["other", "thread 2", "worker"])
        self.assertEqual([track["os_id"] for track in info["tracks"] if track["name"] == "worker"], [77])
        text = self.sonde("info", path)
        for part in ("a comment", "pprof.period", "pprof.drop_frames"):
            self.assertIn(part, text)
        self.assertIn("exchange-unknown", self.run_sonde("check", path).stdout.decode())
        again = self.convert(path, "again.pb.gz")
        with gzip.open(again) as file:
            profile = Profile(file.read())
        inlined = [[profile.name(line) for line in location["line"]] for location in profile.locations.values()]
        self.assertIn(["inner", "work"], inlined)
        self.assertEqual(sorted(profile.types), ["alloc", "cpu", "samples"])
        self.assertEqual(profile.units[profile.types.index("alloc")], "bytes")
        self.assertEqual(one(profile.message, "time_nanos"), 1700000000000000000)
        self.assertEqual(one(profile.message, "duration_nanos"), 2000000000)
        self.assertEqual({one(location, "address") for location in profile.locations.values()} - {0}, {4194304 + 4352})

    def test_damage(self):
        for name, text, expected in (
                ("location", "sample_type { type: 1 } sample { location_id: 9 value: 1 } string_table: '' "
                 "string_table: 'x'", "exchange-record"),
                ("values", TEXT.replace("value: 50000000 ", ""), "exchange-record"),
                ("string", TEXT.replace("name: 5", "name: 5000"), "exchange-record")):
            path = self.encode(text, name)
            self.assertIn(expected, self.run_sonde("check", "--format", "pprof", path).stdout.decode(), name)
        path = self.encode(TEXT, "whole", False)
        size = os.path.getsize(path)
        for keep in range(1, size, 61):
            os.truncate(path, size - keep)
            self.assertIn(self.run_sonde("report", "--no-cache", "--format", "pprof", path).returncode, (0, 1, 2, 3))


if __name__ == "__main__":
    tap.main()
