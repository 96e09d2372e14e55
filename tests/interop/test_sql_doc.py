#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""doc/sql.md: each of its queries is run on recordings of a fitting kind and gives rows; answers to many are worked out
here again, from `sonde dump`, without SQL; and its list of tables is what the command says.
"""
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from statistics import stdev

import tap
from sonde_case import GOLDEN, SONDE, SondeCase

ROOT = os.environ.get("SOURCE_ROOT") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
GUIDE = os.path.join(ROOT, "doc", "sql.md")
HEAT = os.path.join(ROOT, "tests", "cli", "prof_measurements.py")
FORMATS = ("cff", "zts", "hpcdb")
NEEDS_CALLS = (4, 6, 9, 10, 12, 14, 15, 17)  # an exception, a gap, a function of that name
SAME = (1, 3, 9, 11, 12, 14, 15, 19)  # questions about functions alone


def read_guide():
    with open(GUIDE, encoding="utf-8") as file:
        return file.read()


def questions(text):
    """[(section, number, query)] of all questions, in the order of the page."""
    found, section, number, lines = [], None, None, None
    for line in text.splitlines():
        if lines is not None:
            if line == "```":
                found.append((section, number, "\n".join(lines)))
                lines = None
            else:
                lines.append(line)
        elif line.startswith("## "):
            section, number = line[3:], None
        elif re.match(r"### \d+\. ", line):
            number = int(line[4:line.index(".")])
        elif line == "```sql":
            lines = []
    return found


def human_time(nanoseconds):
    """As the function of the same name, below a minute."""
    whole = int(abs(nanoseconds) + 0.5)
    for unit, size in (("s", 10**9), ("ms", 10**6), ("us", 1000)):
        if whole >= size:
            return f"{whole // size}.{whole % size // (size // 1000):03} {unit}"
    return f"{whole} ns"


def percentile(values, share):
    values = sorted(values)
    place = share * (len(values) - 1)
    low = int(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (place - low) * (values[high] - values[low])


class Span:
    def __init__(self, track, name, start, parent):
        self.track, self.name, self.start, self.parent = track, name, start, parent
        self.end, self.below, self.threw = start, 0, False
        self.depth = parent.depth + 1 if parent else 1

    @property
    def duration(self):
        return self.end - self.start

    @property
    def own(self):
        return self.duration - self.below


def spans_of(dump):
    """Calls of `sonde dump --csv`, matched with their returns."""
    spans, stacks = [], defaultdict(list)
    for row in csv.DictReader(io.StringIO(dump)):
        stack, time = stacks[row["track"]], int(row["relative_ns"])
        if row["kind"] == "call":
            stack.append(Span(row["track"], row["name"], time, stack[-1] if stack else None))
            spans.append(stack[-1])
        elif row["kind"] in ("return", "exception"):
            span = stack.pop()
            span.end, span.threw = time, row["kind"] == "exception"
            if stack:
                stack[-1].below += span.duration
    return spans


def by_name(spans):
    groups = defaultdict(list)
    for span in spans:
        groups[span.name].append(span)
    return groups


class Guide(SondeCase):
    """The page as it is, question by question."""
    text = read_guide()

    def ask(self, sources, query, *options):
        out = self.sonde("query", "--json", *options, *sources, query)
        return json.loads(out)

    def heat(self):
        if not os.path.exists(self.path("heat.d")):
            subprocess.run([sys.executable, HEAT, self.path("measurements")], check=True)
            self.sonde("prof", self.path("measurements"), "-o", self.path("heat.d"))
        return [self.path("heat.d")]

    def two(self):
        """The session, and a part of it without one function."""
        self.sonde("cut", os.path.join(GOLDEN, "normal"), "-o", self.path("part"), "--from", "200us")
        names = [row["name"] for row in self.ask([self.path("part")], "SELECT name FROM functions")]
        kept = [word for name in names if name != "work_free" for word in ("--function", name)]
        self.sonde("convert", self.path("part"), "-o", self.path("other"), *kept)
        return [os.path.join(GOLDEN, "normal"), self.path("other")]

    def sources(self, section):
        if section == "Calls":
            return [os.path.join(GOLDEN, "normal")]
        if section == "Requests and arguments":
            return [os.path.join(GOLDEN, "..", "zts", "archived")]
        if section == "Profiles":
            return self.heat()
        if section == "Two recordings":
            return self.two()
        if section == "The recording itself":
            return [os.path.join(GOLDEN, "truncated")]
        return None

    def options(self, query):
        """What the sentence before a query says of --derive."""
        before = self.text[:self.text.index(query)].rsplit("###", 1)[1]
        return [word for formula in re.findall(r'--derive "([^"]+)"', before) for word in ("--derive", formula)]

    def test_every_question(self):
        asked, made = questions(self.text), {}
        self.assertGreaterEqual(len({number for _, number, _ in asked if number}), 30)
        self.assertEqual([number for _, number, _ in asked if number],
                         list(range(1, 1 + sum(bool(number) for _, number, _ in asked))))
        for section, number, query in asked:
            with self.subTest(f"{section}, {number}"):
                if section not in made:
                    made[section] = self.sources(section)
                self.assertIsNotNone(made[section], f"no recording for '{section}'")
                rows = self.ask(made[section], query, *self.options(query))
                self.assertTrue(rows, query)

    def test_every_format(self):
        """Questions about calls are answered for each format; where tracks and modules do not matter, the same."""
        session = os.path.join(GOLDEN, "normal")
        for name in FORMATS:
            self.sonde("convert", session, "-t", name, "-o", self.path(name))
        for section, number, query in questions(self.text):
            if section != "Calls":
                continue
            expected = self.ask([session], query)
            for name in FORMATS:
                with self.subTest(f"{number}, {name}"):
                    got = self.ask([self.path(name)], query)
                    if number in SAME:
                        self.assertEqual(got, expected, query)
                    elif (number, name) != (4, "hpcdb"):  # which does not tell how a call was left
                        self.assertTrue(got, query)

    def test_samples_become_calls(self):
        """Questions about calls are answered where there are only samples."""
        subprocess.run([sys.executable, HEAT, self.path("measurements")], check=True)
        for section, number, query in questions(self.text):
            if section == "Calls":
                with self.subTest(number):
                    rows = self.ask([self.path("measurements")], query)
                    self.assertEqual(bool(rows), number not in NEEDS_CALLS, query)

    def test_tables(self):
        """The page lists all tables and columns, in the words of the command."""
        os.environ["COLUMNS"] = "1000"
        self.addCleanup(os.environ.pop, "COLUMNS")
        lines, table = [], None
        for line in self.sonde("query", os.path.join(GOLDEN, "normal"), ".schema").splitlines():
            if re.match(r"\w", line):
                table = line
                lines += [f"### {table}", "", "| column | type | what |", "|---|---|---|"]
            elif line.strip():
                column, kind, about = re.match(r"  (\w+) +((?:[A-Z]+)?) +(.*)", line).groups()
                lines.append(f"| `{column}` | {kind} | {about} |".replace("<", "\\<"))
            else:
                lines.append("")
        expected = "\n".join(lines).strip()
        written = self.text.split("\n## Tables\n", 1)[1].split("\n## ", 1)[0]
        written = written[written.index("### "):].strip()
        self.assertEqual(written, expected, f"doc/sql.md should say:\n{expected}")

    def test_functions(self):
        """So are functions."""
        for line in self.sonde("query", os.path.join(GOLDEN, "normal"), ".functions").splitlines():
            if re.match(r"  \S", line):
                name = re.match(r"  (?:text )?(\w+)", line)[1]
                self.assertIn(name, self.text)

    def test_commands(self):
        """What is shown of the command is what it prints."""
        shutil.copytree(os.path.join(GOLDEN, "normal"), self.path("trace"))
        os.symlink(SONDE, self.path("sonde"))
        for block in re.findall(r"```console\n(.*?)```", self.text, re.S):
            for shown in re.split(r"^\$ ", block, flags=re.M)[1:]:
                command, _, expected = shown.partition("\n")
                with self.subTest(command):
                    done = subprocess.run(["sh", "-c", command], cwd=self.folder, check=False,
                                          env={**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"},
                                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                          stderr=subprocess.STDOUT)
                    self.assertEqual(done.stdout.decode().replace("\r\n", "\n"), expected)


    def number(self, number):
        """The query of a question, and where it is asked."""
        section, _, query = next(question for question in questions(self.text) if question[1] == number)
        return self.ask(self.sources(section), query, *self.options(query))

    def test_requests(self):
        """Requests and exceptions of a store, counted in `sonde dump`."""
        dump = self.sonde("dump", "--json", os.path.join(GOLDEN, "..", "zts", "archived"))
        rows = [json.loads(line) for line in dump.splitlines()]
        uris = Counter(row["arguments"]["attributes"]["URI"] for row in rows
                       if "URI" in row.get("arguments", {}).get("attributes", {}))
        self.assertEqual({row["uri"]: row["requests"] for row in self.number(20)}, dict(uris))
        self.assertEqual(sum(row["requests"] for row in self.number(22)), sum(uris.values()))
        thrown = Counter((row["arguments"]["class"], row["arguments"]["message"]) for row in rows
                         if row["kind"] == "exception" and "arguments" in row)
        self.assertEqual({(row["class"], row["message"]): row["times"] for row in self.number(24)}, dict(thrown))

    def test_profiles(self):
        """The measurements that prof_measurements.py makes."""
        self.assertEqual([(row["path"], row["seconds"]) for row in self.number(27)][:1],
                         [("main;step;flux;heat.h:5", 4.5)])
        self.assertEqual(sum(row["seconds"] for row in self.number(27)), 16.5)
        self.assertEqual({row["name"]: row["ghz"] for row in self.number(32)}, {"step": 2.5, "flux": 3.0})
        self.assertEqual({row["ghz"] for row in self.number(33)}, {2.5, 3.0})
        self.assertEqual({row["name"]: row["seconds"] for row in self.number(34)},
                         {"heat.c:20": 8.0, "heat.h:5": 7.5})

    def test_two(self):
        self.assertEqual(self.number(37), [{"name": "work_free"}])


class Answers(SondeCase):
    """Known answers, worked out from the events of the session."""

    @classmethod
    def setUpClass(cls):
        cls.session = os.path.join(GOLDEN, "normal")
        dump = subprocess.run([SONDE, "dump", "--csv", cls.session], stdout=subprocess.PIPE, check=True)
        cls.spans = spans_of(dump.stdout.decode())
        cls.groups = by_name(cls.spans)
        cls.queries = {number: query for _, number, query in questions(read_guide())}

    def answer(self, number):
        return json.loads(self.sonde("query", "--json", self.session, self.queries[number]))

    def test_self_time(self):
        expected = sorted(((sum(span.own for span in spans), name) for name, spans in self.groups.items()),
                          reverse=True)
        rows = self.answer(1)
        self.assertEqual([(row["name"], row["self"]) for row in rows],
                         [(name, human_time(own)) for own, name in expected])
        self.assertEqual({row["name"]: (row["calls"], row["total"]) for row in rows},
                         {name: (len(spans), human_time(sum(span.duration for span in spans)))
                          for name, spans in self.groups.items()})

    def test_slowest(self):
        slowest = sorted(self.spans, key=lambda span: -span.duration)[:5]

        def path(span):
            return (path(span.parent) + ";" if span.parent else "") + span.name
        self.assertEqual([(row["took"], row["path"]) for row in self.answer(2)],
                         [(human_time(span.duration), path(span)) for span in slowest])

    def test_percentiles(self):
        for row in self.answer(3):
            values = [span.duration for span in self.groups[row["name"]]]
            self.assertEqual((row["p50"], row["p90"], row["p99"], row["worst"]),
                             (*(human_time(percentile(values, share)) for share in (0.5, 0.9, 0.99)),
                              human_time(max(values))))

    def test_exceptions(self):
        self.assertEqual({row["name"]: row["threw"] for row in self.answer(4)},
                         dict(Counter(span.name for span in self.spans if span.threw)))

    def test_gaps(self):
        gaps = []
        for track in {span.track for span in self.spans}:
            outer = [span for span in self.spans if span.track == track and span.depth == 1]
            gaps += [after.start - before.end for before, after in zip(outer, outer[1:])]
        self.assertEqual([row["gap"] for row in self.answer(6)],
                         [human_time(gap) for gap in sorted(gaps, reverse=True)[:10]])

    def test_running(self):
        last = max(span.end for span in self.spans)
        points = [last * n // 20 for n in range(21)]
        self.assertEqual([row["running"] for row in self.answer(7)],
                         [sum(span.depth == 1 and span.start <= at < span.end for span in self.spans)
                          for at in points])

    def test_histogram(self):
        expected = Counter(max(span.duration, 1).bit_length() - 1 for span in self.groups["parse"])
        self.assertEqual([(row["from_time"], row["calls"]) for row in self.answer(9)],
                         [(human_time(1 << bits), expected[bits]) for bits in sorted(expected)])

    def test_period(self):
        expected = [span for span in self.spans if 100000 <= span.start <= 110000]
        rows = self.answer(10)
        self.assertEqual(Counter((row["name"], row["depth"], row["took"]) for row in rows),
                         Counter((span.name, span.depth, human_time(span.duration)) for span in expected))

    def test_first_calls(self):
        self.assertEqual({row["name"]: row["first_call"] for row in self.answer(11)},
                         {name: human_time(min(span.start for span in spans))
                          for name, spans in self.groups.items()})

    def test_recursion(self):
        deepest = defaultdict(int)
        for span in self.spans:
            levels, above = 1, span.parent
            while above and above.name == span.name:
                levels, above = levels + 1, above.parent
            deepest[span.name] = max(deepest[span.name], levels)
        self.assertEqual({row["name"]: row["deepest"] for row in self.answer(12)},
                         {name: levels for name, levels in deepest.items() if levels > 1})

    def test_callers(self):
        self.assertEqual({row["caller"]: row["calls"] for row in self.answer(14)},
                         dict(Counter(span.parent.name if span.parent else "(nobody)"
                                      for span in self.groups["work_sort"])))

    def test_outliers(self):
        expected = []
        for name, spans in self.groups.items():
            values = [span.duration for span in spans]
            mean, deviation = sum(values) / len(values), stdev(values)
            expected += [(name, human_time(value)) for value in values if value > mean + 5 * deviation]
        self.assertEqual(Counter((row["name"], row["took"]) for row in self.answer(17)), Counter(expected))


if __name__ == "__main__":
    tap.main()
