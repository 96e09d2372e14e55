# SPDX-License-Identifier: Apache-2.0
"""Writes a small trace in the Common Trace Format 1.8, by its document and without any library: threads by
their ids in the context of events, functions entered and left, system calls, and fields of all shapes."""
import os
import struct

METADATA = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
typealias integer { size = 64; align = 8; signed = true; } := int64_t;
typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } := real;
trace {
    major = 1; minor = 8; byte_order = le;
    packet.header := struct { uint32_t magic; uint32_t stream_id; };
};
env { hostname = "box"; domain = "ust"; answer = 42; };
clock { name = wall; freq = 1000000000; offset_s = 1700000000; absolute = true; };
typealias integer { size = 64; align = 8; signed = false; map = clock.wall.value; } := time_t;
stream {
    id = 0;
    packet.context := struct { uint64_t content_size; uint64_t packet_size; uint64_t events_discarded; uint32_t cpu_id; };
    event.header := struct { uint32_t id; time_t timestamp; };
    event.context := struct { uint32_t vpid; uint32_t vtid; string procname; };
};
event { name = "lttng_ust_cyg_profile:func_entry"; id = 0; stream_id = 0; fields := struct { uint64_t addr; }; };
event { name = "lttng_ust_cyg_profile:func_exit"; id = 1; stream_id = 0; fields := struct { uint64_t addr; }; };
event { name = "syscall_entry_read"; id = 2; stream_id = 0; fields := struct { uint32_t fd; uint64_t count; }; };
event { name = "syscall_exit_read"; id = 3; stream_id = 0; fields := struct { int64_t ret; }; };
event { name = "lttng_ust_statedump:bin_info"; id = 4; stream_id = 0;
        fields := struct { uint64_t baddr; uint64_t memsz; string path; }; };
event { name = "app:note"; id = 5; stream_id = 0; fields := struct {
        string text; int64_t number; real ratio; enum : uint8_t { RED, GREEN = 5 } colour;
        uint8_t list_length; uint8_t list[list_length]; struct { uint32_t a; string b; } inner; }; };
"""
OFFSET_NS = 1700000000 * 10**9


def text(value):
    return value.encode() + b"\0"


class Writer:
    """One stream file; events in the order of time."""

    def __init__(self, folder):
        self.folder, self.events = folder, b""

    def event(self, number, time, thread, fields, process=7, name="prog"):
        self.events += struct.pack("<IQII", number, time, process, thread) + text(name) + fields

    def call(self, time, thread, address):
        self.event(0, time, thread, struct.pack("<Q", address))

    def leave(self, time, thread, address):
        self.event(1, time, thread, struct.pack("<Q", address))

    def read_call(self, time, thread, file, count):
        self.event(2, time, thread, struct.pack("<IQ", file, count))

    def read_leave(self, time, thread, result):
        self.event(3, time, thread, struct.pack("<q", result))

    def module(self, time, thread, base, size, path):
        self.event(4, time, thread, struct.pack("<QQ", base, size) + text(path))

    def note(self, time, thread, words, number, ratio, colour, items, inner):
        self.event(5, time, thread,
                   text(words) + struct.pack("<qdBB", number, ratio, colour, len(items)) + bytes(items) +
                   struct.pack("<I", inner[0]) + text(inner[1]))

    def close(self, discarded=0):
        os.makedirs(self.folder, exist_ok=True)
        with open(os.path.join(self.folder, "metadata"), "w", encoding="ascii") as file:
            file.write(METADATA)
        size = (8 + 28 + len(self.events)) * 8
        with open(os.path.join(self.folder, "stream_0"), "wb") as file:
            file.write(struct.pack("<II", 0xC1FC1FC1, 0) + struct.pack("<QQQI", size, size, discarded, 3) + self.events)
