#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every finding that `sonde check` knows in trace stores, shown by a store with that fault: the check must name it,
and the file it is in. A finding without a fault here fails the test.
"""
import json
import os
import shutil
import struct

import tap
from sonde_case import SondeCase
from zts_writer import (MS_2019, Record, chunk_bytes, fmi_bytes, small_part, wal_bytes,
                        write_files)

GOOD = small_part().files()
DATA, WAL, QMETA = GOOD["traces.dat"], GOOD["text-00000001.wal"], GOOD["qmeta.idx"]
FIRST_CHUNK = 16


def with_file(name, data):
    """The good part with one file changed; None: without it."""
    files = dict(GOOD)
    files[name] = data
    if data is None:
        del files[name]
    return files


def changed(data, at, value):
    value = value if isinstance(value, bytes) else bytes([value])
    return data[:at] + value + data[at + len(value):]


def part_of(fill):
    """A part with the small one's texts and what `fill` adds."""
    writer = small_part()
    fill(writer)
    return writer.files()


def with_content(content):
    """A part whose only chunk has this content, right in all else."""
    writer = small_part()
    writer.traces.clear()
    files = writer.files()
    files["traces.dat"] += chunk_bytes(content)
    return files


def with_trace(**more):
    def fill(writer):
        writer.traces.clear()
        record = dict(method=writer.method("a.B", "c", "()V"), start=10, stop=20,
                      timestamp=MS_2019)
        record.update(more)
        writer.add(Record(**record))
    return part_of(fill)


def as_fmi(change):
    writer = small_part()
    files = writer.files()
    del files["text-00000001.wal"]
    files[f"text-00000001-{len(writer.texts):08x}.fmi"] = change(fmi_bytes(writer.texts))
    return files


WHOLE = small_part().traces[0][0].encode()
GAP = wal_bytes(small_part().texts) + wal_bytes([b"far"], 100)[4:]
TYPED = wal_bytes(small_part().texts + [b"\x0b1\x0b2"])
LATER = with_trace()["traces.dat"]
CHUNK_SIZE = struct.unpack(">I", DATA[20:24])[0]
META = GOOD["meta-00000001.wal"]

# id -> (files of the part, file that the finding is in; None: the folder)
FAULTS = {
    "zts-foreign": (with_file("notes.txt", b"x"), None),
    "zts-props": (with_file("store.props", b"store.rotate.max-size=large\n"), None),
    "zts-data-magic": (with_file("traces.dat", changed(DATA, 0, b"X")), "traces.dat"),
    "zts-data-flags": (with_file("traces.dat", changed(DATA, 8, b"\1")), "traces.dat"),
    "zts-chunk-magic": (with_file("traces.dat", DATA[:16] + b"garbage" + DATA[16:]), "traces.dat"),
    "zts-chunk-cut": (with_file("traces.dat", DATA[:-3]), "traces.dat"),
    "zts-chunk-crc": (with_file("traces.dat", changed(DATA, 40, DATA[40] ^ 1)), "traces.dat"),
    "zts-chunk-codec": (with_file("traces.dat", DATA[:16] + changed(
        chunk_bytes(b"\xff" * 40, "none"), 11, 41)), "traces.dat"),
    "zts-chunk-other-codec": (with_file("traces.dat", DATA[:16] + chunk_bytes(WHOLE, "lz4")),
                              "traces.dat"),
    "zts-cbor": (with_content(WHOLE[:-9] + b"\x1c" + WHOLE[-8:]), "traces.dat"),
    "zts-trace-open": (with_content(WHOLE[:-1]), "traces.dat"),
    "zts-trace-times": (with_trace(stop=5), "traces.dat"),
    "zts-text-ref": (with_trace(method=9999), "traces.dat"),
    "zts-text-kind": (with_trace(method=1), "traces.dat"),
    "zts-wal-magic": (with_file("text-00000001.wal", b"X" + WAL[1:]), "text-00000001.wal"),
    "zts-wal-entry": (with_file("text-00000001.wal", changed(WAL, 4, b"x")), "text-00000001.wal"),
    "zts-wal-cut": (with_file("text-00000001.wal", WAL[:-2]), "text-00000001.wal"),
    "zts-wal-long": (with_file("text-00000001.wal", WAL.ljust((4 << 20) + 1, b"\0")),
                     "text-00000001.wal"),
    "zts-fmi-magic": (as_fmi(lambda data: b"X" + data[1:]), ".fmi"),
    "zts-fmi-damaged": (as_fmi(lambda data: changed(data, len(data) - 5, data[-5] ^ 1)), ".fmi"),
    "zts-text-ids": (with_file("text-00000001.wal", GAP), "text-00000001.wal"),
    "zts-text-typed": (with_file("text-00000001.wal", TYPED), None),
    "zts-meta-missing": (with_file("qmeta.idx", None), "qmeta.idx"),
    "zts-qmeta": (with_file("qmeta.idx", b"X" + QMETA[1:]), "qmeta.idx"),
    "zts-slot-place": (with_file("qmeta.idx", changed(QMETA, 64 + 23, 17)), "qmeta.idx"),
    "zts-slot-value": (with_file("qmeta.idx", changed(QMETA, 64 + 42, 9)), "qmeta.idx"),
    "zts-slot-missing": (with_file("qmeta.idx", changed(QMETA, 4, struct.pack(
        ">I", len(QMETA) - 96))), "traces.dat"),
    "zts-posting": (with_file("meta-00000001.wal", META.replace(b"0\x051\x07", b"", 1).replace(
        b"0\x054\x07", b"", 1)), "qmeta.idx"),
    "zts-generation-2": (with_file("meta.db", b""), None),
}
# Shown by tests of their own, below.
BASE_FAULTS = {"zts-refused", "zts-numbering", "zts-data-missing", "zts-text-unreadable",
               "zts-trace-lanes"}


class Findings(SondeCase):
    def findings_of(self, base, *options):
        done = self.run_sonde("check", "--json", *options, base)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        report, = json.loads(done.stdout)["recordings"]
        return report["findings"]

    def part(self, files, number="000000"):
        write_files(self.path("store", number), files)
        return self.path("store")

    def test_clean(self):
        for generation in (0, 1):
            for codec in ("none", "zlib", "lz4"):
                with self.subTest(codec=codec, generation=generation):
                    shutil.rmtree(self.path("store"), ignore_errors=True)
                    base = self.part(small_part(codec=codec).files(generation))
                    self.assertEqual(self.findings_of(base), [])
        shutil.rmtree(self.path("store"))
        self.assertEqual(self.findings_of(self.part(as_fmi(bytes))), [])

    def test_each(self):
        for name, (files, place) in FAULTS.items():
            with self.subTest(name):
                shutil.rmtree(self.path("store"), ignore_errors=True)
                found = self.findings_of(self.part(files))
                places = [finding["file"] for finding in found if finding["id"] == name]
                self.assertTrue(places, [finding["id"] for finding in found])
                self.assertTrue(any(file.endswith(place or "000000") for file in places), places)

    def test_recovered(self):
        """Whatever is wrong, recover writes a store without errors."""
        for name, (files, _) in FAULTS.items():
            with self.subTest(name):
                shutil.rmtree(self.path("store"), ignore_errors=True)
                shutil.rmtree(self.path("good"), ignore_errors=True)
                self.sonde("recover", "--format", "zts", self.part(files), "-o", self.path("good"),
                           expect=(0, 1))
                found = self.findings_of(self.path("good"))
                self.assertEqual([finding for finding in found
                                  if finding["severity"] == "error"], [])

    def test_refused(self):
        os.mkdir(self.path("store"))
        found = self.findings_of(self.path("store"), "--format", "zts")
        self.assertEqual([finding["id"] for finding in found], ["zts-refused"])

    def test_numbering(self):
        self.part(GOOD, "000009")
        base = self.part(GOOD, "00000b")
        self.assertEqual([finding["id"] for finding in self.findings_of(base)], ["zts-numbering"])
        shutil.rmtree(os.path.join(base, "00000b"))
        self.part(GOOD, "00000a")
        self.assertEqual(self.findings_of(base), [])

    def test_data_missing(self):
        self.part(GOOD)
        base = self.part(with_file("traces.dat", None), "000001")
        found = self.findings_of(base)
        self.assertIn("zts-data-missing", [finding["id"] for finding in found])

    def test_text_unreadable(self):
        """A file that cannot even be opened may be whole: recover does not go on without it."""
        base = self.part(GOOD)
        os.mkdir(os.path.join(base, "000000", "text-00000100.wal"))
        found, = [finding for finding in self.findings_of(base)
                  if finding["id"] == "zts-text-unreadable"]
        self.assertEqual(found["severity"], "error")
        self.assertTrue(found["file"].endswith("text-00000100.wal"), found)
        done = self.run_sonde("recover", base, "-o", self.path("good"))
        self.assertNotIn(done.returncode, (0, 1))
        self.assertIn("text-00000100.wal", done.stderr.decode())
        self.assertFalse(os.path.exists(self.path("good")))
        os.rmdir(os.path.join(base, "000000", "text-00000100.wal"))
        self.sonde("recover", base, "-o", self.path("good"))
        self.assertEqual(self.findings_of(self.path("good")), [])

    def test_trace_lanes(self):
        """Nothing is wrong with the store, but the recording shows other times: opening tells."""
        writer = small_part()
        method = writer.method("a.B", "c", "()V")
        writer.traces.clear()
        for count in (63, 64):
            writer.add(Record(method, 0, 5000, [Record(method, i, i + 5100, span=i + 1)
                                                for i in range(count)], timestamp=MS_2019))
        base = self.part(writer.files())
        self.assertNotIn("zts-trace-lanes", [one["id"] for one in self.findings_of(base)])
        info, = json.loads(self.sonde("info", "--json", base))["recordings"]
        found = [one for one in info["findings"] if one["id"] == "zts-trace-lanes"]
        self.assertEqual(len(found), 1, info["findings"])
        self.assertIn("slot 1", found[0]["expected"])

    def test_all_have_a_fault(self):
        listed = json.loads(self.sonde("check", "--list", "--json"))
        self.assertEqual({finding["id"] for finding in listed
                          if finding["id"].startswith("zts-")}, set(FAULTS) | BASE_FAULTS)


if __name__ == "__main__":
    tap.main()
