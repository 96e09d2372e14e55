#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Data of uftrace: what it recorded is what we read. Calls and times are compared with `uftrace report`, single
records with `uftrace dump`, on a program of several threads and processes that is recorded here."""
import json
import os
import re
import shutil
import struct
import subprocess
import unittest

import tap
from sonde_case import GOLDEN, SondeCase

PROGRAM = r"""
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline))

static volatile int sink;
static jmp_buf back;
NOINLINE int leaf(int n) { for (int i = 0; i < n * 20; i++) sink += i; return n; }
NOINLINE int deep(int n) { return n ? deep(n - 1) + leaf(n) : leaf(1); }
NOINLINE double half(double d) { return d / 2; }
NOINLINE char *text(const char *s, int k) { return k ? strdup(s) : NULL; }
NOINLINE void jump(int n) { if (n) jump(n - 1); else longjmp(back, 1); }
static void *work(void *a)
{
	for (int i = 0; i < 30; i++)
		deep((int)(long)a + i % 3);
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t threads[3];
	double d = argc;

	if (argc > 1)
		return leaf(3) == 4;
	for (long i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, work, (void *)(i + 2));
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 5; i++)
		d = half(d + i);
	sink += (int)d;
	free(text("hello", 1));
	text("x", 0);
	if (!setjmp(back))
		jump(4);
	leaf(2);
	if (!fork()) {
		leaf(3);
		if (getenv("EXEC"))
			execl(argv[0], argv[0], "again", NULL);
		_exit(0);
	}
	wait(NULL);
	deep(200);
	return 0;
}
"""

UNITS = {"us": 1000, "ms": 1000000, "s": 1000000000}


class UftraceCase(SondeCase):
    def record(self, *options, environment=None, switches=False):
        with open(self.path("program.c"), "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        subprocess.run(["gcc", "-g", "-O1", "-pg", "-pthread", self.path("program.c"), "-o",
                        self.path("program")], check=True, stderr=subprocess.DEVNULL)
        done = subprocess.run(["uftrace", "record", *([] if switches else ["--no-event"]), "-d",
                               self.path("data"), *options, self.path("program")], check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, cwd=self.folder,
                              env={**os.environ, **(environment or {})})
        if done.returncode or not os.path.exists(self.path("data", "info")):
            self.skipTest("uftrace does not record here: " + done.stdout.decode(errors="replace"))

    def uftrace_report(self):
        """name: (total, self, calls) with the size of the last digit."""
        text = subprocess.run(["uftrace", "report", "--no-pager", "-d", self.path("data")],
                              check=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL).stdout.decode()
        rows = {}
        for line in text.splitlines():
            found = re.match(r"\s*([\d.]+) +(\w+) +([\d.]+) +(\w+) +(\d+)  (.+)$", line)
            if found and not found[6].startswith("<"):
                rows[found[6]] = ((float(found[1]) * UNITS[found[2]], UNITS[found[2]] / 1000),
                                  (float(found[3]) * UNITS[found[4]], UNITS[found[4]] / 1000),
                                  int(found[5]))
        self.assertGreater(len(rows), 5, text)
        return rows

    def our_report(self):
        rows = json.loads(self.sonde("report", "--json", self.path("data")))["rows"]
        return {row["name"]: (row["total_ns"], row["self_ns"], row["calls"]) for row in rows}

    def compare_reports(self, apart=()):
        ours = self.our_report()
        for name, (total, own, calls) in self.uftrace_report().items():
            with self.subTest(function=name):
                self.assertIn(name, ours)
                self.assertEqual(ours[name][2], calls)
                if name in apart:
                    continue
                self.assertLessEqual(abs(ours[name][0] - total[0]), total[1])
                self.assertLessEqual(abs(ours[name][1] - own[0]), own[1])

    def test_report(self):
        self.record()
        # where longjmp() left calls, when they ended is anybody's guess
        self.compare_reports(apart=("jump", "main", "longjmp", "_setjmp", "__longjmp_chk"))

    def test_switches(self):
        """Times in which a thread did not run are calls, and no part of what it called."""
        self.record(switches=True)
        # uftrace gives the fork() that a child returns from the length of the last pause before it
        self.compare_reports(apart=("fork", "jump", "main", "longjmp", "_setjmp", "__longjmp_chk"))
        folder = self.path("data")
        if not any(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder)
                   if name.startswith("perf-cpu")):
            self.skipTest("the system does not tell of switches here")
        self.assertGreater(self.our_report()["linux:schedule"][2], 0)  # main waited for its threads
        self.assertIn("program", [track["name"] for track in json.loads(
            self.sonde("info", "--json", folder))["recordings"][0]["tracks"]])

    def test_odd_switches(self):
        """What is before the first call and after the last is left out; what is lost, unknown or cut is said."""
        def record(kind, flags, body, time, tid=17715):
            body += struct.pack("<IIQ", tid, tid, time)
            return struct.pack("<IHH", kind, flags, 8 + len(body)) + body

        data = self.path("data")
        shutil.copytree(os.path.join(os.path.dirname(GOLDEN), "uftrace", "small"), data)
        with open(os.path.join(data, "17715.dat"), "rb") as file:
            times = [time for time, _ in struct.iter_unpack("<QQ", file.read())]
        first, last = times[0], times[-1]
        out, preempted, back = 0x2000, 0x6000, 0
        with open(os.path.join(data, "perf-cpu0.dat"), "wb") as file:
            file.write(record(14, out, b"", first - 9) + record(14, back, b"", first - 5) +
                       record(14, out, b"", first + 1) + record(14, out, b"", last + 1) +
                       record(14, back, b"", last + 2) + record(2, 0, struct.pack("<QQ", 0, 7), last) +
                       record(99, 0, b"", last) + b"cut")
        with open(os.path.join(data, "perf-cpu1.dat"), "wb") as file:
            file.write(record(14, back, b"", first + 3) + record(14, preempted, b"", first + 4) +
                       record(14, back, b"", first + 9) +
                       record(3, 0, struct.pack("<II", 17715, 17715) + b"worker\0\0", last))
        os.mkdir(os.path.join(data, "perf-cpu2.dat"))
        ours = self.our_report()
        self.assertEqual(ours["linux:schedule"], (2, 2, 1))
        self.assertEqual(ours["linux:schedule (pre-empted)"], (5, 5, 1))
        self.assertIn("worker", self.sonde("info", data))
        text = self.sonde("check", "-v", data, expect=(1, 3))
        for words in ("7 lost by the system", "1 other records", "3 bytes that are passed over",
                      "perf-cpu2.dat"):
            self.assertIn(words, text)

    def test_records(self):
        self.record("-A", "leaf@arg1/d32", "-R", "leaf@retval/d32", "-A", "text@arg1/s,arg2/d32",
                    "-R", "text@retval/s", "-A", "half@fparg1/64", "-R", "half@retval/f64")
        dump = subprocess.run(["uftrace", "dump", "--no-pager", "-d", self.path("data")], check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode()
        theirs = []
        for line in dump.splitlines():
            found = re.match(r"(\d+)\.(\d{9}) +(\d+): \[(entry|exit ?) *\] (\S+?)\(", line)
            if found:
                theirs.append((int(found[1]) * 10**9 + int(found[2]), found[5],
                               "call" if found[4] == "entry" else "return"))
        events = [json.loads(line)
                  for line in self.sonde("dump", "--json", self.path("data")).splitlines()]
        ours = {(event["time_ns"], event["name"], event["kind"]) for event in events}
        self.assertGreater(len(theirs), 500)
        missing = [record for record in theirs if record not in ours and "setjmp" not in record[1]]
        self.assertEqual(missing, [])
        text = self.sonde("dump", self.path("data"))
        for line in ('-> text(arg1="hello", arg2=1)', '<- text(retval="hello")',
                     '-> text(arg1="x", arg2=0)', "-> leaf(arg1=3)", "<- leaf(retval=3)",
                     "-> half(fparg1=1)", "<- half(retval=0.5)"):
            self.assertIn(line, text)

    def test_automatic_arguments(self):
        self.record("-a")
        text = self.sonde("dump", self.path("data"))
        self.assertIn('-> text(arg1="hello", arg2=1)', text)
        self.assertIn('-> strdup(arg1="hello")', text)
        self.compare_reports(apart=("jump", "main", "longjmp", "_setjmp", "__longjmp_chk"))

    def test_exec(self):
        self.record(environment={"EXEC": "1"})
        ours = self.our_report()
        self.assertEqual(ours["main"][2], 2)
        self.assertEqual(ours["leaf"][2], self.uftrace_report()["leaf"][2])
        info = self.sonde("info", self.path("data"))
        self.assertEqual(info.count("process    pid"), 2)


if __name__ == "__main__":
    if not shutil.which("uftrace") or not shutil.which("gcc"):
        print("1..0 # SKIP uftrace and gcc are needed")
    else:
        tap.main()
