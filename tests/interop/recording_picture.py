# SPDX-License-Identifier: Apache-2.0
"""What a recording says, in a form that does not depend on its format: taken through the commands dump and
info, and compared thing by thing (see format_table.py).
"""
import json
from collections import Counter

EVENT_THINGS = {"instant": "instants", "mark": "marks", "counter": "counters", "other": "other events",
                "flow-begin": "flows", "flow-step": "flows", "flow-end": "flows",
                "range-begin": "ranges", "range-end": "ranges"}
# What formats say of themselves and not of the recording.
OWN_ATTRIBUTES = ("hpc.", "hpcrun.", "zts_")


def plain(value):
    """0.0 is 0: formats differ in how they write numbers."""
    if isinstance(value, float) and value == int(value) and abs(value) < 2**53:
        return int(value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def bare(arguments):
    """Arguments without what a store adds to them; None where there are none."""
    if arguments and "attributes" in arguments and "span" in arguments:
        arguments = arguments["attributes"]
    return json.dumps(plain(arguments), sort_keys=True) if arguments else None


def dump(run, path, what):
    """Lines end in a line feed only: names have other ends of lines in them."""
    return [json.loads(line) for line in run("dump", "--json", what, path).split("\n") if line]


class Picture:
    """All things of one recording, as multisets."""

    def __init__(self, run, path):
        self.info = json.loads(run("info", "--json", path))["recordings"][0]
        self.things = {}
        self.points = Counter()  # values of a context on a track, by metric
        events = []
        if self.info["events"]:
            events = dump(run, path, "--detail")
        samples = self.profile(run, path) if self.info["contexts"] else []
        times = [event["time_ns"] for event in events if event["kind"] == "call"] or \
                [event["time_ns"] for event in events] or [sample["time_ns"] for sample in samples]
        self.base = min(times, default=0)
        self.take_spans(events)
        self.take_events(events)
        self.things["samples"] = Counter(
            (sample["time_ns"] - self.base, self.paths[sample["context"]]) for sample in samples)
        self.take_facts()
        self.things["resources"] = Counter((entry["name"], entry["bytes"]) for entry in self.info["resources"])

    def profile(self, run, path):
        """Contexts and values; gives the samples."""
        self.paths = {}
        for context in dump(run, path, "--contexts"):
            above = self.paths.get(context["parent"], ())
            is_call = context["kind"] == "function" or context["kind"] == "instruction"
            self.paths[context["context"]] = (*above, context["name"]) if is_call else above
        self.things["contexts"] = Counter(set(self.paths.values()))
        values = Counter()
        for value in dump(run, path, "--values"):
            if value.get("scope", "point") == "point" and value.get("track") is not None:
                values[self.paths[value["context"]], value["metric"]] += value["value"]
                self.points[value["metric"]] += bool(value["value"])
        self.things["values"] = Counter({key: round(value, 9) for key, value in values.items() if value})
        return dump(run, path, "--samples")

    def take_spans(self, events):
        """Calls by the names above them, their times and arguments."""
        open_calls, spans, left = {}, Counter(), Counter()
        given, others = Counter(), 0
        for event in events:
            stack = open_calls.setdefault(event["track"], [])
            if event["kind"] == "call":
                stack.append((event["name"], event["time_ns"]))
                where = (tuple(name for name, _ in stack), event["time_ns"] - self.base)
                if bare(event.get("arguments")):
                    given[where, bare(event["arguments"])] += 1
            elif event["kind"] in ("return", "exception"):
                others += bool(event.get("arguments"))
                if not stack:
                    continue
                path = tuple(name for name, _ in stack)
                _, begin = stack.pop()
                span = (path, begin - self.base, event["time_ns"] - self.base)
                spans[span] += 1
                if event["kind"] == "exception":
                    left[span] += 1
        self.things["calls"] = spans
        self.things["exceptions"] = left
        self.things["arguments"] = given
        self.registers = sum("registers" in event for event in events)

    def take_events(self, events):
        # what has no name is shown by its number, which is another one in every format
        nameless = {f"event type {kind['id']}": "event type" for kind in self.info["event_types"] if not kind["name"]}
        for thing in set(EVENT_THINGS.values()):
            self.things[thing] = Counter()
        for event in events:
            thing = EVENT_THINGS.get(event["kind"])
            if thing:
                self.things[thing][event["time_ns"] - self.base, event["kind"],
                                   nameless.get(event["name"], event["name"]),
                                   repr(event.get("value")), event.get("flow"), event.get("range"),
                                   bare(event.get("arguments"))] += 1

    def take_facts(self):
        info, put = self.info, self.things.__setitem__
        tracks, processes = info["tracks"], info["processes"]
        kinds = {clock["id"]: clock["kind"] for clock in info["clocks"]}
        modules = {module["id"]: module["path"] for module in info["modules"]}
        put("ids of processes", Counter(p["pid"] for p in processes if p["pid"] is not None))
        put("machines of processes", Counter(p["arch"] for p in processes if p["arch"] != "unknown"))
        anchored = {anchor["clock"] for anchor in info["anchors"]}
        put("clocks of processes", Counter(kinds.get(p["clock"]) for p in processes if p["clock"] in anchored and
                                           kinds.get(p["clock"]) not in (None, "unknown", "realtime")))
        put("names of tracks", Counter(t["name"] for t in tracks if t["named"]))
        put("ids of threads", Counter(t["os_id"] for t in tracks if t["os_id"] is not None))
        put("zones", Counter(t["kind"] for t in tracks if t["kind"] == "zone"))
        put("GPU streams", Counter(t["kind"] for t in tracks if "stream" in t["kind"]))
        put("modules of functions", Counter((f["name"], modules[f["module"]]) for f in info["functions"]
                                            if f["module"] is not None))
        put("build ids and places of modules", Counter(
            (m["path"], m["uuid"], m["base_address"], m["size"]) for m in info["modules"]
            if m["uuid"] or m["base_address"] != "0x0" or m["size"]))
        put("source places of functions", Counter((f["name"], f["file"], f["line"]) for f in info["functions"]
                                                  if f.get("line")))
        put("names before demangling", Counter((f["name"], f["raw_name"]) for f in info["functions"]
                                               if f.get("raw_name")))
        put("numbers of dropped events", Counter({"all": sum(t["dropped"] for t in tracks)}))
        # what is said of a recording may be said of its process
        put("attributes", Counter((a["owner"].replace("recording", "process"), a["name"], json.dumps(a["value"], sort_keys=True))
                                  for a in info["attributes"] if not a["name"].startswith(OWN_ATTRIBUTES)))

    def count(self, thing):
        return sum(self.things.get(thing, Counter()).values())
