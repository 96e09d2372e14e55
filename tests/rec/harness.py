# SPDX-License-Identifier: Apache-2.0
"""Builds a program in each kind of instrumentation, runs it plainly and recorded, and compares.

A group of cases is a module with subclasses of Case. Each method `case_x(self)` becomes one test
for every kind of build in the class's `kinds`; self.kind and self.folder say which one it is. What
was recorded is read by the reader of tests/interop, which shares no code with ours.
"""
import array
import collections
import concurrent.futures
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs")
sys.path.insert(0, os.path.join(HERE, os.pardir, "interop"))

from atf_reader import CALL, EXCEPTION, RETURN, natural, read_session  # noqa: E402

SONDE = os.environ["SONDE"]
PATCHABLE = "-fpatchable-function-entry=5"
KINDS = {
    "a-gcc": ("gcc", "-finstrument-functions"),
    "b-gcc": ("gcc", PATCHABLE),
    "a-clang": ("clang", "-finstrument-functions"),
    "b-clang": ("clang", PATCHABLE),
    "after-clang": ("clang", "-finstrument-functions-after-inlining"),
    "none-gcc": ("gcc", "-DNOT_INSTRUMENTED"),
    "none-clang": ("clang", "-DNOT_INSTRUMENTED"),
}
GCC = ("a-gcc", "b-gcc")
BOTH = ("a-gcc", "b-gcc", "a-clang", "b-clang")
EVERY = tuple(kind for kind in KINDS if not kind.startswith("none-"))
TIMEOUT = 60
READER_LIMIT = 250000  # events; beyond that only `sonde check` looks at every one

WORK = tempfile.mkdtemp(prefix="sonde-rec-")
INCLUDE = os.path.normpath(os.path.join(HERE, os.pardir, os.pardir, "include"))
LIBRARIES = os.path.dirname(os.path.realpath(SONDE))
# Flags of programs that include <sonde/annotate.h>.
ANNOTATE = ("-I" + INCLUDE, "-L" + LIBRARIES, "-Wl,-rpath," + LIBRARIES,
            "-Wl,--no-as-needed", "-lsonde-rt")
BUILDERS = concurrent.futures.ThreadPoolExecutor(2)


class Program:
    """Sources and flags of one program with the libraries that come with it."""

    builds = {}  # of all programs, by folder: several cases may have one in common

    def __init__(self, *sources, flags=("-O1",), libraries=(), plugins=(), quiet=True):
        self.name = sources[0].rsplit(".", 1)[0]
        self.sources, self.flags = sources, list(flags)
        self.libraries, self.plugins = libraries, plugins  # (name, source, flags...)
        self.quiet = quiet  # no compiler has anything to say of it

    def folder(self, kind):
        flags = re.sub("[/,]", "", "".join(self.flags))
        return os.path.join(WORK, f"{self.name}{flags}-{kind}")

    def start_build(self, kind):
        folder = self.folder(kind)
        if folder not in self.builds:
            self.builds[folder] = BUILDERS.submit(self.build, kind)
        return self.builds[folder]

    def build(self, kind):
        """Gives the error text, "" where all is well."""
        folder = self.folder(kind)
        compiler, flag = KINDS[kind]
        if any(source.endswith(".cpp") for source in self.sources):
            compiler = {"gcc": "g++", "clang": "clang++"}[compiler]
        base = [compiler, "-g", "-D_GNU_SOURCE", "-Wall", "-Wextra", flag, "-I", PROGRAMS]
        os.makedirs(folder, exist_ok=True)
        commands = []
        for name, source, *flags in (*self.libraries, *self.plugins):
            commands.append([*base, *self.flags, *flags, "-shared", "-fPIC",
                             os.path.join(PROGRAMS, source), "-o",
                             os.path.join(folder, f"lib{name}.so")])
        commands.append([*base, *self.flags,
                         *(os.path.join(PROGRAMS, source) for source in self.sources), "-o",
                         os.path.join(folder, "program"), "-L", folder, "-Wl,-rpath," + folder,
                         *(f"-l{library[0]}" for library in self.libraries), "-pthread", "-ldl"])
        for command in commands:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, check=False)
            if done.returncode or (self.quiet and done.stdout):
                return " ".join(command) + "\n" + done.stdout
        return ""


def build_count_library():
    path = os.path.join(WORK, "libcount.so")
    subprocess.run(["gcc", "-O2", "-D_GNU_SOURCE", "-shared", "-fPIC",
                    os.path.join(HERE, "count.c"), "-o", path, "-ldl"], check=True)
    return path


COUNT_LIBRARY = BUILDERS.submit(build_count_library)


def have(compiler):
    return shutil.which(compiler) is not None


class Result:
    """How a command ended, and what it wrote."""

    def __init__(self, status, stdout, stderr, side):
        self.status, self.stdout, self.stderr, self.side_text = status, stdout, stderr, side

    def side(self, name):
        return int(re.findall(rf"^{name}\s+(\d+)$", self.side_text, re.M)[-1])

    def outcome(self):
        """What must be the same with and without a recorder. A signal is as the shell shows it."""
        status = 128 - self.status if self.status < 0 else self.status
        return status, self.stdout, self.stderr


def start(command, place, env=None, preexec=None, name="run"):
    """Starts a command with its output in files: a process that outlives it holds up nobody."""
    environment = dict(os.environ, REC_SIDE=os.path.join(place, name + ".side"))
    environment.pop("LD_PRELOAD", None)
    environment.update(env or {})
    with open(os.path.join(place, name + ".out"), "wb") as out, \
            open(os.path.join(place, name + ".err"), "wb") as err:
        return subprocess.Popen(command, cwd=place, stdin=subprocess.DEVNULL, stdout=out,
                                stderr=err, env=environment, preexec_fn=preexec,
                                start_new_session=True)


def read_text(place, name):
    path = os.path.join(place, name)
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def finish(process, place, name="run", timeout=TIMEOUT):
    try:
        status = process.wait(timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise AssertionError(f"{process.args} did not end in {timeout} s; stderr so far: "
                             + read_text(place, name + ".err")) from None
    return Result(status, read_text(place, name + ".out"), read_text(place, name + ".err"),
                  read_text(place, name + ".side"))


def run(command, place, env=None, preexec=None, name="run"):
    return finish(start(command, place, env, preexec, name), place, name)


def wait_until(condition, what, timeout=TIMEOUT):
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not happen in {timeout} s")
        time.sleep(0.002)


def symbols_of(path):
    """What nm says: {address: {raw names}} of the functions in a file."""
    found = collections.defaultdict(set)
    for option in ([], ["-D"]):
        text = subprocess.run(["nm", "--defined-only", *option, path], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, check=True).stdout
        for address, kind, name in re.findall(r"^([0-9a-f]+) (\w) ([^\s@]+)", text, re.M):
            if kind in "tTwWuVi":
                found[int(address, 16)].add(name)
    return found


class Track:
    """One thread folder, as columns."""

    def __init__(self, process, folder):
        self.process = process
        self.slot = int(folder.rsplit("_", 1)[1])
        self.entry = next((thread for thread in process.manifest.get("threads", [])
                           if thread["id"] == self.slot), {})
        self.dropped = self.entry.get("dropped_events", 0)
        self.name = self.entry.get("name", "")
        with open(os.path.join(folder, "index.atf"), "rb") as file:
            data = file.read()
        end, = struct.unpack_from("<Q", data, 40)
        section = data[64:end]
        words, longs = array.array("I", section), array.array("Q", section)
        head = self.entry.get("synthetic_head", 0)
        tail = len(longs) // 4 - self.entry.get("synthetic_tail", 0)
        self.made_up = head + len(longs) // 4 - tail
        self.times, self.functions = longs[0::4][head:tail], longs[1::4][head:tail]
        self.kinds, self.depths = words[5::8][head:tail], words[6::8][head:tail]

    def events(self):
        """(kind, name, depth) of every event that was not made up by the recorder."""
        names = self.process.names
        return [(kind, names.get(function, hex(function)), depth) for kind, function, depth
                in zip(self.kinds, self.functions, self.depths)]


class RecordedProcess:
    """One pid folder."""

    def __init__(self, folder):
        with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as file:
            self.manifest = json.load(file)
        self.pid = self.manifest.get("pid")
        self.modules = {module["module_id"]: module
                        for module in self.manifest.get("modules", [])}
        self.symbols = {int(symbol["function_id"], 16): symbol
                        for symbol in self.manifest.get("symbols", [])}
        self.names = {function: short_name(symbol["name"])
                      for function, symbol in self.symbols.items()}
        self.tracks = [Track(self, os.path.join(folder, name))
                       for name in sorted(os.listdir(folder), key=natural)
                       if name.startswith("thread_")]


def short_name(name):
    """The name of a C++ function without its parameters, if it has nothing more special."""
    match = re.fullmatch(r"([\w:~]+)\(.*\)( const)?", name)
    return match.group(1) if match else name


class Recording:
    """A session: counts by name of the function, and every track."""

    def __init__(self, folder):
        self.folder = folder
        names = ["", *sorted(os.listdir(folder), key=natural)]  # a pid folder can be all there is
        self.processes = [RecordedProcess(os.path.join(folder, name)) for name in names
                          if os.path.exists(os.path.join(folder, name, "manifest.json"))]
        self.tracks = [track for process in self.processes for track in process.tracks]
        self.dropped = sum(track.dropped for track in self.tracks)
        self.event_count = sum(len(track.kinds) for track in self.tracks)
        self.ids = {CALL: collections.Counter(), RETURN: collections.Counter(),
                    EXCEPTION: collections.Counter()}  # by (module path, address in its file)
        self.names = {kind: collections.Counter() for kind in self.ids}
        for process in self.processes:
            for track in process.tracks:
                self.add(process, collections.Counter(zip(track.kinds, track.functions)))
        self.calls, self.returns = self.names[CALL], self.names[RETURN]
        self.exceptions = self.names[EXCEPTION]

    def add(self, process, counts):
        for (kind, function), count in counts.items():
            if kind not in self.ids:  # an annotation
                continue
            module = process.modules.get(function >> 32, {}).get("path", "?")
            self.ids[kind][module, function & 0xFFFFFFFF] += count
            self.names[kind][process.names.get(function, hex(function))] += count

    def depths(self, name):
        """Depths at which a function was called, relative to the lowest one of its track."""
        found = set()
        for track in self.tracks:
            if len(track.depths):
                base = min(track.depths)
                found.update(depth - base for kind, function, depth in track.events()
                             if kind == CALL and function == name)
        return found


class Case(unittest.TestCase):
    """One hard case; see the top of the file."""

    program = None
    kinds = BOTH
    options = ()  # of `sonde record`
    under = ()  # what starts the program, when recorded
    maxDiff = 3000

    def __init_subclass__(cls, **keywords):
        super().__init_subclass__(**keywords)
        for name, method in list(vars(cls).items()):
            if name.startswith("case_"):
                for kind in getattr(method, "kinds", cls.kinds):
                    setattr(cls, f"test_{name[5:]}_{kind}", cls.bind(method, kind))

    @staticmethod
    def bind(method, kind):
        def test(self):
            self.prepare(kind)
            method(self)
        test.kind = kind
        return test

    def prepare(self, kind):
        compiler = KINDS[kind][0]
        if not have(compiler):
            self.skipTest(f"no {compiler}")
        self.kind = kind
        self.patched = kind.startswith("b-")
        error = self.program.start_build(kind).result()
        if error:
            self.fail(error)
        self.folder = self.program.folder(kind)
        self.path = os.path.join(self.folder, "program")
        self.place = tempfile.mkdtemp(dir=WORK)
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)
        self.session = os.path.join(self.place, "session")

    def command(self, *arguments, options=(), quiet=True):
        return [SONDE, "record", *(["-q"] if quiet else []), *self.options, *options, "-o",
                self.session, "--", *self.under, self.path, *map(str, arguments)]

    def go_apart(self):
        """From here on programs are recorded in a namespace of process ids of their own."""
        self.under = ("unshare", "--pid", "--fork")
        if not have("unshare") or run([*self.under, "true"], self.place).status:
            self.skipTest("cannot make a namespace of process ids")

    def record(self, *arguments, options=(), env=None, preexec=None, dropped=False):
        """The whole comparison; gives the Recording, and leaves both Results in self."""
        self.plain = run([self.path, *map(str, arguments)], self.place, env, preexec, "plain")
        self.recorded = run(self.command(*arguments, options=options), self.place, env, preexec,
                            "recorded")
        self.assertEqual(self.recorded.outcome(), self.plain.outcome())
        return self.read(dropped=dropped)

    def check(self, session=None):
        done = subprocess.run([SONDE, "check", session or self.session], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT)
        self.assertEqual(done.returncode, 0, done.stdout[:2000])

    def read(self, dropped=False, names=True):
        """Checks the session with both readers and gives it."""
        self.check()
        recording = Recording(self.session)
        if recording.event_count < READER_LIMIT:
            self.assertEqual(read_session(self.session).problems[:20], [])
        if not dropped:
            self.assertEqual(recording.dropped, 0, "dropped events")
        if names:
            self.check_names(recording)
        return recording

    def check_names(self, recording):
        """Each function of the program has the name and place that nm gives it."""
        tables = {}
        for process in recording.processes:
            for function, symbol in process.symbols.items():
                path = process.modules[function >> 32]["path"]
                if not path.startswith(self.folder):
                    continue
                if path not in tables:
                    tables[path] = symbols_of(path)
                self.assertIn(symbol.get("raw_name", symbol["name"]),
                              tables[path].get(function & 0xFFFFFFFF, ()), path)

    def assert_counts(self, recording, kind, expected):
        """Exactly these counts, for the functions that are named."""
        found = {name: recording.names[kind][name] for name in expected}
        self.assertEqual(found, dict(expected))

    def assert_calls(self, recording, **expected):
        self.assert_counts(recording, CALL, expected)

    def assert_returns(self, recording, **expected):
        self.assert_counts(recording, RETURN, expected)

    def assert_exceptions(self, recording, **expected):
        """These calls were left, and no others."""
        self.assertEqual(dict(recording.exceptions), expected)

    def assert_all_returned(self, recording):
        self.assertEqual(recording.calls, recording.returns)
        self.assertEqual(dict(recording.exceptions), {})

    def truth(self, *arguments, env=None):
        """Calls by (file, address) as counted by hooks that do nothing else, and by raw name.
        Leaves in self.counted how often the hooks were called. With patched entries, functions
        that are always inlined have hooks but no entry: they are left out."""
        kind = self.kind if not self.patched else self.kind.replace("b-", "a-")
        error = self.program.start_build(kind).result()
        if error:
            self.fail(error)
        folder = self.program.folder(kind)
        table = os.path.join(self.place, "counts")
        run([os.path.join(folder, "program"), *map(str, arguments)], self.place,
            dict(env or {}, LD_PRELOAD=COUNT_LIBRARY.result(), COUNT_FILE=table), name="counted")
        with open(table, "rb") as file:
            data = file.read()[256:]
        counted = {(path.split(b"\0")[0].decode(), address): (entries, exits) for
                   address, entries, exits, path in struct.iter_unpack("<QQQ232s", data) if address}
        paths = {path for path, _ in counted}
        tables = {path: symbols_of(path) for path in paths}
        present = {path: set().union(*symbols_of(path.replace(folder, self.folder)).values())
                   for path in paths if path.startswith(folder)}
        counts, names, self.counted = {}, collections.Counter(), 0
        for (path, address), (entries, exits) in counted.items():
            if path.startswith(folder):  # what is inlined from libc's headers has no entry here
                name = min(tables[path][address])
                if name not in present[path]:
                    continue
                names[name] += entries
            counts[path, address] = entries
            self.counted += entries + exits
        return counts, names

    def assert_truth(self, recording, *arguments, env=None):
        """Every call that a counting hook sees is there, and no other."""
        counts, names = self.truth(*arguments, env=env)
        if not self.patched:
            self.assertEqual(dict(recording.ids[CALL]), counts)
            return
        found = collections.Counter()
        for process in recording.processes:
            for track in process.tracks:
                for (kind, function), count in collections.Counter(
                        zip(track.kinds, track.functions)).items():
                    symbol = process.symbols.get(function, {})
                    raw = symbol.get("raw_name", symbol.get("name", hex(function)))
                    found[raw] += count if kind == CALL else 0
        self.assertEqual(+found, +names)


def for_kinds(*kinds):
    """Sets the kinds of one case_ method."""
    def mark(method):
        method.kinds = kinds
        return method
    return mark


def start_builds(suite):
    """Begins to build what the tests of a suite need, in their order."""
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            start_builds(test)
            continue
        kind = getattr(getattr(test, test._testMethodName), "kind", None)
        if kind and have(KINDS[kind][0]):
            test.program.start_build(kind)


def clean_up():
    BUILDERS.shutdown(cancel_futures=True)
    shutil.rmtree(WORK, ignore_errors=True)
