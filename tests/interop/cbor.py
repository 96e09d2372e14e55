# SPDX-License-Identifier: Apache-2.0
"""Writes CBOR (RFC 8949), for the tests that make traces. Shares no code with the program."""
import struct


class Tagged:
    def __init__(self, tag, value):
        self.tag, self.value = tag, value

    def __hash__(self):
        return hash((self.tag, self.value))

    def __eq__(self, other):
        return isinstance(other, Tagged) and (self.tag, self.value) == (other.tag, other.value)


def head(major, value):
    if value < 24:
        return bytes([major << 5 | value])
    for info, size in ((24, 1), (25, 2), (26, 4), (27, 8)):
        # numbers from 0x7fffffff on take 8 bytes in real stores
        if value < 1 << 8 * size and (size == 8 or value < 0x7fffffff):
            return bytes([major << 5 | info]) + value.to_bytes(size, "big")
    raise ValueError(value)


def cbor(value):
    if value is None or isinstance(value, bool):
        return {None: b"\xf6", True: b"\xf5", False: b"\xf4"}[value]
    if isinstance(value, int):
        return head(0, value) if value >= 0 else head(1, -1 - value)
    if isinstance(value, float):
        return b"\xfb" + struct.pack(">d", value)
    if isinstance(value, str):
        return head(3, len(value.encode())) + value.encode()
    if isinstance(value, bytes):
        return head(2, len(value)) + value
    if isinstance(value, Tagged):
        return head(6, value.tag) + cbor(value.value)
    if isinstance(value, (list, tuple)):
        return head(4, len(value)) + b"".join(map(cbor, value))
    return head(5, len(value)) + b"".join(cbor(key) + cbor(item) for key, item in value.items())


def ref(text_id):
    """A string by its text id."""
    return Tagged(0x06, text_id)
