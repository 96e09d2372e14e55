# SPDX-License-Identifier: Apache-2.0
"""Real trace stores: what `sonde store get` shows equals the dump of the program that wrote them."""
import glob
import json
import os
import unittest

import sonde_case
import tap

CORPUS = os.path.join(os.environ.get("SONDE_CORPUS", ""), "zts")


def escape(text):
    """As the dump has it: controls and backslashes escaped."""
    out = []
    for char in text:
        if char in "\t\n\r":
            out.append({"\t": "\\t", "\n": "\\n", "\r": "\\r"}[char])
        elif char == "\\":
            out.append("\\\\")
        elif ord(char) < 32:
            out.append(f"\\x{ord(char):02x}")
        else:
            out.append(char)
    return "".join(out)


def value(item):
    if isinstance(item, bool):
        return f"b:{str(item).lower()}"
    if isinstance(item, int):
        return f"i:{item}"
    if isinstance(item, str):
        return f"s:{escape(item)}"
    return "null" if item is None else json.dumps(item)


def exception_lines(depth, exception):
    lines = []
    while exception:
        lines.append(f"X\t{depth}\tEXC\t{exception['class']}\t{escape(exception['message'])}")
        lines += [f"X\t{depth}\tSTK\t{frame}" for frame in exception["stack"]]
        exception = exception.get("cause")
    return lines


def record_lines(record, depth, with_spans):
    ticks = record["tstop"] - record["tstart"]
    lines = [f"REC\t{depth}\t{record['method']}\ttstart={record['tstart']}\t"
             f"tstop={record['tstop']}\tdur={ticks}\tcalls={record['calls']}\t"
             f"flags={record['flags']}\ttstamp={record.get('timestamp_ms', 0)}"]
    if with_spans:
        lines[0] += (f"\tspan={int(record.get('span', '0'), 16):x}"
                     f"\tparent={int(record.get('parent', '0'), 16):x}")
    lines += sorted(f"ATTR\t{depth}\ts:{escape(key)}\t{value(item)}"
                    for key, item in record["attributes"].items())
    lines += exception_lines(depth, record.get("exception"))
    for child in record["children"]:
        lines += record_lines(child, depth + 1, with_spans)
    return lines


class Expected(sonde_case.SondeCase):
    maxDiff = 5000

    def shown(self, store, with_ids, with_spans):
        lines = []
        for trace in json.loads(self.sonde("store", "get", store, "--all", "--json"))["traces"]:
            lines.append(f"TRACE\t{trace['uuid']}" if with_ids else "TRACE")
            lines += record_lines(trace["root"], 0, with_spans)
        return lines

    @staticmethod
    def expected(path, with_ids):
        with open(path, encoding="utf-8") as file:
            lines = [line.rstrip("\n") for line in file]
        lines = [line for line in lines if line.split("\t")[0] in ("TRACE", "REC", "ATTR", "X")]
        return lines if with_ids else ["TRACE" if line.startswith("TRACE\t") else line
                                       for line in lines]

    def compare(self, store, expected, with_ids):
        shown = self.shown(os.path.join(CORPUS, store), with_ids, expected.startswith("v2"))
        wanted = self.expected(os.path.join(CORPUS, "expected", expected), with_ids)
        if expected.startswith("v2"):
            shown, wanted = blocks(shown), blocks(wanted)
        self.assertEqual(len(shown), len(wanted))
        self.assertEqual(shown, wanted)

    @unittest.skipUnless(os.path.isdir(CORPUS), "no corpus of real stores ($SONDE_CORPUS)")
    def test_stores(self):
        for path in sorted(glob.glob(os.path.join(CORPUS, "expected", "*.tree.txt"))):
            name = os.path.basename(path)[:-len(".tree.txt")]
            with self.subTest(name):
                # Generation 2 has its ids in a file that is not read: ours are made up.
                self.compare(name, name + ".tree.txt", not name.startswith("v2"))

    @unittest.skipUnless(os.path.isdir(CORPUS), "no corpus of real stores ($SONDE_CORPUS)")
    def test_codecs(self):
        """The same traces, packed in another way; ids of inner ones were made at random."""
        for store in ("v1-small-0x00", "v1-small-0x12"):
            with self.subTest(store):
                self.compare(store, "v1-small-0x11.tree.txt", False)


def blocks(lines):
    """Traces in an order that does not depend on where they are."""
    traces = []
    for line in lines:
        if line == "TRACE":
            traces.append([])
        traces[-1].append(line)
    return sorted(traces)


if __name__ == "__main__":
    tap.main()
