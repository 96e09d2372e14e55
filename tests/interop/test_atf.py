#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What sonde writes, read back by a reader that shares no code with it; and sessions made by a
writer that shares none either. SONDE is the command, GOLDEN the folder of golden files.

Names of tests as arguments run only those.
"""
import filecmp
import hashlib
import json
import os
import shutil
import unittest

import tap
from atf_reader import (CALL, COUNTER, DETAIL_CALL, DETAIL_RECORD, DETAIL_RETURN, EXCEPTION,
                        FLOW_BEGIN, FLOW_END, FLOW_STEP, INDEX_EVENT, INSTANT, MARK, NONE,
                        RANGE_BEGIN, RANGE_END, RETURN, Detail, Event, annotations_of,
                        read_session)
from atf_writer import (ANNOTATIONS, ARM64, ThreadWriter, annotations_module, arguments_detail,
                        event_type_symbol, function_id, function_payload, manifest_of,
                        pack_arguments, patch, write_manifest, write_process)
from sonde_case import GOLDEN, SondeCase

FINISHED = ("normal", "nodetail")
DAMAGED = ("crashed", "truncated", "cut_footer", "headeronly")


def golden(name):
    return os.path.join(GOLDEN, name)


def tree_digest(path):
    """One digest over the names and bytes of everything below a folder."""
    digest = hashlib.sha256()
    for folder, folders, files in sorted(os.walk(path)):
        folders.sort()
        for name in sorted(files):
            full = os.path.join(folder, name)
            digest.update(os.path.relpath(full, path).encode() + b"\0")
            with open(full, "rb") as file:
                digest.update(hashlib.sha256(file.read()).digest())
    return digest.hexdigest()


def raw_events(path, count):
    """The first events of an index file whose header and footer are not to be trusted."""
    with open(path, "rb") as file:
        data = file.read()
    return [Event(*INDEX_EVENT.unpack_from(data, 64 + 32 * number)) for number in range(count)]


def raw_details(path):
    """The detail records that are there in full, whatever header and footer say."""
    with open(path, "rb") as file:
        data = file.read()
    details, position = [], 64
    while position + 24 <= len(data):
        total, *fields = DETAIL_RECORD.unpack_from(data, position)
        if total < 24 or position + total > len(data):
            break
        details.append(Detail(*fields, data[position + 24:position + total]))
        position += total
    return details


def symbols_of(process):
    return {int(symbol["function_id"], 16): symbol["name"]
            for symbol in (process.manifest or {}).get("symbols", [])}


def modules_of(process):
    return {module["module_id"]: (module["path"], int(module["base_address"], 16), module["size"],
                                  module.get("uuid"))
            for module in (process.manifest or {}).get("modules", [])}


class AtfCase(SondeCase):
    def read_good(self, path):
        """Reads with all checks; nothing may be wrong."""
        session = read_session(path)
        self.assertEqual(session.problems, [])
        return session

    def read_written(self, path):
        """Reads what sonde wrote: nothing wrong, and the checksums are real."""
        session = self.read_good(path)
        self.assertEqual([note for note in session.notes if "not computed" in note], [])
        return session

    def convert(self, source, name="out", expect=(0,)):
        target = self.path(name)
        self.sonde("convert", source, "-o", target, expect=expect)
        return target

    def assert_same_thread(self, found, source):
        where = f"thread {source.slot}"
        if source.header and found.header:
            for field in ("arch", "os", "thread_id", "clock_type"):
                self.assertEqual(found.header[field], source.header[field], (where, field))
        self.assertEqual(len(found.events), len(source.events), where)
        for number, (one, two) in enumerate(zip(found.events, source.events)):
            self.assertEqual(one, two, (where, number))
        self.assertEqual(len(found.details), len(source.details), where)
        for number, (one, two) in enumerate(zip(found.details, source.details)):
            self.assertEqual(one, two, (where, number))

    def assert_same_process(self, found, source):
        self.assertEqual([thread.slot for thread in found.threads],
                         [thread.slot for thread in source.threads])
        for one, two in zip(found.threads, source.threads):
            self.assert_same_thread(one, two)
        self.assertEqual(symbols_of(found), symbols_of(source))
        self.assertEqual(modules_of(found), modules_of(source))

    def assert_same_session(self, found, source):
        self.assertEqual(len(found.processes), len(source.processes))
        for one, two in zip(found.processes, source.processes):
            self.assert_same_process(one, two)
            if two.pid is not None:
                self.assertEqual(one.pid, two.pid)

    def assert_carried(self, source, accept=()):
        """Converts, and compares everything that the reader sees."""
        before = read_session(source)
        target = self.convert(source)
        after = read_session(target)
        self.assertEqual([text for text in after.problems
                          if not any(part in text for part in accept)], [])
        self.assert_same_session(after, before)
        return after


class Golden(AtfCase):
    """The reader itself, on sessions of the existing writer."""

    def test_reader_accepts_finished_sessions(self):
        for name, events, details in (("normal", [1000] * 4, [350] * 4),
                                      ("nodetail", [600] * 3, [0] * 3)):
            with self.subTest(name):
                process, = self.read_good(golden(name)).processes
                self.assertEqual([len(t.events) for t in process.threads], events)
                self.assertEqual([len(t.details) for t in process.threads], details)

    def test_reader_finds_what_was_patched(self):
        for name, text in (("bad_magic", "magic is"), ("bad_version", "version is"),
                           ("bad_evsize", "event_size is"), ("bad_short", "cannot hold"),
                           ("bad_link", "back link")):
            with self.subTest(name):
                problems = read_session(golden(name)).problems
                self.assertTrue(any(text in problem for problem in problems), problems)

    @unittest.skipUnless(os.environ.get("SONDE_CORPUS"), "SONDE_CORPUS is not set")
    def test_golden_is_the_corpus(self):
        def compare(diff):
            self.assertEqual((diff.left_only, diff.right_only, diff.diff_files), ([], [], []))
            for folder in diff.subdirs.values():
                compare(folder)

        compare(filecmp.dircmp(GOLDEN, os.path.join(os.environ["SONDE_CORPUS"], "atf")))


class Convert(AtfCase):
    """convert: ATF to ATF loses nothing and adds only what was not computed."""

    def test_everything_is_carried_over(self):
        for name in FINISHED:
            with self.subTest(name):
                target = self.convert(golden(name), name)
                self.assert_same_session(self.read_written(target), read_session(golden(name)))

    def test_header_is_finalised(self):
        process, = self.read_written(self.convert(golden("normal"))).processes
        for thread in process.threads:
            self.assertEqual(thread.header["event_count"], 1000)
            self.assertEqual(thread.header["footer_offset"], 64 + 32 * 1000)
            self.assertEqual(thread.header["flags"], 1)
            self.assertEqual(thread.index_size, 128 + 32 * 1000)
            self.assertNotEqual(thread.footer["checksum"], 0)
            self.assertNotEqual(thread.detail_footer["checksum"], 0)
            self.assertEqual(thread.detail_header["index_seq_end"],
                             max(detail.index_seq for detail in thread.details))

    def test_lanes_are_the_same_bytes(self):
        source, = read_session(golden("normal")).processes
        target, = self.read_written(self.convert(golden("normal"))).processes
        for one, two in zip(source.threads, target.threads):
            self.assertEqual(one.index_bytes, two.index_bytes)
            self.assertEqual(one.detail_bytes, two.detail_bytes)

    def test_manifest_is_2_1(self):
        process, = self.read_written(self.convert(golden("normal"))).processes
        self.assertEqual(process.manifest["format_version"], "2.1")

    def test_same_input_gives_same_bytes(self):
        for name in FINISHED:
            with self.subTest(name):
                first = tree_digest(self.convert(golden(name), name + "-1"))
                self.assertEqual(tree_digest(self.convert(golden(name), name + "-2")), first)

    def test_convert_of_convert_gives_same_bytes(self):
        for name in FINISHED:
            with self.subTest(name):
                once = self.convert(golden(name), name + "-1")
                self.assertEqual(tree_digest(self.convert(once, name + "-2")), tree_digest(once))

    def test_check_passes(self):
        self.sonde("check", self.convert(golden("normal")))


class Recover(AtfCase):
    """recover: a finished session that holds everything that survives."""

    def recovered(self, name):
        target = self.path(name)
        self.sonde("recover", golden(name), "-o", target)
        process, = self.read_written(target).processes
        self.sonde("check", target)
        return process

    def assert_survivors(self, name, process, events, details, linked):
        self.assertEqual([len(t.events) for t in process.threads], events)
        self.assertEqual([len(t.details) for t in process.threads], details)
        for thread, expected in zip(process.threads, linked):
            folder = os.path.join(golden(name), f"thread_{thread.slot}")
            raw = raw_events(os.path.join(folder, "index.atf"), len(thread.events))
            survivors = raw_details(os.path.join(folder, "detail.atf"))
            self.assertEqual(len(thread.details), len(survivors))
            for one, two in zip(thread.events, raw):
                if two.detail_seq != NONE and two.detail_seq >= len(survivors):
                    two.detail_seq = NONE  # its detail is lost
                self.assertEqual(one, two)
            for one, two in zip(thread.details, survivors):
                if one.index_seq != two.index_seq:
                    self.assertGreaterEqual(two.index_seq, len(thread.events))
                    two.index_seq = one.index_seq
                self.assertEqual(one, two)
            self.assertEqual(sum(e.detail_seq != NONE for e in thread.events), expected)
            self.assertEqual(sum(d.index_seq < len(thread.events) for d in thread.details),
                             expected)

    def test_crashed(self):
        self.assert_survivors("crashed", self.recovered("crashed"), [894] * 3, [346, 329, 331],
                              [300] * 3)

    def test_truncated(self):
        process = self.recovered("truncated")
        self.assertEqual([len(t.details) for t in process.threads], [349] * 3)
        linked = [sum(e.detail_seq < 349 for e in raw_events(
            os.path.join(golden("truncated"), f"thread_{t.slot}", "index.atf"), 999))
                  for t in process.threads]
        self.assert_survivors("truncated", process, [999] * 3, [349] * 3, linked)

    def test_cut_footer(self):
        process = self.recovered("cut_footer")
        self.assert_survivors("cut_footer", process, [1000] * 4, [350] * 4, [350] * 4)
        source, = read_session(golden("normal")).processes
        self.assertEqual(symbols_of(process), symbols_of(source))

    def test_headeronly(self):
        process = self.recovered("headeronly")
        self.assertEqual([len(t.events) for t in process.threads], [0])

    def test_input_is_left_alone(self):
        for name in DAMAGED:
            with self.subTest(name):
                before = tree_digest(golden(name))
                self.sonde("recover", golden(name), "-o", self.path(name))
                self.assertEqual(tree_digest(golden(name)), before)

    def test_same_input_gives_same_bytes(self):
        for name in DAMAGED:
            with self.subTest(name):
                digests = set()
                for number in (1, 2):
                    target = self.path(f"{name}-{number}")
                    self.sonde("recover", golden(name), "-o", target)
                    digests.add(tree_digest(target))
                self.assertEqual(len(digests), 1)

    def test_finished_session_stays_the_same(self):
        target = self.path("out")
        self.sonde("recover", golden("normal"), "-o", target)
        self.assert_same_session(self.read_written(target), read_session(golden("normal")))


class CutAndMerge(AtfCase):
    """cut and merge: what comes out is a session like any other."""

    def cut(self, first, last, source="normal"):
        target = self.path("cut")
        self.sonde("cut", golden(source), "--from", f"@{first}", "--to", f"@{last}", "-o", target)
        return self.read_written(target)

    def assert_cut(self, thread, source, first, last):
        """The events inside, around them the calls open at either end."""
        stack = []
        inside = []
        opened = None
        for event in source.events:
            if event.timestamp_ns >= last:
                break
            if event.timestamp_ns >= first and opened is None:
                opened = list(stack)
            if event.timestamp_ns >= first:
                inside.append(event)
            if event.kind == CALL:
                stack.append(event.function_id)
            else:
                stack.pop()
        if opened is None:
            opened = list(stack)
        begin, end = len(opened), len(opened) + len(inside)
        self.assertEqual(len(thread.events), end + len(stack))
        self.assertEqual([(e.kind, e.function_id, e.timestamp_ns, e.depth)
                          for e in thread.events[:begin]],
                         [(CALL, function, first, depth)
                          for depth, function in enumerate(opened, 1)])
        for one, two in zip(thread.events[begin:end], inside):
            self.assertEqual(one.key()[:5], two.key()[:5])
            if two.detail_seq == NONE:
                self.assertEqual(one.detail_seq, NONE)
            else:
                found, wanted = thread.details[one.detail_seq], source.details[two.detail_seq]
                self.assertEqual((found.type, found.flags, found.timestamp, found.payload),
                                 (wanted.type, wanted.flags, wanted.timestamp, wanted.payload))
        self.assertEqual([(e.kind, e.function_id) for e in thread.events[end:]],
                         [(RETURN, function) for function in reversed(stack)])
        for event in thread.events[end:]:
            self.assertLessEqual(event.timestamp_ns, last)

    def test_cut_in_the_middle(self):
        source, = read_session(golden("normal")).processes
        first = source.threads[0].events[300].timestamp_ns
        last = source.threads[0].events[700].timestamp_ns
        process, = self.cut(first, last).processes
        self.assertEqual([t.slot for t in process.threads], [t.slot for t in source.threads])
        for one, two in zip(process.threads, source.threads):
            self.assert_cut(one, two, first, last)
        self.sonde("check", self.path("cut"))

    def test_cut_of_everything_changes_no_event(self):
        process, = self.cut(0, 1 << 62).processes
        source, = read_session(golden("normal")).processes
        for one, two in zip(process.threads, source.threads):
            self.assertEqual(one.events[:len(two.events)], two.events)

    def test_cut_of_a_span_without_events(self):
        for thread in self.cut(1, 2).processes[0].threads:
            self.assertEqual(thread.events, [])

    def test_cut_is_reproducible(self):
        source, = read_session(golden("normal")).processes
        first = source.threads[1].events[100].timestamp_ns
        last = source.threads[1].events[900].timestamp_ns
        self.cut(first, last)
        digest = tree_digest(self.path("cut"))
        shutil.rmtree(self.path("cut"))
        self.cut(first, last)
        self.assertEqual(tree_digest(self.path("cut")), digest)

    def test_merge_keeps_processes_apart(self):
        target = self.path("merged")
        self.sonde("merge", golden("normal"), golden("nodetail"), "-o", target)
        session = self.read_written(target)
        self.assertEqual(len(session.processes), 2)
        by_size = sorted(session.processes, key=lambda process: -len(process.threads))
        for process, name in zip(by_size, FINISHED):
            self.assert_same_process(process, read_session(golden(name)).processes[0])
        self.sonde("check", target)

    def test_merge_of_the_same_pid_twice(self):
        for name, pairs in (("a", 5), ("b", 9)):
            write_process(self.path(name, "pid_77"), [ThreadWriter(0).busy(pairs)])
        target = self.path("merged")
        self.sonde("merge", self.path("a"), self.path("b"), "-o", target)
        session = self.read_written(target)
        self.assertEqual(sorted(len(p.threads[0].events) for p in session.processes), [12, 20])

    def test_merge_of_several_pids(self):
        for name, pids in (("a", (1, 2)), ("b", (3,))):
            for pid in pids:
                write_process(self.path(name, f"pid_{pid}"), [ThreadWriter(0).busy(pid)])
        target = self.path("merged")
        self.sonde("merge", self.path("a"), self.path("b"), "-o", target)
        session = self.read_written(target)
        self.assertEqual([(p.pid, len(p.threads[0].events)) for p in session.processes],
                         [(1, 4), (2, 6), (3, 8)])


class Odd(AtfCase):
    """Sessions that the golden files lack, made by the writer beside this file."""

    def test_x86_64_payload_with_flags(self):
        thread = ThreadWriter(0)
        for flags in range(4):
            function = function_id(1 + flags)
            registers = [0x1111 * (k + 1) + flags for k in range(11)]
            thread.call(function, (DETAIL_CALL, 0, function_payload(
                function, registers, bytes(range(flags * 64)), flags)))
            thread.leave((DETAIL_RETURN, 0, function_payload(function, registers, b"", flags)))
        source = write_process(self.path("pid_1"), [thread])
        self.read_good(source)
        self.assert_carried(source)

    def test_arm64(self):
        thread = ThreadWriter(0, arch=ARM64).busy(20, detail_every=3)
        source = write_process(self.path("pid_1"), [thread])
        process, = self.assert_carried(source).processes
        self.assertEqual(process.threads[0].header["arch"], ARM64)
        self.assertEqual(process.threads[0].detail_header["arch"], ARM64)

    def test_stack_of_256_bytes_and_what_follows_it(self):
        thread = ThreadWriter(0)
        function = function_id(1)
        thread.call(function, (DETAIL_CALL, 0, function_payload(
            function, range(11), bytes(range(256)), 3, rest=b"more, from a later version")))
        thread.leave()
        self.assert_carried(write_process(self.path("pid_1"), [thread]))

    def test_unknown_detail_types_and_odd_sizes(self):
        thread = ThreadWriter(0)
        for number, size in enumerate((0, 1, 3, 7, 99, 100, 101, 4096, 70000)):
            payload = bytes((number * 7 + k) & 0xFF for k in range(size))
            thread.call(function_id(1), (90 + number, 0xF000 + number, payload))
            thread.leave((0, 0xFFFF, payload[::-1]))
        self.assert_carried(write_process(self.path("pid_1"), [thread]))

    def test_function_payload_that_is_too_short(self):
        thread = ThreadWriter(0)
        for size in (0, 1, 8, 96, 99):
            thread.call(function_id(1), (DETAIL_CALL, 5, bytes([size]) * size))
            thread.leave()
        short_stack = bytearray(function_payload(function_id(1), range(11), bytes(20)))
        thread.call(function_id(1), (DETAIL_CALL, 0, bytes(short_stack[:-5])))
        thread.leave()
        self.assert_carried(write_process(self.path("pid_1"), [thread]))

    def test_unknown_event_kind(self):
        thread = ThreadWriter(0)
        thread.call(function_id(1))
        thread.add(99, function_id(2), 1)
        thread.leave(kind=EXCEPTION)
        self.assert_carried(write_process(self.path("pid_1"), [thread]), accept=("kind 99",))

    def test_no_events_at_all(self):
        source = write_process(self.path("pid_1"), [ThreadWriter(0), ThreadWriter(1).busy(2)])
        self.assert_carried(source)

    def test_thread_ids_are_not_contiguous(self):
        threads = [ThreadWriter(slot).busy(slot + 1, detail_every=2) for slot in (2, 3, 17, 4000)]
        self.assert_carried(write_process(self.path("pid_1"), threads))

    def test_names_in_unicode(self):
        names = {1: "größe", 2: "λ::operator→()", 3: "日本語", 4: "quote\" back\\slash \t 🛰"}
        thread = ThreadWriter(0).busy(6)
        source = write_process(self.path("pid_1"), [thread], manifest_of([thread], names))
        process, = self.assert_carried(source).processes
        self.assertEqual(sorted(symbols_of(process).values()), sorted(names.values()))

    def test_several_pids(self):
        root = self.path("session_20250101_000000")
        for pid in (9, 10, 123456):
            write_process(os.path.join(root, f"pid_{pid}"),
                          [ThreadWriter(slot).busy(pid % 7 + 3, 2) for slot in range(2)])
        session = self.assert_carried(root)
        self.assertEqual([process.pid for process in session.processes], [9, 10, 123456])

    def test_pids_share_function_ids(self):
        root = self.path("session")
        for pid, name in ((1, "one"), (2, "two")):
            thread = ThreadWriter(0).busy(3)
            write_process(os.path.join(root, f"pid_{pid}"), [thread],
                          manifest_of([thread], {1: name, 2: name + "2", 3: "x", 4: "y"}))
        self.assert_carried(root)

    def test_manifest_2_0(self):
        thread = ThreadWriter(0).busy(4, 2)
        source = write_process(self.path("pid_1"), [thread], manifest_of([thread], version="2.0"))
        self.assert_carried(source)

    def test_manifest_with_threads_only(self):
        thread = ThreadWriter(0).busy(4)
        source = write_process(self.path("pid_1"), [thread], {"threads": [{"id": 0}]})
        self.assert_events_carried(source)

    def test_manifest_missing(self):
        threads = [ThreadWriter(slot).busy(4, 2) for slot in range(3)]
        self.assert_events_carried(write_process(self.path("pid_1"), threads, False))

    def test_manifest_is_not_json(self):
        source = write_process(self.path("pid_1"), [ThreadWriter(0).busy(4)], False)
        for text in ("", "{", '{"threads": 7}', "[]", "\0\0\0\0", '{"threads":[{"id":0}'):
            with open(os.path.join(source, "manifest.json"), "w", encoding="utf-8") as file:
                file.write(text)
            with self.subTest(text):
                shutil.rmtree(self.path("out"), True)
                self.sonde("recover", source, "-o", self.path("out"))
                process, = self.read_written(self.path("out")).processes
                self.assertEqual(len(process.threads[0].events), 10)

    def test_manifest_lists_other_threads(self):
        thread = ThreadWriter(5).busy(4)
        source = write_process(self.path("pid_1"), [thread],
                               manifest_of([ThreadWriter(0), ThreadWriter(1)]))
        self.sonde("check", source, expect=(1,))
        self.sonde("recover", source, "-o", self.path("out"))
        process = self.read_written(self.path("out")).processes[0]
        self.assertEqual(len(process.thread(5).events), 10)

    def assert_events_carried(self, source):
        before = read_session(source)
        after = self.read_written(self.convert(source))
        for one, two in zip(after.processes[0].threads, before.processes[0].threads):
            self.assert_same_thread(one, two)

    def test_additional_keys_are_kept(self):
        additional = {
            "command_line": ["./odd", "--flag", "ünï"],
            "x_number": 18446744073709551615,
            "x_fraction": 0.1,
            "x_null": None,
            "x_nested": {"list": [1, [2, {"deep": True}]], "text": "a\"b"},
        }
        threads = [ThreadWriter(0).busy(4), ThreadWriter(1).busy(4)]
        manifest = manifest_of(threads, **additional)
        manifest["threads"][1].update(name="worker ø", os_id=4242, x_mark="kept")
        source = write_process(self.path("pid_1"), threads, manifest)
        process, = self.assert_carried(source).processes
        for key, value in additional.items():
            self.assertEqual(process.manifest.get(key), value, key)
        listed = {thread["id"]: thread for thread in process.manifest["threads"]}
        for key in ("name", "os_id", "x_mark"):
            self.assertEqual(listed[1].get(key), manifest["threads"][1][key], key)

    def test_has_detail_is_0_but_the_file_is_there(self):
        thread = ThreadWriter(0).busy(10, 2)
        source = self.path("pid_1")
        os.mkdir(source)
        thread.write(source, index=thread.index_file(flags=0))
        manifest = manifest_of([thread])
        manifest["threads"][0]["has_detail"] = False
        write_manifest(source, manifest)
        process, = self.assert_carried(source).processes
        self.assertEqual(len(process.threads[0].details), 10)
        self.assertEqual(process.threads[0].header["flags"] & 1, 1)

    def test_placeholder_header_under_a_finished_footer(self):
        thread = ThreadWriter(0).busy(10)
        source = self.path("pid_1")
        os.mkdir(source)
        thread.write(source, index=thread.index_file(placeholder=True))
        write_manifest(source, manifest_of([thread]))
        self.assert_kept(source, [thread])

    def test_placeholder_headers_in_both_lanes(self):
        thread = ThreadWriter(0).busy(10, 2)
        source = self.path("pid_1")
        os.mkdir(source)
        thread.write(source, index=thread.index_file(placeholder=True),
                     detail=thread.detail_header(True) + thread.detail_section()
                     + thread.detail_footer())
        write_manifest(source, manifest_of([thread]))
        self.assert_kept(source, [thread])

    def test_count_in_the_header_lags_behind_the_footer(self):
        thread = ThreadWriter(0).busy(10)
        source = self.path("pid_1")
        os.mkdir(source)
        thread.write(source, index=thread.index_file(count=3))
        write_manifest(source, manifest_of([thread]))
        self.assert_kept(source, [thread])

    def test_count_beyond_the_file(self):
        thread = ThreadWriter(0).busy(10)
        source = write_process(self.path("pid_1"), [thread])
        index = os.path.join(source, "thread_0", "index.atf")
        patch(index, 28, "<I", 0xFFFFFFF0)
        patch(index, os.path.getsize(index) - 64 + 8, "<Q", 1 << 60)
        self.sonde("check", source, expect=(1,))
        self.assert_kept(source, [thread])

    def test_empty_index_beside_a_good_thread(self):
        good, lost = ThreadWriter(0).busy(10, 2), ThreadWriter(1)
        source = self.path("pid_1")
        os.mkdir(source)
        good.write(source)
        lost.write(source, index=b"")
        write_manifest(source, manifest_of([good, lost]))
        self.sonde("check", source, expect=(1,))
        self.assert_kept(source, [good])

    def test_crash_without_anything_finished(self):
        threads = [ThreadWriter(slot).busy(10, 2) for slot in range(3)]
        source = self.path("pid_1")
        os.mkdir(source)
        for thread in threads:
            thread.write(source, index=thread.index_header(True) + thread.index_section(),
                         detail=thread.detail_header(True) + thread.detail_section())
        self.assert_kept(source, threads)

    def test_record_cut_at_every_byte(self):
        thread = ThreadWriter(0).busy(2)
        whole = thread.index_header(True) + thread.index_section()
        for cut in range(1, 33):
            source = self.path(f"cut-{cut}", "pid_1")
            os.makedirs(source)
            thread.write(source, index=whole[:-cut])
            target = self.path(f"out-{cut}")
            self.sonde("recover", source, "-o", target)
            process, = self.read_written(target).processes
            self.assertEqual([e.key() for e in process.threads[0].events], thread.events[:-1], cut)

    def test_preallocated_tail_of_zeros(self):
        thread = ThreadWriter(0).busy(10, 2)
        source = self.path("pid_1")
        os.mkdir(source)
        index = thread.index_header(True) + thread.index_section()
        detail = thread.detail_header(True) + thread.detail_section()
        thread.write(source, index=index.ljust(1 << 16, b"\0"), detail=detail.ljust(1 << 16, b"\0"))
        self.assert_kept(source, [thread])

    def assert_kept(self, source, threads):
        """recover brings back every event and detail of these threads."""
        target = self.path("recovered")
        self.sonde("recover", source, "-o", target)
        process, = self.read_written(target).processes
        for thread in threads:
            found = process.thread(thread.slot)
            self.assertEqual([event.key() for event in found.events], thread.events)
            self.assertEqual([(d.type, d.flags, d.payload, d.index_seq, d.timestamp)
                              for d in found.details], thread.details)
        self.sonde("check", target)

    def test_single_index_file(self):
        source = write_process(self.path("pid_1"), [ThreadWriter(0).busy(3, 1),
                                                    ThreadWriter(1).busy(9)])
        target = self.convert(os.path.join(source, "thread_1", "index.atf"))
        process, = read_session(target).processes
        self.assertEqual([len(thread.events) for thread in process.threads], [20])

    def test_a_thousand_threads(self):
        threads = [ThreadWriter(slot, start=1000 + slot % 13).busy(3, slot % 2 * 2)
                   for slot in range(1000)]
        source = write_process(self.path("pid_1"), threads)
        session = self.assert_carried(source)
        self.assertEqual(len(session.processes[0].threads), 1000)
        self.sonde("check", self.path("out"))

    def test_symbol_without_a_module(self):
        thread = ThreadWriter(0).busy(4)
        manifest = manifest_of([thread])
        manifest["modules"] = []
        source = write_process(self.path("pid_1"), [thread], manifest)
        target = self.convert(source)
        process, = read_session(target).processes
        self.assertEqual(symbols_of(process), {int(s["function_id"], 16): s["name"]
                                               for s in manifest["symbols"]})

    def test_functions_without_symbols(self):
        thread = ThreadWriter(0)
        for number in (1, 2, 0xFFFFFFFF):
            thread.call(function_id(number))
            thread.leave()
        thread.call(0)
        thread.leave()
        thread.call(0xFFFFFFFFFFFFFFFF)
        thread.leave()
        source = write_process(self.path("pid_1"), [thread], manifest_of([thread], {1: "main"}))
        self.assert_carried(source)


class Check(AtfCase):
    """check finds each fault that the writer puts in, at its place."""

    def setUp(self):
        super().setUp()
        self.thread = ThreadWriter(0).busy(20, 2)
        self.source = write_process(self.path("pid_1"), [self.thread])
        self.index = os.path.join(self.source, "thread_0", "index.atf")
        self.detail = os.path.join(self.source, "thread_0", "detail.atf")

    def findings(self):
        """(severity, file name, offset) of everything that check finds."""
        answer = json.loads(self.sonde("check", "--json", self.source, expect=(0, 1)))
        return [(finding["severity"], os.path.basename(finding["file"]), finding.get("offset"))
                for recording in answer["recordings"] for finding in recording["findings"]]

    def assert_found(self, name, first, last=None):
        """A finding in this file between two offsets, and the exit status says so."""
        self.assertTrue(any(file == name and offset is not None
                            and first <= offset <= (last or first)
                            for _, file, offset in self.findings()),
                        f"{name} {first}..{last}: {self.findings()}")
        self.sonde("check", self.source, expect=(1,))

    def patch_event(self, number, field, layout, value):
        """Changes a field of an event under a right checksum."""
        offset = {"time": 0, "function": 8, "thread": 16, "kind": 20, "depth": 24, "detail": 28}
        patch(self.index, 64 + 32 * number + offset[field], layout, value)
        patch(self.index, os.path.getsize(self.index) - 60, "<I", 0)
        self.assert_found("index.atf", 64 + 32 * number, 64 + 32 * number + 31)

    def test_nothing_where_nothing_is_wrong(self):
        self.assertEqual(self.findings(), [])
        self.sonde("check", self.source, expect=(0,))

    def test_checksum_of_the_index(self):
        patch(self.index, os.path.getsize(self.index) - 60, "<I", 0x12345678)
        self.assert_found("index.atf", os.path.getsize(self.index) - 60)

    def test_checksum_of_the_details(self):
        patch(self.detail, 64 + 24 + 20, "<B", 0xEE)
        self.assert_found("detail.atf", os.path.getsize(self.detail) - 60)

    def test_time_runs_backwards(self):
        self.patch_event(7, "time", "<Q", self.thread.events[5][0])

    def test_return_from_another_function(self):
        self.patch_event(2, "function", "<Q", function_id(4))

    def test_depth(self):
        self.patch_event(9, "depth", "<I", 77)

    def test_kind(self):
        self.patch_event(9, "kind", "<I", 0xABCD)

    def test_thread(self):
        self.patch_event(3, "thread", "<I", 9)

    def test_link_past_the_details(self):
        self.patch_event(1, "detail", "<I", 1000)

    def test_back_link(self):
        patch(self.detail, 64 + 8, "<I", 30)
        self.assert_found("detail.atf", 64, 64 + 23)

    def test_back_link_past_the_index(self):
        patch(self.detail, 64 + 8, "<I", 1 << 20)
        self.assert_found("detail.atf", 64, 64 + 23)

    def test_length_of_a_detail(self):
        for length in (0, 23, 0xFFFFFFFF):
            with self.subTest(length):
                patch(self.detail, 64, "<I", length)
                self.assert_found("detail.atf", 64, 64 + 23)

    def test_counts(self):
        for path, offset, layout in ((self.index, 28, "<I"), (self.detail, 28, "<Q"),
                                     (self.detail, 36, "<Q")):
            with self.subTest(offset=offset):
                shutil.copy(path, self.path("before"))
                patch(path, offset, layout, 5)
                self.assert_found(os.path.basename(path), offset)
                shutil.copy(self.path("before"), path)

    def test_bytes_after_the_footer(self):
        for path in (self.index, self.detail):
            with self.subTest(os.path.basename(path)):
                size = os.path.getsize(path)
                with open(path, "ab") as file:
                    file.write(b"something else that was put here")
                self.assertTrue(any(name == os.path.basename(path)
                                    for _, name, _ in self.findings()))
                os.truncate(path, size)

    def test_thread_without_a_folder(self):
        shutil.rmtree(os.path.dirname(self.index))
        self.sonde("check", self.source, expect=(1,))

    def test_function_without_a_symbol(self):
        write_manifest(self.source, manifest_of([self.thread], {1: "main", 2: "alpha"}))
        self.assertTrue(self.findings())

    def test_golden(self):
        for name in sorted(os.listdir(GOLDEN)):
            with self.subTest(name):
                self.source = golden(name)
                severities = {severity for severity, _, _ in self.findings()}
                good = name in FINISHED
                self.assertEqual("error" in severities, not good)
                self.sonde("check", golden(name), expect=(0,) if good else (1,))


class Annotations(AtfCase):
    """The extension, between two implementations of it; and a reader that does not know it."""
    TYPES = {1: ("load", "utf8 path, uint64 size", 3, True),
             2: ("note", "uint32 a, float32[] b, ascii c, int8 d, bool e, utf8 f", 0, False),
             3: ("job", "", 7, False),
             4: ("level", "float64 value", 0, False)}
    RESOURCES = [("main.c", True, "größe\n".encode()), ("bits", False, bytes(range(256)))]

    @staticmethod
    def type_id(number):
        return function_id(number, ANNOTATIONS)

    def thread(self, slot=0):
        note = pack_arguments(self.TYPES[2][1], (slot, [0.5, -1.0], None, -3, True, "日本"))
        null = pack_arguments(self.TYPES[2][1], (slot, None, "", 127, False, "x"))
        thread = ThreadWriter(slot)
        thread.call(function_id(1))
        thread.add(INSTANT, self.type_id(3), 1)
        thread.add(MARK, self.type_id(2), 1, arguments_detail(self.type_id(2), 0, note))
        load = pack_arguments(self.TYPES[1][1], ("/tmp/ä", 1 << 60))
        thread.call(self.type_id(1), arguments_detail(self.type_id(1), 0, load))
        thread.add(FLOW_BEGIN, self.type_id(3), 2, arguments_detail(self.type_id(3), 9))
        thread.add(FLOW_STEP, self.type_id(2), 2, arguments_detail(self.type_id(2), 9, null))
        thread.add(COUNTER, self.type_id(4), 2, arguments_detail(self.type_id(4), 0x3FF8 << 48))
        thread.add(FLOW_END, self.type_id(3), 2, arguments_detail(self.type_id(3), 9))
        thread.leave()
        thread.add(RANGE_BEGIN, self.type_id(3), 1, arguments_detail(self.type_id(3), NONE))
        thread.call(function_id(2), (DETAIL_CALL, 0, function_payload(
            function_id(2), range(11), b"stack", 1)))
        thread.leave(kind=EXCEPTION)
        thread.add(RANGE_END, self.type_id(3), 1, arguments_detail(self.type_id(3), NONE))
        thread.leave()
        return thread

    def manifest(self, threads):
        manifest = manifest_of(threads)
        manifest["modules"].append(annotations_module())
        manifest["symbols"] += [event_type_symbol(number, *values)
                                for number, values in self.TYPES.items()]
        manifest["resources"] = [{"file": f"resources/{number}", "name": name, "text": text}
                                 for number, (name, text, _) in enumerate(self.RESOURCES)]
        return manifest

    def write(self, *names):
        threads = [self.thread(0), self.thread(1)]
        source = write_process(self.path(*names), threads, self.manifest(threads))
        os.mkdir(os.path.join(source, "resources"))
        for number, (_, _, data) in enumerate(self.RESOURCES):
            with open(os.path.join(source, "resources", str(number)), "wb") as file:
                file.write(data)
        return source

    def assert_same_annotations(self, found, source):
        self.assertEqual(sorted(found.event_types().values()),
                         sorted(source.event_types().values()))
        for one, two in zip(found.threads, source.threads, strict=True):
            self.assertEqual(annotations_of(found, one), annotations_of(source, two))

    def test_check(self):
        source = self.write("pid_1")
        self.read_good(source)
        self.assertEqual(json.loads(self.sonde("check", "--json", source))["recordings"][0]
                         ["findings"], [])

    def test_convert(self):
        source = self.write("pid_1")
        process, = self.read_good(source).processes
        target = self.convert(source)
        found, = self.read_written(target).processes
        self.assert_same_annotations(found, process)
        self.assertEqual(modules_of(found), modules_of(process))
        self.assert_same_process(found, process)

    def test_recover(self):
        source = self.write("pid_1")
        process, = self.read_good(source).processes
        target = self.path("recovered")
        self.sonde("recover", source, "-o", target)
        found, = self.read_written(target).processes
        self.assert_same_annotations(found, process)
        self.assertEqual(found.resources, self.RESOURCES)

    def test_several_processes(self):
        for pid in (1, 2):
            self.write("session", f"pid_{pid}")
        source = self.read_good(self.path("session"))
        found = self.read_written(self.convert(self.path("session")))
        self.assertEqual([process.pid for process in found.processes], [1, 2])
        for one, two in zip(found.processes, source.processes):
            self.assert_same_annotations(one, two)

    def test_a_reader_that_does_not_know_them(self):
        """It gets all calls, with their names and registers, and nothing seems wrong to it."""
        target = self.convert(self.write("pid_1"))
        session = read_session(target, annotations=False)
        self.assertEqual(session.problems, [])
        process, = session.processes
        names = symbols_of(process)
        for thread in process.threads:
            calls = [(event.kind, event.depth, names[event.function_id])
                     for event in thread.events if event.kind in (CALL, RETURN, EXCEPTION)]
            self.assertEqual(calls, [(CALL, 1, "main"), (CALL, 2, "load"), (RETURN, 2, "load"),
                                     (CALL, 2, "alpha"), (EXCEPTION, 2, "alpha"),
                                     (RETURN, 1, "main")])
            registers, = [detail.registers(thread.header["arch"]) for detail in thread.details
                          if detail.type == DETAIL_CALL]
            self.assertEqual(registers["stack"], b"stack")

    def findings(self, source):
        report = json.loads(self.sonde("check", "--json", source, expect=(0, 1)))
        return [finding["id"] for finding in report["recordings"][0]["findings"]]

    def test_arguments_that_end_too_early(self):
        thread = self.thread()
        for number, detail in enumerate(thread.details):
            if len(detail[2]) > 16:
                thread.details[number] = (*detail[:2], detail[2][:20], *detail[3:])
        source = write_process(self.path("pid_1"), [thread],
                               {**self.manifest([thread]), "resources": []})
        self.assertEqual(self.findings(source).count("atf-detail-arguments"), 3)
        # the bytes stay, whatever they are
        process, = read_session(source).processes
        found, = read_session(self.convert(source)).processes
        self.assert_same_thread(found.threads[0], process.threads[0])

    def test_signature_that_nobody_understands(self):
        source = self.write("pid_1")
        with open(os.path.join(source, "manifest.json"), encoding="utf-8") as file:
            manifest = json.load(file)
        manifest["symbols"][-1]["event_type"]["arguments"] = "float65 value"
        write_manifest(source, manifest)
        self.assertIn("atf-manifest-value", self.findings(source))

    def test_resource_elsewhere(self):
        for number, name in enumerate(("../../secret", "resources/../../secret", "/etc/passwd",
                                       "manifest.json", "resources/", "resources/..")):
            with self.subTest(name):
                source = self.write(f"pid_{number}")
                with open(self.path("secret"), "wb") as file:
                    file.write(b"secret")
                with open(os.path.join(source, "manifest.json"), encoding="utf-8") as file:
                    manifest = json.load(file)
                manifest["resources"] = [{"file": name, "name": "x", "text": True}]
                write_manifest(source, manifest)
                self.assertIn("atf-manifest-value", self.findings(source))
                target = self.path(f"recovered-{number}")
                self.sonde("recover", source, "-o", target)
                self.assertFalse(os.path.exists(os.path.join(target, "resources")))


class Dump(AtfCase):
    """What dump prints is what the independent reader sees."""

    def test_json_lines(self):
        source, = read_session(golden("normal")).processes
        names = symbols_of(source)
        lines = [json.loads(line) for line in
                 self.sonde("dump", "--json", golden("normal")).splitlines()]
        expected = []
        for thread in source.threads:
            expected += [(event.timestamp_ns, thread.slot, event.kind, names[event.function_id],
                          event.depth) for event in thread.events]
        expected.sort(key=lambda row: row[:2])
        kinds = {"call": CALL, "return": RETURN, "exception": EXCEPTION}
        found = [(line["time_ns"], line["track"], kinds[line["kind"]], line["name"],
                  line["depth"]) for line in lines]
        self.assertEqual(len(found), len(expected))
        for number, (one, two) in enumerate(zip(found, expected)):
            self.assertEqual(one, two, number)

    def test_details(self):
        source, = read_session(golden("normal")).processes
        for thread in source.threads:
            lines = [json.loads(line) for line in self.sonde(
                "dump", "--json", "--detail", "--track", str(thread.slot),
                golden("normal")).splitlines()]
            self.assertEqual(len(lines), len(thread.events))
            for event, line in zip(thread.events, lines):
                self.assertEqual("detail" in line, event.detail_seq != NONE)
                if event.detail_seq == NONE:
                    continue
                detail, found = thread.details[event.detail_seq], line["detail"]
                decoded = detail.registers(thread.header["arch"])
                self.assertEqual((found["type"], found["flags"], found["time_ns"]),
                                 (detail.type, detail.flags, detail.timestamp))
                self.assertEqual({name: int(value, 16)
                                  for name, value in found["registers"].items()},
                                 decoded["registers"])
                self.assertEqual(bytes.fromhex(found["stack"]), decoded["stack"])


if __name__ == "__main__":
    tap.main()
