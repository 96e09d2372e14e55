#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that are hard to record: run.py GROUP [TEST...] runs one group of cases, or those of
its tests whose names contain one of the words. The groups are the files cases_GROUP.py. SONDE is
the command. Speaks TAP.
"""
import atexit
import importlib
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "interop"))
sys.dont_write_bytecode = True

import harness  # noqa: E402
import tap  # noqa: E402


def main():
    if len(sys.argv) < 2:
        print("Bail out! run.py GROUP [TEST...]")
        return 2
    name = "cases_" + sys.argv[1]
    module = importlib.import_module(name)
    words = sys.argv[2:]
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    tests = [test for case in suite for test in case
             if not words or any(word in test.id() for word in words)]
    atexit.register(harness.clean_up)
    harness.start_builds(tests)
    sys.argv[1:] = words
    tap.main(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
