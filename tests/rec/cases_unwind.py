# SPDX-License-Identifier: Apache-2.0
"""Calls that end without returning: longjmp in all its forms, C++ exceptions, cancellation and
pthread_exit; and deep recursion, which must not be taken for it."""
from harness import BOTH, EVERY, Case, Program, for_kinds


class Longjmp(Case):
    """A thousand calls are left at once."""
    program = Program("longjmp.c")

    def verify(self, way, exact):
        recording = self.record(way)
        self.assert_calls(recording, main=1, one_round=5, deep=4995, leave=5, after=5, inner=10)
        self.assert_exceptions(recording, deep=4995, leave=5)
        self.assert_returns(recording, main=1, one_round=5, after=5, inner=10)
        self.assertEqual(recording.depths("one_round"), {1})
        if exact:
            self.assertEqual(recording.depths("after"), {2})
            self.assertEqual(recording.depths("inner"), {3})
        self.assertEqual(max(recording.depths("deep")), 1000)
        self.assert_truth(recording, way)

    @for_kinds(*EVERY)
    def case_longjmp(self):
        self.verify(0, True)

    def case_underscore(self):
        self.verify(1, True)

    def case_siglongjmp(self):
        self.verify(2, True)

    def case_builtin(self):
        # Compiler hooks see only stack pointers: one that is called from the same frame as what
        # was left may seem to lie in it, until their caller returns.
        self.verify(3, self.patched)


class LongjmpFortified(Case):
    """With _FORTIFY_SOURCE longjmp is another function."""
    program = Program("longjmp.c", flags=("-O1", "-D_FORTIFY_SOURCE=2"))
    kinds = ("a-gcc", "b-gcc")
    def case_longjmp(self):
        Longjmp.verify(self, 0, True)


class LongjmpSanitized(Case):
    """The library of AddressSanitizer wraps longjmp, too, and wants to be the first library."""
    program = Program("longjmp.c", flags=("-O1", "-fsanitize=address"))
    kinds = EVERY

    def case_longjmp(self):
        recording = self.record(0)
        self.assert_returns(recording, main=1, one_round=5, after=5, inner=10)
        self.assert_exceptions(recording, deep=4995, leave=5)


class LongjmpLoop(Case):
    """One call site, one stack pointer, a thousand calls that never return."""
    program = Program("longjmp_loop.c")
    kinds = EVERY

    def case_loop(self):
        recording = self.record()
        self.assert_calls(recording, main=1, loop=1, hop=1000, last=1)
        self.assert_exceptions(recording, hop=1000)
        self.assertEqual(recording.depths("hop"), {2})
        self.assertEqual(recording.depths("last"), {2})


class LongjmpSignal(Case):
    """Out of a signal handler and what it interrupted."""
    program = Program("longjmp_signal.c")

    def verify(self, *arguments):
        recording = self.record(*arguments)
        self.assert_calls(recording, main=1, work=300, handler=100, leave=100, after=100)
        self.assert_exceptions(recording, work=300, handler=100, leave=100)
        self.assertEqual(recording.depths("handler"), {4})
        self.assertEqual(recording.depths("after"), {1})

    def case_same_stack(self):
        self.verify()

    def case_alternate_stack(self):
        self.verify("alternate")


class Exceptions(Case):
    """C++ exceptions through two libraries."""
    program = Program("exception.cpp", libraries=(
        ("thrower", "exception_b.cpp"), ("middle", "exception_a.cpp")))
    kinds = EVERY
    left = {"thrower": 365, "middle": 65, "rethrower": 20, "fly_over": 5}

    def case_caught(self):
        recording = self.record()
        self.assert_exceptions(recording, **self.left)
        self.assert_truth(recording)
        self.assertEqual(recording.depths("attempt_again"), {1})
        self.assertEqual(recording.depths("attempt"), {1, 4})
        for name in ("attempt", "attempt_again", "attempt_other", "attempt_nested", "after",
                     "Guard::~Guard", "Nested::~Nested", "main"):
            self.assertEqual(recording.calls[name], recording.returns[name], name)

    @for_kinds(*BOTH)
    def case_uncaught(self):
        recording = self.record("uncaught")
        self.assertEqual(self.plain.status, -6)
        self.assert_truth(recording, "uncaught")
        self.assertEqual(recording.returns["main"], 0)


class Cancel(Case):
    """Threads that end in the middle of their calls."""
    program = Program("cancel.c")

    def verify(self, mode, name):
        recording = self.record(mode, dropped=mode == 2)
        # A thread that ends in the middle of a hook loses what that was about to write.
        self.assertLessEqual(recording.dropped, 20)
        self.assert_calls(recording, main=1, thread_main=20, level=80, cleanup=80,
                          cleanup_inner=80, finish=20, **{name: 20})
        for function, calls in recording.calls.items():
            self.assertEqual(calls, recording.returns[function] + recording.exceptions[function],
                             function)
        self.assertLessEqual(recording.exceptions.pop("leaf", 0), 20)
        if not recording.dropped:
            self.assert_exceptions(recording, thread_main=20, level=80, **{name: 20})
        self.assert_returns(recording, main=1, cleanup=80, cleanup_inner=80, finish=20)
        # Each level's handler runs when what was above is gone. Compiler hooks cannot always tell
        # it from a call in there: the stack pointers differ by the sizes of two frames.
        exact = {2, 3, 4, 5}
        self.assertIn(recording.depths("cleanup"), (exact,) if self.patched else
                      (exact, {2, 3, 4, 6}, {3, 4, 5, 6}, {2, 3, 4, 5, 6}))
        self.assertEqual(len(recording.tracks), 21)

    def case_deferred(self):
        self.verify(0, "wait_here")

    def case_at_once(self):
        self.verify(1, "spin_here")

    def case_at_once_in_calls(self):
        self.verify(2, "call_here")

    def case_pthread_exit(self):
        self.verify(3, "exit_here")


class Recursion(Case):
    """A depth of 100,000."""
    program = Program("recursion.c")

    def case_deep(self):
        recording = self.record()
        self.assert_calls(recording, main=1, run=1, down=200010)
        self.assert_all_returned(recording)
        self.assertEqual(max(recording.depths("down")), 100000)
