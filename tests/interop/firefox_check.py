# SPDX-License-Identifier: Apache-2.0
"""Checks a processed profile of the Firefox Profiler, version 55, as its documents describe it: every column of a table is as
long as the table, every index leads somewhere, and what the application needs is there. No program of the Firefox
Profiler can be had as a package; this stands for it, and shares nothing with the writer.
"""
import gzip
import json
import math

VERSION = 55
NUMBER = (int, float)

# Columns by table: what a value may be. A name of a table: an index into it.
TABLES = {
    "samples": {"stack": ("stackTable", None), "time": NUMBER, "weight": NUMBER},
    "markers": {"name": ("stringArray",), "startTime": (*NUMBER, None), "endTime": (*NUMBER, None), "phase": (int,),
                "category": ("categories",), "data": (dict, None)},
    "stackTable": {"frame": ("frameTable",), "prefix": ("stackTable", None)},
    "frameTable": {"address": (int,), "inlineDepth": (int,), "category": ("categories", None),
                   "subcategory": (int, None), "func": ("funcTable",), "nativeSymbol": ("nativeSymbols", None),
                   "innerWindowID": (int, None), "line": (int, None), "column": (int, None)},
    "funcTable": {"name": ("stringArray",), "isJS": (bool,), "relevantForJS": (bool,), "resource": ("resourceTable", -1),
                  "fileName": ("stringArray", None), "lineNumber": (int, None), "columnNumber": (int, None)},
    "resourceTable": {"lib": ("libs", None), "name": ("stringArray",), "host": ("stringArray", None), "type": (int,)},
    "nativeSymbols": {"libIndex": ("libs",), "address": (int,), "name": ("stringArray",), "functionSize": (int, None)},
}
THREAD = {"name": str, "isMainThread": bool, "processType": str, "pid": str, "tid": (int, str), "pausedRanges": list,
          "processStartupTime": NUMBER, "registerTime": NUMBER, "stringArray": list}
INSTANT, INTERVAL, BEGIN, END = range(4)


class Bad(AssertionError):
    pass


def need(condition, text):
    if not condition:
        raise Bad(text)


def load(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        return json.load(file, parse_constant=lambda word: need(False, f"{word} is no JSON"))


def fits(value, allowed, lengths):
    for kind in allowed:
        if kind is None or kind == -1:
            if value is kind or (kind == -1 and value == -1):
                return True
        elif isinstance(kind, str):
            if type(value) is int and 0 <= value < lengths[kind]:
                return True
        elif kind is bool or not isinstance(value, bool):
            if isinstance(value, kind) and not (isinstance(value, float) and not math.isfinite(value)):
                return True
    return False


def check_thread(profile, thread):
    for key, kind in THREAD.items():
        need(isinstance(thread.get(key), kind), f"thread: {key} is {thread.get(key)!r}")
    need(all(isinstance(text, str) for text in thread["stringArray"]), "strings that are none")
    need(len(set(thread["stringArray"])) == len(thread["stringArray"]), "a string twice")
    lengths = {name: thread[name]["length"] for name in TABLES}
    lengths.update(stringArray=len(thread["stringArray"]), libs=len(profile["libs"]),
                   categories=len(profile["meta"]["categories"]))
    for name, columns in TABLES.items():
        table = thread[name]
        extra = {"weightType"} if name == "samples" else set()
        need(set(table) == set(columns) | {"length"} | extra, f"{name} has {sorted(table)}")
        for column, allowed in columns.items():
            need(len(table[column]) == table["length"], f"{name}.{column} has {len(table[column])} of {table['length']}")
            for row, value in enumerate(table[column]):
                need(fits(value, allowed, lengths), f"{name}.{column}[{row}] is {value!r}")
    need(thread["samples"]["weightType"] in ("samples", "tracing-ms", "bytes"), "weightType")
    need(all(prefix is None or prefix < row for row, prefix in enumerate(thread["stackTable"]["prefix"])),
         "a prefix behind its stack")
    times = thread["samples"]["time"]
    need(all(a <= b for a, b in zip(times, times[1:])), "samples are not in order")
    check_markers(profile, thread["markers"])


def check_markers(profile, markers):
    schemas = {schema["name"]: schema for schema in profile["meta"]["markerSchema"]}
    for row, phase in enumerate(markers["phase"]):
        has = (markers["startTime"][row] is not None, markers["endTime"][row] is not None)
        need(has == {INSTANT: (True, False), INTERVAL: (True, True), BEGIN: (True, False), END: (False, True)}[phase],
             f"marker {row} of phase {phase} has {has}")
        data = markers["data"][row]
        if data is not None:
            fields = {field["key"] for field in schemas[data["type"]]["fields"]}
            need(set(data) - {"type"} <= fields, f"marker {row}: {data}")


def check(profile):
    """Raises Bad where the profile is not as it should be."""
    meta = profile["meta"]
    need(meta["preprocessedProfileVersion"] == VERSION, "another version")
    for key, kind in {"interval": NUMBER, "startTime": NUMBER, "processType": int, "product": str, "stackwalk": int,
                      "version": int, "markerSchema": list, "categories": list}.items():
        need(isinstance(meta.get(key), kind), f"meta: {key} is {meta.get(key)!r}")
    need(any(category["color"] == "grey" for category in meta["categories"]), "no category is grey")
    need(all(category["subcategories"] for category in meta["categories"]), "a category without subcategories")
    for schema in meta["markerSchema"]:
        need(isinstance(schema["name"], str) and isinstance(schema["display"], list), "a schema without name or display")
        need(all({"key", "format"} <= set(field) for field in schema["fields"]), "a field without key or format")
    for lib in profile["libs"]:
        need(all(isinstance(lib[key], str) for key in ("arch", "name", "path", "debugName", "debugPath", "breakpadId")),
             f"library {lib}")
        need(lib["codeId"] is None or isinstance(lib["codeId"], str), "codeId")
    for thread in profile["threads"]:
        check_thread(profile, thread)


def spent(threads):
    """By name of a function: weights of samples in it, and in it or what it called; counted once where it calls itself."""
    found = {}
    for thread in threads:
        names = [thread["stringArray"][name] for name in thread["funcTable"]["name"]]
        stacks, prefixes = thread["stackTable"]["frame"], thread["stackTable"]["prefix"]
        functions = [thread["frameTable"]["func"][frame] for frame in stacks]
        inner = [0.0] * len(stacks)
        for stack, weight in zip(thread["samples"]["stack"], thread["samples"]["weight"]):
            if stack is not None:
                inner[stack] += weight
        below = list(inner)
        for stack in range(len(stacks) - 1, -1, -1):
            if prefixes[stack] is not None:
                below[prefixes[stack]] += below[stack]
        outermost = []  # by stack: whether its function is not on the path above it
        paths = []
        for stack, function in enumerate(functions):
            above = paths[prefixes[stack]] if prefixes[stack] is not None else frozenset()
            outermost.append(function not in above)
            paths.append(above | {function})
        for stack, function in enumerate(functions):
            values = found.setdefault(names[function], [0, 0])
            values[0] += inner[stack]
            values[1] += below[stack] if outermost[stack] else 0
    return {name: values for name, values in found.items() if any(values)}
