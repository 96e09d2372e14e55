# SPDX-License-Identifier: Apache-2.0
"""Where the recording goes, and what the program finds: a full disk, a folder that cannot be made,
stdio that is closed, rings that are full."""
import ctypes
import errno
import os
import re
import struct
import subprocess

from harness import ANNOTATE, GCC, PROGRAMS, Case, Program, run


class FullDisk(Case):
    """The program does not notice; the session is whole up to there; the user is told."""
    program = Program("busy.c")
    kinds = GCC

    def mount(self, size):
        folder = os.path.join(self.place, "disk")
        os.mkdir(folder)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "sonde-rec", folder],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode:
            self.skipTest("cannot mount")
        self.addCleanup(subprocess.run, ["umount", "-l", folder], check=False)
        return folder

    def case_quiet(self):
        self.session = os.path.join(self.mount("2m"), "session")
        plain = run([self.path, "200000"], self.place)
        told = run(self.command(200000), self.place)
        self.assertEqual((told.status, told.stdout), (plain.status, plain.stdout))
        self.assertTrue(told.stderr.startswith(plain.stderr), told.stderr)
        recording = self.read(dropped=True)
        self.assertGreater(recording.event_count, 10000)
        self.assertLess(recording.event_count, 400000)

    def case_told(self):
        self.session = os.path.join(self.mount("2m"), "session")
        plain = run([self.path, "200000"], self.place)
        told = run(self.command(200000, quiet=False), self.place)
        self.assertEqual((told.status, told.stdout), (plain.status, plain.stdout))
        self.assertRegex(told.stderr, r"(?i)no space left|disk")
        self.check()

    def case_tiny(self):
        self.session = os.path.join(self.mount("16k"), "session")
        plain = run([self.path, "200000"], self.place)
        told = run(self.command(200000, quiet=False), self.place)
        # There is not even room to begin: then the program is not started.
        self.assertIn((told.status, told.stdout), ((plain.status, plain.stdout), (3, "")))
        self.assertRegex(told.stderr, r"(?i)no space left|disk")


class Unwritable(Case):
    """The program is not started."""
    program = Program("busy.c")
    kinds = ("a-gcc",)

    def verify(self, session):
        self.session = session
        result = run(self.command(10), self.place)
        self.assertEqual((result.status, result.stdout, result.side_text), (3, "", ""))
        self.assertIn("sonde", result.stderr)

    def case_under_a_file(self):
        path = os.path.join(self.place, "file")
        with open(path, "wb"):
            pass
        self.verify(os.path.join(path, "session"))

    def case_in_proc(self):
        self.verify("/proc/nothing/session")

    def case_not_a_recording(self):
        path = os.path.join(self.place, "precious")
        os.mkdir(path)
        with open(os.path.join(path, "text"), "wb"):
            pass
        self.verify(path)
        self.assertEqual(os.listdir(path), ["text"])


class NotInstrumented(Case):
    """What cannot be recorded runs all the same or is refused; the user learns how to build it."""
    program = Program("busy.c")
    kinds = ("a-gcc",)

    def case_plain_program(self):
        path = self.path + "-plain"
        subprocess.run(["gcc", os.path.join(PROGRAMS, "busy.c"), "-o", path], check=True)
        plain = run([path], self.place)
        self.path = path
        told = run(self.command(quiet=False), self.place)
        self.assertIn((told.status, told.stdout), ((plain.status, plain.stdout), (3, "")))
        self.assertIn("sonde cflags", told.stderr)

    def case_static_program(self):
        path = self.path + "-static"
        done = subprocess.run(["gcc", "-static", os.path.join(PROGRAMS, "busy.c"), "-o", path],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode:
            self.skipTest("cannot link statically")
        self.path = path
        told = run(self.command(quiet=False), self.place)
        self.assertEqual((told.status, told.stdout), (3, ""))
        self.assertIn("static", told.stderr)

    def case_no_program(self):
        self.path = os.path.join(self.place, "nothing")
        told = run(self.command(), self.place)
        self.assertNotEqual(told.status, 0)
        self.assertIn("nothing", told.stderr)


def forbid_writable_code():
    """mprotect() fails where memory is to be writable and executable, from here on."""
    instructions = ((0x20, 0, 0, 0),            # the number of the system call
                    (0x15, 0, 4, 10),           # mprotect, else allowed
                    (0x20, 0, 0, 32),           # its third argument
                    (0x54, 0, 0, 6), (0x15, 0, 1, 6),
                    (0x06, 0, 0, 0x50000 | errno.EACCES), (0x06, 0, 0, 0x7FFF0000))
    code = ctypes.create_string_buffer(
        b"".join(struct.pack("<HBBI", *instruction) for instruction in instructions))
    program = struct.pack("<HxxxxxxQ", len(instructions), ctypes.addressof(code))
    system = ctypes.CDLL(None)
    if system.prctl(38, 1, 0, 0, 0) or system.prctl(22, 2, program):  # no new rights; seccomp
        raise OSError("seccomp")


class Entries(Case):
    """Entries lead to the recorder only while that may record."""
    program = Program("entries.c", flags=("-O1", *ANNOTATE))
    kinds = ("b-gcc", "b-clang")

    def verify(self, way, *options, calls, **patched):
        recording = self.record(way, options=options)
        self.assert_calls(recording, work=calls)
        self.assert_returns(recording, work=calls)
        self.assertEqual({name: self.recorded.side(name) for name in patched}, patched)
        return recording

    def case_as_usual(self):
        self.verify("start", calls=20, before=1, started=1)

    def case_over(self):
        """Perhaps before its first call; then there is no session."""
        recorded = run(self.command("over", options=("--duration", "1ms")), self.place)
        self.assertEqual(recorded.outcome()[:2], (0, "done\n"))
        self.assertEqual(recorded.side("over"), 0)

    def case_resumed(self):
        self.verify("resume", "--notrace", calls=10, before=0, resumed=1, paused=0)

    def case_trigger(self):
        self.verify("start", "--trigger", "symbol=start", calls=10, before=0, started=1)

    def case_trigger_may_come(self):
        """By time: nobody in the program would hear of it."""
        recorded = run(self.command("start", options=("--trigger", "time=1h")), self.place)
        self.assertEqual(recorded.outcome()[:2], (0, "done\n"))
        self.assertEqual((recorded.side("before"), recorded.side("started")), (1, 1))

    def case_trigger_in_children(self):
        recording = self.verify("race", "--trigger", "symbol=start", calls=2000, patched=200)
        self.assertEqual(dict(recording.exceptions), {})


class Unpatched(Case):
    """Functions that were wanted and could not be patched are told, and nothing else is lost."""
    program = Program("unpatched.c")
    kinds = ("b-gcc", "b-clang")

    def run_both(self, *arguments, options=(), preexec=None):
        plain = run([self.path, *arguments], self.place, preexec=preexec)
        told = run(self.command(*arguments, options=options), self.place, preexec=preexec)
        self.assertEqual(told.outcome()[:2], plain.outcome()[:2])
        self.said = re.findall(r"^sonde: (\d+ .*)$", told.stderr, re.M)

    def verify(self, *arguments, options=()):
        self.run_both(*arguments, options=options)
        recording = self.read()
        self.assertEqual(dict(recording.exceptions), {})
        process, = recording.processes
        module = next(module for module in process.modules.values()
                      if module["path"] == self.path)
        return recording, process.manifest, module

    def case_too_short(self):
        recording, _, module = self.verify()
        self.assertEqual(self.said, [
            "2 functions could not be patched, so no call of them was recorded: fewer than 5 bytes "
            "of NOPs at the entry"])
        self.assert_calls(recording, main=1, long_enough=10, too_short=0, too_short_as_well=0)
        self.assertEqual(module["entries_too_short"], 2)
        self.assertNotIn("entries_not_writable", module)

    def case_only_wanted_ones_count(self):
        recording, _, module = self.verify(options=("--function", "too_short", "--function",
                                                    "main"))
        self.assertEqual(self.said, [
            "1 function could not be patched, so no call of it was recorded: fewer than 5 bytes "
            "of NOPs at the entry"])
        self.assertEqual(recording.event_count, 2)
        self.assertEqual(module["entries_too_short"], 1)

    def case_none_wanted(self):
        recording, _, module = self.verify(options=("--function", "long_enough"))
        self.assertEqual(self.said, [])
        self.assert_calls(recording, long_enough=10)
        self.assertNotIn("entries_too_short", module)

    def case_not_writable(self):
        self.run_both(options=("--function", "long_enough"), preexec=forbid_writable_code)
        self.assertEqual(self.said, [
            "1 function could not be patched, so no call of it was recorded: the system did not "
            "allow it"])

    def case_no_memory(self):
        recording, manifest, _ = self.verify("starve", options=("--exclude", "*short*"))
        missed = manifest["missed_calls"]
        self.assertGreater(missed, 0)
        self.assertEqual(self.said, [f"{missed} calls were not recorded: there was no memory to "
                                     "keep their return addresses"])
        self.assert_calls(recording, descend=64 - missed)
        self.assert_all_returned(recording)


class ClosedStdio(Case):
    """The program gets the file descriptors that it would get, and no others."""
    program = Program("stdio_closed.c")
    kinds = GCC

    def case_closed(self):
        for bits in range(8):
            closed = [fd for fd in range(3) if bits >> fd & 1]

            def close(closed=closed):
                for fd in closed:
                    os.close(fd)

            with self.subTest(closed=closed):
                self.session = os.path.join(self.place, f"session-{bits}")
                for name in ("plain.side", "recorded.side"):
                    if os.path.exists(os.path.join(self.place, name)):
                        os.remove(os.path.join(self.place, name))
                recording = self.record(preexec=close)
                self.assertEqual(self.recorded.side_text, self.plain.side_text)
                self.assertEqual(self.plain.status, 35)
                self.assert_calls(recording, main=1, is_open=64)
                self.assert_all_returned(recording)


class FullRing(Case):
    """The launcher is stopped while the program fills a small ring."""
    program = Program("full.c", flags=("-O1", *ANNOTATE))
    kinds = GCC
    total = 2 * (62000 + 3 + 1)

    def assert_accounted(self, recording, total):
        # At each gap, calls whose return was dropped are closed all the same, and returns whose
        # call was dropped are left out: both are told.
        told = [track.entry for track in recording.tracks]
        made_up = sum(entry.get("returns_made_up", 0) for entry in told)
        left_out = sum(entry.get("returns_left_out", 0) for entry in told)
        self.assertEqual(recording.event_count + recording.dropped - made_up + left_out, total)

    def case_drop(self):
        recording = self.record("drop", options=("--on-full", "drop", "--ring-size", "64K"),
                                dropped=True)
        self.assertGreater(recording.dropped, 0)
        self.assert_accounted(recording, self.total)
        self.assert_returns(recording, main=1)

    def case_wait(self):
        recording = self.record("wait", options=("--on-full", "wait", "--ring-size", "64K"))
        self.assert_calls(recording, main=1, batch=3, leaf=62000)
        self.assertEqual(recording.event_count, self.total)

    def case_overwrite(self):
        recording = self.record("drop", options=("--on-full", "overwrite", "--ring-size", "64K"),
                                dropped=True)
        self.assertLess(recording.event_count, self.total)
        self.assertGreater(recording.calls["leaf"], 1000)
        self.assert_accounted(recording, self.total)

    def case_overwrite_to_the_end(self):
        """The program ends before its ring is read."""
        recording = self.record("end", options=("--on-full", "overwrite", "--ring-size", "64K"),
                                dropped=True)
        self.assertGreater(recording.dropped, 0)
        self.assert_accounted(recording, self.total)

    def case_overwrite_annotations(self):
        recording = self.record("notes", options=("--on-full", "overwrite", "--ring-size", "64K"),
                                dropped=True)
        self.assertGreater(recording.dropped, 0)
        self.assert_accounted(recording, self.total + 2 * 3000)
