# SPDX-License-Identifier: Apache-2.0
"""Makes small ZTS stores, whole ones and ones with a fault: in the spelling of real stores or of the format's
document, in each codec, with slots of generation 0 and 1. Shares no code with the program.
"""
import os
import struct
import zlib

from cbor import Tagged, cbor, head, ref
from zts_reader import id_digits

INFO, ATTRIBUTES, RECORD, EXCEPTION_REF = 0x0e, 0x09, 0x08, 0x23
TIMESTAMP, TYPE, CALLS, FLAGS, START, STOP, METHOD = 0x05, 0x07, 0x09, 0x0b, 0x0c, 0x0d, 0x0e
PARENT, SPAN = 0x11, 0x12
CODECS = {"none": 0, "zlib": 1, "lz4": 2}
MS_2019 = 1556712001000


# ---- chunks --------------------------------------------------------------------------------------

def tag(value, content):
    return head(6, value) + content


def info(key, value, document=False):
    return tag(0x02 if document else INFO, head(5, 1) + cbor(key) + cbor(value))


class Record:
    """A call: times in ticks, attributes as text id -> value, what is in it."""

    def __init__(self, method, start, stop, children=(), attributes=None, exception=0, **more):
        self.method, self.start, self.stop = method, start, stop
        self.children = list(children)
        self.attributes = attributes or {}
        self.exception = exception
        self.timestamp = more.get("timestamp")  # a trace begins here
        self.type = more.get("type")
        self.span, self.parent = more.get("span"), more.get("parent")
        self.flags = more.get("flags")
        self.raw = more.get("raw", b"")  # put in as it is, before the children
        self.offset = 0

    def count(self):
        return 1 + sum(child.count() for child in self.children)

    def errors(self):
        return bool(self.exception or (self.flags or 0) & 8) + sum(child.errors()
                                                                   for child in self.children)

    def encode(self, document=False, at=0):
        self.offset = at
        pairs = [(START, self.start), (METHOD, self.method), (TIMESTAMP, self.timestamp),
                 (TYPE, self.type), (SPAN, self.span), (PARENT, self.parent), (FLAGS, self.flags)]
        out = b"\xc8\x9f" + b"".join(info(key, value, document) for key, value in pairs
                                     if value is not None)
        if self.attributes:
            out += tag(0x03 if document else ATTRIBUTES, cbor(
                {ref(key): value for key, value in self.attributes.items()}))
        out += self.raw
        for child in self.children:
            out += child.encode(document, at + len(out))
        if self.exception:
            out += tag(EXCEPTION_REF, cbor(self.exception))
        if self.stop is not None:
            out += info(STOP, self.stop, document) + info(CALLS, self.count(), document)
        return out + b"\xff"

    def walk(self):
        yield self
        for child in self.children:
            yield from child.walk()


# ---- files ---------------------------------------------------------------------------------------

def deflate(content):
    """As real stores have it: raw, ended by a full flush, no final block."""
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    return packer.compress(content) + packer.flush(zlib.Z_FULL_FLUSH)


def lz4(content):
    """A bare block of literals only."""
    length = len(content)
    out = bytes([min(length, 15) << 4])
    length -= 15
    while length >= 0:
        out += bytes([min(length, 255)])
        length -= 255
    return out + content


PACKERS = {"none": bytes, "zlib": deflate, "lz4": lz4}


def chunk_bytes(content, codec="zlib", crc=True):
    stored = PACKERS[codec](content)
    return b"ZCH0" + struct.pack(">III", len(stored), len(content),
                                 zlib.crc32(stored) if crc else 0) + stored


def escape(text):
    out = text.replace(b"\xff", b"\xff\x08")
    for byte in range(4):
        out = out.replace(bytes([byte]), bytes([0xff, byte + 4]))
    return out


def wal_entry(number_of, text):
    digits = id_digits(number_of)
    return digits + b"\x01" + escape(text) + b"\x02" + digits + b"\x03"


def wal_bytes(entries, first=1):
    return b"WAL\x03" + b"".join(wal_entry(first + i, text) for i, text in enumerate(entries))


def fmi_bytes(entries, first=1):
    """A packed index of one block: for texts of less than 1024 bytes together."""
    text = b"\x03" + b"".join(wal_entry(first + i, entries[i])
                              for i in reversed(range(len(entries)))) + b"\0"
    rows = sorted(range(len(text)), key=lambda i: text[i:] + text[:i])
    bwt = bytes(text[i - 1] for i in rows)
    assert len(bwt) <= 1024
    characters = sorted(set(bwt))
    block = (bytes(characters) + struct.pack(f"<{len(characters)}i", *[0] * len(characters)) +
             struct.pack(f"<{len(characters)}h", *[bwt.count(c) for c in characters]) + bwt)
    counts = struct.pack("<256I", *[bwt.count(c) for c in range(256)])
    place = 32 + 1024 + 14
    descriptor = struct.pack("<IIIBB", place, 0, zlib.crc32(bwt), len(characters), 5)

    def header(crc):
        return struct.pack("<IIIIQII", 0x5A464D30, 1, len(bwt), len(entries), first, crc,
                           bwt.index(0))
    return header(zlib.crc32(header(0) + counts + descriptor)) + counts + descriptor + block


class ZtsWriter:
    """One part. Files are bytes by name, made by files(); faults are changes to them."""

    def __init__(self, codec="zlib", crc=True, document=False):
        self.codec, self.crc, self.document = codec, crc, document
        self.texts = []
        self.known = {}
        self.traces = []  # (Record, uuid)
        self.props = {"store.rotate.max-size": "16", "store.rotate.max-num": "16",
                      "store.iflags": "0"}

    def intern(self, text):
        if text not in self.known:
            self.texts.append(text)
            self.known[text] = len(self.texts)
        return self.known[text]

    def string(self, text):
        return self.intern(text.encode())

    def typed(self, mark, *fields):
        mark = bytes([mark])
        return self.intern(mark + mark.join(field if isinstance(field, bytes) else
                                            id_digits(field) for field in fields) + mark)

    def method(self, class_name, name, signature):
        return self.typed(0x0b, self.typed(0x05, class_name.encode()),
                          self.typed(0x06, name.encode()), self.typed(0x08, signature.encode()))

    def pair(self, key, value):
        return self.typed(0x0a, key, value)

    def literal(self, key, value):
        return self.typed(0x09, key, str(value).encode())

    def frame(self, class_name, name, file, line):
        return self.typed(0x0e, self.typed(0x05, class_name.encode()),
                          self.typed(0x06, name.encode()), self.string(file), line)

    def exception(self, class_name, message, frames, cause=0):
        return self.typed(0x0c, self.typed(0x05, class_name.encode()), self.string(message),
                          self.typed(0x0d, *frames) if frames else 0, cause)

    def add(self, record, uuid=None):
        self.traces.append((record, uuid or (0x1111, len(self.traces) + 1)))
        return record

    def data(self):
        flags = CODECS[self.codec]
        if self.document and flags:
            flags = 3 - flags
        out = b"ZTS0" + struct.pack(">III", flags | (0x10 if self.crc else 0), 0, 0)
        places = []
        for record, _ in self.traces:
            places.append(len(out))
            out += chunk_bytes(record.encode(self.document), self.codec, self.crc)
        return out, places

    def ids(self, record):
        """Every text of a trace, and what those are made of."""
        found = set()
        for call in record.walk():
            found |= {call.method, call.exception}
            for key, value in call.attributes.items():
                found.add(key)
                if isinstance(value, Tagged):
                    found |= {value.value, self.known.get(b"\x0a" + id_digits(key) + b"\x0a" +
                                                       id_digits(value.value) + b"\x0a", 0)}
                else:
                    found.add(self.known.get(b"\x09" + id_digits(key) + b"\x09" +
                                             str(value).encode() + b"\x09", 0))
        return sorted(found | set(range(1, len(self.texts) + 1)))

    def slot(self, record, uuid, place, entry):
        duration = max((record.stop or 0) - record.start, 0)
        end = record.timestamp * 1000000 + duration * 65536
        flags = 0x60 | (8 if record.exception or (record.flags or 0) & 8 else 0)
        return struct.pack(
            ">12Q", record.offset << 32 | end // 10 ** 9,
            1 << 48 | 2 << 32 | (record.type or 0) << 16 | (record.errors() & 0xff) << 8 | flags,
            place, (duration * 65536 // 10 ** 9) << 32 | record.method,
            (entry + 2) << 32 | (entry + 1), record.count() << 40 | record.count(),
            uuid[0], uuid[1], 0, 0, 0, 0)

    def metadata(self, places):
        """qmeta.idx and the entries of the metadata index."""
        slots, lines = [], []
        for at, (record, uuid) in enumerate(self.traces):
            digits = id_digits(at)
            text = f"{uuid[0]:016x}{uuid[1]:016x}"
            slots.append(self.slot(record, uuid, places[at], len(lines) + 1))
            lines.append(digits + b"\x0d" + "-".join(
                (text[:8], text[8:12], text[12:16], text[16:20], text[20:])).encode() + b"\x0b")
            for mark in (b"\x07", b"\x06"):
                lines.append(mark + b"".join(digits + b"\x05" + id_digits(one) + mark
                                             for one in self.ids(record)))
        times = [record.timestamp & 0xffffffff for record, _ in self.traces] or [0]
        slots = b"".join(slots)
        return b"MQI0" + struct.pack(">III", 64 + len(slots), min(times), max(times)) + \
            bytes(48) + slots, lines

    def old_metadata(self, places):
        """Generation 0: 8 words a slot, and a duration in ticks."""
        out = b""
        for at, (record, uuid) in enumerate(self.traces):
            words = struct.unpack(">12Q", self.slot(record, uuid, places[at], 3 * at + 1))
            ticks = record.stop - record.start
            out += struct.pack(">8Q", *words[:3], words[3] & 0xffffffff | ticks << 32, *words[4:8])
        return b"MQI0" + struct.pack(">III", 64 + len(out), 0, 0) + bytes(48) + out

    def files(self, generation=1):
        data, places = self.data()
        qmeta, lines = self.metadata(places)
        props = "".join(f"{key}={value}\n" for key, value in self.props.items()).encode()
        return {
            "traces.dat": data,
            "text-00000001.wal": wal_bytes(self.texts),
            "meta-00000001.wal": wal_bytes(lines),
            "qmeta.idx": qmeta if generation else self.old_metadata(places),
            "config.props" if self.document else "store.props": props,
        }


def write_files(folder, files):
    os.makedirs(folder, exist_ok=True)
    for name, data in files.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)


def small_part(**options):
    """Three traces: attributes of all kinds, an exception with a cause, spans."""
    writer = ZtsWriter(**options)
    run = writer.method("com.example.Main", "run", "(I)V")
    find = writer.method("com.example.Dao", "find", "([Ljava/lang/String;)J")
    uri, status, extra = (writer.string(text) for text in ("URI", "STATUS", "extra"))
    cafe = writer.string("/café")
    writer.pair(uri, cafe)
    writer.literal(status, 500)
    cause = writer.exception("java.io.IOException", "disk", [writer.frame("a.B", "c", "B.java", 7)])
    boom = writer.exception("java.lang.RuntimeException", "boom",
                            [writer.frame("com.example.Dao", "find", "Dao.java", 42)], cause)
    writer.add(Record(run, 100, 200, [Record(find, 110, 150, exception=boom)],
                      {uri: ref(cafe), status: 500}, timestamp=MS_2019, type=1))
    writer.add(Record(run, 0, 20, [Record(find, 0, 5), Record(find, 5, 20)],
                      {extra: [1, -2, True, None, ref(cafe), {ref(uri): 3}]},
                      timestamp=MS_2019 + 100))
    writer.add(Record(find, 7, 9, timestamp=MS_2019 + 200, span=0x1234, parent=0x99))
    return writer
