#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Parquet tables as DuckDB reads them: the same sums as `sonde report`, types, nulls, names, sizes."""
import json
import os

import tap
from atf_reader import DETAIL_CALL
from atf_writer import ThreadWriter, function_id, function_payload
from duckdb_case import (DuckCase, doc_columns, doc_statements, names_of, needs_duckdb,
                         random_thread)
from sonde_case import GOLDEN

HPCDB = os.path.join(os.path.dirname(GOLDEN), "hpcdb", "small")
CORPUS = os.environ.get("SONDE_CORPUS")

BY_FUNCTION = """SELECT function, count(*)::BIGINT, sum(self_ns),
    coalesce(sum(dur_ns) FILTER (WHERE NOT recursive), 0) FROM '{}/spans.parquet' GROUP BY function"""

HARD_NAMES = {1: "main", 2: 'quo"te, comma; <b>&amp;</b> \\ \'', 3: "line\nbreak\ttab\x01\x7f",
              4: "näme 漢字 🙂", 5: "template<" + "int, " * 2000 + ">", 6: " ", 7: "NULL"}


@needs_duckdb
class Parquet(DuckCase):
    def assert_spans_are_the_report(self, source, target):
        rows = self.ask(BY_FUNCTION.format(target)).rows
        found = {function: tuple(numbers) for function, *numbers in rows}
        report = {name: numbers for name, numbers in self.report(source).items() if numbers[0]}
        self.assertEqual(found, report)
        self.assertTrue(found)

    def test_spans_are_the_report(self):
        source = self.random_session()
        target = self.convert(source, "trace.parquet", "--strict")
        self.assert_spans_are_the_report(source, target)

    def test_unbalanced_calls(self):
        """Returns without calls, calls without returns, calls that stay open."""
        threads = [random_thread(slot, slot, close=False) for slot in range(3)]
        for thread in threads:
            del thread.events[0:3]
            del thread.events[10::17]
        source = self.session(threads, names_of(8))
        target = self.convert(source, "trace.parquet")
        self.assert_spans_are_the_report(source, target)
        ends = dict(self.ask(f"SELECT ended_by, count(*)::INT FROM '{target}/spans.parquet' GROUP BY ALL").rows)
        self.assertLessEqual({"return", "lost", "end", "exception"}, set(ends))

    def test_events_are_those_of_dump(self):
        source = self.random_session()
        target = self.convert(source, "trace.parquet")
        rows = self.ask(f"""SELECT time_ns, track, thread, kind, function, depth, synthetic
            FROM '{target}/events.parquet'""").rows
        lines = [json.loads(line) for line in self.sonde("dump", "--json", source).splitlines()]
        lines.sort(key=lambda line: line["track"])
        self.assertEqual(rows, [[line["time_ns"], line["track"], line["track_name"], line["kind"],
                                 line["name"], line["depth"], False] for line in lines])

    def test_durations_by_window(self):
        """What an analyst works out of the events alone is what spans have."""
        target = self.convert(self.random_session(), "trace.parquet")
        from_events = self.ask(f"""WITH paired AS (
            SELECT function, kind, time_ns - lag(time_ns) OVER (
                PARTITION BY track, depth ORDER BY n) AS dur
            FROM (SELECT *, row_number() OVER () AS n FROM '{target}/events.parquet'))
            SELECT function, sum(dur) FROM paired WHERE kind IN ('return', 'exception')
            GROUP BY function ORDER BY function""").rows
        from_spans = self.ask(f"""SELECT function, sum(dur_ns) FROM '{target}/spans.parquet'
            GROUP BY function ORDER BY function""").rows
        self.assertEqual(from_events, from_spans)

    def test_schema_is_the_documented_one(self):
        """All tables together have those of the page; types and nulls are as it says."""
        tables = doc_columns("parquet.md")
        sources = {"a.parquet": (self.random_session(), []), "b.parquet": (HPCDB, ["--style", "timestamps"]),
                   "c.parquet": (self.annotated_session(), ["--style", "timestamps"])}
        seen = set()
        for name, (source, options) in sources.items():
            target = self.convert(source, name, *options)
            for file in sorted(os.listdir(target)):
                table = file.rpartition(".")[0]
                expected = [(column, kind) for column, kind, _ in tables[table]
                            if column != "time" or options or table == "anchors"]
                answer = self.ask(f"DESCRIBE SELECT * FROM '{target}/{file}'")
                self.assertEqual([(row[0], row[1].replace(" WITH TIME ZONE", ""))
                                  for row in answer.rows], expected, file)
                schema = self.ask(f"SELECT name, repetition_type FROM parquet_schema('{target}/{file}')").rows
                optional = {row[0] for row in schema if row[1] == "OPTIONAL"}
                self.assertEqual(optional, {column for column, _, may_be_null in tables[table]
                                            if may_be_null and (column, _) in expected}, file)
                seen.add(table)
        self.assertLessEqual({"events", "spans", "functions", "tracks", "values", "samples",
                              "contexts", "metrics", "modules", "event_types"}, seen)

    def test_documented_queries(self):
        self.convert(self.annotated_session(), "trace.parquet")
        self.convert(HPCDB, "profile.parquet")
        statements = doc_statements("parquet.md")
        self.assertGreaterEqual(len(statements), 4)
        for answer in self.ask_all(*statements, *doc_statements("parquet.md", "sql profile")):
            self.assertTrue(answer.rows)

    def test_hard_names(self):
        thread = ThreadWriter(0)
        for number in HARD_NAMES:
            thread.call(function_id(number))
        while thread.stack:
            thread.leave()
        target = self.convert(self.session([thread], HARD_NAMES), "hard.parquet", "--strict")
        for table, column in (("functions", "function"), ("spans", "function"), ("events", "function")):
            rows = self.ask(f"SELECT DISTINCT {column} FROM '{target}/{table}.parquet'").rows
            self.assertEqual({row[0] for row in rows}, set(HARD_NAMES.values()), table)
        caller = self.ask(f"SELECT caller FROM '{target}/spans.parquet' WHERE depth = 3").rows
        self.assertEqual(caller, [[HARD_NAMES[2]]])

    def test_times_beyond_all_doubles(self):
        threads = [random_thread(0, 1, start=2 ** 63 + 12345), random_thread(1, 2, start=0)]
        source = self.session(threads, names_of(8))
        target = self.convert(source, "late.parquet")
        rows = self.ask(f"SELECT min(time_ns), max(time_ns) FROM '{target}/events.parquet' GROUP BY track ORDER BY track").rows
        self.assertEqual(rows, [[thread.events[0][0], thread.events[-1][0]] for thread in threads])
        self.assert_spans_are_the_report(source, target)

    def test_row_groups_are_passed_over(self):
        """Statistics say which row groups have a time and a thread."""
        threads = [random_thread(slot, slot, start=10 ** 12 * (slot + 1)) for slot in range(4)]
        target = self.convert(self.session(threads, names_of(8)), "trace.parquet")
        rows = self.ask(f"""SELECT row_group_id, path_in_schema, stats_min_value, stats_max_value, compression,
            encodings FROM parquet_metadata('{target}/events.parquet') ORDER BY ALL""").rows
        bounds = {(row[0], row[1]): row[2:4] for row in rows}
        for group, thread in enumerate(threads):
            self.assertEqual(bounds[group, "time_ns"],
                             [str(thread.events[0][0]), str(thread.events[-1][0])])
            self.assertEqual(bounds[group, "track"], [str(group)] * 2)
            self.assertEqual(bounds[group, "kind"], ["call", "return"])
        self.assertEqual({row[4] for row in rows}, {"ZSTD"})
        self.assertIn("RLE_DICTIONARY", {row[5].split(",")[0] for row in rows if row[1] == "function"})
        self.assertIn("DELTA_BINARY_PACKED", {row[5].split(",")[0] for row in rows if row[1] == "time_ns"})
        counted = self.ask(f"""SELECT count(*)::INT FROM '{target}/events.parquet'
            WHERE time_ns >= {10 ** 12 * 2} AND time_ns < {10 ** 12 * 3}""").rows
        self.assertEqual(counted, [[len(threads[1].events)]])

    def test_empty(self):
        target = self.convert(self.session([ThreadWriter(0)]), "empty.parquet")
        self.assertEqual(sorted(os.listdir(target)),
                         ["functions.parquet", "modules.parquet", "tracks.parquet"])
        self.assertEqual(self.ask(f"SELECT count(*)::INT FROM '{target}/tracks.parquet'").rows, [[1]])

    def test_ten_thousand_tracks(self):
        count = 10_000
        threads = []
        for slot in range(count):
            thread = ThreadWriter(slot, start=1000 + slot)
            thread.call(function_id(1 + slot % 4))
            thread.leave()
            threads.append(thread)
        target = self.convert(self.session(threads), "many.parquet")
        answer = self.ask(f"""SELECT count(*)::INT, count(DISTINCT track)::INT, sum(dur_ns)
            FROM '{target}/spans.parquet'""").rows
        self.assertEqual(answer, [[count, count, 10 * count]])

    def test_depth(self):
        depth = 100_000
        thread = ThreadWriter(0)
        for number in range(depth):
            thread.call(function_id(1 + number % 4))
        while thread.stack:
            thread.leave()
        source = self.session([thread])
        target = self.convert(source, "deep.parquet")
        rows = self.ask(f"SELECT count(*)::INT, max(depth) FROM '{target}/spans.parquet'").rows
        self.assertEqual(rows, [[depth, depth]])

    def test_more_than_a_row_group(self):
        """Pages and row groups fit together: every row is where it belongs."""
        thread = ThreadWriter(0).busy(540_000)
        target = self.convert(self.session([thread]), "long.parquet")
        count = len(thread.events)
        answers = self.ask_all(
            f"SELECT count(DISTINCT row_group_id)::INT FROM parquet_metadata('{target}/events.parquet')",
            f"SELECT count(*)::INT, sum(time_ns), max(time_ns) FROM '{target}/events.parquet'",
            f"SELECT function, count(*)::INT FROM '{target}/events.parquet' GROUP BY ALL ORDER BY ALL")
        self.assertEqual(answers[0].rows, [[2]])
        self.assertEqual(answers[1].rows, [[count, sum(event[0] for event in thread.events),
                                            thread.events[-1][0]]])
        self.assertEqual(answers[2].rows, [["alpha", 360_000], ["beta", 360_000], ["gamma", 360_000],
                                           ["main", 2]])

    def test_details(self):
        target = self.convert(self.annotated_session(), "trace.parquet")
        rows = self.ask(f"""SELECT arguments->>'$.n', arguments->>'$.text'
            FROM '{target}/events.parquet' WHERE arguments IS NOT NULL""").rows
        self.assertEqual(rows, [[str(number), f'"{number}, \n'] for number in range(5)])
        thread = ThreadWriter(0)
        registers = [2 ** 64 - 1 - number for number in range(11)]
        thread.call(function_id(1), (DETAIL_CALL, 0, function_payload(function_id(1), registers, b"\x00\xff", 1)))
        thread.leave()
        source = self.session([thread], folder="registers")
        target = self.convert(source, "registers.parquet", "--strict")
        rows = self.ask(f"SELECT kind, detail FROM '{target}/events.parquet'").rows
        self.assertEqual(rows[1], ["return", None])
        self.assertEqual(json.loads(rows[0][1])["registers"]["rdi"], f"{registers[0]:#018x}")
        self.assertEqual(json.loads(rows[0][1])["stack"], "00ff")
        self.assertIn("details", str(self.losses(source, "without.parquet", "--style", "no-details")))

    def test_styles(self):
        source = self.random_session()
        self.assertNotIn("spans.parquet", os.listdir(self.convert(source, "a.parquet", "--style", "no-spans")))
        self.assertNotIn("events.parquet", os.listdir(self.convert(source, "b.parquet", "--style", "no-events")))

    def assert_profile_is_the_report(self, source, metric):
        target = self.convert(source, os.path.basename(source) + ".parquet", "--style", "timestamps")
        report = self.report(source)
        rows = self.ask(f"""SELECT function, sum(value) FROM '{target}/values.parquet'
            WHERE metric = '{metric}' GROUP BY function""").rows
        found = {name: value for name, value in rows if name is not None}
        for name, (_, self_ns, _) in report.items():
            self.assertAlmostEqual(found.get(name, 0) * 1e9, self_ns, delta=2 + self_ns * 1e-9, msg=name)
        # totals of functions that are not in themselves
        rows = self.ask(f"""WITH RECURSIVE top AS (
                SELECT context, subtree_end, function FROM '{target}/contexts.parquet' c
                WHERE kind = 'function' AND NOT EXISTS (
                    SELECT 1 FROM '{target}/contexts.parquet' a WHERE a.kind = 'function' AND
                    a.function = c.function AND a.context < c.context AND a.subtree_end > c.context))
            SELECT top.function, sum(v.value) FROM top JOIN '{target}/values.parquet' v
            ON v.context >= top.context AND v.context < top.subtree_end
            WHERE metric = '{metric}' GROUP BY ALL""").rows
        found = dict(rows)
        for name, (_, _, total_ns) in report.items():
            if name in found:
                self.assertAlmostEqual(found[name] * 1e9, total_ns, delta=2 + total_ns * 1e-9, msg=name)
        return target

    def test_profile(self):
        target = self.assert_profile_is_the_report(HPCDB, "CPUTIME (sec)")
        lines = [json.loads(line) for line in self.sonde("dump", "--json", "--samples", HPCDB).splitlines()]
        rows = self.ask(f"SELECT time_ns, track, context, name FROM '{target}/samples.parquet'").rows
        self.assertEqual(sorted(rows), sorted([line["time_ns"], line["track"], line["context"], line["name"]]
                                              for line in lines))
        contexts = [json.loads(line) for line in self.sonde("dump", "--json", "--contexts", HPCDB).splitlines()]
        rows = self.ask(f"SELECT context, parent, kind, relation, name, file, line FROM '{target}/contexts.parquet'").rows
        self.assertEqual(rows, [[line.get(key) for key in ("context", "parent", "kind", "relation", "name",
                                                           "file", "line")] for line in contexts])
        self.assertFalse(os.path.exists(os.path.join(target, "events.parquet")))

    def test_profile_of_the_corpus(self):
        if CORPUS:
            for name in ("small.d", "loops-cputime-t.d"):
                self.assert_profile_is_the_report(os.path.join(CORPUS, "hpcdb", name), "CPUTIME (sec)")

    def test_metadata(self):
        target = self.convert(self.random_session(), "trace.parquet")
        rows = self.ask(f"""SELECT decode(key), decode(value)
            FROM parquet_kv_metadata('{target}/events.parquet')""").rows
        pairs = dict(rows)
        self.assertEqual(pairs["sonde.clock"], "boottime")
        self.assertEqual(pairs["sonde.table"], "events")
        self.assertIsInstance(json.loads(pairs["sonde.attributes"]), dict)
        self.assertEqual("sonde " + pairs["sonde.version"], self.sonde("--version").split("\n")[0][:len(pairs["sonde.version"]) + 6])


if __name__ == "__main__":
    tap.main()
