# SPDX-License-Identifier: Apache-2.0
"""A test case with a folder of its own, which runs the command."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

SONDE = os.environ["SONDE"]
GOLDEN = os.path.join(os.environ["GOLDEN"], "atf")


def folder_in_memory():
    """Where files are made fastest, if there is much room; None: where the system has them."""
    try:
        free = shutil.disk_usage("/dev/shm").free
    except OSError:
        return None
    return "/dev/shm" if free > 8 << 30 and os.access("/dev/shm", os.W_OK) else None


class SondeCase(unittest.TestCase):
    maxDiff = 2000

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="sonde-interop-", dir=folder_in_memory())
        self.addCleanup(shutil.rmtree, self.folder, True)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def hide_library(self, name):
        """A folder to put into LD_LIBRARY_PATH, with a file that is no library but has the name of one which sonde
        loads when it needs it."""
        with open(SONDE, "rb") as file:
            full_name = re.search(name.encode() + rb"\.so[.0-9]*", file.read())[0].decode()
        os.mkdir(self.path("hidden"))
        with open(self.path("hidden", full_name), "wb"):
            return self.path("hidden")

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
