# SPDX-License-Identifier: Apache-2.0
"""Writes Perfetto traces as other tools do, in forms that sonde does not write itself. Bytes of protobuf by
hand; numbers of fields from the format's documents. Shares no code with the program.
"""
import struct
import zlib


def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    """Integers as varints, floats as doubles, text and bytes, dicts and lists of (number, value) as messages."""
    if isinstance(value, bool):
        value = int(value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, Fixed):
        return varint(number << 3 | 1) + struct.pack("<Q", value.value)
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, (dict, list)):
        value = message(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


class Fixed:
    def __init__(self, value):
        self.value = value


def message(fields):
    pairs = fields.items() if isinstance(fields, dict) else fields
    out = b""
    for number, value in pairs:
        if isinstance(value, tuple):
            out += b"".join(field(number, one) for one in value)
        else:
            out += field(number, value)
    return out


def packet(fields):
    return field(1, fields)


def compressed(*packets):
    return packet({50: zlib.compress(b"".join(packets))})


def packed(*values):
    return b"".join(varint(value) for value in values)


# numbers of TracePacket
PROCESS_TREE, CLOCKS, TIME, SEQUENCE, EVENT, INTERNED, FLAGS = 2, 6, 8, 10, 11, 12, 13
DROPPED, OLD_PROCESS, OLD_THREAD, STREAMING, CLOCK, DEFAULTS, TRACK, SAMPLE = 42, 43, 44, 54, 58, 59, 60, 66
CLEARED, NEEDS = 1, 2
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
