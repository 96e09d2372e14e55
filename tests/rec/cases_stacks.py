# SPDX-License-Identifier: Apache-2.0
"""More than one stack: coroutines of libc and by hand, signal handlers on stacks of their own."""
from harness import EVERY, GCC, Case, Program, for_kinds


class Coroutines(Case):
    """Three generators, a thousand switches; each stack is a track whose calls nest."""
    program = Program("coroutines.c")

    def verify(self, *arguments):
        recording = self.record(*arguments)
        self.assert_calls(recording, main=1, take=501, to_coroutine=501, to_main=498, produce=498,
                          body=3, entry=3, yield_deep=3 * sum(i % 5 + 1 for i in range(166)))
        self.assert_all_returned(recording)
        used = [{name for _, name, _ in track.events()} for track in recording.tracks]
        generator = {"entry", "body", "produce", "yield_deep", "to_main"}
        self.assertEqual(sorted(map(sorted, used)),
                         sorted(map(sorted, [{"main", "take", "to_coroutine"}] + 3 * [generator])))

    @for_kinds(*EVERY)
    def case_swapcontext_malloc(self):
        self.verify("libc", "malloc")

    def case_swapcontext_mmap(self):
        self.verify("libc", "mmap")

    def case_by_hand_malloc(self):
        self.verify("hand", "malloc")

    def case_by_hand_mmap(self):
        self.verify("hand", "mmap")


class SignalStack(Case):
    """A timer's handler interrupts hooks too; every call is counted by the program."""
    program = Program("sigalt.c")

    def verify(self, *arguments, options=()):
        recording = self.record(*arguments, options=options)
        counts = {name: self.recorded.side(name)
                  for name in ("tick", "tick_inner", "shorty", "middle")}
        self.assertGreater(counts["tick"], 0)
        self.assert_calls(recording, main=1, **counts)
        self.assert_all_returned(recording)

    def case_alternate(self):
        self.verify()

    def case_same(self):
        self.verify("same")

    def case_storm(self):
        self.verify("alternate", "storm")

    @for_kinds(*GCC)
    def case_storm_same(self):
        self.verify("same", "storm")

    @for_kinds(*GCC)
    def case_small_ring(self):
        self.verify("alternate", "storm", options=("--ring-size", "64K"))

    @for_kinds(*GCC)
    def case_detail(self):
        self.verify("alternate", "storm", options=("--detail", "--stack-bytes", "64"))
