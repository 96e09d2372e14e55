#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`sonde report` against counts made in Python: of recorded programs out of `sonde dump --csv`, of databases
out of their own values, and of what uftrace recorded against `uftrace report`.
"""
import atexit
import collections
import json
import math
import os
import re
import shutil
import subprocess
import sys
import unittest

import tap
from atf_writer import ThreadWriter, function_id, manifest_of, write_process
from call_counts import Counts, events_of_csv
from hpcdb_reader import CALL as CALLED
from hpcdb_reader import (COMBINE, ENTRY, EXECUTION, FUNCTION, INLINED, INSTRUCTION, read_database)
from hpcrun_writer import write_folder
from sonde_case import GOLDEN, SONDE, SondeCase

HERE = os.path.dirname(os.path.abspath(__file__))
CORPUS = os.environ.get("SONDE_CORPUS")
sys.path.insert(0, os.path.join(HERE, os.pardir, "rec"))

PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
static int even(int n);
static int odd(int n) { return n ? even(n - 1) : 0; }
static int even(int n) { return n ? odd(n - 1) : 1; }
static void leaf(void) { for (volatile int i = 0; i < 100; i++) ; }
static void *work(void *count) { for (int i = 0; i < *(int *)count; i++) leaf(); return NULL; }
int main(void)
{
	int counts[] = { 50, 70, 90 };
	pthread_t threads[3];
	for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, &counts[i]);
	for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
	work(&counts[0]);
	printf("%d %d\n", fib(12), even(20));
	return 0;
}
"""


def quantile(durations, share):
    """The least duration that `share` of the calls do not exceed."""
    ordered = sorted(durations)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


class ReportCase(SondeCase):
    def report(self, *arguments):
        return json.loads(self.sonde("report", "--json", "--no-cache", *arguments))

    def compile(self, threads=3):
        if not shutil.which("gcc"):
            self.skipTest("no gcc")
        source, program = self.path("program.c"), self.path("program")
        with open(source, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        subprocess.run(["gcc", "-g", "-O1", "-fno-inline", "-fno-optimize-sibling-calls",
                        "-finstrument-functions", f"-DTHREADS={threads}", source, "-o", program, "-pthread"],
                       check=True)
        return program

    def record(self, *command):
        trace = self.path("trace")
        done = subprocess.run([SONDE, "record", "-o", trace, "--", *command], check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        return trace

    def compare_row(self, row, count, name):
        self.assertEqual(row["calls"], count.calls, name)
        self.assertEqual(row["self_ns"], count.self_ns, name)
        self.assertEqual(row["total_ns"], count.total_ns, name)
        self.assertEqual(row["exceptions"], count.exceptions, name)
        self.assertEqual(row["max_ns"], max(count.durations), name)

    def compare_functions(self, report, counts):
        names = collections.Counter(row["name"] for row in report["rows"])
        self.assertEqual(set(names), set(counts.functions))
        for row in report["rows"]:
            name, count = row["name"], counts.functions[row["name"]]
            if names[name] > 1:  # static functions of one name: events do not tell them apart
                continue
            self.compare_row(row, count, name)
            self.assertEqual(row["unfinished"], count.unfinished, name)
            self.assertEqual(row["min_ns"], min(count.durations), name)
            mean = sum(count.durations) / count.calls
            self.assertLessEqual(abs(row["mean_ns"] - mean), 0.5001, name)
            for key, share in (("p50_ns", 0.5), ("p90_ns", 0.9), ("p99_ns", 0.99)):
                exact = quantile(count.durations, share)
                self.assertLessEqual(abs(row[key] - exact), 0.011 * exact + 1, (name, key))
            square = sum((duration - mean) ** 2 for duration in count.durations) / count.calls
            self.assertAlmostEqual(row["deviation_ns"], math.sqrt(square),
                                   delta=1 + 1e-4 * mean, msg=name)

    def compare_tree(self, report, counts):
        """Rows below an entry of a thread are told apart by the entry: they are added up."""
        path, sums = [], collections.defaultdict(collections.Counter)
        for row in report["rows"]:
            path[row["depth"]:] = [None if row["kind"] == "entry" else row["name"]]
            if path[-1] is None:
                continue
            key = tuple(name for name in path if name is not None)
            sums[key].update({field: row[field]
                              for field in ("calls", "self_ns", "total_ns", "exceptions")})
        self.assertEqual(set(sums), set(counts.paths))
        for key, count in counts.paths.items():
            self.assertEqual((sums[key]["calls"], sums[key]["self_ns"], sums[key]["total_ns"],
                              sums[key]["exceptions"]),
                             (count.calls, count.self_ns, count.total_ns, count.exceptions), key)

    def compare_all(self, trace):
        counts = Counts(events_of_csv(self.sonde("dump", "--csv", trace)))
        report = self.report(trace)
        self.compare_functions(report, counts)
        self.compare_tree(self.report("--tree", trace), counts)
        names = collections.Counter(row["name"] for row in report["rows"])
        top = [row for row in self.report("--callers", "--max-depth", "1", trace)["rows"]]
        for row in top:
            if names[row["name"]] == 1:
                count = counts.functions[row["name"]]
                self.assertEqual((row["calls"], row["self_ns"], row["total_ns"]),
                                 (count.calls, count.self_ns, count.total_ns), row["name"])
        for row in self.report("--threads", trace)["rows"]:
            track = counts.tracks[row["track"]]
            self.assertEqual((row["busy_ns"], row["events"], row["first_ns"], row["last_ns"]),
                             (track.busy_ns, track.events, track.first, track.last))
            self.assertEqual(row["idle_ns"], track.last - track.first - track.busy_ns)
        whole = sum(track.busy_ns for track in counts.tracks.values())
        self.assertEqual((report["whole_ns"], report["busy_ns"]), (whole, whole))
        self.assertEqual(sum(row["self_ns"] for row in report["rows"]), whole)
        return counts


class Recorded(ReportCase):
    def test_program(self):
        counts = self.compare_all(self.record(self.compile()))
        self.assertEqual(counts.functions["fib"].calls, 465)
        self.assertEqual(counts.functions["leaf"].calls, 50 + 50 + 70 + 90)
        self.assertLess(counts.functions["fib"].total_ns, sum(counts.functions["fib"].durations))

    def test_golden(self):
        for name in ("normal", "crashed"):
            with self.subTest(name):
                self.compare_all(os.path.join(GOLDEN, name))

    def test_store(self):
        self.compare_all(os.path.join(os.path.dirname(GOLDEN), "zts", "archived"))

    def test_several_are_one(self):
        one, other = (os.path.join(GOLDEN, name) for name in ("normal", "nodetail"))
        rows = {row["name"]: row for row in self.report(one, other)["rows"]}
        parts = [{row["name"]: row for row in self.report(path)["rows"]} for path in (one, other)]
        self.assertEqual(set(rows), set(parts[0]) | set(parts[1]))
        for name, row in rows.items():
            for key in ("calls", "total_ns", "self_ns", "exceptions"):
                self.assertEqual(row[key], sum(part.get(name, {}).get(key, 0) for part in parts),
                                 (name, key))

    def test_time_range(self):
        """A cut of a recording and the same part of it are one."""
        trace, piece = os.path.join(GOLDEN, "normal"), self.path("piece")
        self.sonde("cut", trace, "--from", "20%", "--to", "60%", "-o", piece)
        part = self.report("--from", "20%", "--to", "60%", trace)
        cut = self.report(piece)
        keys = ("name", "calls", "total_ns", "self_ns")
        self.assertEqual(sorted([row[key] for key in keys] for row in part["rows"]),
                         sorted([row[key] for key in keys] for row in cut["rows"]))


class Extremes(ReportCase):
    """What no program does and a file may say."""

    def test_longest_call(self):
        thread = ThreadWriter(0, start=-10)
        thread.call(function_id(1))
        thread.time = 2 ** 64 - 11
        thread.leave()
        path = write_process(self.path("long"), [thread], manifest_of([thread], {1: "f"}))
        row, = self.report(path)["rows"]
        self.assertAlmostEqual(row["mean_ns"] / 2 ** 64, 1)
        self.sonde("report", path)

    def test_no_metric(self):
        write_folder(self.path("bare.m"), threads=1, metrics=0)
        for view in ([], ["--tree"], ["--callers"], ["--hot-path"], ["--threads"], ["--imbalance"]):
            report = self.report(*view, self.path("bare.m"))
            self.assertEqual([report["columns"], report["rows"]], [[], []])
            self.sonde("report", *view, self.path("bare.m"))


LESS_LUA = (("text_of(2000)", "text_of(60)"), (", 5, 6, 7 }, 7,", " }, 4,"),
            ("ackermann(2, 60)", "ackermann(2, 4)"), ("numbers(3000)", "numbers(50)"))


class WorkloadCase(ReportCase):
    """The programs of the benchmark, where their sources are."""

    def workload(self, name, job, changes):
        """Paths of the program, and of a smaller copy of what it is to do."""
        try:
            import cases_workloads
            import harness
        except (ImportError, KeyError) as error:
            self.skipTest(f"no {error}")
        atexit.register(shutil.rmtree, harness.WORK, True)
        program = cases_workloads.Workload(name)
        fault = program.build("a-gcc")
        if fault:
            self.skipTest(f"{name} cannot be built: {fault[:200]}")
        with open(os.path.join(cases_workloads.WORKLOADS, job), encoding="utf-8") as file:
            text = cases_workloads.less(file.read(), *changes)
        path = self.path(job)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return os.path.join(program.folder("a-gcc"), "program"), path


class Workloads(WorkloadCase):
    def test_lua(self):
        program, job = self.workload("lua", "job.lua", (*LESS_LUA, (
            "print(sum)", "for _ = 1, 50 do pcall(error, sum) end print(sum)")))
        counts = self.compare_all(self.record(program, job, "1"))
        self.assertEqual(counts.functions["luaD_throw"].exceptions, 50)

    def test_sqlite(self):
        program, job = self.workload("sqlite", "job.sql",
                                     (("i < 25000", "i < 150"), ("i < 2000", "i < 60")))
        counts = self.compare_all(self.record(program, ":memory:", f".read {job}"))
        self.assertGreater(len(counts.functions), 900)


class Databases(ReportCase):
    """What a database says of itself, context by context and function by function."""

    def databases(self):
        paths = [os.path.join(os.path.dirname(GOLDEN), "hpcdb", "small")]
        if CORPUS:
            folder = os.path.join(CORPUS, "hpcdb")
            paths += [os.path.join(folder, name) for name in sorted(os.listdir(folder))
                      if name.endswith(".d")]
        return paths

    def sums(self, database, metric, scope_type):
        """{ctxId: sum over all threads}, as the summary has it."""
        values = database.profiles[0].values
        for scope, formula, combine, number in metric.summaries:
            if (database.scopes[scope].type, formula, COMBINE[combine]) == (scope_type, "$$", "sum"):
                return {context: numbers[number] for context, numbers in values.items()
                        if number in numbers}
        return None

    def compare(self, path):
        database = read_database(path)
        compared = 0
        for metric in database.metrics:
            total = self.sums(database, metric, EXECUTION)
            if not total or 0 not in total:
                continue
            own = self.own_values(database, total)
            report = self.report("--metric", metric.name, "--tree", path)
            unit = "_ns" if report["columns"][1]["key"] == "total_ns" else ""
            scale = report["whole" + unit] / total[0]
            self.compare_tree_of(database, report, total, own, unit, scale)
            listed = self.report("--metric", metric.name, path)
            self.compare_list_of(database, listed, total, own, unit, scale)
            compared += 1
        return compared

    def own_values(self, database, total):
        """What is in a context and in none that is listed below it: instructions are not listed."""
        own = {context.id: total.get(context.id, 0) for context in database.contexts}
        for context in database.contexts:
            if context.parent >= 0:
                own[database.contexts[context.parent].id] -= total.get(context.id, 0)
        return own

    def near(self, got, expected, name):
        self.assertLessEqual(abs(got - expected), 0.51 + 1e-9 * abs(expected), name)

    def compare_tree_of(self, database, report, total, own, unit, scale):
        """Rows in any order: by what they add up to for each kind and place in the tree."""
        expected = sorted(round(total[context.id] * scale) for context in database.contexts
                          if total.get(context.id))
        rows = sorted(row["total" + unit] for row in report["rows"] if row["total" + unit])
        self.assertEqual(len(rows), len(expected))
        for got, wanted in zip(rows, expected):
            self.near(got, wanted, "total")
        selfs = sorted(value * scale for value in own.values() if round(value * scale))
        rows = sorted(row["self" + unit] for row in report["rows"] if row["self" + unit])
        self.assertEqual(len(rows), len(selfs))
        for got, wanted in zip(rows, selfs):
            self.near(got, wanted, "self")

    def compare_list_of(self, database, report, total, own, unit, scale):
        """Functions by name; those that have none are told by their address and left out."""
        totals, selfs = collections.Counter(), collections.Counter()
        frames = []  # by context: (names of the functions above, the innermost one)
        for context in database.contexts:
            above, inner = frames[context.parent] if context.parent >= 0 else (frozenset(), None)
            if context.kind == FUNCTION:
                inner = database.functions[context.function].name
                if inner not in above:
                    totals[inner] += total.get(context.id, 0) * scale
                above = above | {inner}
            elif context.kind == ENTRY or (context.kind == INSTRUCTION and
                                           context.relation in (CALLED, INLINED)):
                inner = None
            if inner is not None:
                selfs[inner] += own[context.id] * scale
            frames.append((above, inner))
        names = collections.Counter(row["name"] for row in report["rows"])
        for row in report["rows"]:
            if row["name"] not in totals or names[row["name"]] > 1:
                continue
            self.near(row["total" + unit], totals.pop(row["name"]), row["name"])
            self.near(row["self" + unit], selfs[row["name"]], row["name"])
        left = [name for name, value in totals.items() if round(value) and names[name] < 2]
        self.assertEqual(left, [])

    def test_databases(self):
        for path in self.databases():
            with self.subTest(os.path.basename(path)):
                self.assertGreater(self.compare(path), 0)


LINE = re.compile(r"^(\d+)\.(\d{9})\s+(\d+): \[(entry|exit )\] (\w+)\(")
UNITS = {"us": 1e3, "ms": 1e6, "s": 1e9, "ns": 1}


class Uftrace(WorkloadCase):
    """The same program recorded by both (calls), and what uftrace recorded as an ATF session (times)."""

    def setUp(self):
        super().setUp()
        if not shutil.which("uftrace"):
            self.skipTest("no uftrace")
        self.program = self.compile(threads=0)
        self.data = self.path("uftrace.data")
        self.uftrace_record(self.program)

    def uftrace_record(self, *command):
        shutil.rmtree(self.data, ignore_errors=True)
        done = subprocess.run(["uftrace", "record", "--no-libcall", "--no-event", "-d", self.data,
                               *command], check=False, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE)
        if done.returncode:
            self.skipTest("uftrace cannot record: " + done.stderr.decode(errors="replace")[-200:])

    def uftrace(self, *arguments):
        done = subprocess.run(["uftrace", *arguments, "-d", self.data], check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        return done.stdout.decode()

    def uftrace_report(self):
        """{name: (total, self, calls)} and the unit that each time is rounded to."""
        rows = {}
        for line in self.uftrace("report").splitlines()[2:]:
            total, total_unit, own, own_unit, calls, name = line.split()
            if not name.startswith("linux:"):
                rows[name] = ((float(total) * UNITS[total_unit], UNITS[total_unit] / 1000),
                              (float(own) * UNITS[own_unit], UNITS[own_unit] / 1000), int(calls))
        return rows

    def converted(self):
        """A session with the events of the only thread."""
        thread, numbers = ThreadWriter(0), {}
        for line in self.uftrace("dump").splitlines():
            match = LINE.match(line)
            if not match:
                continue
            seconds, nanoseconds, _, kind, name = match.groups()
            thread.time = int(seconds + nanoseconds) - 10
            number = numbers.setdefault(name, len(numbers) + 1)
            if kind == "entry":
                thread.call(function_id(number))
            else:
                thread.leave()
        names = {number: name for name, number in numbers.items()}
        return write_process(self.path("converted"), [thread], manifest_of([thread], names))

    def test_calls(self):
        rows = {row["name"]: row["calls"]
                for row in self.report(self.record(self.program))["rows"]}
        self.assertEqual(rows, {name: row[2] for name, row in self.uftrace_report().items()})

    def test_calls_of_lua(self):
        """Functions of one name are one for uftrace."""
        program, job = self.workload("lua", "job.lua", LESS_LUA)
        self.uftrace_record(program, job, "1")
        calls = collections.Counter()
        for row in self.report(self.record(program, job, "1"))["rows"]:
            calls[row["name"]] += row["calls"]
        expected = {name: row[2] for name, row in self.uftrace_report().items()}
        self.assertGreater(len(expected), 200)
        self.assertEqual(dict(calls), expected)

    def test_times(self):
        rows = {row["name"]: row for row in self.report(self.converted())["rows"]}
        expected = self.uftrace_report()
        self.assertEqual(set(rows), set(expected))
        for name, (total, own, calls) in expected.items():
            self.assertEqual(rows[name]["calls"], calls, name)
            self.assertLessEqual(abs(rows[name]["total_ns"] - total[0]), total[1], name)
            self.assertLessEqual(abs(rows[name]["self_ns"] - own[0]), own[1], name)


if __name__ == "__main__":
    tap.main()
