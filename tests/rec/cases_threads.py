# SPDX-License-Identifier: Apache-2.0
"""Threads by the thousand, their names, and threads that end together with the process."""
from harness import EVERY, GCC, Case, Program, for_kinds


class Threads(Case):
    """A thousand short threads, and ten with names."""
    program = Program("threads.c")

    def case_thousand(self):
        self.verify()

    @for_kinds(*GCC)
    def case_thousand_at_once(self):
        self.verify(1000)

    def verify(self, *arguments):
        recording = self.record(*arguments)
        self.assert_calls(recording, main=1, short_thread=1000, named_thread=10, work=4020,
                          leaf=4020)
        self.assert_all_returned(recording)
        self.assertEqual(len(recording.tracks), 1011)
        self.assertEqual(len({track.entry["os_id"] for track in recording.tracks}), 1011)
        names = {track.name for track in recording.tracks}
        self.assertLessEqual({f"worker-{number}" for number in range(10)}, names)
        self.assertEqual(recording.processes[0].tracks[0].name, "program")


class ExitRace(Case):
    """Threads that end while the process exits."""
    program = Program("exitrace.c")
    runs = 50

    def race(self, runs):
        for number in range(runs):
            self.session = f"{self.place}/session-{number}"
            recording = self.record(number * number * 100)
            self.assert_calls(recording, main=1, at_exit=1)
            self.assert_returns(recording, main=1, at_exit=1)
            self.assertEqual(dict(recording.exceptions), {})

    @for_kinds(*GCC)
    def case_race(self):
        self.race(self.runs)

    @for_kinds("a-clang", "b-clang")
    def case_race_briefly(self):
        self.race(10)


class Fib(Case):
    """The exact number of events, against hooks that count."""
    program = Program("fib.c")
    kinds = EVERY

    def case_fib(self):
        recording = self.record()
        fib = sum(2 * number - 1 for number in (317811, 987, 2584, 6765))
        self.assert_calls(recording, main=1, run=3, fib=fib)
        self.assert_all_returned(recording)
        self.assertEqual(recording.event_count, 2 * (fib + 4))
        self.assert_truth(recording)
        self.assertEqual(len(recording.tracks), 4)
        self.assertTrue(all(list(track.times) == sorted(track.times)
                            for track in recording.tracks))
