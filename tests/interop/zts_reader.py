# SPDX-License-Identifier: Apache-2.0
"""Reads ZTS trace stores, from the format's document and what is known of real stores alone: it shares no
code with the program. Standard library only; LZ4 blocks and the packed text index are decoded here.
"""
import os
import re
import struct
import zlib

TICK_NS = 65536
STRING, KEYWORD, CLASS, METHOD_NAME, UUID, SIGNATURE = 0, 4, 5, 6, 7, 8
KEY_LITERAL, KEY_VALUE, METHOD, EXCEPTION, STACK, FRAME, AGENT = 9, 10, 11, 12, 13, 14, 15


class Bad(Exception):
    """The store is not as the format has it."""


# ---- compression ---------------------------------------------------------------------------------

def lz4_length(data, at, length):
    """A length that begins in a token and may go on at `at`; where it ends."""
    more = 255
    while length >= 15 and more == 255:
        more = data[at]
        at += 1
        length += more
    return length, at


def lz4_block(data, size):
    """Decodes a bare LZ4 block that must give exactly `size` bytes."""
    out = bytearray()
    at = 0
    while at < len(data):
        token = data[at]
        at += 1
        length, at = lz4_length(data, at, token >> 4)
        out += data[at:at + length]
        at += length
        if at >= len(data):
            break
        distance = data[at] | data[at + 1] << 8
        at += 2
        length, at = lz4_length(data, at, token & 15)
        length += 4
        if not 0 < distance <= len(out):
            raise Bad("LZ4: a match before the start")
        for _ in range(length):
            out.append(out[-distance])
    if len(out) != size:
        raise Bad(f"LZ4: {len(out)} bytes instead of {size}")
    return bytes(out)


def inflate(data, size):
    """Raw deflate, which may end at a flush point."""
    decoder = zlib.decompressobj(-15)
    out = decoder.decompress(data)
    if len(out) != size or decoder.unused_data:
        raise Bad(f"deflate: {len(out)} bytes instead of {size}")
    return out


# ---- traces.dat ----------------------------------------------------------------------------------

class Chunk:
    def __init__(self, offset, content):
        self.offset = offset
        self.content = content


def read_chunks(data):
    """The chunks of a traces.dat: flags of the file, and contents."""
    if data[:4] != b"ZTS0":
        raise Bad("no traces.dat")
    flags, _, _ = struct.unpack(">III", data[4:16])
    at, chunks = 16, []
    while at < len(data):
        magic, csize, lsize, crc = struct.unpack(">4sIII", data[at:at + 16])
        stored = data[at + 16:at + 16 + csize]
        if magic != b"ZCH0" or len(stored) != csize:
            raise Bad(f"no chunk at {at}")
        if flags & 0x10 and zlib.crc32(stored) != crc:
            raise Bad(f"checksum of the chunk at {at}")
        chunks.append(Chunk(at, unpack(flags & 15, stored, lsize)))
        at += 16 + csize
    return flags, chunks


def unpack(codec, stored, size):
    ways = {0: lambda: stored, 1: lambda: inflate(stored, size), 2: lambda: lz4_block(stored, size)}
    # the document has 1 and 2 the other way round: a chunk tells by itself
    order = {0: (0,), 1: (1, 2), 2: (2, 1)}[codec]
    for way in order:
        try:
            content = ways[way]()
            if len(content) == size:
                return content
        except (Bad, zlib.error, IndexError):
            pass
    raise Bad("a chunk that cannot be unpacked")


# ---- CBOR ----------------------------------------------------------------------------------------

BREAK = object()


class Tagged:
    def __init__(self, tag, value):
        self.tag = tag
        self.value = value


class Cbor:
    def __init__(self, data):
        self.data = data
        self.at = 0

    def head(self):
        first = self.data[self.at]
        self.at += 1
        kind, low = first >> 5, first & 31
        if low < 24:
            return kind, low
        if low == 31:
            return kind, None
        size = {24: 1, 25: 2, 26: 4, 27: 8}[low]
        value = int.from_bytes(self.data[self.at:self.at + size], "big")
        self.at += size
        return kind, value

    def item(self):
        kind, value = self.head()
        if kind == 0:
            return value
        if kind == 1:
            return -1 - value
        if kind in (2, 3):
            text = self.data[self.at:self.at + value]
            self.at += value
            return bytes(text) if kind == 2 else text.decode()
        if kind == 4:
            return [self.item() for _ in range(value)]
        if kind == 5:
            return [(self.item(), self.item()) for _ in range(value)]
        if kind == 6:
            return Tagged(value, self.item())
        return {20: False, 21: True, 22: None, 31: BREAK, None: BREAK}[value]


class Record:
    def __init__(self, parent, offset, chunk):
        self.parent = parent
        self.offset, self.chunk = offset, chunk
        self.info = {}
        self.attributes = []  # (key, value), texts looked up later
        self.children = []
        self.exception = None

    def walk(self, depth=0):
        yield depth, self
        for child in self.children:
            yield from child.walk(depth + 1)


def parse_records(chunks):
    """The records at top level of chunks that continue each other (or of one)."""
    tops, stack = [], []
    for number, chunk in enumerate(chunks):
        cbor = Cbor(chunk.content)
        while cbor.at < len(chunk.content):
            start = cbor.at
            if chunk.content[start:start + 2] == b"\xc8\x9f":
                cbor.at += 2
                record = Record(stack[-1] if stack else None, start, number)
                (stack[-1].children if stack else tops).append(record)
                stack.append(record)
                continue
            item = cbor.item()
            if item is BREAK:
                stack.pop()
            else:
                take_item(stack[-1], item)
    return tops, bool(stack)


def take_item(record, item):
    tag, value = item.tag, item.value
    if tag in (0x0e, 0x02):
        record.info.update(value)
    elif tag in (0x09, 0x03):
        record.attributes += value
    elif tag == 0x23:
        record.exception = value
    elif tag == 0x22:
        record.exception = value
    elif tag == 0x0f:
        record.info[0x0b] = value
    elif tag in (0x0a, 0x0b):
        word = int.from_bytes(value, "big" if tag == 0x0a else "little")
        record.info[0x0e], record.info[0x0c] = word >> 40, word & (1 << 40) - 1
    elif tag in (0x0c, 0x0d):
        order = "big" if tag == 0x0c else "little"
        word = int.from_bytes(value[:8], order)
        record.info[0x0d] = word & (1 << 40) - 1
        record.info[0x09] = int.from_bytes(value[8:], order) if len(value) > 8 else word >> 40
    elif tag == 0x21:
        record.info[0x05], record.info[0x07] = value[0], value[1]
    else:
        raise Bad(f"tag {tag:#x}")


# ---- texts ---------------------------------------------------------------------------------------

def id_digits(number):
    digits = b""
    while True:
        digits = bytes([48 + number % 64]) + digits
        number //= 64
        if not number:
            return digits


def parse_id(digits):
    number = 0
    for digit in digits:
        number = number * 64 + digit - 48
    return number


def unescape(text):
    return re.sub(b"\xff([\x04-\x08])",
                  lambda match: b"\xff" if match[1] == b"\x08" else bytes([match[1][0] - 4]),
                  text, flags=re.DOTALL)


def wal_entries(data):
    """id -> text of a WAL."""
    if data[:4] != b"WAL\x03":
        raise Bad("no WAL")
    found = {}
    for entry in data[4:].rstrip(b"\0").split(b"\x03")[:-1]:
        head, text, tail = re.fullmatch(b"([^\x01]*)\x01([^\x01\x02]*)\x02([^\x01\x02]*)", entry,
                                        re.DOTALL).groups()
        if head != tail:
            raise Bad("ids of an entry differ")
        found[parse_id(head)] = unescape(text)
    return found


def fmi_entries(data):
    """id -> text of a packed index: the Burrows-Wheeler transform undone."""
    magic, blocks, length, words, first, crc, primary = struct.unpack_from("<IIIIQII", data, 0)
    end = 32 + 1024 + 14 * blocks
    if magic != 0x5A464D30:
        raise Bad("no FMI")
    if zlib.crc32(data[:24] + bytes(4) + data[28:end]) != crc:
        raise Bad("checksum of an FMI")
    descriptors = [struct.unpack_from("<IIIBB", data, 1056 + 14 * i) for i in range(blocks)]
    bwt = b""
    for i, (place, start, checksum, count, flags) in enumerate(descriptors):
        stop = descriptors[i + 1][1] if i + 1 < blocks else length
        next_place = descriptors[i + 1][0] if i + 1 < blocks else len(data)
        if not flags & 1:
            bwt += bytes([count]) * (stop - start)
            continue
        piece = data[place + 7 * count:next_place]
        if zlib.crc32(piece) != checksum:
            raise Bad(f"block {i} of an FMI")
        if flags & 2:
            piece = lz4_block(piece, stop - start)
        bwt += piece
    if len(bwt) != length or bwt[primary]:
        raise Bad("length of an FMI")
    text = undo_bwt(bwt)
    if text[:1] != b"\x03" or text[-1:] != b"\0":
        raise Bad("text of an FMI")
    found = {}
    for entry in text[1:-1].split(b"\x03")[:-1]:
        head, body, tail = re.fullmatch(b"([^\x01]*)\x01([^\x01\x02]*)\x02([^\x01\x02]*)", entry,
                                        re.DOTALL).groups()
        if head != tail:
            raise Bad("ids of an entry differ")
        found[parse_id(head)] = unescape(body)
    if len(found) != words or min(found) != first:
        raise Bad("words of an FMI")
    return found


def undo_bwt(bwt):
    """The text, which ends with its only zero byte."""
    counts, before = [0] * 256, []
    for byte in bwt:
        before.append(counts[byte])
        counts[byte] += 1
    starts, total = [0] * 256, 0
    for byte in range(256):
        starts[byte] = total
        total += counts[byte]
    out, row = bytearray(), 0
    for _ in range(len(bwt)):
        out.append(bwt[row])
        row = starts[bwt[row]] + before[row]
    text = bytes(reversed(out))
    return text[1:] + text[:1]


JAVA_TYPES = {"B": "byte", "C": "char", "D": "double", "F": "float", "I": "int", "J": "long",
              "S": "short", "Z": "boolean", "V": "void"}


def java_type(descriptor, at):
    """The name of a type of Java and where the next begins."""
    arrays = 0
    while descriptor[at] == "[":
        arrays += 1
        at += 1
    if descriptor[at] == "L":
        end = descriptor.index(";", at)
        name = descriptor[at + 1:end].split("/")[-1]
        at = end + 1
    else:
        name = JAVA_TYPES[descriptor[at]]
        at += 1
    return name + "[]" * arrays, at


class Texts:
    """The text index of a part."""

    def __init__(self, folder, prefix="text"):
        self.texts = {}
        for name in sorted(os.listdir(folder)):
            if not name.startswith(prefix + "-"):
                continue
            with open(os.path.join(folder, name), "rb") as file:
                data = file.read()
            self.texts.update(wal_entries(data) if name.endswith(".wal") else fmi_entries(data))

    def kind(self, number):
        text = self.texts[number]
        return text[0] if text and 4 <= text[0] <= 15 else STRING

    def fields(self, number):
        """The fields of a typed text, without the marker."""
        text = self.texts[number]
        mark = text[:1]
        if text[-1:] != mark or len(text) < 2:
            raise Bad(f"typed text {number}")
        return text[1:-1].split(mark)

    def ids(self, number):
        return [parse_id(field) for field in self.fields(number)]

    def string(self, number):
        if not number:
            return ""
        kind = self.kind(number)
        if kind == STRING:
            return self.texts[number].decode()
        if kind <= SIGNATURE:
            return self.fields(number)[0].decode()
        raise Bad(f"text {number} is of kind {kind}")

    def method(self, number):
        if self.kind(number) != METHOD:
            raise Bad(f"text {number} is no method")
        class_id, name, signature = self.ids(number)
        full = ".".join(self.string(part) for part in (class_id, name) if part)
        descriptor = self.string(signature)
        if not descriptor.startswith("("):
            return full
        types, at = [], 1
        while descriptor[at] != ")":
            one, at = java_type(descriptor, at)
            types.append(one)
        return f"{java_type(descriptor, at + 1)[0]} {full}({', '.join(types)})"

    def frame(self, number):
        class_id, name, file, line = self.ids(number)
        full = ".".join(self.string(part) for part in (class_id, name) if part)
        return f"{full}({self.string(file)}:{line})" if file or line else full

    def exception(self, number):
        """{"class":, "message":, "stack": [], "cause":}"""
        if not number:
            return None
        if self.kind(number) != EXCEPTION:
            raise Bad(f"text {number} is no exception")
        class_id, message, stack, cause = self.ids(number)
        frames = self.ids(stack) if stack else []
        return {"class": self.string(class_id), "message": self.string(message),
                "stack": [self.frame(frame) for frame in frames],
                "cause": self.exception(cause)}

    def value(self, item):
        """An attribute's value with its texts looked up."""
        if isinstance(item, Tagged):
            if item.tag != 6:
                raise Bad(f"tag {item.tag} in a value")
            return self.string(item.value)
        if isinstance(item, list):
            if item and isinstance(item[0], tuple):
                pairs = {self.value(key): self.value(value) for key, value in item}
                return float(pairs["double"]) if set(pairs) == {"double"} else pairs
            return [self.value(value) for value in item]
        return item


# ---- metadata ------------------------------------------------------------------------------------

class Slot:
    def __init__(self, words):
        self.start_offset, self.seconds = words[0] >> 32, words[0] & 0xffffffff
        self.app, self.env = words[1] >> 48, words[1] >> 32 & 0xffff
        self.type, self.errors = words[1] >> 16 & 0xffff, words[1] >> 8 & 0xff
        self.flags = words[1] & 0xff
        self.chunk_number, self.data_offset = words[2] >> 48, words[2] & (1 << 48) - 1
        self.host, self.duration = words[3] >> 48, words[3] >> 32 & 0xffff
        self.description = words[3] & 0x7fffffff
        self.is_text = bool(words[3] & 0x80000000)
        self.shallow, self.deep = words[4] >> 32, words[4] & 0xffffffff
        self.records, self.calls = words[5] >> 40, words[5] & 0xffffffff
        self.errors |= (words[5] >> 32 & 0xff) << 8
        text = f"{words[6]:016x}{words[7]:016x}"
        self.uuid = "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def read_slots(data):
    magic, end = struct.unpack(">4sI", data[:8])
    if magic != b"MQI0":
        raise Bad("no qmeta.idx")
    return [Slot(struct.unpack(">12Q", data[at:at + 96])) for at in range(64, end, 96)]


class Part:
    """One numbered folder."""

    def __init__(self, folder):
        self.folder = folder
        self.texts = Texts(folder)
        self.flags, self.chunks = read_chunks(self.read("traces.dat"))
        self.slots = read_slots(self.read("qmeta.idx")) if self.has("qmeta.idx") else []
        self.meta = Texts(folder, "meta") if self.slots else None
        self.props = {}
        for name in ("store.props", "config.props"):
            if self.has(name):
                lines = self.read(name).decode().splitlines()
                self.props.update(line.split("=", 1) for line in lines if "=" in line)
        key = [number for number, text in self.texts.texts.items() if text == b"sonde.ns"]
        self.ns_key = key[0] if key else None

    def has(self, name):
        return os.path.exists(os.path.join(self.folder, name))

    def read(self, name):
        with open(os.path.join(self.folder, name), "rb") as file:
            return file.read()

    def trees(self):
        """Every tree: its first record, and the chunks that it lies in."""
        waiting = []
        for chunk in self.chunks:
            waiting.append(chunk)
            tops, is_open = parse_records(waiting)
            if not is_open:
                for top in tops:
                    yield top, waiting
                waiting = []
        if waiting:
            raise Bad("a trace without an end")

    def traces(self):
        """UUID -> first record, of all traces that have a slot; those inside others too."""
        places = {}
        for top, chunks in self.trees():
            for _, record in top.walk():
                places[chunks[record.chunk].offset, record.offset] = record
        found = {}
        for slot in self.slots:
            if slot.flags & 0x10 and not slot.flags & 0x20 and not slot.start_offset:
                continue  # a chunk that continues a trace
            found[slot.uuid] = (slot, places[slot.data_offset, slot.start_offset])
        return found

    def attributes(self, record):
        """name -> value, without what only tells times."""
        return {self.texts.value(key): self.texts.value(value) for key, value in record.attributes
                if not (isinstance(key, Tagged) and key.value == self.ns_key)}

    def residues(self, record):
        for key, value in record.attributes:
            if isinstance(key, Tagged) and key.value == self.ns_key and self.ns_key:
                return value >> 16, value & 0xffff
        return 0, 0

    def times(self, record):
        """Start and stop in ns since 1970, ours included."""
        first = record
        while first.parent:
            first = first.parent
        start, stop = self.residues(record)
        origin = first.info[0x05] * 1000000 + self.residues(first)[0]
        ticks = first.info.get(0x0c, 0)
        end = origin + (record.info.get(0x0d, 0) - ticks) * TICK_NS + stop
        if 0x05 in record.info and (record is first or start or stop):
            return record.info[0x05] * 1000000 + start, end
        return origin + (record.info.get(0x0c, 0) - ticks) * TICK_NS + start, end

    def exception(self, record):
        if isinstance(record.exception, int):
            return self.texts.exception(record.exception)
        return None

    def postings(self, slot, shallow=False):
        """The text ids of a slot's line in the metadata index."""
        mark = b"\x06" if shallow else b"\x07"
        line = self.meta.texts[slot.shallow if shallow else slot.deep]
        if line[:1] != mark:
            raise Bad("a line of the metadata index")
        return [parse_id(entry.split(b"\x05")[1]) for entry in line[1:].split(mark)[:-1]]


def read_store(base):
    """All parts of a base folder."""
    return [Part(os.path.join(base, name)) for name in sorted(os.listdir(base))
            if re.fullmatch("[0-9a-f]{6}", name)]
