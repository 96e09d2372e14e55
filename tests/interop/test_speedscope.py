#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files that sonde writes, given to the importer of npm's speedscope: the same functions with the same times as `sonde
report` prints. And files as other tools write them, read by sonde. The package is installed by tools/setup.sh.
"""
import gzip
import json
import os
import shutil
import subprocess
import unittest

import tap
from scopes_case import ScopesCase

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = os.path.join(HERE, "speedscope_import.js")
HAS_NPM = shutil.which("node") and os.path.isdir(os.path.join(HERE, "node_modules", "speedscope"))
SCHEMA = "https://www.speedscope.app/file-format-schema.json"
CALLS = ("normal", "crashed", "odd", "deep")


def imported(path, *options):
    done = subprocess.run(["node", "--stack-size=8000", SCRIPT, path, *options], check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    if done.returncode:
        raise AssertionError(f"speedscope refuses {os.path.basename(path)}: {done.stderr.decode()}")
    return json.loads(done.stdout)


def summed(profiles):
    """By name: self and total weight over several profiles."""
    found = {}
    for profile in profiles:
        for frame in profile["frames"]:
            values = found.setdefault(frame["name"], [0, 0])
            values[0] += frame["self"]
            values[1] += frame["total"]
    return {name: values for name, values in found.items() if any(values)}


def calls_of(events):
    return [event for event in events if event[2] == "call"]


@unittest.skipUnless(HAS_NPM, "npm's speedscope is not installed")
class ImporterTest(ScopesCase):
    def test_calls(self):
        sources = self.sources()
        for name in CALLS:
            with self.subTest(name):
                path = self.convert(sources[name], self.path(name + ".speedscope.json"), "speedscope")
                group = imported(path)
                self.assertEqual({profile["unit"] for profile in group["profiles"]}, {"nanoseconds"})
                self.assertEqual(summed(group["profiles"]), self.spent(sources[name]))

    def test_samples_and_values(self):
        sources = self.sources()
        for name in ("database", "samples", "values"):
            path = self.convert(sources[name], self.path(name + ".speedscope.json"), "speedscope")
            profiles = imported(path)["profiles"]
            for metric, keys in self.metrics(sources[name]).items():
                with self.subTest(f"{name}: {metric}"):
                    of_metric = [profile for profile in profiles if profile["name"].endswith(": " + metric)]
                    factor = 1e9 if of_metric[0]["unit"] == "seconds" else 1
                    found = {frame: [value * factor for value in values]
                             for frame, values in summed(of_metric).items()}
                    self.assert_near(found, self.spent_of(sources[name], keys), metric)

    def test_times_of_samples(self):
        """With a time selected, the report goes by the samples and not by the values."""
        source = self.sources()["samples"]
        path = self.convert(source, self.path("samples.speedscope.json"), "speedscope")
        profiles = [profile for profile in imported(path)["profiles"] if profile["unit"] == "nanoseconds"]
        self.assertEqual(summed(profiles), self.spent(source, "--from", "0"))

    def test_nothing(self):
        path = self.convert(os.path.join(self.sources()["normal"]), self.path("empty.speedscope.json"), "speedscope",
                            "--function", "no such function")
        self.assertEqual(imported(path)["profiles"], [])

    def test_same_bytes_for_any_number_of_threads(self):
        sources = self.sources()
        for name in ("normal", "samples"):
            self.assert_same_bytes(sources[name], "x.speedscope.json", "speedscope")


class RoundTripTest(ScopesCase):
    def test_events(self):
        sources = self.sources()
        for name in ("normal", "odd", "deep"):
            with self.subTest(name):
                path = self.convert(sources[name], self.path(name + ".speedscope.json"), "speedscope")
                back = self.convert(path, self.path(name + ".back"), "atf")
                expected = self.events(sources[name])
                if name == "odd":  # returns without calls are left out, and those that are missing made
                    expected = calls_of(expected)
                for found in (self.events(back), self.events(path)):
                    self.assertEqual(calls_of(found) if name == "odd" else found, expected)

    def test_report(self):
        for name, source in self.sources().items():
            with self.subTest(name):
                path = self.convert(source, self.path(name + ".speedscope.json"), "speedscope")
                self.assert_near(self.spent(path), self.spent(source), name)

    def test_metrics(self):
        source = self.sources()["values"]
        path = self.convert(source, self.path("values.speedscope.json"), "speedscope")
        metrics = self.metrics(source)
        self.assertEqual(self.metrics(path), metrics)
        for name, keys in metrics.items():
            self.assert_near(self.spent_of(path, keys), self.spent_of(source, keys), name)


class ForeignTest(ScopesCase):
    """Files in the manner of other tools."""

    def write(self, document, name="foreign.json"):
        path = self.path(name)
        opener = gzip.open if name.endswith(".gz") else open
        with opener(path, "wt") as file:
            json.dump(document, file)
        return path

    def document(self, *profiles, **more):
        return {"$schema": SCHEMA, "exporter": "other@1", "name": "a run",
                "shared": {"frames": [{"name": "main", "file": "a.py", "line": 3, "col": 9}, {"name": "f"},
                                      {"name": "g", "file": "b.py"}]},
                "profiles": list(profiles), **more}

    def test_sampled_seconds(self):
        path = self.write(self.document({
            "type": "sampled", "name": "Thread 12", "unit": "seconds", "startValue": 0, "endValue": 0.06,
            "samples": [[0], [0, 1], [0, 1, 2], []], "weights": [0.01, 0.02, 0.03, 0.01]}))
        self.assertEqual(self.spent(path), {"main": [10000000, 60000000], "f": [20000000, 50000000],
                                            "g": [30000000, 30000000]})
        self.assertEqual(self.spent(path, "--from", "0"), self.spent(path))
        self.assertIn("Thread 12", self.sonde("info", path))

    def test_evented_in_any_order_of_keys(self):
        profile = {"endValue": 10.5, "events": [{"at": 0.5, "frame": 0, "type": "O"}, {"at": 1.25, "frame": 1, "type": "O"},
                                                {"at": 1.2500011, "frame": 1, "type": "C"},
                                                {"at": 10.5, "frame": 0, "type": "C"}],
                   "name": "t", "startValue": 0.5, "type": "evented", "unit": "milliseconds"}
        document = self.document(profile)
        for order in (document, dict(reversed(document.items()))):
            path = self.write(order)
            self.assertEqual(self.spent(path), {"main": [9999999, 10000000], "f": [1, 1]})
            self.assertEqual([event[0] for event in self.events(path)], ["500000", "1250000", "1250001", "10500000"])

    def test_bytes(self):
        path = self.write(self.document({"type": "sampled", "name": "heap", "unit": "bytes", "startValue": 0,
                                         "endValue": 30, "samples": [[0], [0, 1]], "weights": [10, 20]},
                                        {"type": "evented", "name": "heap 2", "unit": "bytes", "startValue": 0, "endValue": 30,
                                         "events": [{"type": "O", "frame": 0, "at": 0}, {"type": "O", "frame": 2, "at": 5},
                                                    {"type": "C", "frame": 2, "at": 25}, {"type": "C", "frame": 0, "at": 30}]}))
        report = self.report(path)
        self.assertEqual(report["metric"], "BYTES")
        self.assertEqual(self.spent(path), {"main": [20, 60], "f": [20, 20], "g": [20, 20]})

    def test_gzip(self):
        document = self.document({"type": "evented", "name": "t", "unit": "nanoseconds", "startValue": 0, "endValue": 5,
                                  "events": [{"type": "O", "frame": 0, "at": 0}, {"type": "C", "frame": 0, "at": 5}]})
        self.assertEqual(self.spent(self.write(document, "packed.json.gz")), {"main": [5, 5]})

    def test_what_is_wrong_is_told(self):
        path = self.write(self.document(
            {"type": "evented", "name": "t", "unit": "nanoseconds", "startValue": 0, "endValue": 5,
             "events": [{"type": "O", "frame": 0, "at": 0}, {"type": "X"}, {"type": "O", "frame": 77, "at": 1},
                        {"type": "C", "frame": 77, "at": 3}, {"type": "C", "frame": 1, "at": 4},
                        {"type": "C", "frame": 0, "at": 5}]},
            {"type": "sampled", "name": "s", "unit": "none", "samples": [[0]], "weights": [-1]}))
        self.assertEqual(self.spent(path), {"main": [3, 5], "frame 77": [2, 2]})
        done = self.run_sonde("info", path)
        self.assertIn(b"fault", done.stdout + done.stderr)

    def test_cut_off(self):
        with open(self.write(self.document({
                "type": "evented", "name": "t", "unit": "nanoseconds", "startValue": 0, "endValue": 5,
                "events": [{"type": "O", "frame": 1, "at": 0}, {"type": "C", "frame": 1, "at": 4},
                           {"type": "O", "frame": 0, "at": 5}]})), encoding="utf-8") as file:
            text = file.read()
        end = text.index('"at": 5')
        path = self.path("cut.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text[:end])
        self.assertEqual(self.spent(path), {"f": [4, 4]})


if __name__ == "__main__":
    tap.main()
