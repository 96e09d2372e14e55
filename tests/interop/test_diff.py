# SPDX-License-Identifier: Apache-2.0
"""`sonde diff` over sets of runs that a generator made: it finds the one function out of 500 that
became 5 % slower, says nothing where nothing changed, and its means are those of an independent
count over `sonde dump`.
"""
import csv
import io
import json
import math
import os
import shutil

import tap
from make_runs import Program
from sonde_case import SondeCase

RUNS = 10
ORDINARY_NOISE = (0.01, 0.02)  # of a function from run to run; beside it 3 % of each run's speed


class DiffCase(SondeCase):
    def compare(self, before, after, *options, expect=(0,)):
        text = self.sonde("diff", "--json", "--no-cache", *options, *before, "--", *after,
                          expect=expect)
        return json.loads(text)

    def of_seed(self, seed, slower, noise=ORDINARY_NOISE, runs=RUNS):
        """Names of functions that count as changed, whether the whole does, and the slow one."""
        program = Program(seed, noise=noise)
        folder = self.path(f"seed{seed}")
        result = self.compare(*program.sets(folder, runs, slower))
        shutil.rmtree(folder)
        changed = [row["name"] for row in result["rows"] if row["significant"]]
        return changed, result["whole"]["significant"], program.name(program.slow)


class Significance(DiffCase):
    def test_planted_slowdown_is_found(self):
        for seed in range(1, 11):
            changed, whole, slow = self.of_seed(seed, 0.05, noise=(0.01, 0.01))
            self.assertEqual((changed, whole), ([slow], False), f"seed {seed}")

    def test_planted_slowdown_in_more_noise(self):
        found, others = 0, 0
        for seed in range(11, 21):
            changed, whole, slow = self.of_seed(seed, 0.05)
            found += slow in changed
            others += bool(whole or set(changed) - {slow})
        self.assertGreaterEqual(found, 8)
        self.assertLessEqual(others, 1)

    def test_no_change_no_alarm(self):
        alarms = []
        for seed in range(101, 121):
            changed, whole, _ = self.of_seed(seed, 0, noise=(0.01, 0.03))
            if changed or whole:
                alarms.append((seed, changed, whole))
        self.assertLessEqual(len(alarms), 1, alarms)

    def test_no_change_of_few_runs(self):
        alarms = [seed for seed in range(201, 211)
                  if any(self.of_seed(seed, 0, noise=(0.01, 0.03), runs=2)[:2])]
        self.assertLessEqual(len(alarms), 1, alarms)


class Threshold(DiffCase):
    def test_exit_code(self):
        program = Program(4, functions=120, noise=(0.01, 0.01))
        before, after = program.sets(self.path("runs"), 6, 0.10)
        slow = program.name(program.slow)
        sides = [*before, "--", *after]
        backwards = [*after, "--", *before]
        self.assertIn(f"exceeded by {slow} +",
                      self.sonde("diff", "--threshold", "5%", *sides, expect=(1,)))
        self.assertIn("nothing slower by that much",
                      self.sonde("diff", "--threshold", "20%", *sides))
        # what became faster is fine, unless one asks
        self.sonde("diff", "--threshold", "5%", *backwards)
        self.sonde("diff", "--threshold", "5%", "--both", *backwards, expect=(1,))
        result = self.compare(before, after, "--threshold", "5%", expect=(1,))
        self.assertEqual([excess["name"] for excess in result["threshold"]["exceeded_by"]], [slow])
        markdown = self.sonde("diff", "--threshold", "5%", "--markdown", *sides, expect=(1,))
        self.assertEqual(len([line for line in markdown.splitlines() if line.startswith("| <code>")]),
                         1)
        self.assertIn(slow.replace("_", "&#95;"), markdown)


class Means(DiffCase):
    def count(self, path):
        """Self time in ns and calls by function, from the events that `dump` prints."""
        spent, calls, stack, last = {}, {}, [], None
        for row in csv.DictReader(io.StringIO(self.sonde("dump", "--csv", path))):
            now = int(row["time_ns"])
            if stack:
                spent[stack[-1]] = spent.get(stack[-1], 0) + now - last
            last = now
            if row["kind"] == "call":
                calls[row["name"]] = calls.get(row["name"], 0) + 1
                stack.append(row["name"])
            else:
                stack.pop()
        return spent, calls

    def test_equal_an_independent_count(self):
        program = Program(7, functions=60)
        before, after = program.sets(self.path("runs"), 3, 0.5)
        result = self.compare(before, after, "--raw", "--min", "0%")
        counts = [self.count(path) for path in before + after]
        names = set().union(*(spent for spent, _ in counts))
        rows = {row["name"]: row for row in result["rows"]}
        self.assertEqual(set(rows), names)
        for name, row in rows.items():
            values = [spent.get(name, 0) for spent, _ in counts]
            for run, value in enumerate(values):
                self.assertAlmostEqual(row["self_by_run"][run], value, delta=1)
            self.assertAlmostEqual(row["self"]["before"], sum(values[:3]) / 3, delta=1)
            self.assertAlmostEqual(row["self"]["after"], sum(values[3:]) / 3, delta=1)
            self.assertEqual(row["calls"]["before"], counts[0][1][name])
        whole = [sum(spent.values()) for spent, _ in counts]
        self.assertAlmostEqual(result["whole"]["self"]["before"], sum(whole[:3]) / 3, delta=1)
        # Welch's t of the whole, worked out here
        logs = [math.log(value) for value in whole]
        means = [sum(logs[:3]) / 3, sum(logs[3:]) / 3]
        errors = [sum((value - mean) ** 2 for value in part) / 2 / 3
                  for mean, part in zip(means, (logs[:3], logs[3:]))]
        t = (means[1] - means[0]) / math.sqrt(sum(errors))
        freedom = sum(errors) ** 2 / sum(error ** 2 / 2 for error in errors)
        self.assertAlmostEqual(result["whole"]["p"], student_p(t, freedom), places=6)

    def test_csv_says_the_same(self):
        program = Program(8, functions=40)
        before, after = program.sets(self.path("runs"), 2, 0.5)
        result = self.compare(before, after)
        rows = list(csv.DictReader(io.StringIO(self.sonde("diff", "--csv", *before, "--", *after))))
        self.assertEqual([row["name"] for row in rows], [row["name"] for row in result["rows"]])
        for row, expected in zip(rows, result["rows"]):
            self.assertEqual(float(row["self_after"]), expected["self"]["after"])
            self.assertEqual(float(row["p_adjusted"]), expected["p_adjusted"])


def student_p(t, freedom, steps=200_000):
    """Both tails of Student's t, by adding up its density."""
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(
        freedom * math.pi)
    width = abs(t) / steps
    inside = sum((1 + ((step + 0.5) * width) ** 2 / freedom) ** (-(freedom + 1) / 2)
                 for step in range(steps)) * width * scale
    return 1 - 2 * inside


class Exact(DiffCase):
    def test_conversions_are_equal(self):
        trace = Program(3, functions=60).write(self.path("trace"))
        for form, name in (("cff", "t.wtf-trace"), ("hpcdb", "t.d"), ("zts", "t.store")):
            with self.subTest(form):
                self.sonde("convert", "-q", trace, "-t", form, "-o", self.path(name))
                self.sonde("diff", "--exact", trace, self.path(name))
                result = json.loads(self.sonde("diff", "--json", "--min", "0%", trace,
                                               self.path(name)))
                self.assertTrue(result["rows"])
                for row in result["rows"]:
                    self.assertEqual(row["presence"], "both", row["name"])
                    self.assertEqual(row["self"]["change"], 0, row["name"])
                    self.assertEqual(row["calls"]["change"], 0, row["name"])

    def test_other_runs_are_not(self):
        program = Program(3, functions=60)
        one, other = program.write(self.path("one")), program.write(self.path("other"))
        self.assertIn("differences:", self.sonde("diff", "--exact", one, other, expect=(1,)))


if __name__ == "__main__":
    os.environ.setdefault("SONDE_CACHE", "off")
    tap.main()
