#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Perfetto traces: what sonde writes is decoded by protoc after a description of our own and held against
the recording it was made of; what other tools write is made here and read by sonde; and what was written
comes back as it was. SONDE is the command; with SONDE_CORPUS set real recordings take part.

Names of tests as arguments run only those.
"""
import gzip
import json
import os
import shutil
import unittest

import tap
from atf_reader import (COUNTER as ATF_COUNTER, EXCEPTION, FLOW_BEGIN, FLOW_END, FLOW_STEP, INSTANT as ATF_INSTANT,
                        MARK, RANGE_BEGIN, RANGE_END)
from atf_writer import (ANNOTATIONS, ThreadWriter, annotations_module, arguments_detail,
                        event_type_symbol, function_id, manifest_of, pack_arguments, write_process)
from hpcrun_writer import write_folder
from perfetto_reader import Trace, first, number
from perfetto_writer import (BEGIN, CLEARED, CLOCK, CLOCKS, COUNTER, DEFAULTS, DROPPED, END, EVENT, FLAGS, INSTANT,
                             INTERNED, NEEDS, OLD_PROCESS, OLD_THREAD, PROCESS_TREE, SAMPLE, SEQUENCE, STREAMING,
                             TIME, TRACK, Fixed, compressed, packed, packet)
from sonde_case import GOLDEN, SondeCase

CORPUS = os.environ.get("SONDE_CORPUS")
HAS_PROTOC = shutil.which("protoc")
HARD_NAMES = {1: "main", 2: "a\"b\\c;<&>\n\t\x01", 3: "operator<<" + "x" * 10000, 4: "größe \U0001f600"}
LATE = (1 << 60) + 1
ARGUMENTS = ("int8 small, uint64 large, float64 real, float32 half, bool truth, utf8 text, any json, "
             "int32[] list, uint8[] none, utf8 nothing, wchar letter")
VALUES = (-5, (1 << 64) - 1, 0.1, 1.5, 1, "tä\"xt", '{"a":[1,2]}', [1, -2, 3], [], None, 0x20AC)
SHOWN = [-5, (1 << 64) - 1, 0.1, 1.5, True, "tä\"xt", '{"a":[1,2]}', [1, -2, 3], [], None, "€"]


def type_id(index):
    return function_id(index, ANNOTATIONS)


class PerfettoCase(SondeCase):
    def events(self, path):
        return [json.loads(line) for line in self.sonde("dump", "--json", path).splitlines()]

    def convert(self, source, name="out.pftrace", *options):
        target = self.path(name)
        self.sonde("convert", "-q", source, "-o", target, "-t", "perfetto", *options)
        return target

    def annotated(self):
        """Every kind of event, every type of argument, hard names and late times."""
        thread = ThreadWriter(0, start=LATE)
        full = arguments_detail(type_id(1), 0, pack_arguments(ARGUMENTS, VALUES))
        thread.call(function_id(1))
        thread.call(function_id(2), full)
        thread.leave()
        thread.call(function_id(3))
        thread.leave(kind=EXCEPTION)
        thread.add(ATF_INSTANT, type_id(1), 1, full)
        thread.add(ATF_INSTANT, type_id(2), 1)
        thread.add(MARK, type_id(2), 1)
        thread.add(FLOW_BEGIN, type_id(2), 1, arguments_detail(type_id(2), 7))
        thread.add(RANGE_BEGIN, type_id(2), 1, arguments_detail(type_id(2), 1))
        thread.add(RANGE_BEGIN, type_id(2), 1, arguments_detail(type_id(2), 2))
        thread.add(RANGE_END, type_id(2), 1, arguments_detail(type_id(2), 1))
        thread.add(RANGE_END, type_id(2), 1, arguments_detail(type_id(2), 2))
        thread.add(ATF_COUNTER, type_id(3), 1, arguments_detail(type_id(3), 0x3FF8 << 48))
        thread.add(ATF_COUNTER, type_id(3), 1, arguments_detail(type_id(3), 0xC014 << 48))
        thread.leave()
        other = ThreadWriter(1, start=LATE + 5)
        other.call(function_id(4))
        other.add(FLOW_STEP, type_id(2), 1, arguments_detail(type_id(2), 7))
        other.add(FLOW_END, type_id(2), 1, arguments_detail(type_id(2), 7))
        threads = [thread, other]
        manifest = manifest_of(threads, HARD_NAMES)
        manifest["threads"][0].update({"name": "first \u00e4", "os_id": 4711})
        manifest["modules"].append(annotations_module())
        manifest["symbols"] += [event_type_symbol(1, "typed", ARGUMENTS), event_type_symbol(2, "plain"),
                                event_type_symbol(3, "count")]
        return write_process(self.path("annotated"), threads, manifest)


@unittest.skipUnless(HAS_PROTOC, "no protoc")
class Written(PerfettoCase):
    """Files that sonde wrote, as another program understands them."""

    def test_golden(self):
        for name in ("normal", "nodetail", "crashed", "truncated", "cut_footer", "headeronly"):
            with self.subTest(name):
                source = os.path.join(GOLDEN, name)
                self.check_calls(self.events(source), Trace(self.convert(source, f"{name}.pftrace")))

    def check_calls(self, events, trace):
        """The same calls with the same times and depths, track by track."""
        self.assertEqual(trace.unknown, 0)
        threads = [track for _, track in trace.threads()]
        for index, track in enumerate(threads):
            begins = [(event["time_ns"], event["name"].encode(), event["depth"]) for event in events
                      if event["track"] == index and event["kind"] == "call"]
            ends = [event["time_ns"] for event in events
                    if event["track"] == index and event["kind"] in ("return", "exception")]
            self.assertEqual([(call.begin, call.name, call.depth) for call in track.slices], begins)
            self.assertEqual(sorted(call.end for call in track.slices if call.end is not None),
                             sorted(ends))

    def test_everything(self):
        trace = Trace(self.convert(self.annotated()))
        (thread, track), (_, other) = trace.threads()
        self.assertEqual(first(thread, "name").decode(), "first ä")
        self.assertEqual(number(thread, "tid"), 4711)
        self.assertEqual(track.slices[0].begin, LATE + 10)
        self.assertEqual([call.name.decode() for call in track.slices],
                         [HARD_NAMES[1], HARD_NAMES[2], HARD_NAMES[3]])
        self.assertEqual(list(track.slices[1].arguments.values()), SHOWN)
        self.assertEqual(track.slices[2].categories, [b"exception"])
        self.assertEqual([call.end is None for call in other.slices], [True])
        self.assertEqual([(name, flows) for _, name, _, flows, _ in track.instants + other.instants],
                         [(b"typed", []), (b"plain", []), (b"plain", []), (b"plain", [(7, False)]),
                          (b"plain", [(7, False)]), (b"plain", [(7, True)])])
        self.assertEqual(list(track.instants[0][2].values()), SHOWN)
        counters = [one for one in trace.tracks.values() if "counter" in one.descriptor]
        self.assertEqual([(first(one.descriptor, "name"), [value for _, value in one.counters])
                          for one in counters], [(b"count", [1.5, -5.0])])
        self.assertEqual(number(counters[0].descriptor, "parent"),
                         number(track.descriptor, "uuid"))
        ranges = [one for one in trace.tracks.values() if not one.descriptor.keys() &
                  {"counter", "thread", "process"}]
        self.assertEqual([[call.end - call.begin for call in one.slices] for one in ranges],
                         [[20], [20]])

    def test_locations(self):
        threads = [ThreadWriter(0).busy(3)]
        manifest = manifest_of(threads)
        manifest["symbols"][0].update({"file": "main.c", "line": 12})
        source = write_process(self.path("located"), threads, manifest)
        trace = Trace(self.convert(source, "l.pftrace", "--style", "locations"))
        self.assertEqual(trace.threads()[0][1].slices[0].place, (b"main.c", 12))

    def test_clocks(self):
        trace = Trace(self.convert(self.annotated()))
        self.assertEqual([number(snapshot, "primary") for snapshot in trace.snapshots], [6])
        self.assertTrue(first(trace.system, "tracer").startswith(b"sonde "))

    def test_many_tracks(self):
        threads = [ThreadWriter(slot).busy(1) for slot in range(300)]
        source = write_process(self.path("many"), threads)
        target = self.convert(source)
        self.check_calls(self.events(source), Trace(target))
        processors = os.sched_getaffinity(0)
        self.addCleanup(os.sched_setaffinity, 0, processors)
        os.sched_setaffinity(0, {min(processors)})
        self.convert(source, "one.pftrace")
        with open(target, "rb") as one, open(self.path("one.pftrace"), "rb") as other:
            self.assertEqual(one.read(), other.read())

    def test_deep(self):
        thread = ThreadWriter(0)
        for _ in range(100000):
            thread.call(function_id(2))
        for _ in range(100000):
            thread.leave()
        source = write_process(self.path("deep"), [thread])
        target = self.convert(source)
        self.assertEqual(max(call.depth for call in Trace(target).threads()[0][1].slices), 100000)
        self.assertEqual(self.events(source), self.events(target))

    def test_unbalanced(self):
        thread = ThreadWriter(0)
        thread.add(2, function_id(3), 1)
        thread.call(function_id(1))
        thread.call(function_id(2))
        thread.stack.pop()
        thread.leave()
        thread.call(function_id(4))
        report = self.path("loss.json")
        target = self.convert(write_process(self.path("odd"), [thread]), "odd.pftrace",
                              "--loss-report", report)
        track = Trace(target).threads()[0][1]
        self.assertEqual([call.end is None for call in track.slices], [False, False, True])
        with open(report, encoding="utf-8") as file:
            text = file.read()
        self.assertIn("returns without calls", text)
        self.assertIn("calls that never ended", text)

    def test_samples(self):
        write_folder(self.path("m"), threads=3, tree=60, trace=50)
        self.check_samples(self.path("m"))

    def check_samples(self, source):
        trace = Trace(self.convert(source, os.path.basename(source) + ".pftrace"))
        contexts = {}
        for line in self.sonde("dump", "--contexts", "--json", source).splitlines():
            context = json.loads(line)
            contexts[context["context"]] = context
        expected = []
        for line in self.sonde("dump", "--samples", "--json", source).splitlines():
            sample = json.loads(line)
            path, at = [], sample["context"]
            while at:
                path.append(contexts[at]["name"])
                at = contexts[at]["parent"]
            expected.append((sample["time_ns"], path[::-1] if sample["context"] else None))
        self.assertTrue(expected)
        self.assertEqual(sorted((time, stack or []) for _, time, stack in trace.samples),
                         sorted((time, stack or []) for time, stack in expected))

    @unittest.skipUnless(CORPUS, "no corpus")
    def test_corpus(self):
        for name in ("loops-cputime-t.m", "small.m"):
            with self.subTest(name):
                self.check_samples(os.path.join(CORPUS, "hpcrun", name))


class RoundTrips(PerfettoCase):
    """There and back: what Perfetto holds is as it was."""

    def test_events(self):
        source = self.annotated()
        self.assertEqual(self.events(self.convert(source)), self.events(source))

    def test_as_atf(self):
        source = self.annotated()
        self.sonde("convert", "-q", self.convert(source), "-o", self.path("back"), "-t", "atf")
        self.assertEqual(self.events(self.path("back")), self.events(source))

    def test_functions(self):
        source = os.path.join(GOLDEN, "normal")
        target = self.convert(source)
        query = "SELECT name, module, file, line FROM functions ORDER BY name"
        self.assertEqual(self.sonde("query", target, query), self.sonde("query", source, query))
        reports = [json.loads(self.sonde("report", "--json", path)) for path in (target, source)]
        for report in reports:
            report["recordings"] = None
        self.assertEqual(*reports)

    def test_samples(self):
        write_folder(self.path("m"), threads=3, tree=60, trace=50)
        target = self.convert(self.path("m"))
        self.sonde("convert", "-q", target, "-o", self.path("back.m"), "-t", "hpcrun")
        names = [self.sample_names(path) for path in (self.path("m"), target, self.path("back.m"))]
        self.assertEqual(names[0], names[1])
        self.assertEqual(names[0], names[2])

    def sample_names(self, path):
        samples = [json.loads(line)
                   for line in self.sonde("dump", "--samples", "--json", path).splitlines()]
        return sorted((sample["time_ns"], sample["track"], sample["name"]) for sample in samples)


def names(*texts):
    return tuple({1: index + 1, 2: text} for index, text in enumerate(texts))


def thread_track(uuid, pid, tid, name):
    return {1: uuid, 4: {1: pid, 2: tid, 5: name}}


class Foreign(PerfettoCase):
    """Traces as other tools write them."""

    def write(self, *packets, name="foreign.pftrace"):
        with open(self.path(name), "wb") as file:
            file.write(b"".join(packets))
        return self.path(name)

    def brief(self, path):
        return [(event["time_ns"], event["track_name"], event["kind"], event["name"])
                for event in self.events(path)]

    START = (packet({SEQUENCE: 5, FLAGS: CLEARED, TRACK: {1: 70, 3: {1: 42, 6: "app", 2: ("app", "-x")}}}),
             packet({SEQUENCE: 5, TRACK: thread_track(77, 42, 43, "worker")}))

    def test_plain(self):
        path = self.write(
            *self.START,
            packet({SEQUENCE: 5, FLAGS: NEEDS, TIME: 100, INTERNED: {2: names("outer", "inner")},
                    EVENT: {9: BEGIN, 11: 77, 10: 1}}),
            packet({SEQUENCE: 5, FLAGS: NEEDS, TIME: 110, EVENT: {9: BEGIN, 11: 77, 10: 2, 4: [
                (10, "n"), (4, -7)]}}),
            packet({SEQUENCE: 5, TIME: 120, EVENT: {9: END, 11: 77}}),
            packet({SEQUENCE: 5, TIME: 125, EVENT: {9: INSTANT, 11: 77, 23: "tick"}}),
            packet({SEQUENCE: 5, TIME: 130, EVENT: {9: END, 11: 77}}))
        self.assertEqual(self.brief(path), [
            (100, "worker", "call", "outer"), (110, "worker", "call", "inner"),
            (120, "worker", "return", "inner"), (125, "worker", "instant", "tick"),
            (130, "worker", "return", "outer")])
        self.assertEqual(self.events(path)[1]["arguments"], {"n": -7})
        info = json.loads(self.sonde("info", "--json", path))
        self.assertIn("app", json.dumps(info))
        for wrapped in (gzip.compress(self.read(path)), compressed(self.read(path))):
            self.assertEqual(self.brief(self.write(wrapped, name="packed")), self.brief(path))

    def read(self, path):
        with open(path, "rb") as file:
            return file.read()

    def test_late_descriptor(self):
        path = self.write(packet({SEQUENCE: 9, TIME: 1, EVENT: {9: INSTANT, 11: 77, 23: "x"}}),
                          *self.START)
        self.assertEqual(self.brief(path), [(1, "worker", "instant", "x")])

    def test_defaults_and_clocks(self):
        path = self.write(
            packet({CLOCKS: [(1, {1: 6, 2: 1000}), (1, {1: 3, 2: 400}), (1, {1: 1, 2: 1_700_000_000_000_000_000})]}),
            *self.START,
            packet({SEQUENCE: 5, FLAGS: CLEARED, DEFAULTS: {58: 64, 11: {11: 77}}}),
            packet({SEQUENCE: 5, CLOCKS: [(1, {1: 64, 2: 5, 3: 1, 4: 10}), (1, {1: 3, 2: 500})]}),
            packet({SEQUENCE: 5, FLAGS: NEEDS, TIME: 3, EVENT: {9: BEGIN, 23: "a"}}),
            packet({SEQUENCE: 5, FLAGS: NEEDS, TIME: 2, EVENT: {9: END}}),
            packet({SEQUENCE: 5, FLAGS: NEEDS, TIME: 600, CLOCK: 3, EVENT: {9: INSTANT, 23: "b"}}))
        # 64 began at 50 ns = 500 on clock 3 = 1100 of the trace
        self.assertEqual([(time, name) for time, _, _, name in self.brief(path)],
                         [(1130, "a"), (1150, "a"), (1200, "b")])
        self.assertIn("2023-11-14", self.sonde("info", path))

    def test_state_is_dropped(self):
        path = self.write(
            *self.START,
            packet({SEQUENCE: 5, FLAGS: NEEDS, TIME: 1, INTERNED: {2: names("old")},
                    EVENT: {9: INSTANT, 11: 77, 10: 1}}),
            packet({SEQUENCE: 5, FLAGS: NEEDS, DROPPED: 1, TIME: 2, EVENT: {9: INSTANT, 11: 77, 10: 1}}),
            packet({SEQUENCE: 5, FLAGS: CLEARED, TIME: 3, INTERNED: {2: names("new")},
                    EVENT: {9: INSTANT, 11: 77, 10: 1}}))
        self.assertEqual([name for _, _, _, name in self.brief(path)], ["old", "new"])
        self.assertIn("exchange-record", self.sonde("info", path, expect=(0, 1)))

    def test_counters(self):
        path = self.write(
            *self.START,
            packet({SEQUENCE: 5, TRACK: {1: 80, 2: "memory", 5: 77, 8: {4: 1024}}}),
            packet({SEQUENCE: 5, TRACK: {1: 81, 2: "steps", 5: 77, 8: {5: 1}}}),
            packet({SEQUENCE: 5, TIME: 1, EVENT: {9: COUNTER, 11: 80, 30: 3}}),
            packet({SEQUENCE: 5, TIME: 2, EVENT: {9: COUNTER, 11: 80, 44: 0.5}}),
            packet({SEQUENCE: 5, TIME: 3, EVENT: {9: BEGIN, 11: 77, 23: "f", 31: (81, 80), 12: (5, 7)}}),
            packet({SEQUENCE: 5, TIME: 4, EVENT: {9: END, 11: 77, 31: packed(81), 12: packed(6)}}))
        self.assertEqual([(event["name"], event["value"]) for event in self.events(path)
                          if event["kind"] == "counter"],
                         [("memory", 3072), ("memory", 512), ("steps", 5), ("memory", 7168), ("steps", 11)])

    def test_flows(self):
        path = self.write(
            *self.START,
            packet({SEQUENCE: 5, TIME: 1, EVENT: {9: INSTANT, 11: 77, 23: "a", 47: Fixed(1 << 50)}}),
            packet({SEQUENCE: 5, TIME: 2, EVENT: {9: INSTANT, 11: 77, 23: "b", 36: 1 << 50}}),
            packet({SEQUENCE: 5, TIME: 3, EVENT: {9: INSTANT, 11: 77, 23: "c", 48: Fixed(1 << 50)}}))
        flows = [event for event in self.events(path) if event["kind"].startswith("flow")]
        self.assertEqual([event["kind"] for event in flows], ["flow-begin", "flow-step", "flow-end"])
        self.assertEqual(len({event["flow"] for event in flows}), 1)

    def test_old_form(self):
        path = self.write(
            packet({SEQUENCE: 3, FLAGS: CLEARED, OLD_PROCESS: {1: 8, 6: "old"}}),
            packet({SEQUENCE: 3, OLD_THREAD: {1: 8, 2: 9, 5: "aged", 6: 1000}}),
            packet({SEQUENCE: 3, INTERNED: {2: names("span", "async")},
                    EVENT: {1: 5, 6: {1: 1, 2: ord("X"), 3: 20}}}),
            packet({SEQUENCE: 3, EVENT: {1: 1, 6: {1: 2, 2: ord("b"), 11: 99}}}),
            packet({SEQUENCE: 3, EVENT: {1: 1, 6: {1: 2, 2: ord("e"), 11: 99}}}),
            packet({SEQUENCE: 3, EVENT: {16: 1500, 6: {1: 2, 2: ord("I")}}}))
        self.assertEqual(self.brief(path), [
            (1005000, "aged", "call", "span"), (1006000, "aged", "range-begin", "async"),
            (1007000, "aged", "range-end", "async"), (1025000, "aged", "return", "span"),
            (1500000, "aged", "instant", "async")])

    def test_own_tracks(self):
        path = self.write(
            packet({SEQUENCE: 1, TRACK: {1: 500, 2: "requests"}}),
            packet({SEQUENCE: 1, TIME: 10, EVENT: {9: BEGIN, 11: 500, 23: "get"}}),
            packet({SEQUENCE: 1, TIME: 20, EVENT: {9: END, 11: 500}}))
        self.assertEqual(self.brief(path), [(10, "requests", "call", "get"),
                                            (20, "requests", "return", "get")])

    def test_values(self):
        path = self.write(*self.START, packet({SEQUENCE: 5, TIME: 1, EVENT: {9: INSTANT, 11: 77, 23: "v", 4: (
            [(10, "a b,c"), (3, 5)], [(10, "d"), (11, [(10, "k"), (12, [(4, -1)]), (12, [(6, "x")])])],
            [(10, "o"), (8, {1: 1, 2: ("p",), 3: ([(7, 1)],)})], [(10, "j"), (9, '{"z":1}')],
            [(10, "q"), (7, 255)], [(10, "r"), (5, 2.5)])}}))
        self.assertEqual(self.events(path)[0]["arguments"], {
            "a_b_c": 5, "d": {"k": [-1, "x"]}, "o": {"p": True}, "j": {"z": 1}, "q": 255, "r": 2.5})

    def stacks(self):
        return {17: ({1: 1, 2: "lib"}, {1: 2, 2: "a.so"}), 19: {1: 1, 7: (1, 2)},
                5: names("main", "work"), 6: ({1: 1, 2: 1, 3: 1, 4: 16}, {1: 2, 2: 2, 3: 1, 4: 32},
                                              {1: 3, 3: 1, 4: 48}),
                7: ({1: 1, 2: (1, 2)}, {1: 2, 2: packed(1, 3)})}

    def test_samples(self):
        path = self.write(
            packet({SEQUENCE: 6, FLAGS: CLEARED, PROCESS_TREE: {1: {1: 42, 3: "/bin/app"}, 2: {1: 43, 2: "sampled", 3: 42}}}),
            packet({SEQUENCE: 6, FLAGS: NEEDS, TIME: 100, INTERNED: self.stacks(), SAMPLE: {2: 42, 3: 43, 4: 1}}),
            packet({SEQUENCE: 6, FLAGS: NEEDS, TIME: 200, SAMPLE: {2: 42, 3: 43, 4: 2}}))
        samples = [json.loads(line)
                   for line in self.sonde("dump", "--samples", "--json", path).splitlines()]
        self.assertEqual([(sample["time_ns"], sample["name"]) for sample in samples],
                         [(100, "work"), (200, "a.so+0x30")])
        info = self.sonde("info", path)
        self.assertIn("sampled", info)
        self.assertIn("/bin/app", info)

    def test_streaming(self):
        path = self.write(
            packet({SEQUENCE: 6, FLAGS: CLEARED, OLD_THREAD: {1: 42, 2: 43, 6: 7}, INTERNED: self.stacks()}),
            packet({SEQUENCE: 6, FLAGS: NEEDS, STREAMING: {1: (1, 2), 2: (1, 3)}}))
        samples = [json.loads(line)
                   for line in self.sonde("dump", "--samples", "--json", path).splitlines()]
        self.assertEqual([sample["time_ns"] for sample in samples], [8000, 11000])

    def test_unknown(self):
        path = self.write(*self.START, packet({TIME: 1, 1: b"ftrace"}), packet({TIME: 1, 1: b"ftrace"}),
                          packet({TIME: 5, SEQUENCE: 5, EVENT: {9: INSTANT, 11: 77, 23: "x", 1999: "later"}}))
        self.assertEqual(len(self.brief(path)), 1)
        self.assertIn("2 of ftrace events", self.sonde("info", "--json", path))

    def test_cut_short(self):
        data = self.read(self.convert(os.path.join(GOLDEN, "normal")))
        whole = len(self.events(self.write(data)))
        for size in (len(data) - 3, len(data) // 2, 40):
            path = self.write(data[:size], name="cut.pftrace")
            self.assertLess(len(self.events(path)), whole)
            self.assertIn("exchange-truncated", self.sonde("info", path, expect=(0, 1)))

    def test_concatenated(self):
        one, other = (self.read(self.write(*self.START, packet({TIME: time, SEQUENCE: 5, EVENT: {
            9: INSTANT, 11: 77, 23: name}}))) for time, name in ((5, "x"), (6, "y")))
        self.assertEqual([name for _, _, _, name in self.brief(self.write(one, other))], ["x", "y"])


if __name__ == "__main__":
    tap.main()
