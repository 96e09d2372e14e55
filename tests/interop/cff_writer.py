# SPDX-License-Identifier: Apache-2.0
"""Writes wtf-trace files with anything in them: sound, odd, hostile. Like the reader it follows the
format document and not the C code. Fields of headers can be overridden.
"""
import json
import struct

from cff_reader import (BINARY_RESOURCE, CHUNK_HEAD, EMPTY, EVENT_DATA, EVENT_HEAD, EVENTS_PART,
                        FILE_HEADER, HEADER_PART, INSTANCE, MAGIC, NO_TIME, NULL, NUMBERS,
                        PART_HEAD, SCOPE, STRING_RESOURCE, STRINGS_PART, TEXTS, VERSION,
                        CffError, parse_signature)

HEADER = {"flags": ["has_high_resolution_times"], "timebase": 0,
          "contextInfo": {"contextType": "script", "uri": "test", "title": "test"},
          "metadata": {}}
ZONE_CREATE, ZONE_SET, LEAVE = 2, 3, 4  # wire ids that CffWriter.begin() defines
FIRST_WIRE = 5


def padded(data):
    return data + bytes(-len(data) % 4)


def chunk_bytes(kind, parts, number=1, start=NO_TIME, end=NO_TIME, length=None, slack=b""):
    """A chunk of [(part type, bytes)], laid out one after the other."""
    head, body = b"", b""
    for part, data in parts:
        head += PART_HEAD.pack(part, len(body), len(data))
        body += padded(data)
    body += slack
    size = CHUNK_HEAD.size + len(head) + len(body)
    return CHUNK_HEAD.pack(number, kind, size if length is None else length, start, end,
                           len(parts)) + head + body


def header_chunk(header=None, text=None, **fields):
    text = json.dumps(HEADER if header is None else header) if text is None else text
    return chunk_bytes(FILE_HEADER, [(HEADER_PART, text.encode())], **fields)


def file_bytes(*chunks, magic=MAGIC, wtf_version=20150715, version=VERSION):
    return struct.pack("<3I", magic, wtf_version, version) + b"".join(chunks)


class ChunkWriter:
    """Events and strings of one event chunk."""

    def __init__(self, writer):
        self.writer = writer
        self.strings, self.ordinals = [], {}
        self.events = bytearray()
        self.resources = []
        self.times = []
        self.fields = {}

    def string(self, text):
        if text is None:
            return NULL
        if text == "":
            return EMPTY
        if text not in self.ordinals:
            self.ordinals[text] = len(self.strings)
            self.strings.append(text)
        return self.ordinals[text]

    def value(self, word, is_array, value):
        if word in TEXTS:
            if word == "any" and value is not None:
                value = json.dumps(value)
            return struct.pack("<I", self.string(value))
        code = NUMBERS[word]
        if not is_array:
            return padded(struct.pack("<" + code, ord(value) if isinstance(value, str) else value))
        if value is None:
            return struct.pack("<I", NULL)
        items = [ord(item) if isinstance(item, str) else item for item in value]
        return struct.pack("<I", len(items)) + padded(struct.pack(f"<{len(items)}{code}", *items))

    def raw(self, data):
        self.events += data
        return self

    def event(self, wire, time, *values):
        """`wire` is a wire id or the name of a type that was defined."""
        wire = self.writer.wires.get(wire, wire)
        signature = self.writer.signatures[wire]
        assert len(values) == len(signature), (wire, values)
        self.events += EVENT_HEAD.pack(wire, time & NULL)
        for (word, is_array, _), value in zip(signature, values):
            self.events += self.value(word, is_array, value)
        self.times.append(time)
        return self

    def define(self, wire, name, arguments="", event_class=INSTANCE, flags=0, time=0):
        self.event(1, time, wire, event_class, flags, name, arguments or None)
        self.writer.wires[name] = wire
        try:
            self.writer.signatures[wire] = parse_signature(arguments)
        except CffError:
            self.writer.signatures[wire] = None  # meant to be wrong: only raw() goes on from here
        return self

    def scope(self, wire, name, arguments="", time=0):
        return self.define(wire, name, arguments, SCOPE, 0, time)

    def leave(self, time):
        return self.event(LEAVE, time)

    def resource(self, data):
        if isinstance(data, str):
            self.resources.append((STRING_RESOURCE, data.encode()))
        else:
            self.resources.append((BINARY_RESOURCE, data))
        return self

    def string_table(self):
        return b"".join(text.encode() + b"\0" for text in self.strings)

    def parts(self):
        return [(STRINGS_PART, self.string_table()), (EVENTS_PART, bytes(self.events)),
                *self.resources]

    def bytes(self, number):
        known = [time for time in self.times if time <= NULL]
        fields = {"number": number, "start": min(known, default=0), "end": max(known, default=0)}
        fields.update(self.fields)
        return chunk_bytes(EVENT_DATA, fields.pop("parts", None) or self.parts(), **fields)


class CffWriter:
    """A file: chunks one after the other; definitions hold across them."""

    def __init__(self, header=None):
        self.header = HEADER if header is None else header
        self.chunks = []
        self.wires = {"wtf.event#define": 1}
        self.signatures = {1: parse_signature(
            "uint16 wireId, uint16 eventClass, uint32 flags, ascii name, ascii args")}

    def chunk(self):
        self.chunks.append(ChunkWriter(self))
        return self.chunks[-1]

    def begin(self, *zones):
        """The first chunk, with the builtins and these zones (names, or tuples with type and
        location), the first of them set."""
        chunk = self.chunk()
        chunk.define(ZONE_CREATE, "wtf.zone#create",
                     "uint16 zoneId, ascii name, ascii type, ascii location", flags=40)
        chunk.define(ZONE_SET, "wtf.zone#set", "uint16 zoneId", flags=40)
        chunk.define(LEAVE, "wtf.scope#leave", flags=40)
        for number, zone in enumerate(zones, 1):
            name, kind, location = zone if isinstance(zone, tuple) else (zone, "script", "")
            chunk.event(ZONE_CREATE, 0, number, name, kind, location)
        if zones:
            chunk.event(ZONE_SET, 0, 1)
        return chunk

    def bytes(self, **fields):
        return file_bytes(header_chunk(self.header, number=1),
                          *(chunk.bytes(number) for number, chunk in enumerate(self.chunks, 2)),
                          **fields)

    def write(self, path, **fields):
        with open(path, "wb") as file:
            file.write(self.bytes(**fields))
        return path


def legacy_bytes(events, context="{}", metadata="{}", timebase=0, flags=0):
    """A file of the big-endian version 3: `events` are bytes, see legacy_event()."""
    def text(value):
        data = value.encode()
        return struct.pack(">HH", len(value), len(data)) + data

    return (struct.pack(">3I", MAGIC, 1, 3) + text(context) +
            struct.pack(">3I", flags, timebase & NULL, timebase >> 32) + text(metadata) +
            b"".join(events))


def legacy_event(wire, time, arguments=b""):
    return struct.pack(">HI", wire, time) + arguments
