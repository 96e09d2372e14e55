#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of OTLP JSON, as collectors write them: one document or one a line. Spans nest in lanes, keep what they say,
and are the same whatever the order of members. SONDE is the command.

Names of tests as arguments run only those.
"""
import json
import tap
from sonde_case import SondeCase

START = 1700000000 * 10**9


def attribute(key, value):
    kind = {str: "stringValue", bool: "boolValue", int: "intValue", float: "doubleValue"}[type(value)]
    return {"key": key, "value": {kind: str(value) if kind == "intValue" else value}}


def span(trace, number, parent, name, start, end, **more):
    made = {"traceId": f"{trace:032x}", "spanId": f"{number:016x}", "name": name, "kind": 2,
            "startTimeUnixNano": str(START + start), "endTimeUnixNano": str(START + end)}
    if parent:
        made["parentSpanId"] = f"{parent:016x}"
    return {**made, **more}


def failed(time, kind, message):
    return {"status": {"code": 2, "message": message},
            "events": [{"timeUnixNano": str(START + time), "name": "exception",
                        "attributes": [attribute("exception.type", kind), attribute("exception.message", message),
                                       attribute("exception.stacktrace", "one\ntwo")]}]}


def request(spans, service="shop", resource_last=False):
    resource = {"resource": {"attributes": [attribute("service.name", service), attribute("process.pid", 42)]}}
    scopes = {"scopeSpans": [{"spans": spans, "scope": {"name": "lib", "version": "1"}}]}
    return {"resourceSpans": [{**scopes, **resource} if resource_last else {**resource, **scopes}]}


def some_spans():
    """Traces of 1000 ns that begin every 700: two lanes."""
    spans = []
    for i in range(600):
        base = 700 * i
        spans += [span(i + 1, 3 * i + 1, 0, "GET /", base, base + 1000),
                  span(i + 1, 3 * i + 2, 3 * i + 1, "query", base + 100, base + 400,
                       attributes=[attribute("n", i), attribute("deep", "ü\n\"")]),
                  span(i + 1, 3 * i + 3, 3 * i + 1, "render", base + 500, base + 900,
                       **(failed(base + 800, "ValueError", "no") if i % 3 == 0 else {}))]
    return spans


class OtlpFile(SondeCase):
    def file(self, name, *documents):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write("\n".join(json.dumps(document) for document in documents))
        return self.path(name)

    def rows(self, path):
        rows = json.loads(self.sonde("report", "--json", path))["rows"]
        return {row["name"]: (row["calls"], row["total_ns"], row["self_ns"]) for row in rows}

    def test_the_same_however_it_is_written(self):
        spans = some_spans()
        expected = {"GET /": (600, 600000, 180000), "query": (600, 180000, 180000), "render": (600, 240000, 240000)}
        files = {
            "one": [request(spans)],
            "last": [request(spans, resource_last=True)],
            "lines": [request(spans[i:i + 50]) for i in range(0, len(spans), 50)],
            "mixed": [request(spans[i::7]) for i in range(7)],
        }
        for name, documents in files.items():
            with self.subTest(name):
                path = self.file(name, *documents)
                self.assertEqual(expected, self.rows(path))
                info = json.loads(self.sonde("info", "--json", path))["recordings"][0]
                self.assertEqual(["shop lane 1", "shop lane 2"], [track["name"] for track in info["tracks"]])
                self.assertEqual([(42, "shop")], [(p["pid"], p["name"]) for p in info["processes"]])

    def test_what_spans_say(self):
        events = [json.loads(line) for line in
                  self.sonde("dump", "--json", self.file("one", request(some_spans()))).splitlines()]
        query = next(event for event in events if event["kind"] == "call" and event["name"] == "query")
        self.assertEqual(("ü\n\"", 2, 1), (query["arguments"]["attributes"]["deep"],
                                          query["arguments"]["span"],
                                          query["arguments"]["parent"]))
        left = [event for event in events if event["kind"] == "exception"]
        self.assertEqual(200, len(left))
        self.assertEqual(("ValueError", "no", ["one", "two"]),
                         tuple(left[0]["arguments"][key] for key in ("class", "message", "stack")))
        self.assertEqual(200, sum(event["kind"] == "instant" for event in events))

    def test_services_are_processes(self):
        path = self.file("two", request(some_spans()[:3]), request(some_spans()[3:6], "db"))
        info = json.loads(self.sonde("info", "--json", path))["recordings"][0]
        self.assertEqual({"shop", "db"}, {process["name"] for process in info["processes"]})

    def test_overlapping_spans_of_one_trace_are_kept(self):
        path = self.file("overlap", request([span(1, 1, 0, "all", 0, 100), span(1, 2, 1, "a", 10, 60),
                                             span(1, 3, 1, "b", 40, 90)]))
        self.assertEqual({"all": 100, "a": 50, "b": 50},
                         {name: row[1] for name, row in self.rows(path).items()})

    def test_bad_spans_are_told(self):
        spans = some_spans()[:30]
        spans[3] = {"name": "no ids"}
        spans[7]["startTimeUnixNano"] = [1]
        path = self.file("bad", request(spans))
        found = json.loads(self.sonde("check", "--json", path, expect=(1,)))["recordings"][0]
        self.assertEqual(2, sum(finding["id"] == "exchange-record" for finding in found["findings"]))
        self.assertEqual(28, sum(row[0] for row in self.rows(path).values()))

    def test_a_broken_line_costs_only_itself(self):
        documents = [json.dumps(request(some_spans()[i:i + 3])) for i in range(0, 30, 3)]
        documents[4] = documents[4][:-120]
        with open(self.path("lines"), "w", encoding="utf-8") as file:
            file.write("\n".join(documents) + "\n")
        self.assertEqual(30 - 1, sum(row[0] for row in self.rows(self.path("lines")).values()))

    def test_cut_files(self):
        whole = json.dumps(request(some_spans()[:60])).encode()
        for cut in range(40, len(whole), 997):
            with open(self.path("cut"), "wb") as file:
                file.write(whole[:cut])
            self.run_sonde("report", self.path("cut"))


if __name__ == "__main__":
    tap.main()
