# SPDX-License-Identifier: Apache-2.0
"""Real programs, those of the benchmark, on less work: every call is there, in both kinds, with
its right name and place in the source. Those of others are skipped where their sources cannot be
had."""
import hashlib
import os
import re
import shutil
import subprocess
import unittest

from harness import CALL, GCC, HERE, KINDS, RETURN, Case, Program

BENCH = os.path.join(HERE, os.pardir, os.pardir, "bench")
WORKLOADS = os.path.join(BENCH, "workloads")
HOME = os.environ.get("HOME") or "/var/tmp"
CACHE = os.environ.get("XDG_CACHE_HOME") or os.path.join(HOME, ".cache")
SOURCES = os.environ.get("SONDE_WORKLOADS") or os.path.join(CACHE, "sonde", "workloads")
BUILD_SECONDS = 400
# Both kinds are to make the same calls. So nothing is inlined or cloned, and no call is saved
# because the compiler has looked into a function: with hooks in it, it looks different.
FLAGS = {
    "gcc": ("-O1", "-fno-inline", "-fno-ipa-cp", "-fno-ipa-sra", "-fno-ipa-pure-const",
            "-fno-ipa-modref"),
    "clang": ("-O0",),
}


class Workload(Program):
    """A program that bench/fetch-workloads.sh builds. What comes of sources of others is kept
    beside them: they never change, and take long to build."""

    def build(self, kind):
        compiler, flag = KINDS[kind]
        path = os.path.join(self.folder(kind), "program")
        command = [os.path.join(BENCH, "fetch-workloads.sh"), self.folder(kind), self.name, "-g",
                   *FLAGS[compiler], flag]
        kept = self.kept(compiler, command)
        os.makedirs(self.folder(kind), exist_ok=True)
        if kept and os.path.exists(kept):
            shutil.copy(kept, path)
            return ""
        done = subprocess.run(["timeout", str(BUILD_SECONDS), *command],
                              env=dict(os.environ, CC=compiler), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode == 3:
            raise unittest.SkipTest(done.stdout.strip().splitlines()[-1])
        if done.returncode:
            return " ".join(command) + "\n" + "\n".join(done.stdout.splitlines()[-20:])
        os.rename(os.path.join(self.folder(kind), self.name), path)
        if kept:
            os.makedirs(os.path.dirname(kept), exist_ok=True)
            shutil.copy(path, f"{kept}.{os.getpid()}")
            os.rename(f"{kept}.{os.getpid()}", kept)
        return ""

    def kept(self, compiler, command):
        """Where the program is kept: by everything that it depends on."""
        if self.name in ("fib", "mt"):
            return None
        version = subprocess.run([compiler, "--version"], stdout=subprocess.PIPE, check=True).stdout
        with open(command[0], "rb") as script:
            text = script.read() + version + " ".join(command[2:]).encode()
        name = f"{self.name}-{hashlib.sha256(text).hexdigest()[:16]}"
        return os.path.join(SOURCES, "built", name)


def less(text, *changes):
    """A text with parts replaced, each of which must be there."""
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


class WorkloadCase(Case):
    """What is the same for all; the programs are subclasses."""
    known = {}  # functions that must be among those called: {name: file}

    def job(self, name, *changes):
        """A smaller copy of a file of bench/workloads."""
        with open(os.path.join(WORKLOADS, name), encoding="utf-8") as file:
            text = less(file.read(), *changes)
        path = os.path.join(self.place, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def compare(self, *arguments):
        recording = self.record(*arguments)
        self.assert_truth(recording, *arguments)
        left = sum(recording.exceptions.values())
        self.assertEqual(recording.event_count - left, self.counted)
        self.assertEqual({track.made_up for track in recording.tracks}, {0})
        self.check_lines(recording)
        return recording

    def check_lines(self, recording):
        """Each function's line is the one where its definition begins."""
        process, = recording.processes
        sources, seen = {}, {}
        for function, symbol in process.symbols.items():
            if process.modules[function >> 32]["path"] != self.path:
                continue
            name, path, line = (symbol.get(key) for key in ("name", "file", "line"))
            self.assertTrue(path and line, f"{name} has no line")
            if path not in sources:
                with open(path, encoding="utf-8", errors="replace") as file:
                    sources[path] = file.read().splitlines()
            self.assertTrue(self.defines(sources[path], line, name),
                            f"{path}:{line} does not define {name}")
            seen[name] = os.path.basename(path)
        self.assertEqual({name: seen.get(name) for name in self.known}, self.known)

    def defines(self, lines, number, name):
        """The name, its parameters, and a body: no semicolon before the first brace. Sqlite has
        lines of the preprocessor behind a name, and names that are macros."""
        text = "\n".join(lines[number - 1:number + 40])
        match = re.match(rf"[^\n]*?\b{re.escape(name)}\b\)?(?:\s*\n#[^\n]*)*\s*\(([^;{{]*)", text)
        if match:
            return text[match.end():match.end() + 1] == "{"
        alias = re.match(r"[^\n]*?(\w+)\n#", text)
        return bool(alias) and f"#define {alias.group(1)} {name}" in lines


class Fib(WorkloadCase):
    program = Workload("fib")
    known = {"fib": "fib.c", "main": "fib.c"}

    def case_fib(self):
        recording = self.compare(20)
        self.assert_calls(recording, fib=21891, main=1)
        self.assert_all_returned(recording)


class Threads(WorkloadCase):
    program = Workload("mt")
    known = {"one_round": "mt.c", "tree_add": "mt.c"}

    def case_threads(self):
        recording = self.compare(500, 4)
        self.assert_calls(recording, one_round=2000, work=4, mix=8000)
        self.assert_all_returned(recording)
        self.assertEqual(len(recording.tracks), 5)


class Lua(WorkloadCase):
    program = Workload("lua")
    known = {"luaV_execute": "lvm.c", "luaH_getint": "ltable.c", "lua_newstate": "lstate.c",
             "luaD_throw": "ldo.c", "main": "lua.c"}

    def case_lua(self):
        job = self.job("job.lua", ("text_of(2000)", "text_of(60)"), (", 5, 6, 7 }, 7,", " }, 4,"),
                       ("ackermann(2, 60)", "ackermann(2, 4)"), ("numbers(3000)", "numbers(50)"),
                       ("print(sum)", "for _ = 1, 50 do pcall(error, sum) end print(sum)"))
        recording = self.compare(job, 1)
        # Each error leaves the C functions down to the protected call by longjmp().
        self.assert_counts(recording, CALL, {"luaD_throw": 50, "luaB_error": 50})
        self.assertEqual(recording.exceptions["luaD_throw"], 50)
        self.assertEqual(recording.calls, recording.returns + recording.exceptions)


class Sqlite(WorkloadCase):
    program = Workload("sqlite")
    kinds = GCC  # it takes long to build
    known = {"sqlite3VdbeExec": "sqlite3.c", "sqlite3BtreeInsert": "sqlite3.c",
             "yy_reduce": "sqlite3.c", "do_meta_command": "shell.c"}

    def case_sqlite(self):
        job = self.job("job.sql", ("i < 25000", "i < 150"), ("i < 2000", "i < 60"))
        recording = self.compare(":memory:", f".read {job}")
        self.assertGreater(len(recording.calls), 900)
        self.assertEqual(recording.calls["main"], recording.names[RETURN]["main"])


class Bzip2(WorkloadCase):
    program = Workload("bzip2")
    known = {"BZ2_compressBlock": "compress.c", "mainSort": "blocksort.c", "main": "bzip2.c"}

    def case_bzip2(self):
        path = os.path.join(self.place, "text")
        with open(path, "w", encoding="utf-8") as file:
            for number in range(6000):
                file.write(f"line {number}, {number * number % 977}\n")
        recording = self.compare("--keep", "--stdout", path)
        self.assertEqual(recording.calls["BZ2_compressBlock"], 1)
