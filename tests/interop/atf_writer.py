# SPDX-License-Identifier: Apache-2.0
"""Writes ATF v2 sessions that no recorder at hand produces: odd, unfinished, hostile. Like the
reader it follows the format document and not the C code. Every header field can be overridden.
"""
import json
import os
import struct
import zlib

from atf_reader import (ARGUMENTS, CALL, DETAIL_ARGUMENTS, DETAIL_CALL, DETAIL_FOOTER, DETAIL_HEADER, DETAIL_RECORD,
                        DETAIL_RETURN, FUNCTION_PAYLOAD, INDEX_EVENT, INDEX_FOOTER, INDEX_HEADER,
                        NONE, NUMBER_TYPES, RETURN, parse_signature)

X86_64, ARM64 = 1, 2
LINUX = 4
BOOTTIME = 3
MODULE = 0x1234ABCD


def fnv1a(text):
    value = 2166136261
    for byte in text.lower().encode():
        value = (value ^ byte) * 16777619 & 0xFFFFFFFF
    return value


ANNOTATIONS = fnv1a("[annotations]")


def function_id(number, module=MODULE):
    return module << 32 | number


def function_payload(function, registers, stack=b"", flags=0, rest=b""):
    return FUNCTION_PAYLOAD.pack(function, *registers, len(stack), flags) + stack + rest


def pad(data):
    return data + bytes(-len(data) % 4)


def pack_arguments(signature, values):
    """Values in the order of a signature, packed; None is null."""
    packed = b""
    for (kind, is_array, _), value in zip(parse_signature(signature), values, strict=True):
        if not is_array and kind in NUMBER_TYPES:
            packed += pad(struct.pack("<" + NUMBER_TYPES[kind], value))
        elif value is None:
            packed += struct.pack("<I", NONE)
        elif is_array:
            packed += struct.pack("<I", len(value)) + pad(
                struct.pack(f"<{len(value)}{NUMBER_TYPES[kind]}", *value))
        else:
            data = value.encode()
            packed += struct.pack("<I", len(data)) + pad(data)
    return packed


def arguments_detail(event_type, extra=0, values=b""):
    """A detail for ThreadWriter.add()."""
    return (DETAIL_ARGUMENTS, 0, ARGUMENTS.pack(event_type, extra) + values)


def event_type_symbol(number, name, arguments="", flags=0, scope=False):
    return {"function_id": f"{function_id(number, ANNOTATIONS):#018x}", "module_id": ANNOTATIONS,
            "symbol_index": number, "name": name,
            "event_type": {"arguments": arguments, "flags": flags, "scope": scope}}


def annotations_module():
    return {"module_id": ANNOTATIONS, "path": "[annotations]", "base_address": "0x0", "size": 0,
            "uuid": ""}


class ThreadWriter:
    """One thread: collect events and details, then write its two files."""

    def __init__(self, slot, arch=X86_64, start=1_000_000):
        self.slot, self.arch, self.time = slot, arch, start
        self.events, self.details = [], []
        self.stack = []

    def add(self, kind, function, depth, detail=None):
        """One event; `detail` is (type, flags, payload)."""
        self.time += 10
        seq = NONE
        if detail is not None:
            seq = len(self.details)
            self.details.append((*detail, len(self.events), self.time))
        self.events.append((self.time, function, self.slot, kind, depth, seq))

    def call(self, function, detail=None):
        self.stack.append(function)
        self.add(CALL, function, len(self.stack), detail)

    def leave(self, detail=None, kind=RETURN):
        depth = len(self.stack)
        self.add(kind, self.stack.pop(), depth, detail)

    def busy(self, pairs, detail_every=0):
        """A main function that calls others `pairs` times; leaves nothing open."""
        self.call(function_id(1))
        for number in range(pairs):
            function = function_id(2 + number % 3)
            wanted = detail_every and number % detail_every == 0
            registers = [number * 11 + k for k in range(11)]
            self.call(function, (DETAIL_CALL, 0, function_payload(
                function, registers, bytes(range(number % 200)), 1)) if wanted else None)
            self.leave((DETAIL_RETURN, 0, function_payload(function, registers, flags=2))
                       if wanted else None)
        self.leave()
        return self

    def index_section(self):
        return b"".join(INDEX_EVENT.pack(*event) for event in self.events)

    def detail_section(self):
        return b"".join(
            DETAIL_RECORD.pack(24 + len(payload), kind, flags, index_seq, self.slot, time) + payload
            for kind, flags, payload, index_seq, time in self.details)

    def index_header(self, placeholder=False, count=None, flags=None, **fields):
        events = self.events
        values = {
            "magic": b"ATI2", "endian": 1, "version": 1, "arch": self.arch, "os": LINUX,
            "flags": int(bool(self.details)) if flags is None else flags,
            "thread_id": self.slot, "clock_type": BOOTTIME, "reserved1": bytes(3), "reserved2": 0,
            "event_size": 32, "event_count": len(events) if count is None else count,
            "events_offset": 64, "footer_offset": 64 + 32 * len(events),
            "time_start_ns": events[0][0] if events else 0,
            "time_end_ns": events[-1][0] if events else 0,
        }
        if placeholder:
            values.update(flags=0, event_count=0, footer_offset=64, time_start_ns=0, time_end_ns=0)
        values.update(fields)
        return INDEX_HEADER.pack(*values.values())

    def index_footer(self, checksum=None):
        section, events = self.index_section(), self.events
        return INDEX_FOOTER.pack(b"2ITA", zlib.crc32(section) if checksum is None else checksum,
                                 len(events), events[0][0] if events else 0,
                                 events[-1][0] if events else 0, len(section), bytes(24))

    def detail_header(self, placeholder=False):
        section = self.detail_section()
        seqs = [detail[3] for detail in self.details] or [0]
        counts = (0, 0, 0, 0) if placeholder else (len(self.details), len(section), min(seqs),
                                                   max(seqs))
        return DETAIL_HEADER.pack(b"ATD2", 1, 1, self.arch, LINUX, 0, self.slot, 0, 64, *counts,
                                  bytes(4))

    def detail_footer(self):
        section, details = self.detail_section(), self.details
        return DETAIL_FOOTER.pack(b"2DTA", zlib.crc32(section), len(details), len(section),
                                  details[0][4] if details else 0,
                                  details[-1][4] if details else 0, bytes(24))

    def index_file(self, **header):
        return self.index_header(**header) + self.index_section() + self.index_footer()

    def detail_file(self):
        return self.detail_header() + self.detail_section() + self.detail_footer()

    def write(self, folder, index=None, detail=None):
        """Writes thread_N below a pid folder; other bytes may be given for either file."""
        target = os.path.join(folder, f"thread_{self.slot}")
        os.makedirs(target)
        with open(os.path.join(target, "index.atf"), "wb") as file:
            file.write(self.index_file() if index is None else index)
        if self.details or detail is not None:
            with open(os.path.join(target, "detail.atf"), "wb") as file:
                file.write(self.detail_file() if detail is None else detail)


def manifest_of(threads, names=None, version="2.1", **additional):
    """What a recorder writes about these threads; `names` maps symbol index to name."""
    names = names or {1: "main", 2: "alpha", 3: "beta", 4: "gamma"}
    times = [event[0] for thread in threads for event in thread.events] or [0]
    manifest = {
        "threads": [{"id": thread.slot, "has_detail": bool(thread.details)} for thread in threads],
        "time_start_ns": min(times), "time_end_ns": max(times), "clock_type": BOOTTIME,
        "format_version": version,
    }
    if version == "2.1":
        manifest["modules"] = [{"module_id": MODULE, "path": "/opt/odd/bin/odd",
                                "base_address": "0x400000", "size": 4096,
                                "uuid": "1234ABCD-0000-4000-8000-000000000001"}]
        manifest["symbols"] = [{"function_id": f"{function_id(number):#018x}",
                                "module_id": MODULE, "symbol_index": number, "name": name}
                               for number, name in sorted(names.items())]
    manifest.update(additional)
    return manifest


def write_process(folder, threads, manifest=None):
    """A finished pid folder. `manifest` False leaves it out."""
    os.makedirs(folder, exist_ok=True)
    for thread in threads:
        thread.write(folder)
    write_manifest(folder, manifest_of(threads) if manifest is None else manifest)
    return folder


def write_manifest(folder, manifest):
    if manifest is not False:
        with open(os.path.join(folder, "manifest.json"), "w", encoding="utf-8") as file:
            json.dump(manifest, file, ensure_ascii=False, indent=2)


def patch(path, offset, layout, value):
    """Overwrites one field of a file."""
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(struct.pack(layout, value))
