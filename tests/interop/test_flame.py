#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Flame graphs and pages of reports in a real browser: search, zoom, keys, tooltips and dark colours work, and
shares agree with a count over the stacks. SONDE is the command; the browser is Debian's chromium, driven by
playwright-core, which tools/setup.sh installs. Where either is missing there is a note, and nothing is tested.

Names of tests as arguments run only those.
"""
import json
import os
import re
import shutil
import subprocess

import tap
from atf_writer import ThreadWriter, function_id, manifest_of, write_process
from sonde_case import GOLDEN, SondeCase

HERE = os.path.dirname(os.path.abspath(__file__))
BROWSER = shutil.which("chromium")
MODULES = os.path.join(HERE, "node_modules", "playwright-core")
NASTY = ["<b>&amp;\"quoted\"</b>", "]]></script><script>document.title='broken'</script>", "a;b", "${x}`'\\",
         "\u202eturned", "line\nfeed", "\u6f22\u5b57\u6f22\u5b57", "x" * 5000]


def what_is_missing():
    if not BROWSER:
        return "no chromium"
    if not shutil.which("node"):
        return "no node"
    return None if os.path.isdir(MODULES) else "no playwright-core: tools/setup.sh test installs it"


class Browser(SondeCase):
    """Each test passes with a note where there is no browser."""

    def browse(self, what, path, *rest):
        missing = what_is_missing()
        if missing:
            print(f"# not tested in a browser: {missing}")
            return None
        done = subprocess.run(["node", os.path.join(HERE, "flame_browser.js"), BROWSER, what, path, *rest],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=False, timeout=240, env=dict(os.environ, HOME=self.folder))
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        seen = json.loads(done.stdout)
        self.assertEqual(seen["faults"], [])
        self.assertEqual(seen["requests"], 1, "it loads something else")
        return seen

    def stacks(self, *arguments):
        """[(names, weight)] of --folded."""
        lines = self.sonde("flame", *arguments, "--folded").splitlines()
        return [(line.rpartition(" ")[0].split(";"), int(line.rpartition(" ")[2])) for line in lines]

    def share(self, stacks, pattern):
        """Percent of what was spent in stacks with a name that fits."""
        fits = re.compile(pattern, re.IGNORECASE)
        return 100 * (sum(weight for names, weight in stacks if any(map(fits.search, names)))
                      / sum(weight for _, weight in stacks))

    def assert_found(self, text, share):
        self.assertRegex(text, r"^[\d.]+ % matched, [\d,]+ frames?$")
        self.assertAlmostEqual(float(text.split()[0]), share, delta=0.06)

    def nested(self):
        """A session in which main calls work (600 of 1000) with inner (400), and rest (300)."""
        thread = ThreadWriter(0)
        names = {1: "main", 2: "work", 3: "inner", 4: "rest"}
        steps = [(1, 0), (2, 100), (3, 200), (None, 600), (None, 700), (4, 700), (None, 1000), (None, 1000)]
        for number, at in steps:
            thread.time = 1_000_000 + at * 1000 - 10  # which an event adds
            if number is None:
                thread.leave()
            else:
                thread.call(function_id(number))
        return write_process(self.path("session"), [thread], manifest_of([thread], names))


class Graph(Browser):
    def write(self, recording, *arguments):
        path = self.path("out.svg")
        self.sonde("flame", recording, "-o", path, "--min", "0", *arguments)
        return path

    def test_search_zoom_and_keys(self):
        recording = os.path.join(GOLDEN, "normal")
        seen = self.browse("graph", self.write(recording), "work_s|parse", "work_sort")
        if seen is None:
            return
        stacks = self.stacks(recording)
        search = seen["search"]
        self.assertEqual(search["focus"]["tag"], "input")
        self.assert_found(search["found"], self.share(stacks, "work_s|parse"))
        for frame in search["frames"]:
            if "\u2026" not in frame["text"] and frame["text"]:
                self.assertEqual("match" in frame["classes"], bool(re.search("work_s|parse", frame["text"])),
                                 frame)
        self.assertEqual(search["cleared"], "")
        self.assertEqual(search["afterEnter"]["tag"], "g")
        self.assertEqual(search["controlF"]["tag"], "input")
        self.assertTrue(search["bad"])
        self.assertIn("0.00 % matched", search["badFound"])
        self.check_zoom(seen["zoom"])
        self.check_tip(seen["tip"], stacks)
        self.check_looks(seen)

    def check_zoom(self, zoom):
        full = max(frame["width"] for frame in zoom["before"])
        before = [frame for frame in zoom["before"] if frame["text"].startswith("work_sort")][0]
        zoomed = [frame for frame in zoom["zoomed"] if frame["y"] == before["y"]]
        self.assertLess(before["width"], full / 2)
        self.assertEqual(len(zoomed), 1, "only what was clicked is on its level")
        self.assertAlmostEqual(zoomed[0]["width"], full, delta=2)
        self.assertTrue(zoomed[0]["text"].startswith("work_sort"))
        self.assertTrue(all("above" in frame["classes"] and frame["width"] >= full - 2
                            for frame in zoom["zoomed"] if frame["y"] > before["y"]))
        self.assertTrue(zoom["button"])
        self.assertFalse(zoom["buttonAfter"])
        place = ("text", "x", "y", "width")
        self.assertEqual([[frame[key] for key in place] for frame in zoom["after"]],
                         [[frame[key] for key in place] for frame in zoom["before"]])

    def check_tip(self, tip, stacks):
        self.assertTrue(tip.startswith("work_sort"), tip)
        share = float(re.search(r"total\s+[\d.]+ us\s+([\d.]+) %", tip).group(1))
        # the widest of that name, which is below one entry
        whole = sum(weight for _, weight in stacks)
        shares = [100 * sum(weight for names, weight in stacks if names[:2] == [entry, "work_sort"]) / whole
                  for entry in {names[0] for names, _ in stacks}]
        self.assertLess(min(abs(share - other) for other in shares), 0.06, tip)
        self.assertRegex(tip, r"self\s+[\d.]+ [un]s")
        self.assertRegex(tip, r"calls\s+\d+")

    def check_looks(self, seen):
        looks = seen["looks"]
        self.assertEqual(looks["light"], "rgb(255, 255, 255)")
        self.assertNotEqual(looks["dark"], looks["light"])
        self.assertLess(max(frame["x"] + frame["width"] for frame in looks["narrow"]), 700)
        self.assertGreater(max(frame["x"] + frame["width"] for frame in seen["first"]), 1100)

    def test_keys_go_where_they_say(self):
        session = self.nested()
        seen = self.browse("graph", self.write(session), "inner", "work")
        if seen is None:
            return
        self.assertEqual(seen["search"]["found"], "40.0 % matched, 1 frame")
        keys = seen["keys"]
        path = [label.split(",")[0] for label in keys["path"]]
        self.assertEqual(path[0], "all")
        self.assertEqual(path[2:], ["main", "main", "work", "rest", "work", "main", "work", "main"])
        self.assertIn("100.0 % of all", keys["path"][2])
        self.assertTrue(keys["zoomedLabel"].startswith("work, "), keys["zoomedLabel"])
        self.assertNotIn("rest", keys["zoomed"])
        self.assertIn("inner", keys["zoomed"])
        self.assertEqual(keys["reset"], [frame["text"] for frame in seen["first"]])
        self.assertTrue(keys["help"])
        self.assertEqual(keys["helpAfter"], 0)
        root = [frame["y"] for frame in keys["flipped"] if frame["text"] == "all"]
        self.assertEqual(root, [min(frame["y"] for frame in keys["flipped"])])
        widths = {frame["text"]: frame["width"] for frame in seen["first"]}
        self.assertAlmostEqual(widths["work"] / widths["main"], 0.6, delta=0.01)
        self.assertAlmostEqual(widths["inner"] / widths["main"], 0.4, delta=0.01)

    def test_any_name(self):
        thread = ThreadWriter(0)
        for number in range(len(NASTY)):
            thread.call(function_id(number + 1))
        for _ in NASTY:
            thread.leave()
        names = {number + 1: name for number, name in enumerate(NASTY)}
        session = write_process(self.path("session"), [thread], manifest_of([thread], names))
        path = self.write(session)
        seen = self.browse("graph", path, "quoted", "quoted")
        if seen is None:
            return
        texts = [frame["text"] for frame in seen["first"]]
        self.assertIn(NASTY[0], texts)
        self.assertIn(NASTY[1], texts)
        self.assertIn(NASTY[6], texts)
        self.assertIn("\ufffdturned", texts)
        self.assertTrue(any(text.endswith("x\u2026") for text in texts))

    def test_without_scripts(self):
        seen = self.browse("static", self.write(os.path.join(GOLDEN, "normal")))
        if seen is None:
            return
        content = seen["content"]
        self.assertGreater(content.count("<rect"), 100)
        self.assertRegex(content, r"<title>work_sort\n[^<]*total [\d.]+ us \([\d.]+ %\)\nself ")


class Page(Browser):
    def test_tables(self):
        recording = os.path.join(GOLDEN, "normal")
        path = self.path("page.html")
        self.sonde("report", recording, "--html", path)
        seen = self.browse("page", path, "work")
        if seen is None:
            return
        rows = json.loads(self.sonde("report", recording, "--json"))["rows"]
        self.assertEqual([row[0] for row in seen["first"]], [row["name"] for row in rows])
        names = [row[0].lower() for row in seen["byName"]]
        self.assertEqual(names, sorted(names))
        self.assertEqual(sorted(row[0] for row in seen["filtered"]),
                         sorted(row["name"] for row in rows if "work" in json.dumps(row)))
        self.assertGreater(seen["tree"], seen["folded"])
        self.assertGreater(seen["folded"], 0)
        self.assert_found(seen["found"], self.share(self.stacks(recording), "work"))


if __name__ == "__main__":
    tap.main()
