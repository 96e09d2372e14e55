#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Any format to any other and back: what the other can hold is the same afterwards, and what it cannot is in
the loss report with the right count. The formats are those that are read and written; what they can hold is in
format_table.py.
"""
import json
import os
import shutil
import subprocess
import unittest
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import odd_recordings
import tap
from format_table import ALL, FACTS, HOLDS, KINDS, ONE_METRIC, PROFILE, WITHOUT_TRACKS, formats, held
from recording_picture import Picture
from sonde_case import GOLDEN, SONDE, SondeCase

# How a loss report calls a thing, where it has other words than the table.
LOSS_NAMES = {
    "exceptions": ("exceptions", "events of kind exception"),
    "instants": ("events of kind instant",),
    "marks": ("events of kind mark",),
    "flows": ("events of kind flow-begin", "events of kind flow-step", "events of kind flow-end"),
    "ranges": ("events of kind range-begin", "events of kind range-end"),
    "counters": ("events of kind counter",),
    "other events": ("events of kind other",),
    "arguments": ("arguments", "details", "details: arguments"),
    "registers and stack bytes": ("details: registers and stack bytes", "details"),
}
NOT_CALLS = ("instants", "marks", "flows", "ranges", "counters", "other events")
# Counted by the things they belong to, or not of use to count.
UNCOUNTED = {"calls", "arguments", "arguments of returns, and of calls that are no scopes",
             "registers and stack bytes", "attributes", "resources"}

PROGRAM = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <sonde/annotate.h>
static __thread jmp_buf back;
static __attribute__((noinline)) int leaf(int n) { return n * 3; }
static __attribute__((noinline)) void jump(int n) { if (n % 2) longjmp(back, 1); leaf(n); }
static __attribute__((noinline)) int deep(int n) { return n ? deep(n - 1) + leaf(n) : 0; }
static __attribute__((noinline)) void work(int id)
{
	SONDE_SCOPE("work item", SONDE_ARG(id), SONDE_STR_AS("text", "a;b"));
	for (int i = 0; i < 4; i++) {
		SONDE_COUNTER("left", 4 - i);
		if (!setjmp(back))
			jump(i);
		deep(i);
	}
	SONDE_FLOW_STEP(id, "step");
	SONDE_EVENT("note", SONDE_F64_AS("share", 0.1), SONDE_ARG(id));
	SONDE_RANGE_BEGIN(100 + id, "range");
	{
		SONDE_ZONE("zone");
		SONDE_SCOPE("in zone");
		leaf(id);
	}
	SONDE_RANGE_END(100 + id);
	SONDE_FLOW_END(id);
}
static void *thread(void *p)
{
	pthread_setname_np(pthread_self(), "worker");
	work(*(int *)p);
	return NULL;
}
int main(void)
{
	pthread_t threads[2];
	int ids[2] = { 1, 2 };
	SONDE_MARK("start");
	SONDE_RESOURCE("notes.txt", "hello", 5);
	for (int i = 0; i < 2; i++) {
		SONDE_FLOW_BEGIN((unsigned)ids[i], "job");
		pthread_create(&threads[i], NULL, thread, &ids[i]);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
"""


def record_program(folder):
    """A program with threads, annotations and exceptions, recorded; None where that cannot be done."""
    source, program, output = (os.path.join(folder, name) for name in ("program.c", "program", "program.atf"))
    compiler = shutil.which(os.environ.get("CC", "cc").split()[-1])
    if not compiler or os.uname().machine != "x86_64":
        return None
    environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    with open(source, "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    flags = [subprocess.run([SONDE, "cflags", *more], check=True, stdout=subprocess.PIPE,
                            text=True).stdout.split() for more in ((), ("--libs",))]
    include = os.path.join(os.environ["SOURCE_ROOT"], "include")
    subprocess.run([compiler, "-O1", "-w", *flags[0], f"-I{include}", source, *flags[1], "-o", program, "-lpthread"],
                   check=True, env=environment)
    subprocess.run([SONDE, "record", "-q", "-o", output, program], check=True, env=environment,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return output


def without_names(thing, counted):
    """Of profiles whose functions are addresses now: values by metric, samples by time."""
    if thing == "values":
        sums = Counter()
        for (_, metric), value in counted.items():
            sums[metric] += value
        return Counter({metric: round(value, 9) for metric, value in sums.items()})
    if thing == "samples":
        return Counter(time for time, _ in counted.elements())
    return Counter() if thing == "contexts" else counted


class Conversions(SondeCase):
    """Sources in every format, and their pictures; made once for all tests."""

    @classmethod
    def setUpClass(cls):
        chosen = os.environ.get("MATRIX_FORMATS", "").split(",")  # for work on some formats: only these
        cls.formats = {name: entry for name, entry in formats(SONDE).items()
                       if entry["reads"] and entry["writes"] and (chosen == [""] or name in chosen)}

    def convert(self, source, target, form, expect=(0,)):
        """Gives the losses, by what they are called."""
        report = target + ".loss"
        done = self.run_sonde("convert", "-q", source, "-o", target, "-t", form, "--loss-report", report)
        self.assertIn(done.returncode, expect, f"{source} -> {form}: {done.stderr.decode()}")
        if done.returncode:
            return None
        with open(report, encoding="utf-8") as file:
            entries = json.load(file)["losses"]
        losses = {}
        for entry in entries:
            if not entry["only_elsewhere"]:
                losses[entry["what"]] = losses.get(entry["what"], 0) + entry["count"]
        return losses

    def picture(self, path):
        return Picture(self.sonde, path)

    def sources(self):
        """Recordings in the format that each came in."""
        made = [odd_recordings.every_kind(self.path("every_kind")), os.path.join(GOLDEN, "nodetail")]
        program = record_program(self.folder)
        if program:
            made.append(program)
        golden = os.path.dirname(GOLDEN)
        made += [os.path.join(golden, "hpcdb", "small"), os.path.join(golden, "zts", "minimal")]
        # sanitizers make it four times as long, and look at code, not at data
        corpus = None if os.environ.get("SANITIZED") == "1" else os.environ.get("SONDE_CORPUS")
        for name in ("cff/js_all_binary.wtf-trace", "hpcrun/small.m", "hpcdb/small.d",
                     "hpcrun/loops-cuda-nvidia-t.m", "zts/v1-small-0x11"):
            if corpus and os.path.exists(os.path.join(corpus, name)):
                made.append(os.path.join(corpus, name))
        return made


class Matrix(Conversions):
    """A -> B -> A for all pairs."""

    def test_all_pairs(self):
        tasks = []
        with ThreadPoolExecutor(2) as pool:
            for number, source in enumerate(self.sources()):
                for first in self.formats:
                    tasks.append(pool.submit(self.round_trips, number, source, first))
            faults = [fault for task in tasks for fault in task.result()]
        self.assertEqual(faults, [], "\n".join(faults))

    def round_trips(self, number, source, first):
        """Of a source that is put into the first format: through all others and back."""
        start = self.path(f"{number}.{first}")
        if self.convert(source, start, first, (0, 3)) is None:
            return []  # values only, which a format of events refuses: 37-matrix.sh
        picture, faults = self.picture(start), []
        for second in self.formats:
            there, back = start + "." + second, start + "." + second + "." + first
            losses = self.convert(start, there, second, (0, 3))
            later = self.convert(there, back, first, (0, 3)) if losses is not None else None
            if later is None:
                continue
            where = f"{os.path.basename(source)} as {first} -> {second}"
            after = self.picture(there)
            faults += self.compare(where, first, second, picture, after, losses)
            faults += self.check_metrics(where, first, second, picture, after, losses)
            faults += self.compare_back(where + " -> " + first, first, second, picture, self.picture(back),
                                        [losses, later])
            for path in (there, back):
                shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
        return faults

    def common(self, first, second):
        return held(self.formats[first]) & held(self.formats[second])

    def is_derived(self, thing, before, second):
        """Formats that hold both may come without one of them: then a profile of the calls, or calls of the
        samples, is what a target of the other sort holds."""
        holds = held(self.formats[second])
        if before.count(thing):
            return False
        if thing in PROFILE:
            return "calls" not in holds and before.count("calls")
        return thing in ("calls", "exceptions") and "samples" not in holds and before.count("samples")

    def compare(self, where, first, second, before, after, losses):
        """What the second holds is there; what it does not hold is named with its count."""
        faults = []
        for thing in ALL:
            if thing in held(self.formats[second]):
                if thing in held(self.formats[first]) and not self.is_derived(thing, before, second):
                    faults += self.differences(f"{where}: {thing}", thing, before, after, [losses])
            elif thing == "contexts" and "calls" in held(self.formats[second]):
                continue  # they became calls
            elif thing not in UNCOUNTED and before.count(thing):
                faults += self.check_loss(where, thing, before, losses, second)
        return faults

    def compare_back(self, where, first, second, before, after, losses):
        faults = []
        for thing in self.common(first, second):
            if self.is_derived(thing, before, second):
                continue
            faults += self.differences(f"{where}: {thing}", thing, before, after, losses)
        return faults

    def check_metrics(self, where, first, second, before, after, losses):
        """Of a format with one metric: that is one, and values of all others are counted."""
        if second not in ONE_METRIC or first in ONE_METRIC or not before.points:
            return []
        lost = sum(before.points.values()) - sum(before.points[metric] for metric in after.points)
        named = losses.get("values of other metrics", 0)
        if len(after.points) == 1 and named == lost:
            return []
        return [f"{where}: metrics {dict(before.points)} became {dict(after.points)}, {named} values are lost: {losses}"]

    def differences(self, where, thing, before, after, losses):
        """What is missing may be named as lost on the way, with no less than its number."""
        was, now = (picture.things.get(thing, Counter()) for picture in (before, after))
        if thing == "values" and any("values of other metrics" in loss for loss in losses):
            kept = {metric for _, metric in now}
            was = Counter({key: value for key, value in was.items() if key[1] in kept})
        if any("names of functions in modules" in loss for loss in losses):
            was, now = (without_names(thing, things) for things in (was, now))
        missing, more = sum((was - now).values()), sum((now - was).values())
        named = sum(loss.get(name, 0) for loss in losses for name in LOSS_NAMES.get(thing, (thing,)))
        if thing in ("modules of functions", "source places of functions"):
            more = 0  # addresses that are called become functions
        if thing == "calls":  # those that never ended end somewhere
            more -= min(more, sum(loss.get("calls that never ended", 0) for loss in losses))
        if was == now or (missing <= named and not more):
            return []
        return [f"{where}: {sum((was - now).values())} missing, {sum((now - was).values())} more: "
                f"{list((was - now).items())[:2]} {list((now - was).items())[:2]}"]

    def check_loss(self, where, thing, before, losses, second):
        holds = held(self.formats[second])
        events_only_as_profile = thing in KINDS and "contexts" in holds and "calls" not in holds
        if events_only_as_profile and thing in NOT_CALLS:
            expected = sum(before.count(other) for other in NOT_CALLS)
            named = losses.get("events that are not calls", 0)
        else:
            expected = before.count(thing)
            named = sum(losses.get(name, 0) for name in LOSS_NAMES.get(thing, (thing,)))
        if thing in ("values", "contexts", "samples"):
            return [] if named else [f"{where}: {thing} are lost without a word: {losses}"]
        if named == expected:
            return []
        return [f"{where}: {expected} {thing} are not held, the loss report has {named}: {losses}"]


class Claims(Conversions):
    """What `sonde formats` says is what the table says."""

    def test_formats(self):
        for name, entry in self.formats.items():
            if name in HOLDS:
                self.assertEqual(set(entry["writes_what"]), HOLDS[name], name)

    def test_matrix(self):
        pairs = json.loads(self.sonde("formats", "--matrix", "--json"))
        known = {(pair["source"], pair["target"]): pair for pair in pairs}
        for first in self.formats:
            for second in self.formats:
                pair = known[first, second]
                if first not in HOLDS or second not in HOLDS or first == second:
                    continue
                self.assertEqual(set(pair["carried"]) & set(HOLDS[second]), set(pair["carried"]))
                self.assertTrue(set(pair["lost"]).isdisjoint(HOLDS[second]), pair)
        self.assertEqual(known["atf", "hpcdb"]["how"], "profile-of-calls")
        self.assertEqual(known["hpcdb", "atf"]["how"], "calls-of-samples")
        self.assertEqual(known["atf", "cff"]["how"], "partly")
        self.assertEqual(known["cff", "atf"]["how"], "whole")
        self.assertTrue(set(FACTS) >= set(known["atf", "zts"]["lost"]) - set(KINDS) - {"resources"})


class SameReport(Conversions):
    """The same recorded program in every format: the same functions, calls and times."""

    def rows(self, path):
        report = json.loads(self.sonde("report", "--json", "--limit", "0", path))
        return {row["name"]: (row["self_ns"], row["total_ns"], int(row.get("calls", row.get("CALLS.self", -1))))
                for row in report["rows"]}

    def test_report(self):
        source = record_program(self.folder) or odd_recordings.every_kind(self.path("every_kind"))
        expected = self.rows(source)
        self.assertGreater(len(expected), 3)
        for name, entry in self.formats.items():
            holds = held(entry)
            if not holds & {"calls", "values"}:
                continue
            path = self.path("report." + name)
            self.convert(source, path, name)
            rows = self.rows(path)
            if all(row[2] < 0 for row in rows.values()):  # it holds times only
                rows = {function: (*row[:2], expected[function][2]) for function, row in rows.items()}
            self.assertEqual(rows, expected, name)
            if name not in WITHOUT_TRACKS and "calls" in holds:
                self.assertEqual(len(json.loads(self.sonde("info", "--json", path))["recordings"][0]["tracks"]),
                                 len(json.loads(self.sonde("info", "--json", source))["recordings"][0]["tracks"]))


if __name__ == "__main__":
    unittest.TestCase.maxDiff = None
    tap.main()
