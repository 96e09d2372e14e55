# SPDX-License-Identifier: Apache-2.0
"""A test case that runs `sonde store serve`, with small writers of the requests that it takes: OTLP in
protobuf and JSON, data of Zorka agents in CBOR. None of it shares code with sonde."""
import http.client
import json
import os
import signal
import socket
import struct
import subprocess

from cbor import Tagged, cbor
from sonde_case import SONDE, SondeCase

PROTOBUF = "application/x-protobuf"
JSON = "application/json"
START_NS = 1_700_000_000_123_456_789
with open(SONDE, "rb") as program:
    # sanitizers keep freed memory for a while, and know more about each piece
    MEMORY_FACTOR = 4 if b"__asan_init" in program.read() else 1


# ---- protobuf ----------------------------------------------------------------------------------

def varint(value):
    out = b""
    value &= (1 << 64) - 1
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def number_field(number, value):
    return varint(number << 3) + varint(value)


def bytes_field(number, value):
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def fixed64_field(number, value):
    return varint(number << 3 | 1) + struct.pack("<Q", value)


def any_value(value):
    if value is None:
        return b""
    if isinstance(value, bool):
        return number_field(2, value)
    if isinstance(value, str):
        return bytes_field(1, value)
    if isinstance(value, int):
        return number_field(3, value)
    if isinstance(value, float):
        return varint(4 << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, bytes):
        return bytes_field(7, value)
    if isinstance(value, list):
        return bytes_field(5, b"".join(bytes_field(1, any_value(item)) for item in value))
    return bytes_field(6, b"".join(bytes_field(1, pair(*item)) for item in value.items()))


def pair(key, value):
    return bytes_field(1, key) + bytes_field(2, any_value(value))


def span_message(trace, span, name="work", parent=b"", start=START_NS, end=START_NS + 1000000,
                 attributes=None, more=b""):
    message = bytes_field(1, trace) + bytes_field(2, span)
    if parent:
        message += bytes_field(4, parent)
    message += bytes_field(5, name) + fixed64_field(7, start) + fixed64_field(8, end)
    for item in (attributes or {}).items():
        message += bytes_field(9, pair(*item))
    return message + more


def request_message(spans, resource=None):
    attributes = b"".join(bytes_field(1, pair(*item)) for item in (resource or {}).items())
    scope_spans = b"".join(bytes_field(2, span) for span in spans)
    return bytes_field(1, bytes_field(1, attributes) + bytes_field(2, scope_spans))


def numbered_ids(number):
    """A trace id and a span id."""
    return number.to_bytes(16, "big"), (number * 2 + 1).to_bytes(8, "big")


# ---- CBOR as agents write it -------------------------------------------------------------------

def define_string(number, text, kind=0):
    return cbor(Tagged(0x0D, [number, text, kind]))


def define_method(number, class_id, name, signature):
    return cbor(Tagged(0x0E, [number, class_id, name, signature]))


def record(method, start, stop, *inside, calls=1, big=True):
    """A call; `inside` are encoded items."""
    order = ">" if big else "<"
    prolog = cbor(Tagged(0x0A if big else 0x0B, struct.pack(order + "Q", method << 40 | start)))
    if calls < 1 << 24:
        words = struct.pack(order + "Q", calls << 40 | stop)
    else:
        words = struct.pack(order + "QQ", stop, calls)
    epilog = cbor(Tagged(0x0C if big else 0x0D, words))
    return b"\xc8\x9f" + prolog + b"".join(inside) + epilog + b"\xff"


# ---- the server --------------------------------------------------------------------------------

class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()


class Server:
    def __init__(self, store, *options, environment=None):
        self.store = store
        self.process = subprocess.Popen(
            [SONDE, "store", "serve", store, "--listen", "127.0.0.1:0", *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=dict(os.environ, **(environment or {})))
        line = self.process.stdout.readline().decode()
        if not line.startswith("listening on http://"):
            errors = self.process.communicate()[1].decode(errors="replace")
            raise AssertionError(f"the server does not start: {line}{errors}")
        self.url = line.split()[-1]
        self.port = int(self.url.rpartition(":")[2])

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def request(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body, headers or {})
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def post(self, body, kind=PROTOBUF, path="/v1/traces", **headers):
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.request("POST", path, body, dict(headers, **{"Content-Type": kind}))

    def raw(self, data, more=()):
        """Sends bytes as they are and gives what comes back until the other side closes."""
        received = b""
        with self.connect() as connection:
            try:
                connection.sendall(data)
                for piece in more:
                    connection.sendall(piece)
            except OSError:
                pass  # refused before all was sent: the answer may be there all the same
            try:
                while piece := connection.recv(65536):
                    received += piece
            except OSError:
                pass
        return received

    def memory(self, name="VmRSS"):
        """In bytes."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            for line in status:
                if line.startswith(name + ":"):
                    return int(line.split()[1]) * 1024
        raise AssertionError(name)

    def stop(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        errors = self.process.communicate(timeout=60)[1].decode(errors="replace")
        return self.process.returncode, errors


class ServeCase(SondeCase):
    def serve(self, *options, environment=None, store="store"):
        server = Server(self.path(store), *options, environment=environment)
        self.addCleanup(server.stop, signal.SIGKILL)
        return server

    def search(self, store, *arguments):
        return json.loads(self.sonde("store", "search", store, "--json", "-n", "0",
                                     *arguments))["traces"]

    def get(self, store, trace):
        return json.loads(self.sonde("store", "get", store, trace, "--json"))["traces"]

    def assert_sound(self, store):
        """`sonde check` finds nothing."""
        done = self.run_sonde("check", store)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


def walk(node):
    """A record of `store get --json` and all in it."""
    yield node
    for inner in node["children"]:
        yield from walk(inner)
