#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every finding that `sonde check` knows in databases, shown by a database with that fault: the check must name it, and
the file it is in. A finding without a fault here fails the test. Recover makes each of them good again.
"""
import json
import os
import re
import shutil
import struct

import hpcdb_small
import tap
from sonde_case import SondeCase

GOOD, PLACES = hpcdb_small.small()
META, PROFILE, CCT, TRACE = (PLACES[name] for name in ("meta.db", "profile.db", "cct.db", "trace.db"))


def with_bytes(name, *changes):
    """The good database with bytes of one file changed: (place, layout, value) each."""
    data = bytearray(GOOD[name])
    for place, layout, value in changes:
        struct.pack_into("<" + layout, data, place, value)
    return {**GOOD, name: bytes(data)}


def without(name):
    return {other: data for other, data in GOOD.items() if other != name}


def with_file(name, data):
    return {**GOOD, name: data}


def number(name, place, layout):
    return struct.unpack_from("<" + layout, GOOD[name], place)[0]


def in_both(context, metric, value):
    """A value of the second thread changed in profile.db and cct.db alike."""
    files = dict(GOOD)
    for name, start, size, count, key in (
            ("profile.db", PROFILE["values 2"], 10, "H", metric), ("cct.db", None, 12, "I", 2)):
        data = bytearray(files[name])
        if start is not None:
            rows = [struct.unpack_from("<IQ", data, at) for at in
                    range(PROFILE["index 2"], PROFILE["values 0"] - 11, 12)]
            at = start + 10 * dict(rows)[context]
        else:
            rows = [struct.unpack_from("<HQ", data, at) for at in
                    range(CCT[f"index {context}"], CCT[f"index {context}"] + 10 * 4, 10)]
            at = CCT[f"values {context}"] + 12 * dict(rows)[metric]
        while struct.unpack_from("<" + count, data, at)[0] != key:
            at += size
        struct.pack_into("<d", data, at + struct.calcsize("<" + count), value)
        files[name] = bytes(data)
    return files


def plain_loops():
    """As the existing program writes the profiles of threads: lex_aware is the function's value."""
    planes = [hpcdb_small.propagate(points) for points in hpcdb_small.POINTS]
    right = hpcdb_small.summarise(planes)
    for plane in planes:
        for row in plane.values():
            if 1 in row:
                row[2] = row[1]
    return {**GOOD, "profile.db": hpcdb_small.profile(planes, right)[1],
            "cct.db": hpcdb_small.cct(planes)[1]}


LINES = TRACE["headers"]
SECTION = 0x10
# id -> (files of the database, file that the finding is in)
FAULTS = {
    "hpcdb-refused": (with_bytes("profile.db", (0, "B", 0)), "profile.db"),
    "hpcdb-cct-missing": (without("cct.db"), "cct.db"),
    "hpcdb-trace-missing": (without("trace.db"), "trace.db"),
    "hpcdb-yaml-missing": (without("metrics/default.yaml"), "default.yaml"),
    "hpcdb-source-missing": (without("src/main.c"), "main.c"),
    "hpcdb-minor": (with_bytes("cct.db", (0x0f, "B", 3)), "cct.db"),
    "hpcdb-footer": (with_file("trace.db", GOOD["trace.db"][:-8]), "trace.db"),
    "hpcdb-section": (with_bytes("meta.db", (SECTION + 16 * 4, "Q", 1 << 40)), "meta.db"),
    "hpcdb-overlap": (with_bytes("meta.db", (SECTION, "Q", 0x100)), "meta.db"),
    "hpcdb-alignment": (with_bytes("trace.db", (LINES + 8, "Q", number("trace.db", LINES + 8, "Q")
                                                + 2), (LINES + 16, "Q", number(
                                                    "trace.db", LINES + 8, "Q") + 14)), "trace.db"),
    "hpcdb-table": (with_bytes("meta.db", (META["functions"] + 8, "I", 100)), "meta.db"),
    "hpcdb-string": (with_bytes("meta.db", (META["general"], "Q", 5)), "meta.db"),
    "hpcdb-utf8": (with_bytes("meta.db", (META["title"], "B", 0xff)), "meta.db"),
    "hpcdb-pointer": (with_bytes("meta.db", (META["work()"] + 8, "Q", META["module"] + 1)),
                      "meta.db"),
    "hpcdb-unknown": (with_bytes("meta.db", (META["[3]"] + 0x16, "B", 9)), "meta.db"),
    "hpcdb-anonymous": (with_bytes("meta.db", (META["main()"], "Q", 0), (META["main()"] + 8, "Q", 0),
                                   (META["main()"] + 0x18, "Q", 0)), "meta.db"),
    "hpcdb-placeless": (with_bytes("meta.db", (META["[8]"] + 0x14, "B", 0)), "meta.db"),
    "hpcdb-tree": (with_bytes("meta.db", (META["[8]"], "Q", 0x30), (META["[8]"] + 8, "Q",
                                                                   META["[2]"])), "meta.db"),
    "hpcdb-context-id": (with_bytes("meta.db", (META["[8]"] + 0x10, "I", 2)), "meta.db"),
    "hpcdb-metric-id": (with_bytes("meta.db", (META["instances"] + 16 + 8, "H", 0)), "meta.db"),
    "hpcdb-profile": (with_bytes("profile.db", (PROFILE["profiles"] + 0x28, "I", 0)), "profile.db"),
    "hpcdb-identity": (with_bytes("profile.db", (PROFILE["profiles"] + 0x50, "Q", 1 << 40)),
                       "profile.db"),
    "hpcdb-identity-kind": (with_bytes("profile.db", (PROFILE["tuples"] + 24, "B", 77)),
                            "profile.db"),
    "hpcdb-identity-logical": (with_bytes("profile.db", (PROFILE["tuples"] + 32, "Q", 9)),
                               "profile.db"),
    "hpcdb-plane": (with_bytes("profile.db", (PROFILE["profiles"] + 0x30, "Q", 1 << 40)),
                    "profile.db"),
    "hpcdb-plane-order": (with_bytes("profile.db", (PROFILE["index 1"] + 12, "I", 0)), "profile.db"),
    "hpcdb-metric": (with_bytes("profile.db", (PROFILE["values 1"], "H", 77)), "profile.db"),
    "hpcdb-zero": (with_bytes("profile.db", (PROFILE["values 1"] + 2, "d", 0.0)), "profile.db"),
    "hpcdb-unlisted": (GOOD, "profile.db"),
    "hpcdb-cct-contexts": (with_bytes("cct.db", (CCT["infos"] + 8, "I",
                                                 number("cct.db", CCT["infos"] + 8, "I") - 1)),
                           "cct.db"),
    "hpcdb-transposed": (with_bytes("cct.db", (CCT["values 2"] + 4, "d", 0.75)), "profile.db"),
    "hpcdb-propagation": (in_both(8, 3, 0.125), "profile.db"),
    "hpcdb-lex-aware": (plain_loops(), "profile.db"),
    "hpcdb-statistics": (with_bytes("profile.db", (PROFILE["values 0"] + 2, "d", 9.5)),
                         "profile.db"),
    "hpcdb-squares": (with_bytes("profile.db", (PROFILE["values 0"] + 22, "d", 9.5)), "profile.db"),
    "hpcdb-trace-line": (with_bytes("trace.db", (LINES + 24 + 16, "Q", 1 << 20)), "trace.db"),
    "hpcdb-trace-profile": (with_bytes("trace.db", (LINES + 24, "I", 7)), "trace.db"),
    "hpcdb-trace-order": (with_bytes("trace.db", (TRACE["line 0"] + 12, "Q", 1200),
                                     (TRACE["line 0"] + 24, "Q", 1100)), "trace.db"),
    "hpcdb-trace-time": (with_bytes("trace.db", (TRACE["line 0"] + 36, "Q", 5000)), "trace.db"),
    "hpcdb-trace-idle": (with_bytes("trace.db", (TRACE["line 1"] + 8, "I", 0)), "trace.db"),
    "hpcdb-trace-context": (with_bytes("trace.db", (TRACE["line 1"] + 8, "I", 9)), "trace.db"),
    "hpcdb-yaml": (with_file("metrics/default.yaml", b"roots: ["), "default.yaml"),
    "hpcdb-yaml-input": (with_file("metrics/default.yaml", hpcdb_small.YAML.replace(
        "metric: CPUTIME", "metric: OTHER").encode()), "default.yaml"),
}
# What recover does not mend: it copies metrics/default.yaml, src/ and a meta.db without errors as they are, and of two
# values that do not fit together nobody knows the right one.
STAYS = {"hpcdb-yaml", "hpcdb-yaml-input", "hpcdb-yaml-missing", "hpcdb-source-missing",
         "hpcdb-propagation", "hpcdb-utf8", "hpcdb-anonymous", "hpcdb-placeless",
         "hpcdb-identity-logical"}


class Findings(SondeCase):
    def findings_of(self, database, *options):
        done = self.run_sonde("check", "--json", *options, database)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        report, = json.loads(done.stdout)["recordings"]
        return report["findings"]

    def database(self, files):
        folder = self.path("database")
        shutil.rmtree(folder, ignore_errors=True)
        hpcdb_small.write(folder, files)
        return folder

    def test_clean(self):
        found = self.findings_of(self.database(GOOD))
        self.assertEqual([finding["id"] for finding in found], ["hpcdb-unlisted"])

    def test_golden(self):
        """The golden database is what the script writes."""
        folder = os.path.join(os.environ["GOLDEN"], "hpcdb", "small")
        for name, data in GOOD.items():
            with open(os.path.join(folder, name), "rb") as file:
                self.assertEqual(file.read(), data, name)

    def test_all_are_shown(self):
        header = os.path.join(os.environ["SOURCE_ROOT"], "src/formats/hpcdb/hpcdb_findings.h")
        with open(header, encoding="utf-8") as file:
            known = set(re.findall(r'"(hpcdb-[a-z0-9-]+)"', file.read()))
        self.assertEqual(known - set(FAULTS), set())

    def test_each(self):
        for name, (files, place) in FAULTS.items():
            with self.subTest(name):
                found = self.findings_of(self.database(files))
                places = [finding["file"] for finding in found if finding["id"] == name]
                self.assertTrue(places, [finding["id"] for finding in found])
                self.assertTrue(any(file.endswith(place) for file in places), places)

    def test_read(self):
        """Whatever is wrong, what is left can be shown or is refused, and nothing worse."""
        for name, (files, _) in FAULTS.items():
            with self.subTest(name):
                done = self.run_sonde("info", self.database(files))
                self.assertIn(done.returncode, (0, 1, 2, 3))
                self.assertEqual(done.returncode == 0, name != "hpcdb-refused", done.stderr)

    def test_placeless(self):
        """Loops need a source, instructions a point; functions may be unknown."""
        for context, kind, expected in ((6, 1, True), (8, 2, True), (8, 3, True), (11, 0, False)):
            with self.subTest(context=context, kind=kind):
                place = META[f"[{context}]"]
                found = self.findings_of(self.database(with_bytes(
                    "meta.db", (place + 0x14, "B", 0), (place + 0x16, "B", kind))))
                self.assertEqual("hpcdb-placeless" in [finding["id"] for finding in found],
                                 expected)

    def test_recovered(self):
        """Whatever is wrong, recover writes a database without errors."""
        for name, (files, _) in FAULTS.items():
            with self.subTest(name):
                shutil.rmtree(self.path("good"), ignore_errors=True)
                self.sonde("recover", self.database(files), "-o", self.path("good"), expect=(0, 1))
                found = self.findings_of(self.path("good"))
                self.assertEqual([finding for finding in found if finding["severity"] != "note" and
                                  finding["id"] not in STAYS], [])

    def test_cut(self):
        """Each file cut anywhere: the rest is found, kept, and good."""
        for name in ("profile.db", "cct.db", "trace.db"):
            for size in range(0, len(GOOD[name]), len(GOOD[name]) // 12):
                with self.subTest(name, size=size):
                    files = with_file(name, GOOD[name][:size])
                    shutil.rmtree(self.path("good"), ignore_errors=True)
                    report = json.loads(self.sonde("recover", "--json", self.database(files), "-o",
                                                   self.path("good"), expect=(0, 1)))
                    self.assertGreater(report["errors"], 0)
                    found = self.findings_of(self.path("good"))
                    self.assertEqual([finding for finding in found
                                      if finding["severity"] != "note"], [])
                    if name != "trace.db":
                        # the other file has all of it
                        self.assertEqual(report["tracks_lost"], 0)
                        with open(self.path("good", "cct.db"), "rb") as file:
                            self.assertEqual(len(file.read()), len(GOOD["cct.db"]))

    def test_meta_cut(self):
        for size in range(0, len(GOOD["meta.db"]), len(GOOD["meta.db"]) // 12):
            with self.subTest(size=size):
                shutil.rmtree(self.path("good"), ignore_errors=True)
                done = self.run_sonde("recover", self.database(with_file(
                    "meta.db", GOOD["meta.db"][:size])), "-o", self.path("good"))
                if size < 0x90:
                    self.assertIn("meta.db", done.stderr.decode())
                    continue
                found = self.findings_of(self.path("good"))
                self.assertEqual([finding for finding in found
                                  if finding["severity"] == "error"], [])

    def test_not_a_database(self):
        os.mkdir(self.path("empty"))
        found = self.findings_of(self.path("empty"), "--format", "hpcdb")
        self.assertIn("hpcdb-refused", [finding["id"] for finding in found])


if __name__ == "__main__":
    tap.main()
