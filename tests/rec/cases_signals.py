# SPDX-License-Identifier: Apache-2.0
"""Signals, exit statuses, and programs that restrict themselves: nothing is other than without a
recorder."""
import concurrent.futures
import ctypes
import os
import re
import signal

from harness import GCC, Case, Program, finish, read_text, run, start, wait_until


def press_ctrl_c(_, keyboard):
    keyboard.write(b"\x03")


class Signals(Case):
    """What the program sees of signals, and what they do to it."""
    program = Program("signals.c")
    kinds = GCC

    def case_dispositions(self):
        self.record("show")

    def case_ignored(self):
        self.record("show", preexec=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))

    def case_blocked(self):
        self.record("show", preexec=lambda: signal.pthread_sigmask(
            signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGCHLD, signal.SIGUSR1]))

    def case_own_mask(self):
        recording = self.record("mask")
        self.assert_calls(recording, leaf=200000, show=2, change_mask=1)
        self.assert_all_returned(recording)

    def await_side(self, process, name, word):
        wait_until(lambda: word in read_text(self.place, name + ".side")
                   or process.poll() is not None, word)
        self.assertIsNone(process.poll(), read_text(self.place, name + ".err"))

    def interrupt(self, command, name, send):
        """Runs a command on a terminal of its own, and does send(process, keyboard) to it."""
        try:
            keyboard, terminal = os.openpty()
        except OSError:
            self.skipTest("no terminals")
        path = os.ttyname(terminal)
        process = start(command, self.place, name=name,
                        preexec=lambda: os.close(os.open(path, os.O_RDWR)))
        os.close(terminal)
        with open(keyboard, "wb", buffering=0) as keyboard:
            self.await_side(process, name, "pid")
            send(process, keyboard)
            if "count" in command:
                self.await_side(process, name, "caught")
                os.kill(process.pid, signal.SIGUSR2)  # behind all that the first one led to
            return finish(process, self.place, name)

    def verify(self, way, send=press_ctrl_c):
        self.plain = self.interrupt([self.path, way], "plain", send)
        self.recorded = self.interrupt(self.command(way), "recorded", send)
        self.assertEqual(self.recorded.outcome(), self.plain.outcome())
        recording = self.read()
        self.assertEqual(dict(recording.exceptions), {})
        return recording

    def case_interrupt_ends(self):
        recording = self.verify("default")
        self.assertEqual(self.plain.status, -signal.SIGINT)
        self.assert_returns(recording, main=0)

    def case_interrupt_handled(self):
        recording = self.verify("handler")
        self.assertEqual(self.plain.stdout, f"handled {int(signal.SIGINT)}\n")
        self.assert_calls(recording, handler=1)
        self.assert_all_returned(recording)

    def case_terminate_launcher(self):
        self.verify("default", lambda process, _: os.kill(process.pid, signal.SIGTERM))
        self.assertEqual(self.plain.status, -signal.SIGTERM)

    def verify_once(self, send):
        """A signal comes once, whichever way it was sent."""
        recording = self.verify("count", send)
        self.assertEqual(self.plain.stdout, "caught 1\n")
        self.assert_calls(recording, count=2)

    def case_once_from_keyboard(self):
        self.verify_once(press_ctrl_c)

    def case_once_from_hangup(self):
        self.verify_once(lambda process, keyboard: keyboard.close())

    def case_once_to_launcher(self):
        self.verify_once(lambda process, _: os.kill(process.pid, signal.SIGINT))

    def case_once_to_group(self):
        self.verify_once(lambda process, _: os.killpg(process.pid, signal.SIGINT))

    def case_once_to_group_ending(self):
        self.verify_once(lambda process, _: os.killpg(process.pid, signal.SIGTERM))


class Status(Case):
    """Every exit status is passed on."""
    program = Program("signals.c")
    kinds = ("a-gcc",)

    def case_all(self):
        def one(status):
            name = f"status-{status}"
            command = self.command("status", status)
            command[command.index(self.session)] += f"-{status}"
            return run(command, self.place, name=name).outcome()

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            found = list(pool.map(one, range(256)))
        self.assertEqual(found, [(status, "", "") for status in range(256)])


class Limits(Case):
    """Programs that close, limit, lock and leave things."""
    program = Program("limits.c")
    kinds = GCC

    def verify(self, way):
        recording = self.record(way)
        self.assertEqual(self.plain.status, 8)
        self.assert_calls(recording, main=1, prepare=1, run_threads=2, run_child=1, work=9,
                          leaf=9001)
        self.assertEqual(dict(recording.exceptions), {})
        self.assertEqual(len({process.pid for process in recording.processes}), 2)

    def as_root(self):
        if os.geteuid() != 0:
            self.skipTest("only root may")

    def case_none(self):
        self.verify("none")

    def case_files_closed(self):
        self.verify("closed")

    def case_all_closed(self):
        self.verify("all-closed")

    def case_no_more_files(self):
        self.verify("files")

    def case_file_size(self):
        self.verify("file-size")

    def case_memory(self):
        self.verify("memory")

    def case_stacks(self):
        self.verify("stacks")

    def case_small_stacks(self):
        self.verify("small-stacks")

    def case_locked_memory(self):
        self.as_root()
        self.verify("lock")
        used = int(re.search(r"VmRSS:\s+(\d+)", self.recorded.side_text).group(1))
        self.assertLess(used, 200000, "kB are resident")

    def case_other_user(self):
        self.as_root()
        self.verify("user")

    def case_other_root(self):
        self.as_root()
        self.verify("root")

    def case_fixed_addresses(self):
        recording = self.record("none", preexec=lambda: ctypes.CDLL(None).personality(0x0040000))
        self.assert_calls(recording, leaf=9001)
