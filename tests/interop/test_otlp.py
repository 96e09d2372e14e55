#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""OpenTelemetry into `sonde store serve`: its real SDK (npm), with the OTLP/HTTP exporters for protobuf and
JSON, and requests made by hand for what the SDK does not send. Every span is found by search and comes back
whole. SONDE is the command; the packages are installed by tools/setup.sh.

Names of tests as arguments run only those.
"""
import base64
import itertools
import json
import math
import os
import shutil
import subprocess
import unittest

import tap
from serve_case import (JSON, PROTOBUF, START_NS, ServeCase, any_value, bytes_field, fixed64_field,
                        numbered_ids, number_field, pair, request_message, span_message, varint, walk)

HERE = os.path.dirname(os.path.abspath(__file__))
KINDS = {0: "internal", 1: "server", 2: "client", 3: "producer", 4: "consumer"}
RESERVED = {"events", "flags", "links", "trace_state"}

needs_sdk = unittest.skipUnless(
    shutil.which("node") and os.path.isdir(os.path.join(HERE, "node_modules", "@opentelemetry")),
    "needs node and the packages of tests/interop/package.json (tools/setup.sh test)")


def shown(value):
    """A value as get shows it: numbers that are whole are whole."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return int(value)
    if isinstance(value, list):
        return [shown(item) for item in value]
    if isinstance(value, dict):
        return {key: shown(item) for key, item in value.items()}
    return value


@needs_sdk
class Sdk(ServeCase):
    def send(self, server, kind, compression, count, token=None):
        done = subprocess.run(
            ["node", os.path.join(HERE, "otlp_send.js"), kind, server.url + "/v1/traces",
             compression, str(count)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
            env=dict(os.environ, TOKEN=token or ""))
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        sent = json.loads(done.stdout)
        return sent

    def assert_span(self, record, span, resource):
        """A record of get says all that the span has."""
        attributes = dict(record["attributes"])
        is_root = not span["parent"]
        self.assertEqual(record["method"], span["name"])
        self.assertEqual(record["start_ns"], int(span["start"]))
        self.assertEqual(record["duration_ns"], int(span["end"]) - int(span["start"]))
        self.assertEqual(record.get("parent", ""), span["parent"])
        if is_root:
            self.assertEqual(record["type"], KINDS[span["kind"]])
            self.assertEqual(attributes.pop("DTRACE_UUID").replace("-", ""), span["trace_id"])
            for key, value in resource.items():
                name = f"resource.{key}" if key in span["attributes"] else key
                self.assertEqual(attributes.pop(name), value)
        else:
            self.assertEqual(attributes.pop("otel.span_kind"), KINDS[span["kind"]])
        self.assertEqual(attributes.pop("otel.scope.name"), "interop")
        self.assertEqual(attributes.pop("otel.scope.version"), "1.2.3")
        status = {0: None, 1: "OK", 2: "ERROR"}[span["status"]["code"]]
        self.assertEqual(attributes.pop("otel.status_code", None), status)
        self.assertEqual(attributes.pop("otel.status_description", None),
                         span["status"].get("message"))
        self.assertEqual(attributes.pop("flags") & 0xFF, 1)
        self.assert_notes(attributes, span)
        expected = {(f"attribute.{key}" if key in RESERVED else key): value
                    for key, value in span["attributes"].items()}
        self.assertEqual(shown(attributes), shown(expected))
        self.assert_error(record, span)

    def assert_notes(self, attributes, span):
        events = [dict(event) for event in attributes.pop("events", [])]
        self.assertEqual(
            [(event["name"], event["time_ns"], shown(event.get("attributes", {})))
             for event in events],
            [(event["name"], int(event["time"]), shown(event["attributes"]))
             for event in span["events"]])
        links = attributes.pop("links", [])
        self.assertEqual(
            [(link["trace_id"], link["span_id"], link.get("attributes", {})) for link in links],
            [(link["trace_id"], link["span_id"], link["attributes"]) for link in span["links"]])

    def assert_error(self, record, span):
        thrown = [event for event in span["events"] if event["name"] == "exception"]
        self.assertEqual(bool(record["flags"] & 8), span["status"]["code"] == 2 or bool(thrown))
        if not thrown:
            self.assertNotIn("exception", record)
            return
        told = thrown[-1]["attributes"]
        self.assertEqual(record["exception"]["class"], told["exception.type"])
        self.assertEqual(record["exception"]["message"], told["exception.message"])
        self.assertEqual(record["exception"]["stack"], told["exception.stacktrace"].split("\n"))

    def assert_all_there(self, store, sent):
        self.assertEqual(sent["failures"], [])
        by_trace = {}
        for span in sent["sent"]:
            by_trace.setdefault(span["trace_id"], {})[span["span_id"]] = span
        for trace, spans in by_trace.items():
            found = self.get(store, trace)
            self.assertEqual(len(found), 1)
            records = {record["span"]: record for record in walk(found[0]["root"])}
            self.assertEqual(set(records), set(spans))
            for span in spans.values():
                self.assert_span(records[span["span_id"]], span, sent["resource"])

    def test_both_encodings(self):
        server = self.serve()
        for kind in ("proto", "http"):
            for compression in ("gzip", "none"):
                with self.subTest(kind=kind, compression=compression):
                    sent = self.send(server, kind, compression, 5)
                    self.assertEqual(len(sent["sent"]), 20)
                    self.assert_all_there(server.store, sent)
        code, errors = server.stop()
        self.assertEqual(code, 0, errors)
        self.assertIn("20 traces with 80 records", errors)
        self.assertEqual(len(self.search(server.store)), 20)
        self.assertEqual(len(self.search(server.store, "--service", "shop-proto")), 10)

    def test_every_span_is_found(self):
        server = self.serve()
        sent = self.send(server, "proto", "gzip", 3)
        self.assertEqual(sent["failures"], [])
        for span in sent["sent"]:
            found = self.search(server.store, f"span={span['span_id']}")
            self.assertEqual(len(found), 1, span)
            self.assertEqual(found[0]["uuid"].replace("-", ""), span["trace_id"])
        for conditions, count in ((["number=1"], 1), (["exception=TypeError"], 3),
                                  (["method=SELECT"], 3), (["unicode~Zürich"], 3),
                                  (["http.status_code>=201"], 2), (["host=host-1"], 3),
                                  (["env=test"], 3), (["--errors"], 3), (["number=7"], 0)):
            self.assertEqual(len(self.search(server.store, *conditions)), count, conditions)

    def test_many(self):
        server = self.serve()
        sent = self.send(server, "proto", "gzip", 1000)
        self.assertEqual(sent["failures"], [])
        self.assertEqual(server.stop()[0], 0)
        found = sum(trace["records"] for trace in self.search(server.store))
        self.assertEqual(found, 4000)

    def test_token(self):
        server = self.serve(environment={"SONDE_TOKEN": "secret"})
        self.assertNotEqual(self.send(server, "proto", "gzip", 1, "wrong")["failures"], [])
        self.assert_all_there(server.store, self.send(server, "proto", "gzip", 1, "secret"))


def json_value(value):
    if value is None:
        return {}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value if math.isfinite(value) else
                {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")}
    if isinstance(value, bytes):
        return {"bytesValue": base64.b64encode(value).decode()}
    if isinstance(value, list):
        return {"arrayValue": {"values": [json_value(item) for item in value]}}
    return {"kvlistValue": {"values": json_pairs(value)}}


def json_pairs(values):
    return [{"key": key, "value": json_value(value)} for key, value in values.items()]


def json_span(trace, span, name="work", parent=b"", start=START_NS, end=START_NS + 1000000,
              attributes=None, **more):
    return dict({"traceId": trace.hex(), "spanId": span.hex(), "parentSpanId": parent.hex(),
                 "name": name, "kind": "SPAN_KIND_SERVER", "startTimeUnixNano": str(start),
                 "endTimeUnixNano": end, "attributes": json_pairs(attributes or {})}, **more)


def json_request(spans, resource=None):
    return json.dumps({"resourceSpans": [{"resource": {"attributes": json_pairs(resource or {})},
                                          "scopeSpans": [{"spans": spans}]}],
                       "unknown": {"deep": [1, {"er": None}]}}).encode()


# In both encodings.
FORMS = {
    "protobuf": (PROTOBUF, span_message, request_message),
    "json": (JSON, json_span, json_request),
}

VALUES = {
    "text": "x", "empty": "", "nul": "a\0b", "yes": True, "no": False, "zero": 0, "one": 1,
    "least": -(1 << 63), "most": (1 << 63) - 1, "half": 0.5, "third": 1 / 3, "tiny": 5e-324,
    "large": 1.7976931348623157e308, "nothing": None, "list": ["a", 1, True, None, 1.5, ["b"], {}],
    "map": {"a": {"b": {"c": [1, {"d": "e"}]}}, "": "no key"}, "none": [],
}


class ByHand(ServeCase):
    def roundtrip(self, kind, body, trace):
        server = self.serve(store=f"store-{kind}")
        answer = server.post(body, FORMS[kind][0])
        self.assertEqual(answer.status, 200, answer.body)
        self.assertEqual(answer.headers["Content-Type"], FORMS[kind][0])
        return server, answer, self.get(server.store, trace.hex())

    def test_values(self):
        for kind, (_, make_span, make_request) in FORMS.items():
            with self.subTest(kind=kind):
                trace, span = numbered_ids(7)
                body = make_request([make_span(trace, span, attributes=VALUES)])
                _, _, found = self.roundtrip(kind, body, trace)
                attributes = found[0]["root"]["attributes"]
                for key, value in VALUES.items():
                    self.assertEqual(attributes[key], value, key)

    def test_values_that_json_lacks(self):
        values = {"bytes": b"\x00\xff\x80abc", "nan": math.nan, "inf": math.inf, "ninf": -math.inf}
        for kind, (_, make_span, make_request) in FORMS.items():
            with self.subTest(kind=kind):
                trace, span = numbered_ids(7)
                body = make_request([make_span(trace, span, attributes=values)])
                _, _, found = self.roundtrip(kind, body, trace)
                attributes = json.loads(json.dumps(found[0]["root"]["attributes"]))
                self.assertIn(base64.b64encode(values["bytes"]).decode(),
                              json.dumps(attributes["bytes"]))
                for key, text in (("nan", "NaN"), ("inf", "Infinity"), ("ninf", "-Infinity")):
                    self.assertIn(text, json.dumps(attributes[key]))

    def test_trees(self):
        """Children in order of start, a parent elsewhere, two traces, circles, copies."""
        trace, other = numbered_ids(1)[0], numbered_ids(2)[0]

        def ident(number):
            return number.to_bytes(8, "big")

        spans = [
            (trace, ident(3), "late", ident(1), START_NS + 500),
            (trace, ident(1), "root", b"", START_NS),
            (trace, ident(2), "early", ident(1), START_NS + 100),
            (trace, ident(4), "before the root", ident(1), START_NS - 70000),
            (trace, ident(5), "orphan", ident(99), START_NS),
            (trace, ident(2), "copy", ident(1), START_NS + 200),
            (trace, ident(6), "itself", ident(6), START_NS),
            (trace, ident(7), "circle a", ident(8), START_NS),
            (trace, ident(8), "circle b", ident(7), START_NS + 1),
            (other, ident(1), "other trace", b"", START_NS),
            (other, ident(10), "its child", ident(1), START_NS),
        ]
        for kind, (_, make_span, make_request) in FORMS.items():
            with self.subTest(kind=kind):
                body = make_request([make_span(t, i, n, p, s, s + 10) for t, i, n, p, s in spans])
                server, _, _ = self.roundtrip(kind, body, trace)
                names, trees = [], []
                for found in self.search(server.store):
                    root = self.get(server.store, found["id"])[0]["root"]
                    records = list(walk(root))
                    names += [record["method"] for record in records]
                    trees.append([record["method"] for record in records])
                    for record in records:
                        expected = next(s for s in spans if s[2] == record["method"])
                        self.assertEqual(record["start_ns"], expected[4])
                        self.assertEqual(record["duration_ns"], 10)
                        self.assertEqual(record["span"], expected[1].hex())
                        self.assertEqual(record.get("parent", ""), expected[3].hex())
                self.assertEqual(sorted(names), sorted(span[2] for span in spans))
                self.assertIn(["root", "before the root", "early", "late"], trees)
                self.assertIn(["circle a", "circle b"], trees)
                self.assertIn(["other trace", "its child"], trees)
                for alone in ("orphan", "copy", "itself"):
                    self.assertIn([alone], trees)

    def test_several_requests(self):
        """Spans of a trace in three requests, in any order, each into another part: one tree."""
        pieces = [[(1, 0), (2, 1)], [(3, 2), (4, 3)], [(5, 4), (6, 1)]]
        orders = list(itertools.permutations(range(3)))
        for step in range(3):
            server = self.serve()
            for number, order in enumerate(orders):
                trace = (0x7000 + number).to_bytes(16, "big")
                spans = [span_message(trace, span.to_bytes(8, "big"), f"s{span}",
                                      parent.to_bytes(8, "big") if parent else b"",
                                      START_NS + span, START_NS + 100 - span)
                         for span, parent in pieces[order[step]]]
                self.assertEqual(server.post(request_message(spans)).status, 200)
            server.stop()
            self.sonde("store", "rotate", self.path("store"))
        self.assertGreaterEqual(len([name for name in os.listdir(self.path("store"))
                                     if len(name) == 6 and name.isdigit()]), 3)

        def shape(node):
            return node["method"], [shape(inner) for inner in node["children"]]
        for number in range(len(orders)):
            found = self.get(self.path("store"), (0x7000 + number).to_bytes(16, "big").hex())
            with self.subTest(order=orders[number]):
                self.assertEqual([shape(one["root"]) for one in found], [
                    ("s1", [("s2", [("s3", [("s4", [("s5", [])])])]), ("s6", [])])])
        self.assert_sound(self.path("store"))

    def test_rejected_spans(self):
        trace, span = numbered_ids(1)
        good = (trace, span)
        bad = [(bytes(16), span), (trace[:15], span), (trace, bytes(8)), (trace, b"\1" * 7)]
        for kind, (_, make_span, make_request) in FORMS.items():
            with self.subTest(kind=kind):
                spans = [make_span(*ids, "n") for ids in bad]
                spans += [make_span(*good), make_span(*good, start=0),
                          make_span(*good, start=1 << 63, end=1 << 63)]
                server, answer, found = self.roundtrip(kind, make_request(spans), trace)
                self.assertEqual(len(found), 1)
                if kind == "json":
                    partial = json.loads(answer.body)["partialSuccess"]
                    self.assertEqual(partial["rejectedSpans"], "6")
                    self.assertIn("trace id", partial["errorMessage"])
                else:
                    self.assertIn(number_field(1, 6), answer.body)
                    self.assertIn(b"trace id", answer.body)
                self.assertIn(b"sonde_spans_rejected_total 6",
                              server.request("GET", "/metrics").body)

    def test_end_before_start(self):
        for kind, (_, make_span, make_request) in FORMS.items():
            with self.subTest(kind=kind):
                trace, span = numbered_ids(1)
                body = make_request([make_span(trace, span, end=START_NS - 5)])
                _, answer, found = self.roundtrip(kind, body, trace)
                self.assertEqual(found[0]["root"]["duration_ns"], 0)
                self.assertEqual(found[0]["root"]["attributes"]["otel.end_time_ns"], START_NS - 5)
                self.assertIn(b"ends before it starts", answer.body)

    def test_bad_utf8(self):
        trace, span = numbered_ids(1)
        body = request_message([span_message(trace, span, b"a\xffb", more=bytes_field(
            9, bytes_field(1, b"k\xc3") + bytes_field(2, bytes_field(1, b"\xed\xa0\x80"))))])
        _, answer, found = self.roundtrip("protobuf", body, trace)
        self.assertEqual(found[0]["root"]["method"], "a\ufffdb")
        self.assertEqual(found[0]["root"]["attributes"]["k\ufffd"], "\ufffd" * 3)
        self.assertIn(b"UTF-8", answer.body)

    def test_all_fields_of_a_span(self):
        """What the SDK does not send: trace state, dropped counts, schemas, scope attributes."""
        trace, span = numbered_ids(1)
        link = (bytes_field(1, b"\1" * 16) + bytes_field(2, b"\2" * 8) + bytes_field(3, "a=1") +
                number_field(5, 9) + varint(6 << 3 | 5) + b"\1\0\0\0")
        event = fixed64_field(1, START_NS) + bytes_field(2, "e") + number_field(4, 8)
        more = (bytes_field(3, "b=2") + number_field(6, 5) + number_field(10, 1) +
                bytes_field(11, event) + number_field(12, 2) + bytes_field(13, link) +
                number_field(14, 3) + varint(16 << 3 | 5) + b"\1\3\0\0")
        scope = (bytes_field(1, "lib") + bytes_field(2, "v") + bytes_field(3, pair("s", 1)) +
                 number_field(4, 4))
        body = bytes_field(1, bytes_field(1, number_field(2, 5)) + bytes_field(2, bytes_field(
            1, scope) + bytes_field(2, span_message(trace, span, more=more)) + bytes_field(
                3, "scope-schema")) + bytes_field(3, "resource-schema"))
        _, _, found = self.roundtrip("protobuf", body, trace)
        attributes = found[0]["root"]["attributes"]
        attributes.pop("DTRACE_UUID")
        self.assertEqual(found[0]["root"]["type"], "consumer")
        self.assertEqual(attributes, {
            "trace_state": "b=2", "flags": 0x301, "dropped_attributes_count": 1,
            "dropped_events_count": 2, "dropped_links_count": 3,
            "otel.scope.name": "lib", "otel.scope.version": "v", "otel.scope.attributes": {"s": 1},
            "otel.scope.dropped_attributes_count": 4, "otel.scope.schema_url": "scope-schema",
            "otel.resource.dropped_attributes_count": 5,
            "otel.resource.schema_url": "resource-schema",
            "events": [{"name": "e", "time_ns": START_NS, "dropped_attributes_count": 8}],
            "links": [{"trace_id": "01" * 16, "span_id": "02" * 8, "trace_state": "a=1", "flags": 1,
                       "dropped_attributes_count": 9}],
        })

    def test_long_texts(self):
        """A text that a store cannot hold costs its span, not the others."""
        trace, span = numbered_ids(1)
        other = numbered_ids(2)[1]
        body = request_message([span_message(trace, span, attributes={"k": "x" * (1 << 20)}),
                                span_message(trace, other, attributes={"k": "y" * ((1 << 20) + 1)})])
        _, answer, found = self.roundtrip("protobuf", body, trace)
        self.assertEqual(len(found), 1)
        self.assertEqual(len(found[0]["root"]["attributes"]["k"]), 1 << 20)
        self.assertIn(b"1 MiB", answer.body)

    def test_nothing(self):
        server = self.serve()
        self.assertEqual(server.post(b"").status, 200)
        self.assertEqual(server.post(b"{}", JSON).status, 200)
        self.assertEqual(any_value(None), b"")


if __name__ == "__main__":
    tap.main()
