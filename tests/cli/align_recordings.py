#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""align_recordings.py FOLDER: recordings of programs that meet at barriers, each with a clock of its own that is off by
a known offset and drift: reference, offset, noisy, drifting, late (its recorder missed the first barriers), and walls
with anchors: wall-a and wall-b. The same every time. Prints nothing.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "interop"))

from atf_reader import CALL, NONE, RETURN  # noqa: E402
from atf_writer import MODULE, ThreadWriter, function_id, manifest_of, write_process  # noqa: E402

START = 1_000_000_000_000
WALL = 1_700_000_000_000_000_000


def noise(state=[12345]):
    state[0] = (state[0] * 1103515245 + 12345) % 2**31
    return state[0] >> 8


def barriers():
    time, times = START, []
    for _ in range(400):
        time += 1_000_000 + noise() % 20_000_000
        times.append(time)
    return times


def write(path, times, pid, offset=0, ppb=0, spread=0, missing=0, anchors=()):
    thread = ThreadWriter(0)
    for time in times[missing:]:
        shown = time + offset + (time - START) * ppb // 10**9 + (noise() % (2 * spread + 1) - spread)
        thread.events.append((shown, function_id(1), 0, CALL, 1, NONE))
        thread.events.append((shown + 700, function_id(1), 0, RETURN, 1, NONE))
    manifest = manifest_of([thread], pid=pid)
    manifest["symbols"] = [{"function_id": f"{function_id(1):#018x}", "module_id": MODULE, "symbol_index": 1,
                            "name": "barrier"}]
    if anchors:
        manifest["clock_anchors"] = [{"clock_ns": clock, "realtime_ns": wall} for clock, wall in anchors]
    write_process(path, [thread], manifest)


def main():
    folder, times = sys.argv[1], barriers()
    for number, (name, options) in enumerate({
            "reference": {}, "offset": {"offset": -7_000_123}, "noisy": {"offset": 5_000_000, "spread": 2_000},
            "drifting": {"offset": 123_456, "ppb": 25_000, "spread": 300},
            "late": {"offset": -990_000_000_000, "spread": 50, "missing": 37},
            "wall-a": {"anchors": [(START, WALL)]},
            "wall-b": {"offset": 77_000_000_000, "anchors": [(START + 77_000_000_000, WALL)]},
    }.items()):
        write(os.path.join(folder, name), times, 10 + number, **options)


main()
