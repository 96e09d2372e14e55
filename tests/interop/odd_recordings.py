# SPDX-License-Identifier: Apache-2.0
"""Makes ATF sessions with hard content: every kind of event, odd names, odd times, many tracks, deep
calls. They are the sources of the tests of conversions.
"""
import json
import os
import struct

from atf_reader import (COUNTER, DETAIL_CALL, EXCEPTION, FLOW_BEGIN, FLOW_END, FLOW_STEP, INSTANT, MARK,
                        RANGE_BEGIN, RANGE_END, RETURN)
from atf_writer import (ANNOTATIONS, ThreadWriter, annotations_module, arguments_detail,
                        event_type_symbol, function_id, function_payload, manifest_of,
                        pack_arguments)


class Session:
    """A session that is built up and then written; a name may be bytes that are not UTF-8."""

    def __init__(self, pid=4711):
        self.pid = pid
        self.threads, self.about = [], {}
        self.symbols, self.types, self.signatures = [], {}, {}
        self.resources, self.additional = [], {}

    def thread(self, name=None, start=1_000_000, **about):
        slot = len(self.threads)
        self.threads.append(ThreadWriter(slot, start=start))
        self.about[slot] = {"name": name, **about} if name is not None else about
        return self.threads[-1]

    def function(self, name, **fields):
        number = len(self.symbols) + 1
        self.symbols.append((number, name, fields))
        return function_id(number)

    def event_type(self, name, signature="", scope=False):
        number = len(self.types) + 1
        self.types[number] = (name, signature, 0, scope)
        self.signatures[function_id(number, ANNOTATIONS)] = signature
        return function_id(number, ANNOTATIONS)

    def arguments(self, event_type, *values, extra=0):
        return arguments_detail(event_type, extra,
                                pack_arguments(self.signatures[event_type], values) if values else b"")

    def manifest(self):
        manifest = manifest_of(self.threads, names={}, pid=self.pid, process_name="odd", **self.additional)
        manifest["modules"].append(annotations_module())
        module = manifest["modules"][0]["module_id"]
        manifest["symbols"] = [{"function_id": f"{function_id(number):#018x}", "module_id": module,
                                "symbol_index": number,
                                "name": name if isinstance(name, str) else
                                name.decode("utf-8", "surrogateescape"), **fields}
                               for number, name, fields in self.symbols]
        manifest["symbols"] += [event_type_symbol(number, *values)
                                for number, values in self.types.items()]
        for thread in manifest["threads"]:
            thread.update(self.about[thread["id"]])
        manifest["resources"] = [{"file": f"resources/{number}", "name": name, "text": False}
                                 for number, (name, _) in enumerate(self.resources)]
        return manifest

    def write(self, path):
        folder = os.path.join(path, f"pid_{self.pid}")
        os.makedirs(folder)
        for thread in self.threads:
            thread.write(folder)
        if self.resources:
            os.makedirs(os.path.join(folder, "resources"))
        for number, (_, data) in enumerate(self.resources):
            with open(os.path.join(folder, "resources", str(number)), "wb") as file:
                file.write(data)
        text = json.dumps(self.manifest(), ensure_ascii=False)
        with open(os.path.join(folder, "manifest.json"), "wb") as file:
            file.write(text.encode("utf-8", "surrogateescape"))
        return path


def double_bits(value):
    return struct.unpack("<Q", struct.pack("<d", value))[0]


def every_kind(path):
    """Every kind of event, argument and fact, in two threads and a zone."""
    session = Session()
    session.additional = {"clock_anchors": [{"clock_ns": 1_000_000, "realtime_ns": 1_700_000_000_000_000_000}],
                          "command_line": ["odd", "--now"]}
    session.resources = [("notes.txt", b"hello")]
    place = {"file": "/src/odd.c"}
    main = session.function("main", line=1, **place)
    work = session.function('work<int, "x">', line=20, raw_name="_Z4workv", **place)
    leaf = session.function("leaf", line=30, **place)
    scope = session.event_type("load", "utf8 path, uint64 bytes, float64 share, bool hot", scope=True)
    note = session.event_type("note", "utf8 text, int32 code")
    mark = session.event_type("mark", "utf8 text")
    plain = session.event_type("plain")
    queue = session.event_type("queue", "float64 value")
    for number in range(2):
        thread = session.thread(f"worker {number}", os_id=900 + number, dropped_events=number * 3)
        thread.call(main)
        thread.add(INSTANT, note, 1, session.arguments(note, "a;b\\c\n\"é\U0001f600\"", -7))
        thread.add(INSTANT, plain, 1)
        thread.add(MARK, mark, 1, session.arguments(mark, "here"))
        for turn in range(3):
            thread.call(scope, session.arguments(scope, f"/tmp/ä{turn}", (1 << 63) + turn, 0.1 * turn, turn > 0))
            thread.add(FLOW_BEGIN, plain, 2, session.arguments(plain, extra=turn + 10 * number))
            thread.call(work)
            thread.add(COUNTER, queue, 3, session.arguments(queue, extra=double_bits(2.5 * turn)))
            thread.call(leaf, (DETAIL_CALL, 0, function_payload(leaf, range(11), b"stack", 1)) if turn else None)
            thread.time += 1000 * turn
            thread.leave()
            thread.leave(kind=EXCEPTION if turn == 1 else RETURN)
            thread.add(FLOW_STEP, plain, 2, session.arguments(plain, extra=turn + 10 * number))
            thread.add(FLOW_END, plain, 2, session.arguments(plain, extra=turn + 10 * number))
            thread.leave()
        thread.add(RANGE_BEGIN, plain, 1, session.arguments(plain, extra=77 + number))
        thread.time += 123
        thread.add(RANGE_END, plain, 1, session.arguments(plain, extra=77 + number))
        thread.leave()
    zone = session.thread("zone", os_id=900, kind="zone")
    zone.call(work)
    zone.leave()
    return session.write(path)


ODD_NAMES = (
    "", " ", '"quoted"', "back\\slash", "semi;colon", "line\nfeed\ttab\x01\x7f", "<b>&amp;</b>", "nul?",
    "Grüße 日本語 \U0001f600\U00010348", "operator<< <char, std::less<" + "x" * 10_000 + ">>",
    "a" * 10_000, "a" * 10_000 + "b", "trailing space ", "'single'", "%s%n", "{}[],:", "..", "/",
    "wtf.scope#leave", "sep\u2028par\u2029", "\u202eright to left",
)


def odd_names(path):
    session = Session()
    session.additional = {"command_line": list(ODD_NAMES[:9])}
    for number in (0, 1):
        thread = session.thread(ODD_NAMES[2 + number * 7])
        for name in ODD_NAMES:
            function = session.function(name, file=name[:300], line=1)
            thread.call(function)
            for argument in ODD_NAMES[:3]:
                kind = session.event_type(name + argument, "utf8 text")
                thread.add(INSTANT, kind, 1, session.arguments(kind, name))
        for _ in ODD_NAMES:
            thread.leave()
    return session.write(path)


def bad_utf8(path):
    """Names that are no UTF-8: cut characters, single bytes, surrogates."""
    session = Session()
    thread = session.thread("t")
    for name in (b"cut\xe2\x82", b"\xff\xfe", b"latin\xe9", b"\xed\xa0\x80", b"over\xc0\xaf"):
        thread.call(session.function(name))
        thread.leave()
    return session.write(path)


def odd_times(path):
    """0, beyond 2^53 and close to 2^63, each in a thread of its own, and calls without any length."""
    session = Session()
    function = session.function("f")
    for start in (0, (1 << 53) + 1, (1 << 62) + 12345):
        thread = session.thread(start=start - 10)
        thread.call(function)
        thread.leave()
        thread.call(function)
        thread.time -= 10
        thread.leave()
    return session.write(path)


def unbalanced(path):
    """Returns without calls, calls without returns, and a return of another function."""
    session = Session()
    outer, inner, third = (session.function(name) for name in ("outer", "inner", "third"))
    thread = session.thread("returns first")
    thread.add(RETURN, inner, 2)
    thread.add(RETURN, outer, 1)
    thread.call(outer)
    thread.leave()
    thread = session.thread("never closed")
    for function in (outer, inner, third):
        thread.call(function)
    thread = session.thread("wrong one")
    thread.call(outer)
    thread.call(inner)
    thread.add(RETURN, third, 2)
    thread.add(RETURN, outer, 1)
    return session.write(path)


def deep(path, depth=100_000):
    session = Session()
    functions = [session.function(name) for name in ("even", "odd")]
    thread = session.thread("deep")
    for level in range(depth):
        thread.call(functions[level % 2])
    for _ in range(depth):
        thread.leave()
    return session.write(path)


def many_tracks(path, count=10_000):
    session = Session()
    functions = [session.function(name) for name in ("run", "step")]
    for number in range(count):
        thread = session.thread(f"t{number}", start=1_000_000 + number)
        thread.call(functions[0])
        thread.call(functions[1])
        thread.leave()
        thread.leave()
    return session.write(path)


def only_counters(path):
    session = Session()
    thread = session.thread("numbers")
    kind = session.event_type("load", "float64 value")
    for value in (0.0, -0.0, 0.1, 1e300, -5e-324, 2.0**53 + 2):
        thread.add(COUNTER, kind, 0, session.arguments(kind, extra=double_bits(value)))
    return session.write(path)


def empty(path):
    """No thread and no event; one process."""
    session = Session()
    session.thread("idle")
    return session.write(path)
