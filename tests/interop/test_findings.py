#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every finding that `sonde check` knows in ATF sessions, shown by a session with just that fault: a
clean session is damaged in one place, and the check must name the fault, the file and the offset. A
finding without a fault here fails the test.
"""
import json
import os
import shutil
import struct
import subprocess
import tempfile
import unittest

import tap

SONDE = os.environ["SONDE"]
GOLDEN = os.path.join(os.environ["GOLDEN"], "atf")
INDEX, DETAIL, MANIFEST = "thread_0/index.atf", "thread_0/detail.atf", "manifest.json"

# thread 0 of the golden session: events, and where its footers are
EVENTS = 1000
INDEX_FOOTER = 64 + 32 * EVENTS
DETAIL_FOOTER = 64941
FIRST_LINKED = 50  # the event that detail 0 belongs to, a return


def event(number, field=0):
    return 64 + 32 * number + field


class Session:
    """A copy of the clean session, with the ways to damage it."""

    def __init__(self, path):
        self.path = path

    def file(self, name):
        return os.path.join(self.path, name)

    def patch(self, name, offset, data):
        with open(self.file(name), "r+b") as file:
            file.seek(offset)
            file.write(data)

    def u32(self, name, offset, value):
        self.patch(name, offset, struct.pack("<I", value))

    def u64(self, name, offset, value):
        self.patch(name, offset, struct.pack("<Q", value))

    def cut(self, name, size):
        os.truncate(self.file(name), size)

    def append(self, name, data):
        with open(self.file(name), "ab") as file:
            file.write(data)

    def replace(self, old, new):
        with open(self.file(MANIFEST), encoding="utf-8") as file:
            text = file.read()
        assert old in text, old
        with open(self.file(MANIFEST), "w", encoding="utf-8") as file:
            file.write(text.replace(old, new, 1))

    def folder_instead(self, name):
        os.remove(self.file(name))
        os.mkdir(self.file(name))

    def placeholder_index(self):
        self.u32(INDEX, 28, 0)
        self.u64(INDEX, 40, 64)

    def placeholder_detail(self):
        self.u64(DETAIL, 28, 0)
        self.u64(DETAIL, 36, 0)


def zeros_at_the_end(session):
    session.placeholder_index()
    session.cut(INDEX, event(100))
    session.append(INDEX, bytes(320))


def cut_footer_under_placeholder(session):
    session.placeholder_index()
    session.cut(INDEX, INDEX_FOOTER + 40)


def detail_zeros(session):
    session.placeholder_detail()
    session.cut(DETAIL, 64 + 124)
    session.append(DETAIL, bytes(100))


def cut_detail(session):
    session.placeholder_detail()
    session.cut(DETAIL, 64 + 124 + 50)


def short_record(session):
    """A record of type 3 with no room for registers, in the place of a longer one."""
    session.u32(DETAIL, 64, 24 + 50)
    session.patch(DETAIL, 64 + 74, struct.pack("<IHHIIQ", 50, 77, 0, 0xffffffff, 0, 0))


def short_arguments(session):
    """A record of arguments that ends before them, in the place of a longer one."""
    session.patch(DETAIL, 64, struct.pack("<IH", 24 + 8, 0x5301))
    session.patch(DETAIL, 64 + 32, struct.pack("<IHHIIQ", 92, 77, 0, 0xffffffff, 0, 0))


def missing_resource(session):
    session.replace('"format_version"', '"resources": [{"file": "resources/0", "name": "x", '
                    '"text": true}],\n  "format_version"')


# id -> (damage, file, offset or None)
FAULTS = {
    "atf-manifest-missing": (lambda s: os.remove(s.file(MANIFEST)), MANIFEST, None),
    "atf-manifest-json": (lambda s: s.cut(MANIFEST, 300), MANIFEST, 300),
    "atf-manifest-value": (lambda s: s.replace('"clock_type": 3', '"clock_type": "x"'), MANIFEST,
                           ...),
    "atf-manifest-version": (lambda s: s.replace('"2.1"', '"3.7"'), MANIFEST, None),
    "atf-manifest-thread-missing": (lambda s: shutil.rmtree(s.file("thread_1")), MANIFEST, None),
    "atf-manifest-thread-unlisted": (lambda s: s.replace('{"id": 1,', '{"id": 77,'), MANIFEST,
                                     None),
    "atf-manifest-detail": (lambda s: s.replace("true", "false"), MANIFEST, None),
    "atf-manifest-time": (lambda s: s.replace('"time_end_ns": 1', '"time_end_ns": '), MANIFEST,
                          None),
    "atf-manifest-clock": (lambda s: s.replace('"clock_type": 3', '"clock_type": 2'), MANIFEST,
                           None),
    "atf-symbols-none": (lambda s: s.replace('"symbols"', '"other"'), MANIFEST, None),
    "atf-symbol-missing": (lambda s: s.u64(INDEX, event(0, 8), 5), INDEX, event(0, 8)),
    "atf-symbol-duplicate": (lambda s: s.replace("0x7506790500000002", "0x7506790500000001"),
                             MANIFEST, ...),
    "atf-symbol-module": (lambda s: s.replace('"module_id": 310341414,\n      "path"',
                                              '"module_id": 5,\n      "path"'), MANIFEST, ...),
    "atf-resource-missing": (missing_resource, MANIFEST, None),
    "atf-event-type-missing": (lambda s: s.u32(INDEX, event(7, 20), 4), INDEX, event(7, 8)),
    "atf-index-missing": (lambda s: os.remove(s.file(INDEX)), INDEX, None),
    "atf-index-unreadable": (lambda s: s.folder_instead(INDEX), INDEX, None),
    "atf-index-empty": (lambda s: s.cut(INDEX, 0), INDEX, 0),
    "atf-index-short": (lambda s: s.cut(INDEX, 40), INDEX, 40),
    "atf-index-magic": (lambda s: s.patch(INDEX, 3, b"9"), INDEX, 0),
    "atf-index-endian": (lambda s: s.patch(INDEX, 4, b"\2"), INDEX, 4),
    "atf-index-version": (lambda s: s.patch(INDEX, 5, b"\2"), INDEX, 5),
    "atf-index-event-size": (lambda s: s.u32(INDEX, 24, 48), INDEX, 24),
    "atf-index-offset": (lambda s: s.u64(INDEX, 32, 1 << 60), INDEX, 0),
    "atf-index-footer-missing": (lambda s: s.cut(INDEX, event(900)), INDEX, event(900)),
    "atf-index-footer-cut": (cut_footer_under_placeholder, INDEX, INDEX_FOOTER),
    "atf-index-record-cut": (lambda s: s.cut(INDEX, event(900) + 5), INDEX, event(900)),
    "atf-index-zeros": (zeros_at_the_end, INDEX, event(100)),
    "atf-index-trailing": (lambda s: s.append(INDEX, b"123456789"), INDEX, INDEX_FOOTER + 64),
    "atf-index-placeholder": (lambda s: s.placeholder_index(), INDEX, 28),
    "atf-index-count": (lambda s: s.u64(INDEX, INDEX_FOOTER + 8, 999), INDEX, INDEX_FOOTER + 8),
    "atf-index-bytes": (lambda s: s.u64(INDEX, INDEX_FOOTER + 32, 5), INDEX, INDEX_FOOTER + 32),
    "atf-index-time": (lambda s: s.u64(INDEX, 56, 5), INDEX, 48),
    "atf-index-checksum": (lambda s: s.u32(INDEX, INDEX_FOOTER + 4, 5), INDEX, INDEX_FOOTER + 4),
    "atf-index-checksum-none": (lambda s: s.u32(INDEX, INDEX_FOOTER + 4, 0), INDEX,
                                INDEX_FOOTER + 4),
    "atf-index-thread": (lambda s: s.u32(INDEX, 12, 9), INDEX, 12),
    "atf-index-flag": (lambda s: s.u32(INDEX, 8, 0), INDEX, 8),
    "atf-index-machine": (lambda s: s.patch(INDEX, 6, b"\7"), INDEX, 6),
    "atf-index-machine-none": (lambda s: [s.patch(f"thread_{number}/index.atf", 6, b"\0\0")
                                          for number in range(4)], INDEX, 6),
    "atf-event-kind": (lambda s: s.u32(INDEX, event(7, 20), 99), INDEX, event(7, 20)),
    "atf-event-number": (lambda s: s.u32(INDEX, event(7, 20), 9), INDEX, event(7, 28)),
    "atf-event-time": (lambda s: s.u64(INDEX, event(7), 5), INDEX, event(7)),
    "atf-event-thread": (lambda s: s.u32(INDEX, event(7, 16), 5), INDEX, event(7, 16)),
    "atf-event-depth": (lambda s: s.u32(INDEX, event(1, 24), 5), INDEX, event(1, 24)),
    "atf-event-nesting": (lambda s: s.u64(INDEX, event(FIRST_LINKED, 8), 0x7506790500000001), INDEX,
                          event(FIRST_LINKED, 8)),
    "atf-event-unopened": (lambda s: s.u32(INDEX, event(0, 20), 2), INDEX, event(0)),
    "atf-event-open": (lambda s: s.cut(INDEX, event(1)), INDEX, None),
    "atf-detail-missing": (lambda s: os.remove(s.file(DETAIL)), INDEX, event(FIRST_LINKED, 28)),
    "atf-detail-unreadable": (lambda s: s.folder_instead(DETAIL), DETAIL, None),
    "atf-detail-empty": (lambda s: s.cut(DETAIL, 0), DETAIL, 0),
    "atf-detail-short": (lambda s: s.cut(DETAIL, 40), DETAIL, 40),
    "atf-detail-magic": (lambda s: s.patch(DETAIL, 3, b"9"), DETAIL, 0),
    "atf-detail-endian": (lambda s: s.patch(DETAIL, 4, b"\2"), DETAIL, 4),
    "atf-detail-version": (lambda s: s.patch(DETAIL, 5, b"\2"), DETAIL, 5),
    "atf-detail-offset": (lambda s: s.u64(DETAIL, 20, 5), DETAIL, 0),
    "atf-detail-footer-missing": (lambda s: s.cut(DETAIL, 60000), DETAIL, 60000),
    "atf-detail-footer-cut": (lambda s: s.cut(DETAIL, DETAIL_FOOTER + 30), DETAIL, DETAIL_FOOTER),
    "atf-detail-record-cut": (cut_detail, DETAIL, 64 + 124),
    "atf-detail-zeros": (detail_zeros, DETAIL, 64 + 124),
    "atf-detail-length": (lambda s: s.u32(DETAIL, 64 + 124, 7), DETAIL, 64 + 124),
    "atf-detail-trailing": (lambda s: s.append(DETAIL, b"123456789"), DETAIL, DETAIL_FOOTER + 64),
    "atf-detail-placeholder": (lambda s: s.placeholder_detail(), DETAIL, 28),
    "atf-detail-count": (lambda s: s.u64(DETAIL, DETAIL_FOOTER + 8, 349), DETAIL,
                         DETAIL_FOOTER + 8),
    "atf-detail-bytes": (lambda s: s.u64(DETAIL, DETAIL_FOOTER + 16, 5), DETAIL,
                         DETAIL_FOOTER + 16),
    "atf-detail-range": (lambda s: s.u64(DETAIL, 52, 998), DETAIL, 44),
    "atf-detail-time-range": (lambda s: s.u64(DETAIL, DETAIL_FOOTER + 24, 5), DETAIL,
                              DETAIL_FOOTER + 24),
    "atf-detail-checksum": (lambda s: s.u32(DETAIL, DETAIL_FOOTER + 4, 5), DETAIL,
                            DETAIL_FOOTER + 4),
    "atf-detail-checksum-none": (lambda s: s.u32(DETAIL, DETAIL_FOOTER + 4, 0), DETAIL,
                                 DETAIL_FOOTER + 4),
    "atf-detail-thread": (lambda s: s.u32(DETAIL, 12, 9), DETAIL, 12),
    "atf-detail-machine": (lambda s: s.patch(DETAIL, 6, b"\2"), DETAIL, 6),
    "atf-detail-type": (lambda s: s.patch(DETAIL, 64 + 4, b"\x4d\0"), DETAIL, 64 + 4),
    "atf-detail-payload": (short_record, DETAIL, 64),
    "atf-detail-arguments": (short_arguments, DETAIL, 64 + 24),
    "atf-detail-function": (lambda s: s.u64(DETAIL, 64 + 24, 5), DETAIL, 64 + 24),
    "atf-detail-time": (lambda s: s.u64(DETAIL, 64 + 16, 5), DETAIL, 64 + 16),
    "atf-detail-kind": (lambda s: s.u32(INDEX, event(FIRST_LINKED, 20), 1), DETAIL, 64 + 4),
    "atf-link-forward": (lambda s: s.u32(INDEX, event(FIRST_LINKED, 28), 3), INDEX,
                         event(FIRST_LINKED, 28)),
    "atf-link-backward": (lambda s: s.u32(DETAIL, 64 + 8, 3), DETAIL, 64 + 8),
    "atf-link-past-details": (lambda s: s.u32(INDEX, event(FIRST_LINKED, 28), 9999), INDEX,
                              event(FIRST_LINKED, 28)),
    "atf-link-past-events": (lambda s: s.u32(DETAIL, 64 + 8, 99999), DETAIL, 64 + 8),
    "atf-detail-unlinked": (lambda s: s.u32(DETAIL, 64 + 8, 0xffffffff), DETAIL, None),
}


def sonde(*arguments):
    return subprocess.run([SONDE, *arguments], capture_output=True, text=True, check=False)


class Findings(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.clean = os.path.join(self.folder.name, "clean")
        sonde("convert", os.path.join(GOLDEN, "normal"), "-o", self.clean)

    def findings(self, path):
        done = sonde("check", "--json", path)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return json.loads(done.stdout)["recordings"][0]["findings"]

    def test_clean(self):
        self.assertEqual(self.findings(self.clean), [])

    def test_each(self):
        for name, (damage, file, offset) in FAULTS.items():
            with self.subTest(name):
                session = Session(os.path.join(self.folder.name, name))
                shutil.copytree(self.clean, session.path)
                damage(session)
                found = [(finding["file"], finding["offset"])
                         for finding in self.findings(session.path) if finding["id"] == name]
                if offset is ...:
                    found, offset = [(path, ...) for path, _ in found], ...
                self.assertIn((session.file(file), offset), found)

    def test_all_have_a_fault(self):
        listed = json.loads(sonde("check", "--list", "--json").stdout)
        self.assertEqual({finding["id"] for finding in listed if finding["format"] == "atf"},
                         set(FAULTS))


if __name__ == "__main__":
    tap.main()
