# SPDX-License-Identifier: Apache-2.0
"""What the tests of trace stores share: traces as rows that can be compared, from whichever program they come: a
*.tree.txt dump of the existing program, our Python reader, or `sonde dump --json`.

A row is (depth, method, start and stop in ns from the start of the trace, calls, attributes as JSON, exception).
"""
import json
import os
import re

from sonde_case import SondeCase
from zts_reader import read_store

CORPUS = os.path.join(os.environ["SONDE_CORPUS"], "zts") if os.environ.get("SONDE_CORPUS") else None
TICK_NS = 65536


def as_json(value):
    """Sorted; a NUL in a text is U+FFFD, as everywhere in what sonde shows."""
    return json.dumps(value, sort_keys=True).replace("\\u0000", "\\ufffd")


# ---- the existing program ------------------------------------------------------------------------

def unescape(match):
    code = match[1]
    if code[0] == "x":
        return chr(int(code[1:], 16) or 0xfffd)
    return {"t": "\t", "n": "\n", "r": "\r"}.get(code, code)


def parse_value(text):
    """s:text, i:5, null, and JSON-like nests of them are not taken apart: only plain ones are compared."""
    if text.startswith("s:"):
        return re.sub(r"\\(x..|.)", unescape, text[2:])
    if text.startswith("i:"):
        return int(text[2:])
    return {"null": None, "b:true": True, "b:false": False}.get(text, ...)


def expected_traces(path):
    """uuid -> rows of a *.tree.txt; attributes of kinds not known here are ... and match anything."""
    traces, rows, attributes, stack = {}, None, None, None
    with open(path, encoding="utf-8") as file:
        for line in file:
            fields = line.rstrip("\n").split("\t")
            if fields[0] == "TRACE":
                rows = traces.setdefault(fields[1], [])
            elif fields[0] == "REC" and rows is not None:
                values = dict(field.split("=", 1) for field in fields[3:])
                attributes, stack = {}, []
                rows.append([int(fields[1]), fields[2], int(values["tstart"]) * TICK_NS,
                             int(values["tstop"]) * TICK_NS, int(values["calls"]), attributes,
                             stack])
            elif fields[0] == "ATTR":
                attributes[fields[2].split(":", 1)[1]] = parse_value(fields[3])
            elif fields[0] == "X":
                stack.append(fields[2:])
            elif fields[0] in ("META", "SUMMARY", "STORE"):
                rows = None
    return {uuid: [tuple([depth, name, start - rows[0][2], stop - rows[0][2], calls, attributes,
                          stack])
                   for depth, name, start, stop, calls, attributes, stack in rows]
            for uuid, rows in traces.items()}


def flat_exception(exception):
    """As the existing program prints one."""
    out, prefix = [], ""
    while exception:
        out.append([prefix + "EXC", exception["class"], exception["message"]])
        out += [[prefix + "STK", frame] for frame in exception["stack"]]
        exception = exception["cause"]
    return out


# ---- the Python reader ---------------------------------------------------------------------------

def reader_traces(base):
    """uuid -> (start in ns, rows)."""
    traces = {}
    for part in read_store(base):
        for uuid, (_, first) in part.traces().items():
            origin = part.times(first)[0]
            traces[uuid] = (origin, [
                (depth, part.texts.method(record.info[0x0e]), part.times(record)[0] - origin,
                 part.times(record)[1] - origin, record.info.get(0x09, 0),
                 as_json(part.attributes(record)), as_json(part.exception(record)))
                for depth, record in first.walk()])
    return traces


# ---- sonde ---------------------------------------------------------------------------------------

class Call:
    def __init__(self, event):
        self.event, self.children, self.exception = event, [], None
        self.stop = None

    def rows(self, origin, depth=0):
        arguments = self.event["arguments"]
        yield (depth, self.event["name"], self.event["time_ns"] - origin, self.stop - origin,
               arguments["calls"], as_json(arguments["attributes"]), as_json(self.exception))
        for child in self.children:
            yield from child.rows(origin, depth + 1)


def dumped_calls(lines):
    """All calls of `sonde dump --json`, with what is in them; those at top level are marked."""
    stacks, calls = {}, []
    last = {}
    for line in lines:
        event = json.loads(line)
        stack = stacks.setdefault(event["track"], [])
        assert event["time_ns"] >= last.get(event["track"], 0), "times go back"
        last[event["track"]] = event["time_ns"]
        if event["kind"] == "call":
            call = Call(event)
            if stack:
                stack[-1].children.append(call)
            assert event["depth"] == len(stack) + 1
            stack.append(call)
            calls.append(call)
            continue
        call = stack.pop()
        assert call.event["name"] == event["name"] and event["depth"] == len(stack) + 1
        call.stop = event["time_ns"]
        if event["kind"] == "exception":
            call.exception = event["arguments"]
    assert not any(stacks.values())
    return calls


def dumped_traces(lines):
    """uuid -> (start in ns, rows)."""
    return {call.event["arguments"]["trace"]: (call.event["time_ns"],
                                               list(call.rows(call.event["time_ns"])))
            for call in dumped_calls(lines) if call.event["arguments"]["trace"]}


class ZtsCase(SondeCase):
    def dump(self, base):
        return self.sonde("dump", "--json", base).splitlines()

    def traces(self, base):
        return dumped_traces(self.dump(base))

    def check(self, base):
        """Nothing worse than a note."""
        report, = json.loads(self.sonde("check", "--json", base))["recordings"]
        self.assertEqual([finding for finding in report["findings"]
                          if finding["severity"] != "note"], [])
