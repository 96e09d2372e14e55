#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The shell of `sonde query` at a terminal: prompts, statements of several lines, completion, history, Ctrl-C and
Ctrl-D. Every step waits for what it expects to see, however long that takes.
"""
import fcntl
import os
import pty
import re
import select
import stat
import struct
import termios

import tap
from sonde_case import GOLDEN, SONDE, SondeCase

PROMPT, MORE = "sonde> ", "  ...> "
PATIENCE = 60  # seconds until a step that shows nothing counts as failed
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n;"


class Shell(SondeCase):
    def setUp(self):
        super().setUp()
        self.seen = ""

    def start(self, *arguments, columns=80, **environment):
        self.child, self.terminal = pty.fork()
        if not self.child:
            os.environ.update(environment)
            os.environ.update(TERM="xterm", LC_ALL="C.UTF-8", XDG_STATE_HOME=self.path("state"), HOME=self.path("home"))
            os.environ.pop("COLUMNS", None)
            # libedit never frees the names of functions that were added to it
            os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
            os.execv(SONDE, [SONDE, "query", *arguments])
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.addCleanup(os.close, self.terminal)

    def read(self):
        """More of what is shown; False at its end."""
        if not select.select([self.terminal], [], [], PATIENCE)[0]:
            self.fail(f"nothing more came after:\n{self.seen}")
        try:
            got = os.read(self.terminal, 65536)
        except OSError:
            return False
        self.seen += got.decode(errors="replace")
        return bool(got)

    def expect(self, pattern):
        """Waits for a text, and drops all up to its end."""
        while True:
            found = re.search(pattern, self.seen)
            if found:
                self.seen = self.seen[found.end():]
                return found
            if not self.read():
                self.fail(f"expected {pattern!r}, and it ended after:\n{self.seen}")

    def type(self, text):
        os.write(self.terminal, text.encode())

    def end(self):
        while self.read():
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])

    def leave(self):
        """Ctrl-D, again and again: one that comes before the terminal is set to single keys has no effect."""
        while not select.select([self.terminal], [], [], 0.2)[0] or self.read():
            try:
                self.type("\x04")
            except OSError:
                break
        return self.end()

    def open(self, *arguments):
        self.start(*arguments, os.path.join(GOLDEN, "normal"))
        self.expect(re.escape(PROMPT))

    def test_statements(self):
        self.open()
        self.type("SELECT count(*) AS calls FROM spans;\n")
        self.expect("│ +2000 │")
        self.expect("1 row in ")
        self.expect(PROMPT)
        self.type("SELECT\n")
        self.expect(re.escape(MORE))
        self.type("42 AS answer;\n")
        self.expect("│ +42 │")
        self.expect(PROMPT)
        self.type("SELECT * FROM functons;\n")
        self.expect("did you mean 'functions'")
        self.expect(PROMPT)
        self.type(".quit\n")
        self.assertEqual(self.end(), 0)

    def test_without_libedit(self):
        self.start(os.path.join(GOLDEN, "normal"), LD_LIBRARY_PATH=self.hide_library("libedit"))
        self.expect("editing lines needs libedit, which cannot be loaded")
        self.type("SELECT 41 + 1 AS answer;\n")
        self.expect(r"\b42\b")
        self.type(".quit\n")
        self.assertEqual(self.end(), 0)

    def test_control_d(self):
        self.open()
        self.assertEqual(self.leave(), 0)

    def test_control_c(self):
        """It ends a query, or drops a line, and never the shell."""
        self.open()
        self.type("SELECT 'begun' AS state; " + ENDLESS + "\n")
        self.expect("│ begun │")
        self.expect("1 row in")
        self.type("\x03")
        self.expect("interrupted")
        self.expect(PROMPT)
        self.type("SELECT nonsense")
        self.expect("nonsense")
        self.type("\x03")
        self.expect(PROMPT)
        self.type("SELECT 6 * 7;\n")
        self.expect("│ +42 │")
        self.expect(PROMPT)
        self.type("SELECT\n")
        self.expect(re.escape(MORE))
        self.type("\x03")
        self.expect(PROMPT)
        self.assertEqual(self.leave(), 0)

    def test_timeout(self):
        self.open("--timeout", "50ms")
        self.type(ENDLESS + "\n")
        self.expect(r"took longer than 50\.000 ms")
        self.expect(PROMPT)
        self.type(".quit\n")
        self.assertEqual(self.end(), 0)

    def test_completion(self):
        self.open()
        self.type("SELECT count(*) FROM diagn\t;\n")
        self.expect("│ +0 │")
        self.expect(PROMPT)
        self.type(".sch\tspans\n")
        self.expect("dur_ns +INTEGER")
        self.expect(PROMPT)
        self.type("SELECT human_\t")
        self.expect("human_time +human_size +human_count")
        self.expect("sonde> SELECT human_")
        self.type("\x03")
        self.expect(PROMPT)
        self.assertEqual(self.leave(), 0)

    def test_history(self):
        self.open()
        self.type("SELECT 12 * 12 AS dozens;\n")
        self.expect("│ +144 │")
        self.expect(PROMPT)
        self.assertEqual(self.leave(), 0)
        file = self.path("state", "sonde", "query_history")
        self.assertEqual(stat.S_IMODE(os.stat(file).st_mode), 0o600)
        self.seen = ""
        self.open()
        self.type("\x1b[A")
        self.expect("dozens")
        self.type("\n")
        self.expect("│ +144 │")
        self.expect(PROMPT)
        self.assertEqual(self.leave(), 0)

    def test_rows_on_a_screen(self):
        self.open()
        self.type("SELECT seq FROM events;\n")
        self.expect(r"only the first 1000 rows are shown; \.limit 0 shows all")
        self.expect(PROMPT)
        self.type(".limit 0\n")
        self.expect(PROMPT)
        self.type("SELECT seq FROM events;\n")
        self.expect("4,000 rows in")
        self.expect(PROMPT)
        self.assertEqual(self.leave(), 0)


if __name__ == "__main__":
    tap.main()
