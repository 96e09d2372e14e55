#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An independent reader of the ADA Trace Format v2.

Written from the format document and the facts settled about it, with the standard library only,
and without a look at the C code: where the two disagree, one of them is wrong. It reads what a
finished session holds, verifies every rule it knows, and prints everything in a canonical form.

    atf_reader.py SESSION            what is there and what is wrong, as JSON
    atf_reader.py --quiet SESSION    only what is wrong; exit 1 where something is

It also knows the extension for annotations of doc/formats/atf.md: event kinds 4 to 11, typed
arguments in details of type 0x5301, event types and resources in the manifest. With
`annotations=False` it is a reader that never heard of it and takes only what it knows.

`problems` break a rule of the format. `notes` are allowed but worth knowing: a detail whose event
did not survive a crash, a checksum that was not computed, a call still open at the end.
"""
import argparse
import json
import os
import re
import struct
import sys
import zlib

NONE = 0xFFFFFFFF
CALL, RETURN, EXCEPTION = 1, 2, 3
DETAIL_CALL, DETAIL_RETURN = 3, 4

# The extension. Flows, counters and ranges have a number or value in their detail.
(INSTANT, MARK, FLOW_BEGIN, FLOW_STEP, FLOW_END, COUNTER, RANGE_BEGIN, RANGE_END) = range(4, 12)
DETAIL_ARGUMENTS = 0x5301
ARGUMENTS = struct.Struct("<QQ")  # function_id of the event type, extra; then the values
NUMBER_TYPES = {"bool": "?", "int8": "b", "uint8": "B", "char": "B", "int16": "h", "uint16": "H",
                "wchar": "H", "int32": "i", "uint32": "I", "int64": "q", "uint64": "Q",
                "float32": "f", "float64": "d", "flowId": "I", "time32": "I"}
TEXT_TYPES = ("ascii", "utf8", "any")

# Everything is packed and little-endian.
INDEX_HEADER = struct.Struct("<4sBBBBIIB3sIIIQQQQ")
INDEX_HEADER_FIELDS = ("magic", "endian", "version", "arch", "os", "flags", "thread_id",
                       "clock_type", "reserved1", "reserved2", "event_size", "event_count",
                       "events_offset", "footer_offset", "time_start_ns", "time_end_ns")
INDEX_EVENT = struct.Struct("<QQIIII")
INDEX_FOOTER = struct.Struct("<4sIQQQQ24s")
INDEX_FOOTER_FIELDS = ("magic", "checksum", "event_count", "time_start_ns", "time_end_ns",
                       "bytes_written", "reserved")
DETAIL_HEADER = struct.Struct("<4sBBBBIIIQQQQQ4s")
DETAIL_HEADER_FIELDS = ("magic", "endian", "version", "arch", "os", "flags", "thread_id",
                        "reserved1", "events_offset", "event_count", "bytes_length",
                        "index_seq_start", "index_seq_end", "reserved2")
DETAIL_RECORD = struct.Struct("<IHHIIQ")
DETAIL_FOOTER = struct.Struct("<4sIQQQQ24s")
DETAIL_FOOTER_FIELDS = ("magic", "checksum", "event_count", "bytes_length", "time_start_ns",
                        "time_end_ns", "reserved")
# function_id, 11 registers, stack_size, flags (reserved on arm64); then the stack.
FUNCTION_PAYLOAD = struct.Struct("<Q11QHH")
assert all(s.size == 64 for s in (INDEX_HEADER, INDEX_FOOTER, DETAIL_HEADER, DETAIL_FOOTER))
assert INDEX_EVENT.size == 32 and DETAIL_RECORD.size == 24 and FUNCTION_PAYLOAD.size == 100

ARCHS = {1: "x86_64", 2: "arm64"}
REGISTERS = {
    1: ("rdi", "rsi", "rdx", "rcx", "r8", "r9", "rax", "rdx2", "rip", "rbp", "rsp"),
    2: ("x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "lr", "fp", "sp"),
}


def parse_signature(text):
    """[(type, is an array, name)] of "uint32 size, float32[] weights"."""
    arguments = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        kind, name = part.rsplit(None, 1)
        arguments.append((kind.removesuffix("[]"), kind.endswith("[]"), name))
    return arguments


def decode_arguments(signature, data):
    """The values of one event, [(name, value)]; ValueError where they end too early."""
    values, position = [], 0

    def take(size):
        nonlocal position
        if position + size > len(data):
            raise ValueError(f"{len(data)} bytes of arguments end too early")
        taken = data[position:position + size]
        position += (size + 3) // 4 * 4
        return taken

    for kind, is_array, name in parse_signature(signature):
        if not is_array and kind in NUMBER_TYPES:
            layout = "<" + NUMBER_TYPES[kind]
            value = struct.unpack(layout, take(struct.calcsize(layout)))[0]
        else:
            count, = struct.unpack("<I", take(4))
            if count == NONE:
                value = None
            elif is_array:
                size = struct.calcsize("<" + NUMBER_TYPES[kind])
                value = list(struct.unpack(f"<{count}{NUMBER_TYPES[kind]}", take(count * size)))
            else:
                value = take(count).decode("utf-8")
        values.append((name, value))
    return values


class Event:
    """One index event, fields as in the file."""
    __slots__ = ("timestamp_ns", "function_id", "thread_id", "kind", "depth", "detail_seq")

    def __init__(self, *values):
        (self.timestamp_ns, self.function_id, self.thread_id, self.kind, self.depth,
         self.detail_seq) = values

    def key(self):
        return tuple(getattr(self, name) for name in self.__slots__)

    def __eq__(self, other):
        return self.key() == other.key()

    def __repr__(self):
        return f"Event{self.key()}"


class Detail:
    """One detail record; `payload` is everything after its 24-byte header."""
    __slots__ = ("type", "flags", "index_seq", "thread_id", "timestamp", "payload")

    def __init__(self, *values):
        (self.type, self.flags, self.index_seq, self.thread_id, self.timestamp,
         self.payload) = values

    def key(self):
        return tuple(getattr(self, name) for name in self.__slots__)

    def __eq__(self, other):
        return self.key() == other.key()

    def __repr__(self):
        return f"Detail{self.key()}"

    def registers(self, arch):
        """The decoded payload of a call or return; None for anything else."""
        if self.type not in (DETAIL_CALL, DETAIL_RETURN) or len(self.payload) < 100:
            return None
        values = FUNCTION_PAYLOAD.unpack_from(self.payload)
        return {"function_id": values[0], "registers": dict(zip(REGISTERS[arch], values[1:12])),
                "stack_size": values[12], "flags": values[13],
                "stack": self.payload[100:100 + values[12]],
                "rest": self.payload[100 + values[12]:]}


    def arguments(self):
        """(event type, extra, packed values); None for anything else."""
        if self.type != DETAIL_ARGUMENTS or len(self.payload) < ARGUMENTS.size:
            return None
        return (*ARGUMENTS.unpack_from(self.payload), self.payload[ARGUMENTS.size:])


class Thread:
    """One thread folder."""

    def __init__(self, folder, slot):
        self.folder, self.slot = folder, slot
        self.header = self.footer = self.detail_header = self.detail_footer = None
        self.events, self.details = [], []
        self.index_size = self.detail_size = None
        self.index_bytes = self.detail_bytes = b""  # the events sections


class Process:
    """One pid folder."""

    def __init__(self, folder):
        self.folder = folder
        match = re.fullmatch(r"pid_(\d+)", os.path.basename(os.path.normpath(folder)))
        self.pid = int(match.group(1)) if match else None
        self.manifest = None
        self.threads = []
        self.resources = []  # (name, is text, bytes)

    def event_types(self):
        """function_id -> (name, arguments, flags, scope)"""
        return {int(symbol["function_id"], 16): (
            symbol.get("name", ""), symbol["event_type"].get("arguments", ""),
            symbol["event_type"].get("flags", 0), symbol["event_type"].get("scope", False))
                for symbol in (self.manifest or {}).get("symbols", []) if "event_type" in symbol}

    def thread(self, slot):
        return next(thread for thread in self.threads if thread.slot == slot)


class Session:
    """All pid folders of a session, and what was found on the way."""

    def __init__(self, path):
        self.path = path
        self.processes, self.problems, self.notes = [], [], []


class Reader:
    """Reads a finished session and verifies it."""

    def __init__(self, path, annotations=True):
        self.session = Session(path)
        self.annotations = annotations

    def problem(self, where, text):
        if len(self.session.problems) < 1000:
            self.session.problems.append(f"{os.path.relpath(where, self.session.path)}: {text}")

    def note(self, where, text):
        self.session.notes.append(f"{os.path.relpath(where, self.session.path)}: {text}")

    def expect(self, where, what, found, expected):
        if found != expected:
            self.problem(where, f"{what} is {found!r}, expected {expected!r}")
            return False
        return True

    def read(self):
        path = self.session.path
        if self.is_pid_folder(path):
            folders = [path]
        else:
            names = sorted(os.listdir(path), key=natural)
            folders = [os.path.join(path, name) for name in names
                       if self.is_pid_folder(os.path.join(path, name))]
        if not folders:
            self.problem(path, "neither a pid folder nor a session with pid folders")
        for folder in folders:
            self.session.processes.append(self.read_process(folder))
        return self.session

    @staticmethod
    def is_pid_folder(path):
        return os.path.isdir(path) and any(
            name == "manifest.json" or re.fullmatch(r"thread_\d+", name)
            for name in os.listdir(path))

    def read_process(self, folder):
        process = Process(folder)
        for name in sorted(os.listdir(folder), key=natural):
            match = re.fullmatch(r"thread_(\d+)", name)
            if match:
                thread = Thread(os.path.join(folder, name), int(match.group(1)))
                process.threads.append(thread)
                self.read_index(thread)
                self.read_details(thread)
                self.verify_links(thread)
        self.read_manifest(process)
        if self.annotations:
            for thread in process.threads:
                self.verify_annotations(process, thread)
            self.read_resources(process)
        return process

    # the index lane

    def read_index(self, thread):
        path = os.path.join(thread.folder, "index.atf")
        if not os.path.exists(path):
            self.problem(path, "missing")
            return
        with open(path, "rb") as file:
            data = file.read()
        thread.index_size = len(data)
        if len(data) < 128:
            self.problem(path, f"{len(data)} bytes cannot hold header and footer")
            return
        header = dict(zip(INDEX_HEADER_FIELDS, INDEX_HEADER.unpack_from(data)))
        thread.header = header
        if not self.expect(path, "magic", header["magic"], b"ATI2"):
            return
        self.verify_common_header(path, header)
        self.expect(path, "reserved bytes", (header["reserved1"], header["reserved2"]),
                    (b"\0\0\0", 0))
        if header["clock_type"] not in (1, 2, 3):
            self.problem(path, f"clock_type {header['clock_type']}")
        if header["flags"] & ~1:
            self.problem(path, f"flags {header['flags']:#x} with unknown bits")
        has_detail = os.path.exists(os.path.join(thread.folder, "detail.atf"))
        self.expect(path, "has_detail_file", header["flags"] & 1, int(has_detail))
        self.expect(path, "thread_id", header["thread_id"], thread.slot)
        if not self.expect(path, "event_size", header["event_size"], 32):
            return
        start, end = header["events_offset"], header["footer_offset"]
        if not 64 <= start <= end or end + 64 > len(data):
            self.problem(path, f"events {start}..{end} in a file of {len(data)} bytes")
            return
        self.expect(path, "file size", len(data), end + 64)
        footer = dict(zip(INDEX_FOOTER_FIELDS, INDEX_FOOTER.unpack_from(data, end)))
        thread.footer = footer
        if not self.expect(path, "footer magic", footer["magic"], b"2ITA"):
            return
        section = thread.index_bytes = data[start:end]
        self.verify_checksum(path, footer["checksum"], section)
        self.expect(path, "bytes_written", footer["bytes_written"], len(section))
        self.expect(path, "events section modulo 32", len(section) % 32, 0)
        thread.events = [Event(*values) for values in
                         INDEX_EVENT.iter_unpack(section[:len(section) // 32 * 32])]
        self.expect(path, "footer event_count", footer["event_count"], len(thread.events))
        self.expect(path, "header event_count", header["event_count"], len(thread.events))
        self.expect(path, "footer reserved", footer["reserved"], bytes(24))
        self.verify_times(path, header, footer, [e.timestamp_ns for e in thread.events])
        self.verify_events(path, thread)

    def verify_common_header(self, path, header):
        self.expect(path, "endian", header["endian"], 1)
        self.expect(path, "version", header["version"], 1)
        if header["arch"] not in ARCHS:
            self.problem(path, f"arch {header['arch']}")
        if header["os"] not in (1, 2, 3, 4, 5):
            self.problem(path, f"os {header['os']}")

    def verify_checksum(self, path, checksum, section):
        real = zlib.crc32(section)
        if checksum == 0 and real != 0:
            self.note(path, "checksum not computed")
        else:
            self.expect(path, "checksum", f"{checksum:#010x}", f"{real:#010x}")

    def verify_times(self, path, header, footer, times):
        first, last = (times[0], times[-1]) if times else (0, 0)
        for block in filter(None, (header, footer)):
            self.expect(path, "time_start_ns", block["time_start_ns"], first)
            self.expect(path, "time_end_ns", block["time_end_ns"], last)
        for number in range(1, len(times)):
            if times[number] < times[number - 1]:
                self.problem(path, f"record {number} is earlier than the one before")

    def verify_events(self, path, thread):
        """Kinds, thread, and the nesting of calls."""
        stack = []
        for number, event in enumerate(thread.events):
            self.expect(path, f"event {number}: thread_id", event.thread_id,
                        thread.header["thread_id"])
            if event.kind == CALL:
                if stack:
                    self.expect(path, f"event {number}: depth of a call", event.depth,
                                stack[-1][1] + 1)
                stack.append((event.function_id, event.depth))
            elif event.kind in (RETURN, EXCEPTION):
                if stack:
                    self.expect(path, f"event {number}: what is left",
                                (event.function_id, event.depth), stack.pop())
                else:
                    self.note(path, f"event {number} leaves a call that was not recorded")
            elif not self.annotations:
                self.note(path, f"event {number}: kind {event.kind} is not known, and left out")
            elif not INSTANT <= event.kind <= RANGE_END:
                self.problem(path, f"event {number}: kind {event.kind}")
        if stack:
            self.note(path, f"{len(stack)} calls still open at the end")

    # the detail lane

    def read_details(self, thread):
        path = os.path.join(thread.folder, "detail.atf")
        if not os.path.exists(path):
            return
        with open(path, "rb") as file:
            data = file.read()
        thread.detail_size = len(data)
        if len(data) < 128:
            self.problem(path, f"{len(data)} bytes cannot hold header and footer")
            return
        header = dict(zip(DETAIL_HEADER_FIELDS, DETAIL_HEADER.unpack_from(data)))
        thread.detail_header = header
        if not self.expect(path, "magic", header["magic"], b"ATD2"):
            return
        self.verify_common_header(path, header)
        self.expect(path, "reserved", (header["reserved1"], header["reserved2"]), (0, bytes(4)))
        self.expect(path, "thread_id", header["thread_id"], thread.slot)
        if thread.header:
            for name in ("arch", "os"):
                self.expect(path, name, header[name], thread.header[name])
        start = header["events_offset"]
        end = start + header["bytes_length"]
        if start < 64 or end + 64 > len(data):
            self.problem(path, f"records {start}..{end} in a file of {len(data)} bytes")
            return
        self.expect(path, "file size", len(data), end + 64)
        footer = dict(zip(DETAIL_FOOTER_FIELDS, DETAIL_FOOTER.unpack_from(data, end)))
        thread.detail_footer = footer
        if not self.expect(path, "footer magic", footer["magic"], b"2DTA"):
            return
        section = thread.detail_bytes = data[start:end]
        self.verify_checksum(path, footer["checksum"], section)
        self.walk_details(path, thread, section)
        count = len(thread.details)
        self.expect(path, "footer bytes_length", footer["bytes_length"], len(section))
        self.expect(path, "footer event_count", footer["event_count"], count)
        self.expect(path, "header event_count", header["event_count"], count)
        self.expect(path, "footer reserved", footer["reserved"], bytes(24))
        self.verify_times(path, None, footer, [d.timestamp for d in thread.details])

    def walk_details(self, path, thread, section):
        position = 0
        while position < len(section):
            if position + 24 > len(section):
                self.problem(path, f"{len(section) - position} bytes after the last record")
                return
            total, kind, flags, index_seq, thread_id, time = DETAIL_RECORD.unpack_from(
                section, position)
            if total < 24 or position + total > len(section):
                self.problem(path, f"record {len(thread.details)}: total_length {total}")
                return
            thread.details.append(Detail(kind, flags, index_seq, thread_id, time,
                                         section[position + 24:position + total]))
            position += total

    def verify_links(self, thread):
        index = os.path.join(thread.folder, "index.atf")
        path = os.path.join(thread.folder, "detail.atf")
        for number, event in enumerate(thread.events):
            if event.detail_seq == NONE:
                continue
            if event.detail_seq >= len(thread.details):
                self.problem(index, f"event {number} leads to detail {event.detail_seq} of "
                             f"{len(thread.details)}")
            else:
                self.expect(index, f"back link of the detail of event {number}",
                            thread.details[event.detail_seq].index_seq, number)
        linked = []
        for number, detail in enumerate(thread.details):
            self.verify_payload(path, thread, number, detail)
            self.expect(path, f"detail {number}: thread_id", detail.thread_id, thread.slot)
            if detail.index_seq >= len(thread.events):
                self.note(path, f"detail {number} has lost its event")
                continue
            linked.append(detail.index_seq)
            event = thread.events[detail.index_seq]
            self.expect(path, f"detail {number}: forward link of event {detail.index_seq}",
                        event.detail_seq, number)
            self.expect(path, f"detail {number}: time", detail.timestamp, event.timestamp_ns)
        if thread.detail_header and linked:
            covered = [d.index_seq for d in thread.details if d.index_seq != NONE]
            self.expect(path, "index_seq_start, index_seq_end",
                        (thread.detail_header["index_seq_start"],
                         thread.detail_header["index_seq_end"]),
                        (min(covered), max(covered)))

    def verify_payload(self, path, thread, number, detail):
        if detail.type not in (DETAIL_CALL, DETAIL_RETURN):
            return
        payload = detail.registers(thread.header["arch"] if thread.header else 2)
        if payload is None or len(payload["stack"]) != payload["stack_size"]:
            self.note(path, f"detail {number}: a payload of {len(detail.payload)} bytes is too short")
            return
        if payload["stack_size"] > 256:
            self.problem(path, f"detail {number}: {payload['stack_size']} stack bytes")
        if detail.index_seq < len(thread.events):
            event = thread.events[detail.index_seq]
            self.expect(path, f"detail {number}: function", f"{payload['function_id']:#x}",
                        f"{event.function_id:#x}")
            kinds = (RETURN,) if detail.type == DETAIL_RETURN else (CALL, EXCEPTION)
            if event.kind not in kinds:
                self.problem(path, f"detail {number}: type {detail.type} at an event of kind "
                             f"{event.kind}")

    # annotations

    def verify_annotations(self, process, thread):
        """Event types are listed, numbers are there, arguments follow their signature."""
        types = process.event_types()
        index = os.path.join(thread.folder, "index.atf")
        for number, event in enumerate(thread.events):
            if not INSTANT <= event.kind <= RANGE_END:
                continue
            if event.function_id not in types:
                self.problem(index, f"event {number}: no event type {event.function_id:#x}")
            linked = event.detail_seq < len(thread.details)
            arguments = thread.details[event.detail_seq].arguments() if linked else None
            if arguments:
                self.expect(index, f"event {number}: type of its detail", arguments[0],
                            event.function_id)
            elif event.kind >= FLOW_BEGIN:
                self.problem(index, f"event {number}: kind {event.kind} without a number")
        for number, detail in enumerate(thread.details):
            if detail.type == DETAIL_ARGUMENTS:
                self.verify_arguments(thread, number, detail, types)

    def verify_arguments(self, thread, number, detail, types):
        path = os.path.join(thread.folder, "detail.atf")
        arguments = detail.arguments()
        if arguments is None:
            self.problem(path, f"detail {number}: {len(detail.payload)} bytes for arguments")
        elif arguments[0] not in types:
            self.problem(path, f"detail {number}: no event type {arguments[0]:#x}")
        elif arguments[2]:
            try:
                decode_arguments(types[arguments[0]][1], arguments[2])
            except (ValueError, KeyError) as error:
                self.problem(path, f"detail {number}: {error}")

    def read_resources(self, process):
        listed = (process.manifest or {}).get("resources", [])
        folder = os.path.join(process.folder, "resources")
        files = sorted(f"resources/{name}" for name in os.listdir(folder)) \
            if os.path.isdir(folder) else []
        if self.expect(folder, "files", files, sorted(entry["file"] for entry in listed)):
            for entry in listed:
                with open(os.path.join(process.folder, entry["file"]), "rb") as file:
                    process.resources.append((entry["name"], entry["text"], file.read()))

    # the manifest

    def read_manifest(self, process):
        path = os.path.join(process.folder, "manifest.json")
        try:
            with open(path, encoding="utf-8") as file:
                manifest = process.manifest = json.load(file)
        except (OSError, ValueError) as error:
            self.problem(path, f"cannot be read: {error}")
            return
        if process.pid is None:
            process.pid = manifest.get("pid")  # a folder of another name says it here
        listed = {thread["id"]: thread.get("has_detail", False)
                  for thread in manifest.get("threads", [])}
        real = {thread.slot: thread.detail_size is not None for thread in process.threads}
        self.expect(path, "threads", listed, real)
        threads = [thread for thread in process.threads if thread.events]
        # The session may have started before its first event and ended after its last.
        if threads and not (
                manifest.get("time_start_ns", 0) <= min(t.events[0].timestamp_ns for t in threads)
                and max(t.events[-1].timestamp_ns for t in threads)
                <= manifest.get("time_end_ns", 1 << 64)):
            self.problem(path, "there are events outside of time_start_ns .. time_end_ns")
        for thread in process.threads:
            if thread.header:
                self.expect(path, "clock_type", manifest.get("clock_type"),
                            thread.header["clock_type"])
        self.verify_symbols(path, manifest)

    def verify_symbols(self, path, manifest):
        version = manifest.get("format_version")
        if version not in ("2.0", "2.1"):
            self.problem(path, f"format_version {version!r}")
        modules = {module["module_id"] for module in manifest.get("modules", [])}
        self.expect(path, "distinct modules", len(modules), len(manifest.get("modules", [])))
        for module in manifest.get("modules", []):
            if not re.fullmatch(r"0x[0-9a-fA-F]+", module.get("base_address", "")):
                self.problem(path, f"base_address {module.get('base_address')!r}")
        seen = set()
        for symbol in manifest.get("symbols", []):
            text = symbol.get("function_id", "")
            if not re.fullmatch(r"0x[0-9a-f]{16}", text):
                self.problem(path, f"function_id {text!r}")
                continue
            function = int(text, 16)
            if function in seen:
                self.problem(path, f"function_id {text} twice")
            seen.add(function)
            self.expect(path, f"symbol {text}: module and index", function,
                        symbol["module_id"] << 32 | symbol["symbol_index"])
            if symbol["module_id"] not in modules:
                self.problem(path, f"symbol {text} of a module that is not listed")


def natural(name):
    """Sorts thread_2 before thread_10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def read_session(path, annotations=True):
    return Reader(path, annotations).read()


def annotations_of(process, thread):
    """What events mean, without numbers that a writer may choose: (time, kind, depth, name, extra,
    arguments). `extra` is None where there is no detail, `arguments` where there are none."""
    types = process.event_types()
    names = {int(symbol["function_id"], 16): symbol.get("name")
             for symbol in (process.manifest or {}).get("symbols", [])}
    rows = []
    for event in thread.events:
        extra = values = None
        found = thread.details[event.detail_seq].arguments() if event.detail_seq != NONE else None
        if found:
            extra = found[1]
            values = (types[found[0]], decode_arguments(types[found[0]][1], found[2])) \
                if found[2] else None
        rows.append((event.timestamp_ns, event.kind, event.depth, names[event.function_id], extra,
                     values))
    return rows


def as_json(session):
    """Everything as plain values; bytes are hexadecimal."""
    def plain(block):
        return block and {name: value.hex() if isinstance(value, bytes) else value
                          for name, value in block.items()}

    def detail(record, arch):
        values = {"type": record.type, "flags": record.flags, "index_seq": record.index_seq,
                  "thread_id": record.thread_id, "timestamp": record.timestamp,
                  "payload": record.payload.hex()}
        if record.arguments():
            values["event_type"], values["extra"], _ = record.arguments()
        decoded = record.registers(arch)
        if decoded:
            values["registers"] = decoded["registers"]
            values["stack"] = decoded["stack"].hex()
        return values

    return {
        "problems": session.problems,
        "notes": session.notes,
        "processes": [{
            "pid": process.pid,
            "manifest": process.manifest,
            "threads": [{
                "slot": thread.slot,
                "header": plain(thread.header),
                "footer": plain(thread.footer),
                "events": [dict(zip(Event.__slots__, event.key())) for event in thread.events],
                "detail_header": plain(thread.detail_header),
                "detail_footer": plain(thread.detail_footer),
                "details": [detail(record, thread.header["arch"]) for record in thread.details],
            } for thread in process.threads],
        } for process in session.processes],
    }


def main():
    parser = argparse.ArgumentParser(description="Reads and verifies an ATF v2 session.")
    parser.add_argument("session")
    parser.add_argument("--quiet", action="store_true", help="print only what is wrong")
    arguments = parser.parse_args()
    session = read_session(arguments.session)
    if arguments.quiet:
        for text in session.problems:
            print(text)
    else:
        json.dump(as_json(session), sys.stdout, indent=1, sort_keys=True, ensure_ascii=False)
        print()
    return 1 if session.problems else 0


if __name__ == "__main__":
    sys.exit(main())
