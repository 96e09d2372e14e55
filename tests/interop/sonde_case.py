# SPDX-License-Identifier: Apache-2.0
"""A test case with a folder of its own, which runs the command."""
import os
import shutil
import subprocess
import tempfile
import unittest

SONDE = os.environ["SONDE"]
GOLDEN = os.path.join(os.environ["GOLDEN"], "atf")


class SondeCase(unittest.TestCase):
    maxDiff = 2000

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="sonde-interop-")
        self.addCleanup(shutil.rmtree, self.folder, True)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def run_sonde(self, *arguments):
        done = subprocess.run([SONDE, *arguments], stdin=subprocess.DEVNULL, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertIn(done.returncode, (0, 1, 2, 3),
                      f"sonde {' '.join(arguments)}\n{done.stderr.decode(errors='replace')}")
        return done

    def sonde(self, *arguments, expect=(0,)):
        done = self.run_sonde(*arguments)
        self.assertIn(done.returncode, expect,
                      f"sonde {' '.join(arguments)}\n{done.stderr.decode(errors='replace')}")
        return done.stdout.decode()
