# SPDX-License-Identifier: Apache-2.0
"""Runs unittest cases and speaks TAP, so that the test runner counts each one."""
import sys
import unittest


class TapResult(unittest.TestResult):
    """Prints a line for every test; the reasons of a failure go under it."""

    def __init__(self):
        super().__init__()
        self.number = 0
        self.bad_subtest = None

    def line(self, test, good, suffix="", reason=None):
        self.number += 1
        name = test.id().split(".", 1)[-1]
        print(f"{'ok' if good else 'not ok'} {self.number} - {name}{suffix}")
        for text in (reason or "").splitlines():
            print(f"# {text}")
        sys.stdout.flush()

    def startTest(self, test):
        super().startTest(test)
        self.bad_subtest = None

    def addSuccess(self, test):
        super().addSuccess(test)
        if self.bad_subtest is None:
            self.line(test, True)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.line(test, False, reason=self._exc_info_to_string(err, test))

    def addError(self, test, err):
        super().addError(test, err)
        self.line(test, False, reason=self._exc_info_to_string(err, test))

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.line(test, True, f" # SKIP {reason}")

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.bad_subtest = subtest
            self.line(subtest, False, reason=self._exc_info_to_string(err, test))


def main(module="__main__"):
    pattern = sys.argv[1:]
    suite = unittest.TestSuite()
    loader = unittest.defaultTestLoader

    def walk(tests):
        for test in tests:
            if isinstance(test, unittest.TestSuite):
                walk(test)
            elif not pattern or any(text in test.id() for text in pattern):
                suite.addTest(test)

    walk(loader.loadTestsFromModule(sys.modules[module]))
    result = TapResult()
    suite.run(result)
    print(f"1..{result.number}")
    sys.exit(0 if result.wasSuccessful() else 1)
