# SPDX-License-Identifier: Apache-2.0
"""How programs end: by themselves, by a crash, by SIGKILL at any moment; and the end of the
launcher, which is none of the program's business."""
import ctypes
import mmap
import os
import random
import re
import signal
import struct
import subprocess
import time

from harness import (GCC, SONDE, TIMEOUT, Case, Program, Recording, finish, read_text, start,
                     wait_until)


class Ends(Case):
    """From within five open calls."""
    program = Program("ends.c")

    def verify(self, way, status):
        recording = self.record(way)
        self.assertEqual(self.plain.status, status)
        self.assert_truth(recording, way)
        self.assertEqual(dict(recording.exceptions), {})
        self.assert_calls(recording, main=1, level=3, end=1)
        self.assert_returns(recording, main=0, level=0, end=0)

    def case_abort(self):
        self.verify("abort", -signal.SIGABRT)

    def case_segv(self):
        self.verify("segv", -signal.SIGSEGV)

    def case_trap(self):
        self.verify("trap", -signal.SIGILL)

    def case_kill(self):
        self.verify("kill", -signal.SIGKILL)

    def case__exit(self):
        self.verify("_exit", 21)

    def case_exit(self):
        self.verify("exit", 22)

    def case_exit_in_exit(self):
        self.verify("exit-in-exit", 23)

    def case_quick_exit(self):
        self.verify("quick_exit", 24)


class Overflow(Case):
    """The stack runs out, perhaps inside a hook; the handler has its own."""
    program = Program("ends.c")

    def verify(self, way, status):
        recording = self.record(way)
        self.assertEqual(self.plain.status, status)
        entered = self.recorded.side("overflow")
        self.assertIn(recording.calls["overflow"], (entered, entered + 1))
        self.assert_calls(recording, on_overflow=1, in_handler=1)
        self.assert_returns(recording, overflow=0, in_handler=1)
        return recording

    def case_exit(self):
        self.verify("overflow", 25)

    def case_jump(self):
        recording = self.verify("overflow-jump", 26)
        self.assert_exceptions(recording, overflow=recording.calls["overflow"], on_overflow=1)
        self.assertEqual(recording.depths("after"), {1})
        self.assert_returns(recording, main=1, overflow_thread=1, after=1)


class Killed(Case):
    """SIGKILL: what the program counted as called is in the session."""
    program = Program("killed.c")
    kinds = GCC
    places = [16 + 64 * number for number in range(3)]

    def kill_once(self, number, threads):
        self.session = os.path.join(self.place, f"session-{number}")
        path = os.path.join(self.place, "board")
        with open(path, "wb") as file:
            file.write(bytes(4096))
        with open(path, "r+b") as file, mmap.mmap(file.fileno(), 4096) as board:
            process = start(self.command(threads), self.place, {"REC_BOARD": path})
            pid = wait_until(lambda: struct.unpack_from("<Q", board)[0] or
                             process.poll() is not None, "the program's start")
            self.assertIsNone(process.poll(), read_text(self.place, "run.err"))
            time.sleep(random.Random(number).random() * 0.02)
            os.kill(pid, signal.SIGKILL)
            result = finish(process, self.place)
            counted = [struct.unpack_from("<Q", board, place)[0] for place in self.places]
        self.assertEqual(result.outcome(), (128 + signal.SIGKILL, "", ""))
        recording = self.read(names=False)
        for place, count in enumerate(counted):
            calls = recording.calls[f"tick{place}"]
            self.assertGreaterEqual(calls, count, f"run {number}, thread {place}")
            # The hook may have run, and the count not: never more than that.
            self.assertLessEqual(calls, count + 1, f"run {number}, thread {place}")
        subprocess.run(["rm", "-rf", self.session], check=True)

    def case_one_thread(self):
        for number in range(25):
            self.kill_once(number, 0)

    def case_three_threads(self):
        for number in range(25, 50):
            self.kill_once(number, 2)


class LauncherKilled(Case):
    """The program goes on; what was recorded can be recovered."""
    program = Program("lasting.c")
    kinds = GCC

    def kill_once(self, number):
        self.session = os.path.join(self.place, f"session-{number}")
        name, stop = f"run-{number}", os.path.join(self.place, f"stop-{number}")
        launcher = start(self.command(), self.place, {"REC_STOP": stop}, name=name)
        pid = int(wait_until(lambda: re.search(r"^pid (\d+)\n", read_text(
            self.place, name + ".side"), re.M), "the program's start")[1])
        time.sleep(0.2 + 0.1 * number)
        launcher.kill()
        launcher.wait()
        with open(stop, "wb"):
            pass
        status = wait_until(lambda: self.reap(pid), "the program's end")
        self.assertEqual(os.waitstatus_to_exitcode(status), 33)
        self.assertEqual(read_text(self.place, name + ".out"), "sum 300000\n")
        self.assertEqual(read_text(self.place, name + ".err"), "")
        facts = re.findall(r"^patched (\d+)$", read_text(self.place, name + ".side"), re.M)
        self.assertEqual(facts, [str(int(self.patched)), "0"])
        recovered = os.path.join(self.place, f"recovered-{number}")
        done = subprocess.run([SONDE, "recover", self.session, "-o", recovered], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              timeout=TIMEOUT)
        self.assertIn(done.returncode, (0, 1), done.stdout)
        self.check(recovered)
        recording = Recording(recovered)
        self.assertGreater(recording.event_count, 0)
        self.assertLessEqual(set(recording.calls), {"main", "batch", "leaf"}, done.stdout)
        self.assertIn("leaf", recording.calls)
        self.check_names(recording)
        if number == 0:
            self.recover_without_file()

    def recover_without_file(self):
        """The program is not there any more: its functions are called by their places."""
        folder, = (path for path, _, names in os.walk(self.session) if "manifest.json" in names)
        path = os.path.join(folder, "manifest.json")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(self.path, self.path + "-gone"))
        recovered = os.path.join(self.place, "recovered-without")
        done = subprocess.run([SONDE, "recover", self.session, "-o", recovered], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              timeout=TIMEOUT)
        self.assertIn("no names of 3 functions: the file is gone", done.stdout)
        self.check(recovered)
        self.assertEqual({name.split("+0x")[0] for name in Recording(recovered).calls},
                         {"program-gone"})

    @staticmethod
    def reap(pid):
        found, status = os.waitpid(pid, os.WNOHANG)
        return status if found else None

    def case_killed(self):
        # The program becomes our child when its launcher dies, so that we get its status.
        if ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) != 0:
            self.skipTest("cannot adopt processes")
        for number in range(5):
            self.kill_once(number)


class LauncherStopped(Case):
    """For longer than it takes to doubt that it lives; the program cannot see it."""
    program = Program("lasting.c")
    kinds = GCC

    def case_other_namespace(self):
        self.go_apart()
        stop = os.path.join(self.place, "stop")
        launcher = start(self.command(options=("--ring-size", "64K")), self.place,
                         {"REC_STOP": stop})
        wait_until(lambda: "pid" in read_text(self.place, "run.side"), "the program's start")
        launcher.send_signal(signal.SIGSTOP)
        with open(stop, "wb"):
            pass
        time.sleep(2)
        launcher.send_signal(signal.SIGCONT)
        self.assertEqual(finish(launcher, self.place).outcome(), (33, "sum 300000\n", ""))
        recording = self.read()
        self.assert_calls(recording, main=1,
                          leaf=300000 + 100 * (recording.calls["batch"] - 1))
        self.assert_all_returned(recording)
