# SPDX-License-Identifier: Apache-2.0
"""Annotations: programs that say what they do with <sonde/annotate.h>, with and without other
instrumentation. What was recorded is read by the reader of tests/interop."""
import collections
import mmap
import os
import random
import signal
import struct
import subprocess
import time

from atf_reader import decode_arguments
from harness import (ANNOTATE, CALL, EXCEPTION, HERE, INCLUDE, RETURN, WORK, Case, Program, finish,
                     for_kinds, read_session, run, start, wait_until)

FLAGS = ("-pedantic", *ANNOTATE)
NONE = ("none-gcc", "none-clang")
ALL = (*NONE, "a-gcc", "a-clang", "b-gcc", "b-clang")
INSTANT, MARK, FLOW_BEGIN, FLOW_STEP, FLOW_END, COUNTER, RANGE_BEGIN, RANGE_END = range(4, 12)
OURS = 0xC65348F7  # the module of annotations

Found = collections.namedtuple("Found", "kind name depth arguments extra")


class Annotated(Case):
    """What all of them share."""
    kinds = ALL

    def tracks(self, *arguments, functions=False, **keywords):
        """{name of the track: [Found]} of one process; without the calls of functions, unless
        they are asked for."""
        self.record(*arguments, **keywords)
        process, = read_session(self.session).processes
        return self.tracks_of(process, functions)

    def tracks_of(self, process, functions=False):
        names = {int(symbol["function_id"], 16): symbol["name"]
                 for symbol in process.manifest["symbols"]}
        threads = {thread["id"]: thread for thread in process.manifest["threads"]}
        types = process.event_types()
        tracks = collections.defaultdict(list)
        for thread in process.threads:
            for event in thread.events:
                if event.function_id >> 32 != OURS and not functions:
                    continue
                values, extra = None, None
                if event.detail_seq != 0xFFFFFFFF:
                    _, extra, data = thread.details[event.detail_seq].arguments()
                    values = dict(decode_arguments(types[event.function_id][1], data))
                tracks[threads[thread.slot]["name"]].append(
                    Found(event.kind, names.get(event.function_id), event.depth, values, extra))
        self.threads = threads
        return tracks

    def only_track(self, *arguments, **keywords):
        tracks = self.tracks(*arguments, **keywords)
        self.assertEqual(len(tracks), 1, list(tracks))
        return next(iter(tracks.values()))

    def summary(self, events):
        """"+name" for a call, "-" for a return, "!" for one that was left, "*" for the rest."""
        return " ".join({CALL: "+", RETURN: "-", EXCEPTION: "!"}.get(event.kind, "*") + event.name
                        for event in events)


class Plain(Annotated):
    program = Program("annotate.c", flags=("-O1", *FLAGS))

    def case_nest(self):
        events = self.only_track("nest", functions=True)
        # functions are there where they are instrumented, and nest with the scopes
        hooked = not self.kind.startswith("none-")
        expected, depth = [], 0
        leaf = [("+f", "leaf"), ("+", "leaf scope"), ("*", "leaf event"), ("-", "leaf scope"),
                ("-f", "leaf")]
        script = [("+f", "main"), ("+f", "nest"), ("+", "outer"), ("+", "inner"), ("+f", "middle"),
                  ("*", "before"),
                  *[step for _ in range(2) for step in
                    (("+", "loop"), *leaf, ("-", "loop"))],
                  ("*", "last act"), ("-f", "middle"), ("-", "inner"), ("*", "after inner"),
                  ("-", "outer"), ("-f", "nest"), ("-f", "main")]
        for sign, name in script:
            if sign.endswith("f") and not hooked:
                continue
            depth += sign.startswith("+")
            expected.append((sign[0], name, depth))
            depth -= sign.startswith("-")
        signs = {CALL: "+", RETURN: "-"}
        self.assertEqual([(signs.get(event.kind, "*"), event.name, event.depth)
                          for event in events], expected)
        self.assertEqual([event.arguments for event in events if event.name == "leaf event"],
                         [{"twice": 0}, {"twice": 2}])
        self.assertEqual([event.arguments for event in events
                          if event.name == "loop" and event.kind == CALL], [{"i": 0}, {"i": 1}])

    def case_types(self):
        events = self.only_track("types")
        found = {event.name: event.arguments for event in events
                 if event.kind in (INSTANT, CALL)}
        self.assertEqual(found["numbers"], {
            "truth": True, "p_x": -7, "i8": -128, "u8": 255, "i16": -32768, "u16": 65535,
            "i32": -2**31, "u32": 2**32 - 1})
        self.assertEqual(found["wide"], {"i64": -2**63, "between": 3, "u64": 2**64 - 1, "f32": 1.5,
                                         "f64": -1e300})
        self.assertEqual(found["texts"], {
            "text": "text", "null": None, "empty": "", "one": "a", "seven": "1234567",
            "eight": "12345678", "utf8": "grüß",
            "many": "a text that goes on behind the first unit of a record"})
        self.assertEqual(found["arrays"], {
            "bools": [True, False, True], "i8s": [-128, 127, 0], "u8s": [1, 2, 3, 255, 5],
            "i16s": [-32768, 1, 2], "u16s": [65535], "i32s": [-2**31, 3], "u32s": [2**32 - 1, 4]})
        self.assertEqual(found["wide arrays"], {
            "i64s": [-2**63, 5, 6], "u64s": [2**64 - 1],
            "f32s": list(struct.unpack("<2f", struct.pack("<2f", 0.5, -1e30))),
            "f64s": [1e300, -0.1], "none": None, "empty": []})
        generic = found["generic"]
        self.assertIn(generic.pop("c"), ("c", ord("c"), b"c"))
        self.assertEqual(generic, {"b": True, "s": -2, "ul": 2**63, "ll": -3, "f": 0.25, "d": 0.1,
                                   "text": "text"})
        self.assertEqual(found["generic arrays"]["shorts"], [-32768, 1])
        self.check_builtins(events)

    def check_builtins(self, events):
        rest = [(event.kind, event.name, event.arguments, event.extra) for event in events
                if event.kind not in (INSTANT, CALL, RETURN)]
        value = {"value": None}
        bits = [struct.unpack("<Q", struct.pack("<d", number))[0] for number in (3, -2.5)]
        self.assertEqual(rest, [
            (FLOW_BEGIN, "wtf.flow#branch", {"id": 7, "parentId": 0, "name": "flow", **value}, 7),
            (FLOW_STEP, "wtf.flow#extend", {"id": 7, "name": "step", **value}, 7),
            (FLOW_END, "wtf.flow#terminate", {"id": 7, **value}, 7),
            (RANGE_BEGIN, "wtf.timeRange#begin", {"id": 9, "name": "range", **value}, 9),
            (RANGE_END, "wtf.timeRange#end", {"id": 9}, 9),
            (RANGE_BEGIN, "timing#frameStart", {"number": 1}, 1),
            (RANGE_END, "timing#frameEnd", {"number": 1}, 1),
            (COUNTER, "queue", {"value": 3}, bits[0]),
            (COUNTER, "queue", {"value": -2.5}, bits[1]),
            (MARK, "wtf.trace#mark", {"name": "mark", **value}, 0),
            (MARK, "wtf.trace#mark", {"name": "valued", "value": '{"a":1}'}, 0),
            (MARK, "wtf.trace#mark", {"name": "api", **value}, 0)])
        process, = read_session(self.session).processes
        self.assertEqual([mark["text"] for mark in process.manifest["marks"]], ["api"])

    @for_kinds("none-gcc")
    def case_lengths(self):
        self.check_lengths()

    @for_kinds("none-gcc")
    def case_lengths_in_a_small_ring(self):
        self.check_lengths("--ring-size", "64K")

    def check_lengths(self, *options):
        events = self.only_track("lengths", options=options)
        text = "".join(chr(ord("a") + i % 26) for i in range(200000))
        for event in events:
            if event.name == "text":
                self.assertEqual(event.arguments["text"], text[:event.arguments["length"]])
        self.assertEqual(sum(event.name == "text" for event in events), 601)
        found = {event.name: event.arguments for event in events}
        self.assertEqual(found["64K"], {"text": text[:65536], "behind": 5})
        self.assertEqual(found["cut"]["text"], text[:65536])
        self.assertEqual(found["cut"]["items"], list(range(16384)))
        sizes = [len(value) for value in found["bounded"].values()]
        self.assertEqual(sizes[:3], [65536] * 3)
        self.assertLess(sum(sizes), 225 << 10)
        added = [event.arguments for event in events if event.name == "sonde.resource#add"]
        self.assertEqual(added, [{"resource": 0, "name": "small"}, {"resource": 1, "name": "large"},
                                 {"resource": 2, "name": "empty"}])
        process, = read_session(self.session).processes
        contents = []
        for resource in process.manifest["resources"]:
            with open(os.path.join(process.folder, resource["file"]), "rb") as file:
                contents.append(file.read())
        changed = text[:65536] + "x" + text[65537:]
        self.assertEqual(contents, [b"abc", changed.encode(), b""])
        self.session += "-again"
        told = run(self.command("lengths", options=options, quiet=False), self.place).stderr
        self.assertIn("warning: 7 arguments of annotations", told)

    @for_kinds("none-gcc", "none-clang")
    def case_edges(self):
        events = self.only_track("edges")
        text = "".join(chr(ord("a") + i % 26) for i in range(4095))
        edges = [event.arguments for event in events if event.name == "edge"]
        wide = [event.arguments for event in events if event.name == "wide edge"]
        self.assertEqual((len(edges), len(wide)), (301, 301))
        for length in range(301):
            end = text[4095 - length:]
            self.assertEqual(edges[length],
                             {"length": length, "text": end, "again": end, "behind": length})
            self.assertEqual(wide[length],
                             {"length": length, "text": end,
                              "bytes": list(end.encode()) + [0], "behind": -1})

    def case_jumps(self):
        events = self.only_track("jumps")
        jumper = "+jumper " * 4 + "!jumper " * 4
        early = " ".join("+left early " + ("*even " if i % 2 == 0 else "") + "-left early"
                         for i in range(5))
        self.assertEqual(self.summary(events),
                         ("+around " + jumper + "*landed -around ") * 3 + early)

    def case_zones(self):
        tracks = self.tracks("zones")
        leaf = "+leaf scope *leaf event -leaf scope"
        kinds = {thread["name"]: thread.get("kind", "thread") for thread in self.threads.values()}
        self.assertEqual(kinds, {"program": "thread", "one": "zone", "two": "zone"})
        self.assertEqual(self.summary(tracks["program"]), f"{leaf} {leaf}")
        self.assertEqual(self.summary(tracks["one"]), f"+in one {leaf} {leaf} {leaf} -in one")
        self.assertEqual(self.summary(tracks["two"]),
                         f"{leaf} {leaf} +jumper +jumper !jumper !jumper")
        numbers = {name: [event.arguments["i"] for event in events if event.name == "leaf scope"
                          and event.kind == CALL] for name, events in tracks.items()}
        self.assertEqual(numbers, {"program": [0, 6], "one": [1, 3, 5], "two": [2, 4]})

    @for_kinds("none-gcc", "a-gcc")
    def case_threads(self):
        self.record("threads")
        process, = read_session(self.session).processes
        self.tracks_of(process)
        jobs = collections.defaultdict(list)
        for thread in process.threads:
            types = process.event_types()
            for event in thread.events:
                if event.function_id in types and event.kind == CALL:
                    data = thread.details[event.detail_seq].arguments()[2]
                    number, i = struct.unpack("<ii", data)
                    jobs[thread.slot, number].append(i)
        self.assertEqual(sorted(jobs.values()), [list(range(20000))] * 4)

    def case_forks(self):
        self.record("forks")
        processes = read_session(self.session).processes
        self.assertEqual(len(processes), 4)
        for number, process in enumerate(processes):
            events, = self.tracks_of(process).values()
            shared = [event.arguments["where"] for event in events if event.name == "shared"]
            if number == 0:
                self.assertEqual(shared, [0])
                self.assertEqual(self.summary(events),
                                 "+parent *shared *reaped *reaped *reaped -parent")
            else:
                self.assertEqual(shared, [shared[0]] * 3)
                self.assertEqual(self.summary(events),
                                 "+parent *shared *shared *shared +leaf scope *leaf event "
                                 "-leaf scope -parent")

    def check_signals(self, mode):
        events = self.only_track(mode)
        names = collections.Counter((event.kind, event.name) for event in events)
        count, handled = self.recorded.side("count"), self.recorded.side("handled")
        self.assertEqual(names, {(CALL, "interrupted"): count, (RETURN, "interrupted"): count,
                                 (INSTANT, "long"): count, (CALL, "handler"): handled,
                                 (RETURN, "handler"): handled, (INSTANT, "handled"): handled})
        numbers = [event.arguments["count"] for event in events
                   if event.name == "interrupted" and event.kind == CALL]
        self.assertEqual(numbers, list(range(count)))
        self.assertTrue(all(event.arguments["text"] == "t" * 2499 for event in events
                            if event.name == "long"))
        self.assertTrue(all(event.arguments["text"] == "h" * 2999 for event in events
                            if event.name == "handled"))

    @for_kinds("none-gcc", "a-gcc", "b-gcc")
    def case_signals(self):
        self.check_signals("signals")

    @for_kinds("none-gcc", "a-gcc")
    def case_signals_on_their_stack(self):
        self.check_signals("alternate")

    @for_kinds("none-gcc", "a-clang")
    def case_coroutines(self):
        tracks = self.tracks("coroutines")
        self.assertEqual(len(tracks), 2)
        for name, events in tracks.items():
            self.assertIn(" / stack 0x", name)
            self.assertEqual(self.summary(events), " ".join(["+turn -turn"] * 3))

    def case_pauses(self):
        events = self.only_track("pauses")
        self.assertEqual(self.summary(events), "*seen *seen")

    @for_kinds("none-gcc")
    def case_started_paused(self):
        events = self.only_track("pauses", options=("--notrace",))
        self.assertEqual(self.summary(events), "*seen")

    @for_kinds("none-gcc", "a-gcc", "b-gcc")
    def case_filters(self):
        events = self.only_track("nest", options=("--exclude", "*"))
        self.assertEqual(self.summary(events).count("+leaf scope"), 2)
        self.assertEqual(len(events), 17)

    @for_kinds("none-gcc", "a-gcc")
    def case_depth(self):
        events = self.only_track("nest", options=("--depth", "1"), functions=True)
        self.assertTrue(all(event.depth <= 1 for event in events))
        self.assertEqual([event.name for event in events if event.kind == INSTANT],
                         ["before", "leaf event", "leaf event", "last act", "after inner"])

    @for_kinds("none-gcc", "a-gcc")
    def case_min_time(self):
        events = self.only_track("nest", options=("--min-time", "10s"))
        # a scope with an event inside is kept, with its arguments
        self.assertEqual([event.arguments for event in events
                          if event.name == "loop" and event.kind == CALL], [{"i": 0}, {"i": 1}])
        events = self.only_track_again("jumps", "--min-time", "10s")
        self.assertEqual(self.summary(events).count("+left early"), 3)

    def only_track_again(self, mode, *options):
        self.session += "-again"
        return self.only_track(mode, options=options)

    @for_kinds("none-gcc", "a-gcc")
    def case_flight(self):
        events = self.only_track("lengths", options=("--flight-size", "16M"))
        self.assertEqual(sum(event.name == "text" for event in events), 601)

    @for_kinds("none-gcc")
    def case_drop(self):
        self.record("threads", options=("--on-full", "drop", "--ring-size", "64K"), dropped=True)

    @for_kinds("none-gcc")
    def case_nothing(self):
        told = run(self.command("nothing", quiet=False), self.place)
        self.assertEqual(told.status, 0)
        self.assertIn("nothing was recorded", told.stderr)

    def kill_once(self, number):
        self.session = os.path.join(self.place, f"session-{number}")
        path = os.path.join(self.place, "board")
        with open(path, "wb") as file:
            file.write(bytes(4096))
        with open(path, "r+b") as file, mmap.mmap(file.fileno(), 4096) as board:
            process = start(self.command("killed"), self.place, {"REC_BOARD": path})
            pid = wait_until(lambda: struct.unpack_from("<Q", board)[0] or
                             process.poll() is not None, "the program's start")
            time.sleep(random.Random(number).random() * 0.02)
            os.kill(pid, signal.SIGKILL)
            finish(process, self.place)
            counted = struct.unpack_from("<Q", board, 64)[0]
        self.read(names=False)
        process, = read_session(self.session).processes
        thread, = process.threads
        ours = [event for event in thread.events if event.kind == INSTANT]
        self.assertIn(len(ours) - counted, (0, 1))
        last = thread.details[ours[-1].detail_seq].arguments()[2]
        self.assertEqual(struct.unpack("<Q", last)[0], len(ours) - 1)

    @for_kinds("none-gcc", "a-gcc")
    def case_killed(self):
        for number in range(8):
            self.kill_once(number)


class Optimised(Annotated):
    """-O2 and -O0 lay frames out in other ways."""
    program = Program("annotate.c", flags=("-O2", *FLAGS))
    kinds = ("none-gcc", "none-clang", "a-gcc", "a-clang", "b-gcc")
    case_jumps, case_zones, case_nest = Plain.case_jumps, Plain.case_zones, Plain.case_nest


class NotOptimised(Annotated):
    program = Program("annotate.c", flags=("-O0", *FLAGS))
    kinds = ("none-gcc", "a-gcc", "b-clang")
    case_jumps, case_zones, case_nest = Plain.case_jumps, Plain.case_zones, Plain.case_nest


class CPlusPlus(Annotated):
    program = Program("annotate.cpp", flags=("-O1", "-std=c++17", *FLAGS))

    def case_all(self):
        events = self.only_track()
        catcher = ("+catcher +tried +thrower +thrower +thrower !thrower !thrower !thrower !tried "
                   "*caught *after -catcher ")
        self.assertEqual(self.summary(events),
                         catcher * 3 + "*shown " * 6 + "+lambda *long -lambda")
        shown = [list(event.arguments.values()) for event in events if event.name == "shown"]
        self.assertEqual([values[0] for values in shown], [1, 2.5, "three", 2, None, True])
        self.assertEqual({values[1] for values in shown}, {"t" * 16})
        self.assertEqual(events[-2].arguments, {"words_c_str": "s" * 5000})
        self.assertEqual(events[-3].arguments, {"i": 4, "words_size": 5000})
        self.assertEqual({event.arguments["error_what"] for event in events
                          if event.name == "caught"}, {"thrown"})


class Sites(Annotated):
    """Thousands of sites, with texts longer than an entry of the log."""
    program = Program("annotate.c", flags=("-O1", *FLAGS))
    kinds = ("none-gcc",)
    count = 5000

    def case_many(self):
        source = os.path.join(WORK, "sites.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write('#include <sonde/annotate.h>\nint main(void)\n{\n')
            for i in range(self.count):
                name = f"site {i}" + ("-" * 1500 if i % 1000 == 0 else "")
                file.write(f'\tSONDE_EVENT("{name}", SONDE_U32_AS("n{i}", {i}));\n')
            file.write("\treturn 0;\n}\n")
        self.path = os.path.join(WORK, "sites")
        subprocess.run(["gcc", source, *FLAGS, "-o", self.path], check=True)
        events = self.only_track()
        self.assertEqual([list(event.arguments.items()) for event in events],
                         [[(f"n{i}", i)] for i in range(self.count)])
        self.assertEqual(events[1000].name, "site 1000" + "-" * 1500)


class CompiledOut(Annotated):
    """With SONDE_NO_ANNOTATIONS nothing of the library is left, nor is anything warned of."""
    program = Program("annotate.cpp", flags=("-O1", "-std=c++17", *FLAGS))
    kinds = NONE

    def case_no_reference(self):
        compiler = {"none-gcc": "g++", "none-clang": "clang++"}[self.kind]
        for source, name, standard in (("annotate.cpp", compiler, "-std=c++17"),
                                       ("annotate.c", compiler.replace("++", "cc").replace(
                                           "clangcc", "clang"), "-std=gnu11")):
            output = os.path.join(self.place, "out.o")
            done = subprocess.run([name, standard, "-c", "-O1", "-Wall", "-Wextra", "-pedantic",
                                   "-D_GNU_SOURCE", "-DSONDE_NO_ANNOTATIONS", "-I" + INCLUDE,
                                   "-I" + os.path.join(HERE, "programs"),
                                   os.path.join(HERE, "programs", source), "-o", output],
                                  text=True, stderr=subprocess.PIPE, check=True)
            self.assertEqual(done.stderr, "")
            symbols = subprocess.run(["nm", output], text=True, stdout=subprocess.PIPE,
                                     check=True).stdout
            self.assertNotIn("sonde_annotate", symbols)
