# SPDX-License-Identifier: Apache-2.0
"""What was spent in functions and on paths of calls, counted from events: independent of `sonde report`, which
it is compared with. Events are (time, track, kind, name, depth) in the order of each track.
"""
import collections
import csv
import io


class Count:
    """Of a function or a path: single calls, and what was spent in it."""

    def __init__(self):
        self.calls = self.exceptions = self.unfinished = 0
        self.self_ns = self.total_ns = 0
        self.durations = []


class Track:
    """Calls of one track that are open, and times of all that ended."""

    def __init__(self, counts):
        self.counts = counts
        self.stack = []  # [name, start, time in calls within]
        self.open = collections.Counter()
        self.events = self.busy_ns = 0
        self.first = self.last = None

    def take(self, time, kind, name):
        self.events += 1
        self.first = time if self.first is None else self.first
        self.last = time
        if kind == "call":
            self.stack.append([name, time, 0])
            self.open[name] += 1
        elif kind in ("return", "exception") and self.stack:
            assert self.stack[-1][0] == name, (self.stack[-1], name)
            self.leave(time, kind)

    def leave(self, time, kind):
        path = tuple(frame[0] for frame in self.stack)
        name, start, within = self.stack.pop()
        duration = time - start
        self.open[name] -= 1
        for count in (self.counts.functions[name], self.counts.paths[path]):
            count.calls += 1
            count.exceptions += kind == "exception"
            count.unfinished += kind == "end"
            count.self_ns += duration - within
            count.durations.append(duration)
        if not self.open[name]:
            self.counts.functions[name].total_ns += duration
        self.counts.paths[path].total_ns += duration
        if self.stack:
            self.stack[-1][2] += duration
        else:
            self.busy_ns += duration

    def finish(self):
        """What is still open lasts until the last event of the track."""
        while self.stack:
            self.leave(self.last, "end")


class Counts:
    def __init__(self, events):
        self.functions = collections.defaultdict(Count)
        self.paths = collections.defaultdict(Count)
        self.tracks = {}
        for time, track, kind, name in events:
            if track not in self.tracks:
                self.tracks[track] = Track(self)
            self.tracks[track].take(time, kind, name)
        for track in self.tracks.values():
            track.finish()


def events_of_csv(text):
    """Those of `sonde dump --csv`."""
    for row in csv.DictReader(io.StringIO(text, newline="")):
        yield int(row["time_ns"]), int(row["track"]), row["kind"], row["name"]
