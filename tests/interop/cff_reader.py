# SPDX-License-Identifier: Apache-2.0
"""Reads binary wtf-trace files (version 10) as the format document says, and is strict about it:
whatever lies outside its part, chunk or file is an error with its offset. It shares no code with
the C library. Arguments come as a JSON reader would give them: characters as text, arrays as
lists, `any` parsed, time32 in milliseconds.
"""
import json
import re
import struct

MAGIC, VERSION = 0xDEADBEEF, 10
FILE_HEADER, EVENT_DATA = 1, 2
HEADER_PART, EVENTS_PART, STRINGS_PART = 0x10000, 0x20002, 0x30000
BINARY_RESOURCE, STRING_RESOURCE = 0x40000, 0x40001
NULL, EMPTY, NO_TIME = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFF
INSTANCE, SCOPE = 0, 1
TIMES_MAGIC = b"sondeNS1"  # a resource of ours: nanoseconds beyond the microseconds

CHUNK_HEAD = struct.Struct("<6I")
PART_HEAD = struct.Struct("<3I")
EVENT_HEAD = struct.Struct("<2I")

ALIASES = {
    "byte": "int8", "octet": "uint8", "short": "int16", "unsigned short": "uint16",
    "long": "int32", "unsigned long": "uint32", "float": "float32", "DOMString": "utf8",
}
NUMBERS = {"bool": "B", "int8": "b", "uint8": "B", "char": "B", "int16": "h", "uint16": "H",
           "wchar": "H", "int32": "i", "uint32": "I", "float32": "f", "flowId": "I", "time32": "I"}
TEXTS = ("ascii", "utf8", "any")

BUILTINS = ("wtf.event#define", "wtf.zone#create", "wtf.zone#delete", "wtf.zone#set")


class CffError(Exception):
    """A file that is not what the document says; `offset` is where."""

    def __init__(self, message, offset):
        super().__init__(f"{message} at {offset}")
        self.offset = offset


def parse_signature(text, offset=0):
    """[(type, is_array, name)] of "uint32 a, utf8 b"."""
    result = []
    for piece in (text or "").split(","):
        if not piece.strip() and not result and "," not in (text or ""):
            break
        match = re.fullmatch(r"\s*(\S.*?)\s+(\w+)\s*", piece)
        if not match:
            raise CffError(f"argument {piece!r} in {text!r}", offset)
        word, name = match.groups()
        is_array = False
        sequence = re.fullmatch(r"sequence<(.*)>", word)
        if word.endswith("[]") or sequence:
            is_array, word = True, sequence.group(1) if sequence else word[:-2]
        word = ALIASES.get(word.strip(), word.strip())
        if word not in NUMBERS and word not in TEXTS:
            raise CffError(f"type {word!r} in {text!r}", offset)
        result.append((word, is_array, name))
    return result


class EventType:
    def __init__(self, name, event_class, flags, arguments, offset=0):
        self.name, self.event_class, self.flags = name, event_class, flags
        self.arguments = arguments
        self.signature = parse_signature(arguments, offset)


class Zone:
    def __init__(self, name, kind, location):
        self.name, self.type, self.location = name, kind, location

    @property
    def key(self):
        return f"{self.name}:{self.type}:{self.location}"


class Part:
    def __init__(self, kind, offset, data):
        self.type, self.offset, self.data = kind, offset, data


class Chunk:
    def __init__(self, fields, offset, parts):
        self.id, self.type, self.length, self.start, self.end, self.part_count = fields
        self.offset, self.parts = offset, parts

    def last(self, kind):
        parts = [part for part in self.parts if part.type == kind]
        return parts[-1] if parts else None

    @property
    def resources(self):
        return [part for part in self.parts if part.type in (BINARY_RESOURCE, STRING_RESOURCE)]


class Event:
    """One event as it is in the file; `nanoseconds` are those of an exact time, else 0."""

    def __init__(self, wire, time, kind, zone, values, offset):
        self.wire, self.time, self.type, self.zone = wire, time, kind, zone
        self.values, self.offset, self.nanoseconds = values, offset, 0

    @property
    def name(self):
        return self.type.name


class Slots:
    """The bytes of one part, four at a time."""

    def __init__(self, part):
        self.data, self.base, self.position = part.data, part.offset, 0

    @property
    def offset(self):
        return self.base + self.position

    def take(self, size):
        padded = -size % 4 + size
        if self.position + padded > len(self.data):
            raise CffError(f"{padded} bytes wanted, {len(self.data) - self.position} left",
                           self.offset)
        start = self.position
        self.position += padded
        return self.data[start:start + size]

    def u32(self):
        return struct.unpack("<I", self.take(4))[0]

    @property
    def left(self):
        return len(self.data) - self.position


def plain_number(word, value):
    if word == "bool":
        return bool(value)
    if word in ("char", "wchar"):
        return chr(value)
    if word == "time32":
        return value / 1000
    return value


def read_value(slots, word, is_array, strings):
    if word in TEXTS:
        text = string_at(strings, slots.u32())
        return json.loads(text) if word == "any" and text is not None else text
    code = NUMBERS[word]
    size = struct.calcsize(code)
    if not is_array:
        return plain_number(word, struct.unpack("<" + code, slots.take(4)[:size])[0])
    count = slots.u32()
    if count == NULL:
        return None
    if count * size > slots.left:
        raise CffError(f"array of {count} past the end", slots.offset)
    if word in ("char", "wchar"):
        return slots.take(count * size).decode("utf-16-le" if size == 2 else "latin-1")
    return list(struct.unpack(f"<{count}{code}", slots.take(count * size)))


def string_at(strings, ordinal):
    if ordinal == EMPTY:
        return ""
    if ordinal >= len(strings):
        return None
    return strings[ordinal] or None


class Trace:
    """A whole file: chunks, header (the parsed JSON), types by wire id, zones, events in order.
    `builtins` are the definitions and zone events, which `events` does not hold."""

    def __init__(self, data):
        self.data = data
        self.chunks, self.events, self.builtins, self.zones = [], [], [], []
        self.header = None
        self.types = {1: EventType("wtf.event#define", INSTANCE, 40,
                                   "uint16 wireId, uint16 eventClass, uint32 flags, ascii name, "
                                   "ascii args")}
        self.by_name = {"wtf.event#define": self.types[1]}
        self.zone_ids = {}
        self.zone = None
        self.zone_is_missing = False  # the one set last: an error where an event follows
        self.read()

    def read(self):
        if len(self.data) < 12 or len(self.data) % 4:
            raise CffError(f"{len(self.data)} bytes", len(self.data))
        magic, self.wtf_version, version = struct.unpack_from("<3I", self.data)
        if magic != MAGIC or version != VERSION:
            raise CffError(f"magic {magic:#x}, version {version}", 0)
        position = 12
        while position < len(self.data):
            chunk = self.read_chunk(position)
            self.chunks.append(chunk)
            position += chunk.length
        if self.header is None:
            raise CffError("no header", len(self.data))

    def read_chunk(self, offset):
        if offset + CHUNK_HEAD.size > len(self.data):
            raise CffError("chunk header is cut", offset)
        fields = CHUNK_HEAD.unpack_from(self.data, offset)
        length, count = fields[2], fields[5]
        body = offset + CHUNK_HEAD.size + count * PART_HEAD.size
        if length % 4 or body > offset + length or offset + length > len(self.data):
            raise CffError(f"chunk of {length} bytes with {count} parts", offset)
        parts = []
        for number in range(count):
            kind, start, size = PART_HEAD.unpack_from(
                self.data, offset + CHUNK_HEAD.size + number * PART_HEAD.size)
            if body + start + size > offset + length:
                raise CffError(f"part {number} of {size} bytes at {start}", offset)
            parts.append(Part(kind, body + start, self.data[body + start:body + start + size]))
        chunk = Chunk(fields, offset, parts)
        if chunk.type == FILE_HEADER:
            self.header = json.loads(chunk.last(HEADER_PART).data.decode())
        elif chunk.type == EVENT_DATA:
            self.read_events(chunk)
        return chunk

    def read_events(self, chunk):
        part = chunk.last(EVENTS_PART)
        if part is None or len(part.data) % 4:
            raise CffError("event part", chunk.offset)
        table = chunk.last(STRINGS_PART)
        strings = table.data.decode().split("\0")[:-1] if table else []
        slots, before = Slots(part), len(self.events) + len(self.builtins)
        exact = [piece.data for piece in chunk.parts
                 if piece.type == BINARY_RESOURCE and piece.data.startswith(TIMES_MAGIC)]
        base, fractions = 0, []
        if exact:
            base, = struct.unpack_from("<Q", exact[-1], 8)
            fractions = [item for item, in struct.iter_unpack("<H", exact[-1][16:])]
        number = 0
        while slots.left:
            event = self.read_event(slots, strings)
            event.nanoseconds = fractions[number] if number < len(fractions) else 0
            event.base_ns = base
            number += 1
        assert before + number == len(self.events) + len(self.builtins)

    def read_event(self, slots, strings):
        offset = slots.offset
        wire, time = EVENT_HEAD.unpack(slots.take(8))
        kind = self.types.get(wire)
        if kind is None:
            raise CffError(f"wire id {wire} is not defined", offset)
        values = {name: read_value(slots, word, is_array, strings)
                  for word, is_array, name in kind.signature}
        event = Event(wire, time, kind, self.zone, values, offset)
        if kind.name in BUILTINS:
            self.carry_out(event)
            self.builtins.append(event)
            return event
        if self.zone_is_missing:
            raise CffError("an event in a zone that is not there", offset)
        if self.zone is None:
            self.zone = Zone("", "", "")
            self.zones.append(self.zone)
            event.zone = self.zone
        self.events.append(event)
        return event

    def carry_out(self, event):
        values = event.values
        if event.name == "wtf.event#define":
            name = values["name"]
            if name not in self.by_name:
                self.by_name[name] = EventType(name, values["eventClass"], values["flags"],
                                               values["args"], event.offset)
            self.types[values["wireId"]] = self.by_name[name]
        elif event.name == "wtf.zone#create":
            self.create_zone(values)
        elif event.name == "wtf.zone#set":
            self.zone = self.zone_ids.get(values["zoneId"])
            self.zone_is_missing = self.zone is None

    def create_zone(self, values):
        zone = Zone(values["name"], values["type"], values["location"])
        known = [other for other in self.zones if other.key == zone.key]
        if known:
            zone = known[0]
        elif len(self.zones) == 1 and self.zones[0].key == "::":
            other, = self.zones
            other.name, other.type, other.location = zone.name, zone.type, zone.location
            zone = other
        else:
            self.zones.append(zone)
        self.zone_ids[values["zoneId"]] = zone


def read_file(path):
    with open(path, "rb") as file:
        return Trace(file.read())
