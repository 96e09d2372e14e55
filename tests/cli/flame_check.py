#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Looks at what `sonde flame` wrote, for 25-flame.sh.

    flame_check.py svg FILE...        well-formed, self-contained, frames add up
    flame_check.py folded FILE        prints the sum of the weights (of both, of a difference)
"""
import json
import re
import sys
import xml.etree.ElementTree

SVG = "{http://www.w3.org/2000/svg}"


def check_frames(path, script):
    """Frames in preorder: what is on a frame, and its own, is never more than the frame."""
    stride = 5 if "difference: true" in script or "calls: true" in script else 4
    numbers = json.loads("[" + re.search(r"\nframes: \[([^\]]*)\]", script).group(1) + "]")
    labels = json.loads("[" + re.search(r"\nlabels: \[(.*?)\],\nframes", script, re.S).group(1) + "]")
    assert numbers and len(numbers) % stride == 0, path
    open_frames, sums = [], []
    for at in range(0, len(numbers), stride):
        depth, label, total, self = numbers[at:at + 4]
        assert depth <= len(open_frames) and (depth > 0) == (at > 0), f"{path}: {at}"
        assert labels[label >> 1][0], f"{path}: a frame without a name"
        del open_frames[depth:], sums[depth:]
        open_frames.append(total)
        sums.append(self)
        if depth:
            sums[depth - 1] += total
            assert sums[depth - 1] <= open_frames[depth - 1] * (1 + 1e-6) + len(numbers), \
                f"{path}: {sums[depth - 1]} in a frame of {open_frames[depth - 1]}"
    return len(numbers) // stride


def check_svg(path):
    root = xml.etree.ElementTree.parse(path).getroot()
    assert root.tag == SVG + "svg", path
    for element in root.iter():
        assert element.tag.startswith(SVG), f"{path}: {element.tag}"
        for name, value in element.attrib.items():
            assert "href" not in name and "url(" not in value and not name.startswith("on"), path
    style = root.find(SVG + "style").text
    assert "url(" not in style and "@import" not in style, path
    frames = root.find(f"{SVG}g[@class='frames']")
    static = frames.findall(SVG + "g")
    assert static and all(frame.find(SVG + "title").text for frame in static), path
    width = float(root.get("width"))
    for frame in static:
        rect = frame.find(SVG + "rect")
        assert float(rect.get("x")) + float(rect.get("width")) <= width, path
    count = check_frames(path, root.find(SVG + "script").text)
    assert len(static) <= count, path


def folded_sums(path):
    sums = None
    with open(path, encoding="utf-8") as file:
        for line in file:
            stack, weights = re.fullmatch(r"(.*?)((?: \d+)+)\n", line).groups()
            assert stack and all(stack.split(";")), line
            weights = [int(weight) for weight in weights.split()]
            sums = [a + b for a, b in zip(sums, weights)] if sums else weights
    return " ".join(map(str, sums or []))


if sys.argv[1] == "svg":
    for name in sys.argv[2:]:
        check_svg(name)
else:
    print(folded_sums(sys.argv[2]))
