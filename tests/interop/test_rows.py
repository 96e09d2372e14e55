#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CSV and JSON lines as Python and DuckDB read them: the rows of `sonde dump`, the sums of `sonde report`."""
import csv
import json
import os

import tap
from atf_reader import DETAIL_CALL
from atf_writer import ThreadWriter, function_id, function_payload
from duckdb_case import DuckCase, doc_statements, names_of, needs_duckdb, random_thread
from sonde_case import GOLDEN
from test_parquet import HARD_NAMES

HPCDB = os.path.join(os.path.dirname(GOLDEN), "hpcdb", "small")


def read_csv(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read_jsonl(path):
    with open(path, encoding="utf-8", newline="\n") as file:
        return [json.loads(line) for line in file]


def by_track(rows):
    return sorted(rows, key=lambda row: int(row["track"]))


class Rows(DuckCase):
    def dump(self, source, *options):
        return self.sonde("dump", "--json", *options, source).splitlines()

    def assert_is_dump(self, source, name, *options):
        """The lines of dump, track by track."""
        dumped = [json.loads(line) for line in self.dump(source, *options)]
        self.assertEqual(read_jsonl(self.path(name + ".jsonl")), by_track(dumped))
        text = self.sonde("dump", "--csv", *options, source)
        rows = by_track(list(csv.DictReader(text.splitlines(keepends=True))))
        self.assertEqual(read_csv(self.path(name + ".csv")), rows)

    def convert_both(self, source, name, *options):
        for ending in ("csv", "jsonl"):
            self.convert(source, f"{name}.{ending}", *options)

    def test_events_are_those_of_dump(self):
        for source in (self.random_session(), self.annotated_session(), os.path.join(GOLDEN, "normal")):
            name = os.path.basename(source)
            self.convert_both(source, name)
            self.assert_is_dump(source, name)

    def test_details(self):
        source = os.path.join(GOLDEN, "normal")
        self.convert_both(source, "normal", "--style", "events,details")
        self.assert_is_dump(source, "normal", "--detail")
        losses = self.losses(source, "less.csv")
        self.assertTrue(any(what == "details" and "--style details" in reason for what, reason in losses))

    def test_profile(self):
        self.convert_both(HPCDB, "samples", "--style", "samples")
        self.assert_is_dump(HPCDB, "samples", "--samples")
        self.convert_both(HPCDB, "values")
        dumped = [json.loads(line) for line in self.dump(HPCDB, "--values")]
        points = [row for row in dumped if row["scope"] == "point" and row["track"] is not None]
        self.assertEqual(read_jsonl(self.path("values.jsonl")), points)
        self.assertEqual([float(row["value"]) for row in read_csv(self.path("values.csv"))],
                         [row["value"] for row in points])
        self.convert_both(HPCDB, "contexts", "--style", "contexts")
        dumped = [json.loads(line) for line in self.dump(HPCDB, "--contexts")]
        self.assertEqual(read_jsonl(self.path("contexts.jsonl")), dumped)
        self.assertEqual(len(read_csv(self.path("contexts.csv"))), len(dumped))

    def test_spans_are_the_report(self):
        threads = [random_thread(slot, slot, close=False) for slot in range(3)]
        source = self.session(threads, names_of(8))
        self.convert_both(source, "spans", "--style", "spans")
        rows = read_csv(self.path("spans.csv"))
        lines = read_jsonl(self.path("spans.jsonl"))
        self.assertEqual([{**row, "recursive": str(int(row["recursive"])), "caller": row.get("caller", "")}
                          for row in lines],
                         [{**row, **{key: int(row[key]) for key in ("start_ns", "relative_ns", "track", "depth",
                                                                    "dur_ns", "self_ns")}} for row in rows])
        found = {}
        for row in lines:
            known = found.setdefault(row["name"], [0, 0, 0])
            known[0] += 1
            known[1] += row["self_ns"]
            known[2] += 0 if row["recursive"] else row["dur_ns"]
        self.assertEqual({name: tuple(numbers) for name, numbers in found.items()},
                         {name: numbers for name, numbers in self.report(source).items() if numbers[0]})

    def test_derived_from_calls(self):
        """Values and contexts of a recording of events are what the report has."""
        source = self.random_session()
        self.convert_both(source, "values", "--style", "values")
        calls = {}
        for row in read_csv(self.path("values.csv")):
            if row["metric"] == "CALLS":
                calls[row["name"]] = calls.get(row["name"], 0) + float(row["value"])
        self.assertEqual(calls, {name: numbers[0] for name, numbers in self.report(source).items() if numbers[0]})

    def test_hard_names_and_times(self):
        thread = ThreadWriter(0, start=2 ** 63 + 5)
        for number in HARD_NAMES:
            thread.call(function_id(number))
        while thread.stack:
            thread.leave()
        source = self.session([thread], HARD_NAMES)
        self.convert_both(source, "hard")
        rows, lines = read_csv(self.path("hard.csv")), read_jsonl(self.path("hard.jsonl"))
        self.assertEqual([row["name"] for row in rows[:len(HARD_NAMES)]], list(HARD_NAMES.values()))
        self.assertEqual([row["name"] for row in lines], [row["name"] for row in rows])
        self.assertEqual([int(row["time_ns"]) for row in rows], [event[0] for event in thread.events])
        self.assertEqual([row["time_ns"] for row in lines], [event[0] for event in thread.events])

    def test_empty(self):
        self.convert_both(self.session([ThreadWriter(0)]), "empty")
        self.assertEqual(read_csv(self.path("empty.csv")), [])
        self.assertEqual(os.path.getsize(self.path("empty.jsonl")), 0)
        with open(self.path("empty.csv"), encoding="utf-8", newline="") as file:
            self.assertTrue(file.read().startswith("time_ns,relative_ns,track"))

    def test_many_tracks(self):
        threads = []
        for slot in range(2000):
            thread = ThreadWriter(slot, start=10 ** 6 - slot)
            thread.call(function_id(1))
            thread.leave()
            threads.append(thread)
        self.convert_both(self.session(threads), "many")
        rows = read_csv(self.path("many.csv"))
        self.assertEqual([int(row["track"]) for row in rows], [number // 2 for number in range(4000)])
        self.assertEqual(len(read_jsonl(self.path("many.jsonl"))), 4000)

    def test_two_tables_are_refused(self):
        done = self.run_sonde("convert", self.random_session(), "-o", self.path("x.csv"), "--style",
                              "events,spans")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(b"one table", done.stderr)
        self.assertFalse(os.path.exists(self.path("x.csv")))

    def test_losses(self):
        losses = self.losses(HPCDB, "values.csv")
        self.assertTrue(any(what == "samples" for what, _ in losses), losses)
        self.assertTrue(any(what == "contexts" for what, _ in losses), losses)
        thread = ThreadWriter(0)
        thread.call(function_id(1), (DETAIL_CALL, 0, function_payload(function_id(1), range(11))))
        thread.leave()
        losses = self.losses(self.session([thread]), "events.jsonl")
        self.assertEqual(sum(count for (what, _), count in losses.items() if what == "details"), 1)


@needs_duckdb
class InDuckDb(DuckCase):
    def test_the_same_sums(self):
        source = self.random_session()
        self.convert(source, "calls.csv", "--style", "spans")
        self.convert(source, "calls.jsonl", "--style", "spans")
        wanted = {name: numbers for name, numbers in self.report(source).items() if numbers[0]}
        for reader, recursive in (("read_csv('calls.csv')", "recursive = 1"),
                                  ("read_json_auto('calls.jsonl')", "recursive")):
            rows = self.ask(f"""SELECT name, count(*)::BIGINT, sum(self_ns),
                coalesce(sum(dur_ns) FILTER (WHERE NOT ({recursive})), 0) FROM {reader} GROUP BY name""").rows
            self.assertEqual({row[0]: tuple(row[1:]) for row in rows}, wanted, reader)

    def test_hard_names(self):
        thread = ThreadWriter(0, start=2 ** 62)
        for number in HARD_NAMES:
            thread.call(function_id(number))
        while thread.stack:
            thread.leave()
        source = self.session([thread], HARD_NAMES)
        self.convert(source, "hard.csv")
        self.convert(source, "hard.jsonl")
        for reader in ("read_csv('hard.csv')", "read_json_auto('hard.jsonl')"):
            rows = self.ask(f"SELECT time_ns, name FROM {reader}").rows
            self.assertEqual([row[0] for row in rows], [event[0] for event in thread.events])
            self.assertEqual([row[1] for row in rows[:len(HARD_NAMES)]], list(HARD_NAMES.values()))

    def test_documented_queries(self):
        source = self.random_session()
        self.convert(source, "calls.csv", "--style", "spans")
        self.convert(source, "trace.jsonl")
        statements = doc_statements("csv.md")
        self.assertGreaterEqual(len(statements), 2)
        for answer in self.ask_all(*statements):
            self.assertTrue(answer.rows)


if __name__ == "__main__":
    tap.main()
