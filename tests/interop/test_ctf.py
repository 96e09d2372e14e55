#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Common Trace Format: traces written by the document (ctf_writer.py) are read by babeltrace2 and by sonde, which
must see the same events; functions and system calls become calls. SONDE is the command.

Names of tests as arguments run only those.
"""
import json
import os
import re
import shutil
import struct
import subprocess
import unittest
import unittest.mock

import ctf_writer
import tap
from sonde_case import SONDE, SondeCase


# libbabeltrace2 forgets some bytes of traces that it refuses, in a plugin that is gone when leaks are looked for:
# tests of other readers look for ours
os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "").replace("detect_leaks=1", "detect_leaks=0")


def reads_ctf():
    formats = json.loads(subprocess.run([SONDE, "formats", "--json"], check=True, stdout=subprocess.PIPE).stdout)
    return any(format["name"] == "ctf" and format["reads"] for format in formats)


@unittest.skipUnless(reads_ctf(), "sonde was built without libbabeltrace2")
class Ctf(SondeCase):
    def write(self, folder="trace", discarded=0):
        trace = ctf_writer.Writer(self.path(folder))
        trace.call(90, 8, 0x1010)   # before its module is told
        trace.module(100, 7, 0x1000, 0x1000, "/opt/lib/libwork.so")
        trace.call(150, 7, 0x1020)
        trace.read_call(160, 7, 3, 4096)
        trace.note(170, 8, 'quo"te, \x01 ü', -5, 0.25, 5, [1, 2, 3], (9, "in"))
        trace.read_leave(180, 7, -11)
        trace.call(190, 7, 0x9999)
        trace.leave(195, 7, 0x9999)
        trace.leave(200, 7, 0x1020)
        trace.leave(1090, 8, 0x1010)
        trace.close(discarded)
        return self.path(folder)

    def rows(self, path):
        return json.loads(self.sonde("report", "--json", path))["rows"]

    def events(self, path):
        return [json.loads(line) for line in self.sonde("dump", "--json", path).splitlines()]

    def test_functions_and_system_calls(self):
        rows = {row["name"]: row for row in self.rows(self.write())}
        self.assertEqual({"libwork.so+0x10", "libwork.so+0x20", "read", "0x9999"}, set(rows))
        self.assertEqual(1000, rows["libwork.so+0x10"]["total_ns"])
        self.assertEqual((50, 25), (rows["libwork.so+0x20"]["total_ns"], rows["libwork.so+0x20"]["self_ns"]))
        self.assertEqual((1, 20), (rows["read"]["calls"], rows["read"]["total_ns"]))

    @unittest.skipUnless(shutil.which("babeltrace2"), "needs babeltrace2")
    def test_the_same_events_as_babeltrace2(self):
        path = self.write()
        shown = subprocess.run(["babeltrace2", "--clock-cycles", "--no-delta", path], check=True,
                               stdout=subprocess.PIPE).stdout.decode(errors="replace").splitlines()
        theirs = [int(re.match(r"\[0*(\d+)\]", line).group(1)) for line in shown]
        ours = [event["time_ns"] - ctf_writer.OFFSET_NS for event in self.events(path)]
        self.assertEqual(theirs, ours)

    def test_fields(self):
        note = [event for event in self.events(self.write()) if event["kind"] == "instant"][1]
        values = note["arguments"]
        self.assertEqual(('quo"te, \x01 ü', -5, 0.25, "GREEN"),
                         (values["text"], values["number"], values["ratio"], values["colour"]))
        self.assertEqual(([1, 2, 3], {"a": 9, "b": "in"}), (values["list"], values["inner"]))
        self.assertEqual((7, 8, "prog"), (values["vpid"], values["vtid"], values["procname"]))

    def test_who_and_when(self):
        info = json.loads(self.sonde("info", "--json", self.write()))["recordings"][0]
        self.assertEqual([(7, "prog")], [(p["pid"], p["name"]) for p in info["processes"]])
        self.assertEqual({7, 8}, {track["os_id"] for track in info["tracks"]})
        self.assertIn("2023-11-14", self.sonde("info", self.write("again")))

    def test_lost_events_are_told(self):
        self.assertIn("exchange-lost", self.sonde("check", self.write(discarded=5), expect=(1,)))

    def test_folders_in_folders(self):
        self.write("session/ust/uid/0")
        self.assertEqual(4, len(self.rows(self.path("session"))))

    def test_what_babeltrace2_does_not_survive(self):
        path = self.write()
        with open(os.path.join(path, "stream_0"), "r+b") as file:
            file.seek(8)
            file.write(struct.pack("<QQ", 0xC100000000000348, 0x0348000348C1FC1F))
        done = self.run_sonde("report", path)
        self.assertEqual(3, done.returncode)

    def test_without_its_library(self):
        path = self.write()
        with unittest.mock.patch.dict(os.environ, LD_LIBRARY_PATH=self.hide_library("libbabeltrace2")):
            done = self.run_sonde("report", path)
        self.assertEqual(3, done.returncode)
        self.assertIn("reading CTF needs libbabeltrace2, which cannot be loaded", done.stderr.decode())

    def test_damage(self):
        path = self.write()
        stream = os.path.join(path, "stream_0")
        with open(stream, "rb") as file:
            whole = file.read()
        for cut in range(0, len(whole), 7):
            with open(stream, "wb") as file:
                file.write(whole[:cut])
            self.run_sonde("report", path)
        with open(os.path.join(path, "metadata"), "w", encoding="ascii") as file:
            file.write("/* CTF 1.8 */ trace { nonsense")
        done = self.run_sonde("report", path)
        self.assertEqual(3, done.returncode)
        self.assertIn("cannot be opened", done.stderr.decode())


if __name__ == "__main__":
    tap.main()
