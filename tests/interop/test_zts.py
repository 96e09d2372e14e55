#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trace stores against programs that share no code with ours: what we write is read by a reader in Python, and what
a writer in Python or the existing program wrote is read by us. With SONDE_CORPUS set the real stores take part.
"""
import json
import os
import shutil
import unittest

import tap
from cbor import cbor, head, ref
from sonde_case import GOLDEN
from zts_case import CORPUS, ZtsCase, dumped_calls, expected_traces, flat_exception, reader_traces
from zts_reader import read_store
from zts_writer import MS_2019, Record, ZtsWriter, small_part, tag, write_files

CODECS = {None: 0x12, "zlib": 0x11, "none": 0x10}


def text(value):
    return head(3, len(value.encode())) + value.encode()


class Written(ZtsCase):
    """What we write."""

    def test_each_codec(self):
        for style, flags in CODECS.items():
            with self.subTest(style):
                store = self.path(f"store-{style}")
                self.sonde("convert", os.path.join(GOLDEN, "normal"), "-t", "zts", "-o", store,
                           *(["--style", style] if style else []))
                part, = read_store(store)
                self.assertEqual(part.flags, flags)
                self.assertEqual(part.props["sonde.names"], "1")
                read = reader_traces(store)
                self.assertGreater(len(read), 10)
                self.assertEqual(read, self.traces(store))
                self.check(store)

    def test_same_events(self):
        """A store has the calls of the session, in their order, at their times."""
        session, store = os.path.join(GOLDEN, "normal"), self.path("store")
        self.sonde("convert", session, "-t", "zts", "-o", store)

        def calls(path):
            rows = [json.loads(line) for line in self.dump(path)]
            return sorted((row["relative_ns"], row["kind"], row["name"], row["depth"])
                          for row in rows)
        self.assertEqual(calls(session), calls(store))

    def test_same_bytes(self):
        for name in ("one", "two"):
            self.sonde("convert", os.path.join(GOLDEN, "normal"), "-t", "zts", "-o",
                       self.path(name))
        for name in os.listdir(self.path("one", "000000")):
            with open(self.path("one", "000000", name), "rb") as one, \
                    open(self.path("two", "000000", name), "rb") as two:
                self.assertEqual(one.read(), two.read(), name)

    def test_index(self):
        """Slots and postings lead to the traces and to their texts."""
        store = self.path("store")
        write_files(self.path("in", "000000"), small_part().files())
        self.sonde("convert", self.path("in"), "-t", "zts", "-o", store)
        part, = read_store(store)
        for slot, first in part.traces().values():
            ids = part.postings(slot)
            self.assertEqual(ids, sorted(set(ids)))
            for _, record in first.walk():
                self.assertIn(record.info[0x0e], ids)
                for key, value in record.attributes:
                    if key.value != part.ns_key:
                        self.assertIn(key.value, ids)
            self.assertEqual(slot.records, len(list(first.walk())))

    def test_archived(self):
        """Texts and index lines packed by us, unpacked by the other reader."""
        store = self.path("store")
        self.sonde("convert", os.path.join(GOLDEN, "normal"), "-t", "zts", "-o", store)
        whole = reader_traces(store)
        # the highest part is the one being written: a second one follows
        write_files(os.path.join(store, "000001"), small_part().files())
        done = self.run_sonde("store", "archive", store)
        if done.returncode == 2:
            self.skipTest("there is no command for it in this build")
        self.assertEqual(done.returncode, 0, done.stderr)
        part = read_store(store)[0]
        self.assertFalse([name for name in os.listdir(part.folder) if name.endswith(".wal")])
        self.assertEqual({uuid: trace for uuid, trace in reader_traces(store).items()
                          if uuid in whole}, whole)
        self.assertEqual(reader_traces(store), self.traces(store))
        self.check(store)

    def test_loss(self):
        """What a store cannot hold is counted."""
        told = self.run_sonde("convert", os.path.join(GOLDEN, "normal"), "-t", "zts", "-o",
                              self.path("store")).stdout.decode()
        self.assertRegex(told, "details: a trace store holds typed arguments")


class Read(ZtsCase):
    """What others write."""

    def part(self, files, number_of="000000"):
        write_files(self.path("store", number_of), files)
        return self.path("store")

    def test_spellings(self):
        """Each codec and spelling, both generations of slots: always the same traces."""
        wanted = reader_traces(self.part(small_part().files()))
        for options in ({}, {"codec": "lz4"}, {"codec": "none"}, {"crc": False},
                        {"document": True}, {"document": True, "codec": "lz4"},
                        {"document": True, "codec": "none", "crc": False}):
            for generation in (0, 1):
                with self.subTest(generation=generation, **options):
                    shutil.rmtree(self.path("store"))
                    store = self.part(small_part(**options).files(generation))
                    self.assertEqual(self.traces(store), wanted)

    def test_rare_items(self):
        """Inline exceptions, prolog and epilog, several keys in a map, texts in the data."""
        writer = ZtsWriter()
        method = writer.method("a.B", "c", "()V")
        class_id, file = writer.typed(5, b"x.Bad"), writer.string("B.java")
        name = writer.typed(6, b"c")
        cause = writer.exception("x.Worse", "deep", ())
        frame = head(4, 4) + cbor(class_id) + cbor(name) + cbor(file) + cbor(12)
        raw = tag(0x22, head(4, 5) + cbor(1) + cbor(class_id) + text("why") +
                  cbor(cause) + head(4, 1) + frame)
        prolog = b"\xc8\x9f" + tag(0x0a, head(2, 8) + (method << 40 | 105).to_bytes(8, "big")) + \
            tag(0x0c, head(2, 8) + (3 << 40 | 110).to_bytes(8, "big")) + b"\xff"
        raw += tag(0x09, head(5, 1) + text("key") + text("value")) + prolog
        raw += b"\xc8\x9f" + tag(0x0e, head(5, 3) + cbor(0x0c) + cbor(120) + cbor(0x0e) +
                                 cbor(method) + cbor(0x0d) + cbor(130)) + b"\xff"
        writer.add(Record(method, 100, 200, raw=raw, timestamp=MS_2019))
        calls = dumped_calls(self.dump(self.part(writer.files())))
        self.assertEqual([(call.event["time_ns"] - MS_2019 * 10 ** 6) // 65536 for call in calls],
                         [0, 5, 20])
        self.assertEqual([(call.stop - MS_2019 * 10 ** 6) // 65536 for call in calls],
                         [100, 10, 30])
        self.assertEqual(calls[0].event["arguments"]["attributes"], {"key": "value"})
        wanted = {"class": "x.Bad", "message": "why", "stack": ["x.Bad.c(B.java:12)"],
                  "cause": {"class": "x.Worse", "message": "deep", "stack": [], "cause": None}}
        self.assertEqual(calls[0].exception, wanted)
        got = json.loads(self.sonde("store", "get", "--json", "--all", self.path("store")))
        self.assertEqual(got["traces"][0]["root"]["exception"], wanted)
        told = self.sonde("store", "get", "--all", self.path("store"))
        self.assertRegex(told, r"(?m)^ +! x.Bad: why\n +at x.Bad.c\(B.java:12\)\n"
                               r" +caused by x.Worse: deep$")

    def test_overlap(self):
        """Spans that overlap their siblings or outlive their parent go to lanes of their own."""
        writer = ZtsWriter()
        method = writer.method("a.B", "c", "()V")

        def span(start, stop, *children, **more):
            return Record(method, start, stop, children, **more)
        writer.add(span(0, 100, span(0, 50, span=2, parent=1), span(10, 60, span=3, parent=1),
                        span(55, 90, span(60, 120, span=5, parent=4), span=4, parent=1),
                        timestamp=MS_2019, span=1))
        calls = dumped_calls(self.dump(self.part(writer.files())))
        ticks = {call.event["arguments"]["span"]:
                 ((call.event["time_ns"] - MS_2019 * 10 ** 6) // 65536, call.event["track"],
                  call.event["depth"]) for call in calls}
        self.assertEqual(ticks, {1: (0, 0, 1), 2: (0, 0, 2), 3: (10, 1, 1), 4: (55, 0, 2),
                                 5: (60, 1, 1)})
        self.assertEqual({call.event["arguments"]["span"]: call.event["arguments"]["parent"]
                          for call in calls}, {1: 0, 2: 1, 3: 1, 4: 1, 5: 4})
        # many at once: lanes are bounded, and nothing is lost
        writer = ZtsWriter()
        method = writer.method("a.B", "c", "()V")
        writer.add(span(0, 5000, *[span(i, i + 4000) for i in range(300)], timestamp=MS_2019))
        shutil.rmtree(self.path("store"))
        calls = dumped_calls(self.dump(self.part(writer.files())))
        self.assertEqual(len(calls), 301)
        self.assertLessEqual(len({call.event["track"] for call in calls}), 64)

    def test_lanes(self):
        """Traces at the same time lie on lanes of their own, others after each other."""
        writer = ZtsWriter()
        method = writer.method("a.B", "c", "()V")
        for start, length in ((0, 100), (2, 10), (4, 10), (20, 5), (30, 500)):
            writer.add(Record(method, 0, length * 16, timestamp=MS_2019 + start))
        calls = dumped_calls(self.dump(self.part(writer.files())))
        self.assertEqual(sorted((call.event["time_ns"] // 10 ** 6 - MS_2019, call.event["track"])
                                for call in calls),
                         [(0, 0), (2, 1), (4, 2), (20, 1), (30, 1)])

    def test_several_parts(self):
        self.part(small_part().files(), "000003")
        writer = small_part()
        writer.traces = [(record, (7, at)) for at, (record, _) in enumerate(writer.traces)]
        store = self.part(writer.files(), "00000a")
        self.assertEqual(self.traces(store), reader_traces(store))
        self.assertEqual(len(self.traces(store)), 6)
        self.assertEqual(len(self.traces(os.path.join(store, "000003"))), 3)

    def test_values(self):
        """Values that ZTS has no type for, and deep ones."""
        writer = ZtsWriter()
        method, key = writer.method("a.B", "c", "()V"), writer.string("k")
        double, half, raw, base64 = (writer.string(one) for one in
                                     ("double", "0.5", "bytes", "AAE="))
        deep = [1]
        for _ in range(20):
            deep = [deep]
        values = [{ref(double): ref(half)}, {ref(raw): ref(base64)}, 2 ** 63, -2 ** 63, "",
                  [True, [], {}], deep]
        for value in values:
            value = ref(0) if value == "" else value
            writer.add(Record(method, 0, 1, attributes={key: value}, timestamp=MS_2019 +
                              len(writer.traces)))
        calls = dumped_calls(self.dump(self.part(writer.files())))
        self.assertEqual([call.event["arguments"]["attributes"]["k"] for call in calls],
                         [0.5, {"bytes": "AAE="}, 2 ** 63, -2 ** 63, "", [True, [], {}], deep])
        # and through another format back into a store
        self.sonde("convert", self.path("store"), "-t", "atf", "-o", self.path("atf"))
        self.sonde("convert", "--strict", self.path("atf"), "-t", "zts", "-o", self.path("again"))
        self.assertEqual(self.traces(self.path("again")), self.traces(self.path("store")))
        self.assertEqual(len(cbor(values[0])), 5)

    def test_there_and_back(self):
        store = self.part(small_part().files())
        self.sonde("convert", store, "-t", "atf", "-o", self.path("atf"))
        self.sonde("convert", "--strict", self.path("atf"), "-t", "zts", "-o", self.path("again"))
        self.assertEqual(self.traces(self.path("again")), self.traces(store))
        self.assertEqual(reader_traces(self.path("again")), reader_traces(store))


class Damaged(ZtsCase):
    """Recover keeps every trace whose chunk is not touched, wherever a byte is damaged."""

    def recover(self, files):
        for name in ("store", "good"):
            shutil.rmtree(self.path(name), ignore_errors=True)
        write_files(self.path("store", "000000"), files)
        told = self.sonde("recover", "--format", "zts", self.path("store"), "-o",
                          self.path("good"), expect=(0, 1))
        done = self.run_sonde("check", "--json", self.path("good"))
        report, = json.loads(done.stdout)["recordings"]
        self.assertEqual(report["errors"], 0, report["findings"])
        # records that are closed here end when their calls do
        self.assertNotIn("zts-trace-times", [found["id"] for found in report["findings"]])
        return self.traces(self.path("good")), told

    def damage(self, writer, name, step):
        files = writer.files()
        _, places = writer.data()
        wanted = reader_traces(self.whole(files))
        data = files[name]
        ends = places[1:] + [len(files["traces.dat"])]
        for at in range(0, len(data), step):
            for broken in (data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1:], data[:at]):
                kept, told = self.recover(dict(files, **{name: broken}))
                cut = len(broken) < len(data)
                if len(kept) < len(wanted) and not cut:
                    self.assertRegex(told, r"lost     [\d,]+ bytes", (name, at))
                for place, end, (_, uuid) in zip(places, ends, writer.traces):
                    if name == "traces.dat" and (at >= place - 16 * (at < 16) and at < end or
                                                 cut and at < end):
                        continue
                    key = f"{uuid[0]:016x}{uuid[1]:016x}"
                    key = "-".join((key[:8], key[8:12], key[12:16], key[16:20], key[20:]))
                    if name == "qmeta.idx":  # the UUID may be what is damaged
                        self.assertIn(wanted[key], kept.values(), (name, at, cut))
                    elif name.startswith("text"):
                        self.assertEqual(len(kept[key][1]), len(wanted[key][1]), (name, at, cut))
                    else:
                        self.assertEqual(kept.get(key), wanted[key], (name, at, cut))

    def whole(self, files):
        write_files(self.path("whole", "000000"), files)
        return self.path("whole")

    def test_data(self):
        self.damage(small_part(), "traces.dat", 11)
        self.damage(small_part(codec="none", crc=False), "traces.dat", 17)

    def test_texts(self):
        self.damage(small_part(), "text-00000001.wal", 23)

    def test_metadata(self):
        self.damage(small_part(), "qmeta.idx", 13)
        self.damage(small_part(), "meta-00000001.wal", 67)


@unittest.skipUnless(CORPUS, "SONDE_CORPUS is not set")
class Corpus(ZtsCase):
    """Stores of the existing program, as it shows them itself."""

    def compare(self, rows, wanted):
        self.assertEqual(len(rows), len(wanted))
        for row, other in zip(rows, wanted):
            self.assertEqual(row[:5], other[:5])
            attributes = json.loads(row[5])
            self.assertEqual(set(attributes), set(other[5]))
            for key, value in other[5].items():
                if value is not ...:
                    self.assertEqual(attributes[key], value)
            self.assertEqual(flat_exception(json.loads(row[6])), other[6])

    def test_trees(self):
        """By UUID; a chunked store has the traces of the one that is not, whole."""
        for store, tree in (("hand-v1-minimal", "hand-v1-minimal"),
                            ("v1-small-0x11", "v1-small-0x11"), ("v1-small-0x12", "v1-small-0x11"),
                            ("v1-small-0x00", "v1-small-0x11"),
                            ("v1-small-chunked", "v1-small-0x11"),
                            ("v1-small-archived", "v1-small-archived")):
            with self.subTest(store):
                wanted = expected_traces(os.path.join(CORPUS, "expected", tree + ".tree.txt"))
                found = self.traces(os.path.join(CORPUS, store))
                self.assertEqual(len(found), len(wanted))
                if store == tree:
                    self.assertEqual(set(found), set(wanted))
                common = set(found) & set(wanted)  # inner traces have random ones in each store
                self.assertGreater(len(common), 0.7 * len(wanted))
                for uuid in common:
                    self.compare(found[uuid][1], wanted[uuid])

    def test_generation_2(self):
        """Its UUIDs are in a file that is not read: the trees are the same."""
        wanted = expected_traces(os.path.join(CORPUS, "expected", "v2-small-0x11.tree.txt"))
        found = self.traces(os.path.join(CORPUS, "v2-small-0x11"))

        def order(rows):
            return sorted((row[:5] for row in rows), key=repr)
        self.assertEqual(sorted((order(rows) for rows in wanted.values()), key=repr),
                         sorted((order(rows) for _, rows in found.values()), key=repr))

    def test_reader(self):
        for name in os.listdir(CORPUS):
            if name not in ("expected", "v2-small-0x11"):
                with self.subTest(name):
                    store = os.path.join(CORPUS, name)
                    self.assertEqual(reader_traces(store), self.traces(store))

    def test_recovered(self):
        for name in os.listdir(CORPUS):
            if name != "expected":
                with self.subTest(name):
                    good = self.path("good-" + name)
                    self.sonde("recover", os.path.join(CORPUS, name), "-o", good, expect=(0, 1))
                    self.assertEqual(self.traces(good), self.traces(os.path.join(CORPUS, name)))
                    self.check(good)
                    self.assertEqual(reader_traces(good), self.traces(good))


if __name__ == "__main__":
    tap.main()
