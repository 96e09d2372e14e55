#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`sonde store serve` with clients that are hostile, many, slow or wrong; agents of Zorka in every packing;
and a server that is killed under load. SONDE is the command.

Names of tests as arguments run only those.
"""
import base64
import gzip
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import threading
import time
import urllib.parse
import uuid
import zlib

import tap
from cbor import Tagged, cbor, ref
from serve_case import (JSON, MEMORY_FACTOR, START_NS, ServeCase, bytes_field, define_method,
                        define_string, numbered_ids, record, request_message, span_message, walk)
from sonde_case import SONDE

MIB = 1 << 20


def one_span(number=1):
    return request_message([span_message(*numbered_ids(number))])


def head(length=None, path="/v1/traces", kind="application/x-protobuf", more=""):
    lines = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\n{more}"
    if length is not None:
        lines += f"Content-Length: {length}\r\n"
    return (lines + "\r\n").encode()


def status_of(answer):
    return int(answer.split(b" ")[1]) if answer.startswith(b"HTTP/1.1 ") else None


class Refused(ServeCase):
    """One wrong request each, and the server goes on."""

    def test_statuses(self):
        server = self.serve("--max-body", "1M")
        good = one_span()
        deep = b""
        for _ in range(200):
            deep = bytes_field(5, bytes_field(1, deep))
        deep_pair = bytes_field(9, bytes_field(1, "k") + bytes_field(2, deep))
        cases = [
            ("good", server.post(good), 200),
            ("cut", server.post(good[:-3]), 400),
            ("no protobuf", server.post(b"\xff" * 50), 400),
            ("deep", server.post(request_message([span_message(*numbered_ids(1),
                                                               more=deep_pair)])), 413),
            ("no JSON", server.post(b"{", JSON), 400),
            ("other JSON", server.post(b"[]", JSON), 400),
            ("deep JSON", server.post(b'{"a":' * 500 + b"1" + b"}" * 500, JSON), 413),
            ("wrong types in JSON", server.post(b'{"resourceSpans":[{"scopeSpans":7}]}', JSON), 400),
            ("type", server.post(good, "text/plain"), 415),
            ("no type", server.request("POST", "/v1/traces", good), 415),
            ("encoding", server.post(good, Content_Encoding="br"), 415),
            ("no gzip", server.post(good, Content_Encoding="gzip"), 400),
            ("cut gzip", server.post(gzip.compress(good)[:-9], Content_Encoding="gzip"), 400),
            ("gzip", server.post(gzip.compress(good), Content_Encoding="gzip"), 200),
            ("deflate", server.post(zlib.compress(good), Content_Encoding="deflate"), 200),
            ("get", server.request("GET", "/v1/traces"), 405),
            ("post", server.request("POST", "/health", b""), 405),
            ("path", server.request("GET", "/v2/traces"), 404),
            ("page", server.post(good, Origin="http://example.org"), 403),
            ("health", server.request("GET", "/health"), 200),
            ("healthz", server.request("GET", "/healthz"), 200),
            ("metrics", server.request("GET", "/metrics"), 200),
            ("head", server.request("HEAD", "/health"), 200),
        ]
        for name, answer, status in cases:
            with self.subTest(name):
                self.assertEqual(answer.status, status, answer.body)
        by_name = {name: answer for name, answer, _ in cases}
        self.assertEqual(by_name["get"].headers["Allow"], "POST")
        self.assertIn("GET", by_name["post"].headers["Allow"])
        self.assertEqual(json.loads(by_name["no JSON"].body)["code"], 3)
        self.assertIn("sonde_http_requests_total{status=\"400\"}",
                      by_name["metrics"].body.decode())
        code, errors = server.stop()
        self.assertEqual((code, len(self.search(server.store))), (0, 3), errors)
        self.assert_sound(server.store)

    def test_framing(self):
        server = self.serve("--max-body", "1M")
        good = one_span()
        self.assertEqual(status_of(server.raw(head(more="Connection: close\r\n"))), 411)
        chunked = b"".join(b"%x\r\n%s\r\n" % (1, good[i:i + 1]) for i in range(len(good)))
        answer = server.raw(head(more="Transfer-Encoding: chunked\r\nConnection: close\r\n") +
                            chunked + b"0\r\n\r\n")
        self.assertEqual(status_of(answer), 200)
        self.assertEqual(len(self.search(server.store)), 1)
        # more than the limit: refused at once, whether it is announced or only comes
        answer = server.raw(head(64 * MIB), [bytes(MIB)] * 3)
        self.assertEqual(status_of(answer), 413)
        pieces = [b"100000\r\n" + bytes(MIB) + b"\r\n"] * 4
        answer = server.raw(head(more="Transfer-Encoding: chunked\r\n"), pieces)
        self.assertEqual(status_of(answer), 413)
        answer = server.raw(head(64 * MIB, more="Expect: 100-continue\r\n"))
        self.assertEqual(status_of(answer), 413)
        # a body that is shorter than announced ends without an answer that says "stored"
        with server.connect() as connection:
            connection.sendall(head(1000) + good)
            connection.shutdown(socket.SHUT_WR)
            self.assertNotIn(b" 200 ", connection.recv(1000))
        for nonsense in (b"\0" * 100, b"GET\r\n\r\n", b"A" * 100000):
            server.raw(nonsense + b"\r\n\r\n")
        self.assertEqual(server.post(one_span(2)).status, 200)

    def test_bombs(self):
        server = self.serve()
        before = server.memory("VmHWM")
        for size in (33 * MIB, 200 * MIB):
            bomb = gzip.compress(bytes(size))
            for body, encoding in ((bomb, "gzip"), (zlib.compress(bytes(size)), "deflate")):
                answer = server.post(body, Content_Encoding=encoding)
                self.assertEqual(answer.status, 413, (size, encoding))
        # many values in few bytes: an empty attribute is two
        spans = [span_message(*numbered_ids(1), more=bytes_field(9, b"") * (12 * MIB // 2))]
        self.assertEqual(server.post(request_message(spans)).status, 413)
        spans = [bytes_field(1, b"")] * (3 * MIB)
        self.assertEqual(server.post(request_message(spans)).status, 200)
        resource = {f"key-{i}": i for i in range(20000)}
        spans = [span_message(*numbered_ids(i + 1)) for i in range(20000)]
        self.assertEqual(server.post(request_message(spans, resource)).status, 413)
        self.assertLess(server.memory("VmHWM") - before, 400 * MIB * MEMORY_FACTOR)
        self.assertEqual(server.post(one_span()).status, 200)
        self.assertEqual(len(self.search(server.store)), 1)

    def test_slow_senders(self):
        server = self.serve("--request-timeout", "1s")
        slow = server.connect()
        slow_head = server.connect()
        silent = server.connect()
        slow.sendall(head(1000))
        began = time.monotonic()
        statuses = {}
        for _ in range(200):
            for name, connection, piece in (("body", slow, b"\0"), ("head", slow_head, b"G"),
                                            ("silent", silent, b"")):
                if name in statuses:
                    continue
                try:
                    connection.sendall(piece)
                    connection.settimeout(0.02)
                    answer = connection.recv(1000)
                    statuses[name] = status_of(answer)
                except TimeoutError:
                    pass
                except OSError:
                    statuses.setdefault(name, None)
            if len(statuses) == 3:
                break
            self.assertEqual(server.post(one_span()).status, 200)  # others are served meanwhile
        self.assertEqual(statuses, {"body": 408, "head": 408, "silent": 408})
        self.assertGreater(time.monotonic() - began, 0.9)
        for connection in (slow, slow_head, silent):
            connection.close()

    def test_idle_connections(self):
        """A connection without a next request is closed, without an answer that nobody asked for."""
        server = self.serve("--idle-timeout", "1s")
        connection = server.connect()
        body = one_span()
        connection.sendall(head(len(body)) + body)
        self.assertEqual(status_of(connection.recv(1000)), 200)
        self.assertEqual(connection.recv(1000), b"")
        connection.close()

    def test_tokens(self):
        with open(self.path("token"), "w", encoding="ascii") as file:
            file.write("a long secret\n")
        server = self.serve("--token-file", self.path("token"))
        good = one_span()
        for given in (None, "", "Bearer", "Bearer ", "Bearer a long secre", "Bearer a long secretx",
                      "Basic a long secret", "a long secret"):
            headers = {"Authorization": given} if given is not None else {}
            answer = server.post(good, **headers)
            self.assertEqual(answer.status, 401, given)
            self.assertEqual(answer.headers["WWW-Authenticate"], "Bearer")
        self.assertEqual(server.request("GET", "/metrics").status, 401)
        self.assertEqual(server.request("GET", "/health").status, 200)
        self.assertEqual(server.post(good, Authorization="bearer a long secret").status, 200)

    def test_addresses(self):
        for address in ("0.0.0.0:0", "[::]:0", ":0"):
            done = self.run_sonde("store", "serve", self.path("store"), "--listen", address)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(b"token", done.stderr)
        for address in ("nonsense", "127.0.0.1", "127.0.0.1:x", "::1:4318", "[::1]", "1.2.3.4.5:1"):
            done = self.run_sonde("store", "serve", self.path("store"), "--listen", address)
            self.assertEqual(done.returncode, 2, address)
        server = self.serve()
        done = self.run_sonde("store", "serve", self.path("other"), "--listen",
                              f"127.0.0.1:{server.port}")
        self.assertEqual(done.returncode, 3)
        done = self.run_sonde("store", "serve", server.store, "--listen", "127.0.0.1:0")
        self.assertEqual(done.returncode, 3)
        self.assertIn(str(server.process.pid).encode(), done.stderr)

    def test_store_that_cannot_be_written(self):
        """Files may grow no further: 503, and when there is room again 200."""
        script = 'ulimit -f 64; trap "" XFSZ; exec "$0" "$@"'
        process = subprocess.Popen(
            ["bash", "-c", script, SONDE, "store", "serve", self.path("store"), "--listen",
             "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        port = int(process.stdout.readline().decode().rpartition(":")[2])
        stored, refused = [], 0
        for number in range(1, 60):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            text = base64.b64encode(random.randbytes(6000)).decode()
            body = request_message([span_message(*numbered_ids(number), attributes={"k": text})])
            connection.request("POST", "/v1/traces", body,
                               {"Content-Type": "application/x-protobuf"})
            response = connection.getresponse()
            response.read()
            self.assertIn(response.status, (200, 503))
            if response.status == 200:
                stored.append(number)
            else:
                refused += 1
                self.assertIsNotNone(response.headers["Retry-After"])
            connection.close()
        self.assertTrue(stored)
        self.assertTrue(refused)
        process.kill()
        process.wait()
        found = {trace["uuid"].replace("-", "") for trace in self.search(self.path("store"))}
        self.assertLessEqual({numbered_ids(number)[0].hex() for number in stored}, found)


class Crowds(ServeCase):
    def test_rate(self):
        server = self.serve("--max-rate", "20")
        answers = [server.post(one_span(i + 1)) for i in range(60)]
        statuses = [answer.status for answer in answers]
        self.assertEqual(set(statuses), {200, 429})
        self.assertGreaterEqual(statuses.count(200), 20)
        refused = next(answer for answer in answers if answer.status == 429)
        self.assertEqual(refused.headers["Retry-After"], "1")
        self.assertEqual(server.stop()[0], 0)
        self.assertEqual(len(self.search(server.store)), statuses.count(200))

    def wait_until_taken(self, server, fault):
        for _ in range(100):
            if server.post(one_span()).status == 200:
                return
            time.sleep(0.05)
        self.fail(fault)

    def test_many_connections(self):
        server = self.serve("--max-connections", "20")
        idle = [server.connect() for _ in range(40)]
        self.addCleanup(lambda: [connection.close() for connection in idle])
        time.sleep(0.3)
        answer = server.post(one_span())
        self.assertEqual(answer.status, 503)
        self.assertEqual(answer.headers["Retry-After"], "1")
        for connection in idle:
            connection.close()
        self.wait_until_taken(server, "connections that were closed still count")

    def test_bytes_in_flight(self):
        """Bodies that come slowly may not take more memory together than is allowed."""
        server = self.serve("--max-in-flight", "8M", "--max-body", "4M")
        before = server.memory()
        connections, refused = [], 0
        for _ in range(30):
            connection = server.connect()
            connections.append(connection)
            connection.sendall(head(4 * MIB))
            try:
                connection.sendall(bytes(2 * MIB))
            except OSError:
                pass
        for connection in connections:
            connection.settimeout(0.2)
            try:
                refused += status_of(connection.recv(1000)) == 429
            except OSError:
                pass
        self.assertGreater(refused, 10)
        self.assertLess(server.memory() - before, 40 * MIB * MEMORY_FACTOR)
        for connection in connections:
            connection.close()
        self.wait_until_taken(server, "memory of connections that were closed still counts")

    def test_more_requests_than_threads(self):
        """All of a crowd get their answer, and share syncs."""
        server = self.serve()
        statuses = []

        def work(first):
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
            for number in range(first, first + 10):
                connection.request("POST", "/v1/traces", one_span(number),
                                   {"Content-Type": "application/x-protobuf"})
                response = connection.getresponse()
                response.read()
                statuses.append(response.status)
            connection.close()

        threads = [threading.Thread(target=work, args=(1 + 10 * i,)) for i in range(64)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(statuses, [200] * 640)
        metrics = server.request("GET", "/metrics").body.decode()
        syncs = int(metrics.split("\nsonde_store_syncs_total ")[1].split()[0])
        self.assertLess(syncs, 640)
        self.assertEqual(server.stop()[0], 0)
        self.assertEqual(len(self.search(server.store)), 640)

    def test_stops_after_what_is_under_way(self):
        server = self.serve()
        body = one_span()
        connection = server.connect()
        connection.sendall(head(len(body)) + body[:10])
        time.sleep(0.2)
        server.process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        with self.assertRaises(OSError):
            server.connect().close()
        connection.sendall(body[10:])
        self.assertEqual(status_of(connection.recv(1000)), 200)
        connection.close()
        code, errors = server.stop()
        self.assertEqual(code, 0)
        self.assertIn("1 trace with 1 record", errors)
        self.assertEqual(len(self.search(server.store)), 1)


# ---- agents ------------------------------------------------------------------------------------

CBOR_TYPE = "application/zorka+cbor+v1"


def lz4_block(data):
    """An LZ4 block of literals only, which every reader of it takes."""
    out = bytearray([min(len(data), 15) << 4])
    left = len(data) - 15
    while left >= 0:
        out.append(min(left, 255))
        left -= 255
    return bytes(out) + data


def lz4_frame(data):
    """Without checksums of content; one block that is stored as it is."""
    descriptor = bytes([0x60, 0x70])
    return (b"\x04\x22\x4d\x18" + descriptor + bytes([xxh32(descriptor) >> 8 & 0xFF]) +
            (len(data) | 1 << 31).to_bytes(4, "little") + data + bytes(4))


def xxh32(data):
    """For less than 16 bytes."""
    mask, value = 0xFFFFFFFF, (0x165667B1 + len(data)) & 0xFFFFFFFF
    for byte in data:
        value = value + byte * 0x165667B1 & mask
        value = (value << 11 | value >> 21) & mask
        value = value * 0x9E3779B1 & mask
    value = (value ^ value >> 15) * 0x85EBCA77 & mask
    value = (value ^ value >> 13) * 0xC2B2AE3D & mask
    return value ^ value >> 16


DEFINITIONS = b"".join((
    define_string(1, "com.example.Shop", 5), define_string(2, "buy", 6),
    define_string(3, "(I)V", 8), define_string(4, "charge", 6), define_string(5, "HTTP"),
    define_string(6, "URI"), define_string(7, "/cart"), define_string(8, "STATUS"),
    define_string(9, "java.io.IOException", 5), define_string(10, "Shop.java"),
    define_string(11, "refused"), define_string(12, "nested"),
    define_method(100, 1, 2, 3), define_method(101, 1, 4, 3),
    cbor(Tagged(0x0F, ["zone", "eu-1"])),
))

THROWN = Tagged(0x22, [77, ref(9), ref(11), 0, [[ref(1), ref(4), ref(10), 42],
                                                [ref(1), ref(2), ref(10), 7]]])


def agent_trace(method=100):
    charge = record(101, 10, 20, cbor(Tagged(0x26, [5, {ref(12): [ref(7), {ref(8): 1.5}]}])),
                    cbor(THROWN), big=False)
    again = record(101, 21, 22, cbor(Tagged(0x23, 77)), calls=1 << 24)
    return record(method, 5, 30, cbor(Tagged(0x21, [1700000000123, 5])),
                  cbor(Tagged(0x09, {ref(6): ref(7), ref(8): 200, "inline": "text", ref(12): None})),
                  charge, again, calls=9)


class Agents(ServeCase):
    def session(self, server, **more):
        answer = server.post(json.dumps(dict(rkey=more.pop("rkey", "x"), name="agent-1", app="shop",
                                             env="test", attrs={"a": "b"}, **more)),
                             JSON, "/agent/register")
        self.assertEqual(answer.status, 201, answer.body)
        agent = json.loads(answer.body)
        answer = server.post(json.dumps(agent), JSON, "/agent/session")
        self.assertEqual(answer.status, 200, answer.body)
        return agent, json.loads(answer.body)["session"]

    def submit(self, server, kind, session, body, trace=None, encoding=None):
        headers = {"X-Zorka-Session-UUID": session} if session else {}
        if trace:
            headers["X-Zorka-Trace-UUID"] = trace
        if encoding:
            headers["Content-Encoding"] = encoding
        return server.post(body, CBOR_TYPE, "/agent/submit/" + kind, **headers)

    def assert_trace(self, store, trace):
        found = self.get(store, trace)
        self.assertEqual(len(found), 1)
        self.assertEqual((found[0]["service"], found[0]["host"], found[0]["env"], found[0]["type"]),
                         ("shop", "agent-1", "test", "HTTP"))
        self.assert_records(found[0]["root"])

    def assert_records(self, root):
        records = list(walk(root))
        self.assertEqual([item["tstart"] for item in records], [5, 10, 21])
        self.assertEqual([item["tstop"] for item in records], [30, 20, 22])
        self.assertEqual([item["calls"] for item in records], [9, 1, 1 << 24])
        self.assertEqual(root["timestamp_ms"], 1700000000123)
        self.assertIn("Shop.buy", root["method"])
        attributes = root["attributes"]
        self.assertEqual({key: attributes[key] for key in ("URI", "STATUS", "inline")},
                         {"URI": "/cart", "STATUS": 200, "inline": "text"})
        self.assertEqual(attributes["zone"], "eu-1")
        self.assertEqual(attributes["nested"], ["/cart", {"STATUS": 1.5}])
        for item in records[1:]:
            self.assertEqual(item["exception"]["class"], "java.io.IOException")
            self.assertEqual(item["exception"]["message"], "refused")
            self.assertEqual(len(item["exception"]["stack"]), 2)
            self.assertIn("Shop.java:42", item["exception"]["stack"][0])
            self.assertTrue(item["flags"] & 8)

    def test_every_packing(self):
        server = self.serve()
        _, session = self.session(server)
        body = agent_trace()
        packings = [
            (None, DEFINITIONS, body),
            (None, base64.b64encode(DEFINITIONS), base64.b64encode(body)),
            ("gzip", gzip.compress(DEFINITIONS), gzip.compress(body)),
            ("deflate", zlib.compress(DEFINITIONS), zlib.compress(body)),
            ("deflate", zlib.compress(DEFINITIONS)[2:-4], zlib.compress(body)[2:-4]),
            ("lz4", lz4_frame(DEFINITIONS), lz4_frame(body)),
            ("lz4", lz4_block(DEFINITIONS), lz4_block(body)),
        ]
        for number, (encoding, definitions, packed) in enumerate(packings):
            with self.subTest(number=number, encoding=encoding):
                trace = str(uuid.uuid4())
                answer = self.submit(server, "agd", session, definitions, encoding=encoding)
                self.assertEqual(answer.status, 202, answer.body)
                answer = self.submit(server, "trc", session, packed, trace, encoding)
                self.assertEqual(answer.status, 202, answer.body)
                self.assert_trace(server.store, trace)
        self.assertEqual(server.stop()[0], 0)
        self.assertEqual(len(self.search(server.store, "exception=IOException", "URI=/cart")),
                         len(packings))
        self.assert_sound(server.store)

    def test_form(self):
        server = self.serve()
        both = DEFINITIONS + agent_trace()
        for name, packed in (("data", both), ("zdata", zlib.compress(both)),
                             ("ldata", lz4_block(both))):
            form = urllib.parse.urlencode({"host": f"host of {name}",
                                           name: base64.b64encode(packed).decode()})
            answer = server.post(form, "application/x-www-form-urlencoded", "/submit/agent")
            self.assertEqual(answer.status, 202, answer.body)
            found = self.search(server.store, "--host", f"host of {name}")
            self.assertEqual(len(found), 1)
            self.assert_records(self.get(server.store, found[0]["id"])[0]["root"])
        for form, status in (("host=a", 400), ("data=AAAA", 400), ("host=a&data=%%%", 400),
                             ("host=a&zdata=AAAA", 400)):
            answer = server.post(form, "application/x-www-form-urlencoded", "/submit/agent")
            self.assertEqual(answer.status, status, form)

    def test_what_is_not_known(self):
        server = self.serve()
        agent, session = self.session(server)
        body = agent_trace()
        self.assertEqual(self.submit(server, "trc", None, body).status, 412)
        self.assertEqual(self.submit(server, "trc", "nonsense", body).status, 412)
        self.assertEqual(self.submit(server, "trc", session, body).status, 412)
        self.assertEqual(self.submit(server, "agd", session, DEFINITIONS).status, 202)
        self.assertEqual(self.submit(server, "trc", session, agent_trace(999)).status, 412)
        self.assertEqual(self.submit(server, "trc", session, body).status, 202)
        agent["authkey"] = "0" * 32
        self.assertEqual(server.post(json.dumps(agent), JSON, "/agent/session").status, 401)
        self.assertEqual(server.post("{", JSON, "/agent/register").status, 400)
        for bad in (body[:-1], body + b"\xff", b"\xc8\x9f" * 1000, b"\x9f" * 100000,
                    b"\xc8\x9f\xc9" + b"\x81" * 100000):
            self.assertEqual(self.submit(server, "trc", session, bad).status, 400)
        self.assertEqual(self.submit(server, "agd", session, DEFINITIONS[:-1]).status, 400)
        self.assertEqual(server.stop()[0], 0)
        self.assertEqual(len(self.search(server.store)), 1)

    def test_restart_and_token(self):
        server = self.serve(environment={"SONDE_TOKEN": "secret"})
        body = json.dumps({"rkey": "wrong", "name": "a"})
        self.assertEqual(server.post(body, JSON, "/agent/register").status, 401)
        agent, session = self.session(server, rkey="secret")
        self.submit(server, "agd", session, DEFINITIONS)
        self.assertEqual(self.submit(server, "trc", session, agent_trace()).status, 202)
        server.stop()
        server = self.serve(environment={"SONDE_TOKEN": "secret"})
        self.assertEqual(self.submit(server, "trc", session, agent_trace()).status, 412)
        self.assertEqual(server.post(json.dumps(agent), JSON, "/agent/session").status, 401)
        _, session = self.session(server, rkey="secret", uuid=agent["uuid"], akey=agent["authkey"])
        self.submit(server, "agd", session, DEFINITIONS)
        self.assertEqual(self.submit(server, "trc", session, agent_trace()).status, 202)

    def test_memory_of_definitions(self):
        server = self.serve()
        before = server.memory()
        for _ in range(40):
            _, session = self.session(server)
            for part in range(5):
                body = b"".join(define_string(part * 10 + i, "x" * 300000 + str(i)) for i in range(10))
                self.submit(server, "agd", session, body)
        self.assertLess(server.memory() - before, 500 * MIB * MEMORY_FACTOR)
        metrics = server.request("GET", "/metrics").body.decode()
        self.assertGreater(int(metrics.split("\nsonde_agent_sessions_dropped_total ")[1].split()[0]), 0)


# ---- SIGKILL -----------------------------------------------------------------------------------

class Killed(ServeCase):
    """What was acknowledged is there, whenever the server is killed."""

    def load(self, port, first, acknowledged):
        """Sends traces until the server is gone; acknowledged gets their numbers."""
        number = first
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            while True:
                count = 1 + number % 4
                spans = [span_message(*numbered_ids(number + i),
                                      attributes={"n": number + i, "text": f"text {number + i}"})
                         for i in range(count)]
                connection.request("POST", "/v1/traces", request_message(spans),
                                   {"Content-Type": "application/x-protobuf"})
                response = connection.getresponse()
                response.read()
                if response.status == 200:
                    acknowledged.extend(range(number, number + count))
                number += count
        except (OSError, http.client.HTTPException):
            pass

    def test_50_times(self):
        generator = random.Random(4711)
        acknowledged, base = [], 1
        # small parts, so that turning over and packing are interrupted too
        self.sonde("store", "serve", "--help")
        server = self.serve()
        server.stop()
        with open(os.path.join(server.store, "store.props"), "a", encoding="ascii") as props:
            props.write("sonde.rotate.max-age=1\nstore.rotate.max-num=1000\n")
        for _ in range(50):
            server = self.serve()
            threads = [threading.Thread(target=self.load, args=(server.port, base + i * 100000,
                                                                acknowledged))
                       for i in range(4)]
            base += 1000000
            for thread in threads:
                thread.start()
            time.sleep(generator.uniform(0.01, 0.25))
            server.stop(signal.SIGKILL)
            for thread in threads:
                thread.join()
        server = self.serve()
        self.assertEqual(server.stop()[0], 0)
        found = {trace["uuid"].replace("-", "") for trace in self.search(server.store)}
        missing = [number for number in acknowledged
                   if numbered_ids(number)[0].hex() not in found]
        self.assertGreater(len(acknowledged), 500)
        self.assertEqual(missing, [])
        sample = generator.sample(acknowledged, 20)
        for number in sample:
            root = self.get(server.store, numbered_ids(number)[0].hex())[0]["root"]
            self.assertEqual(root["attributes"]["text"], f"text {number}")
            self.assertEqual(root["start_ns"], START_NS)
        self.assert_sound(server.store)


if __name__ == "__main__":
    tap.main()
