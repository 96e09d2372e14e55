# SPDX-License-Identifier: Apache-2.0
"""Reads Perfetto traces through protoc --decode and perfetto.proto, and puts together what their packets
say: tracks with slices, instants, counters, flows and samples, with names resolved. Shares no code with
the program.
"""
import os
import re
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
ESCAPE = re.compile(rb"\\([0-7]{1,3}|x[0-9a-fA-F]{1,2}|.)")
SIMPLE = {b"n": b"\n", b"t": b"\t", b"r": b"\r"}
TEXT = re.compile(rb'^"(.*)"$')
BEGIN, END, INSTANT, COUNTER = b"BEGIN", b"END", b"INSTANT", b"COUNTER"


def unescape(text):
    def one(match):
        code = match.group(1)
        if code[:1].isdigit():
            return bytes([int(code, 8)])
        return SIMPLE.get(code, code)
    return ESCAPE.sub(one, text)


def decode(path):
    """The fields of the trace, by name: lists of numbers (as text), bytes and messages (dicts)."""
    with open(path, "rb") as file:
        done = subprocess.run(["protoc", "--decode=sonde.perfetto.Trace", f"-I{HERE}", "perfetto.proto"],
                              stdin=file, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=False)
    if done.returncode:
        raise AssertionError(f"protoc refuses {path}: {done.stderr.decode()}")
    stack = [{}]
    for line in done.stdout.split(b"\n"):
        line = line.strip()
        if line == b"}":
            stack.pop()
        elif line.endswith(b" {"):
            stack.append({})
            stack[-2].setdefault(line[:-2].decode(), []).append(stack[-1])
        elif line:
            key, value = line.split(b": ", 1)
            text = TEXT.match(value)
            stack[-1].setdefault(key.decode(), []).append(unescape(text.group(1)) if text else value)
    return stack[0]


def first(message, key, default=None):
    return message[key][0] if key in message else default


def number(message, key, default=None):
    return int(message[key][0]) if key in message else default


class Slice:
    def __init__(self, begin, name, depth, arguments):
        self.begin, self.end, self.name, self.depth = begin, None, name, depth
        self.arguments = arguments
        self.categories = []


class Track:
    """What is on one track."""

    def __init__(self):
        self.descriptor = {}
        self.slices, self.open = [], []
        self.instants, self.counters = [], []


class Sequence:
    def __init__(self):
        self.is_cleared = False
        self.track = 0
        self.interned = {}


class Trace:
    def __init__(self, path):
        self.tracks, self.sequences = {}, {}
        self.samples = []
        self.snapshots, self.system = [], {}
        self.unknown = 0
        for packet in decode(path).get("packet", []):
            self.take(packet)

    def track(self, uuid):
        return self.tracks.setdefault(uuid, Track())

    def take(self, packet):
        sequence = self.sequences.setdefault(number(packet, "sequence"), Sequence())
        flags = number(packet, "flags", 0)
        if flags & 1:
            assert not sequence.is_cleared
            sequence.is_cleared = True
        if flags & 2:
            assert sequence.is_cleared, "state is needed that is not there"
        for defaults in packet.get("defaults", []):
            sequence.track = number(first(defaults, "track_event"), "track")
        for data in packet.get("interned", []):
            for kind, entries in data.items():
                table = sequence.interned.setdefault(kind, {})
                for entry in entries:
                    iid = number(entry, "iid")
                    assert iid and iid not in table, (kind, iid)
                    table[iid] = entry
        for descriptor in packet.get("track", []):
            self.track(number(descriptor, "uuid")).descriptor = descriptor
        for event in packet.get("track_event", []):
            self.take_event(sequence, number(packet, "timestamp"), event)
        for sample in packet.get("perf_sample", []):
            self.take_sample(sequence, number(packet, "timestamp"), sample)
        self.snapshots += packet.get("clock_snapshot", [])
        self.system = first(packet, "system_info", self.system)

    def value(self, annotation):
        for key, values in annotation.items():
            if key in ("string_value", "json"):
                return values[0].decode()
            if key == "double_value":
                return float(values[0])
            if key == "bool_value":
                return values[0] == b"true"
            if key in ("uint_value", "int_value"):
                return int(values[0])
            if key == "item":
                return [self.value(item) for item in values]
            if key == "nested":
                return []
        return None

    def take_event(self, sequence, time, event):
        track = self.track(number(event, "track", sequence.track))
        kind = first(event, "type")
        name = None
        if "name_iid" in event:
            name = first(sequence.interned["name"][number(event, "name_iid")], "name")
        arguments = {}
        for annotation in event.get("annotation", []):
            key = sequence.interned["annotation_name"][number(annotation, "name_iid")]
            arguments[first(key, "name").decode()] = self.value(
                {field: value for field, value in annotation.items() if field != "name_iid"})
        if kind == BEGIN:
            track.open.append(Slice(time, name, len(track.open) + 1, arguments))
            track.slices.append(track.open[-1])
            if "location_iid" in event:
                place = sequence.interned["location"][number(event, "location_iid")]
                track.open[-1].place = (first(place, "file"), number(place, "line"))
        elif kind == END:
            closed = track.open.pop()
            closed.end = time
            closed.categories = event.get("category", [])
        elif kind == INSTANT:
            flows = [(int(flow, 16 if flow[:2] == b"0x" else 10), is_end)
                     for key, is_end in (("flow", False), ("flow_end", True))
                     for flow in event.get(key, [])]
            track.instants.append((time, name, arguments, flows, event.get("category", [])))
        elif kind == COUNTER:
            value = float(first(event, "counter", first(event, "counter_double")))
            track.counters.append((time, value))
        else:
            self.unknown += 1

    def frame(self, sequence, iid):
        frame = sequence.interned["frame"][iid]
        if "function" in frame:
            text = sequence.interned["function_name"][number(frame, "function")]
            return first(text, "text").decode()
        if "mapping" in frame:
            mapping = sequence.interned["mapping"][number(frame, "mapping")]
            path = sequence.interned["mapping_path"][number(mapping, "path")]
            return f"{os.path.basename(first(path, 'text').decode())}+{number(frame, 'address'):#x}"
        return f"{number(frame, 'address', 0):#x}"

    def take_sample(self, sequence, time, sample):
        stack = None
        if "callstack" in sample:
            frames = sequence.interned["callstack"][number(sample, "callstack")].get("frame", [])
            stack = [self.frame(sequence, int(iid)) for iid in frames]
        self.samples.append((number(sample, "tid"), time, stack))

    def threads(self):
        """[(descriptor, track)] in the order of the file."""
        return [(first(track.descriptor, "thread"), track) for track in self.tracks.values()
                if "thread" in track.descriptor]
