# SPDX-License-Identifier: Apache-2.0
"""Processes that beget others: fork, exec, vfork, posix_spawn, shells in between."""
import ctypes
import errno
import os
import struct

from harness import EVERY, GCC, RETURN, Case, Program, for_kinds, run


def refuse_membarrier():
    """In this process and all that it starts, as a sandbox does; see seccomp(2)."""
    membarrier, load, equal, give = 324, 0x20, 0x15, 0x06
    refuse, allow = 0x50000 | errno.ENOSYS, 0x7fff0000
    steps = ((load, 0, 0, 0), (equal, 0, 1, membarrier), (give, 0, 0, refuse), (give, 0, 0, allow))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if prctl(38, 1, 0, 0, 0) or prctl(22, 2, program, 0, 0):
        raise OSError(ctypes.get_errno(), "cannot refuse a system call")


class ForkStorm(Case):
    """Two hundred children and fifty grandchildren."""
    program = Program("forkstorm.c")

    def case_storm(self):
        recording = self.record()
        self.assert_truth(recording)
        processes = {process.pid for process in recording.processes
                     if any(len(track.kinds) for track in process.tracks)}
        self.assertGreaterEqual(len(processes), 201)
        self.assertLessEqual(len(processes), 251)
        # Fifty children return from the main() that they began in their parent.
        self.assert_returns(recording, main=51, start_child=250)
        lines = {tuple(process.manifest["command_line"]) for process in recording.processes}
        self.assertEqual(len(lines), 1)

    def case_other_namespace(self):
        self.go_apart()
        self.case_storm()

    @for_kinds(*GCC)
    def case_no_follow(self):
        recording = self.record(options=("--no-follow",))
        self.assertEqual(len(recording.processes), 1)
        self.assert_calls(recording, main=1, start_child=200, work=400, leaf=400)
        self.assert_all_returned(recording)


class ChildEnds(Case):
    """The thread of a forked child ends before the child does."""
    program = Program("childends.c")

    def case_follow(self):
        recording = self.record()
        self.assert_calls(recording, main=1, many=2, work=100011)
        self.assert_returns(recording, main=1, many=2, work=100011)

    def case_no_follow(self):
        recording = self.record(options=("--no-follow",))
        self.assertEqual(len(recording.processes), 1)
        self.assert_calls(recording, main=1, many=2, work=100010)
        self.assert_all_returned(recording)
        self.assertEqual(self.recorded.side("patched"), 0)


class Sandbox(Case):
    """Children that see less of the system than the launcher does."""
    program = Program("sandbox.c")

    def verify(self, way):
        recording = self.record(way)
        if self.recorded.status == 77:
            self.skipTest("cannot make namespaces")
        self.assert_calls(recording, main=1, enter=1, be_child=3, work=30000, in_thread=3)
        self.assert_returns(recording, main=1, enter=4, be_child=3, work=30000, in_thread=3)
        self.assertEqual(dict(recording.exceptions), {})
        self.assertEqual(len({process.pid for process in recording.processes}), 5)
        self.assertEqual({process.pid for process in recording.processes} & {0, 1, 2, 3, 4}, set())

    def case_chroot(self):
        self.verify("chroot")

    def case_own_proc(self):
        self.verify("apart,proc")

    def case_apart_in_chroot(self):
        self.verify("apart,chroot")

    @for_kinds(*GCC)
    def case_twins(self):
        """Two of the same id, each in a namespace of its own, and nothing that tells them apart."""
        recorded = run(self.command("twins"), self.place)
        if recorded.status == 77:
            self.skipTest("cannot make namespaces")
        self.assertEqual(recorded.outcome()[:2], (0, "done\n"))
        self.assertIn("2 processes in a namespace of their own could not be told from others",
                      recorded.outcome()[2])
        recording = self.read()
        self.assert_calls(recording, main=1, enter_as_twin=2, work=0)


class ForkBusy(Case):
    """Forks of a thread that has written a lot which is not read yet."""
    program = Program("forkbusy.c")

    def verify(self, preexec=None):
        recording = self.record(preexec=preexec)
        # Each child begins in the calls that its parent was in, and returns from them.
        self.assert_calls(recording, main=1, start_child=40, leaf=240000)
        self.assert_returns(recording, main=41, start_child=80, leaf=240000)
        self.assertEqual(dict(recording.exceptions), {})

    def case_fork(self):
        self.verify()

    @for_kinds(*GCC)
    def case_no_membarrier(self):
        self.verify(refuse_membarrier)


class ThreadFork(Case):
    """Forks in the midst of other threads' calls."""
    program = Program("threadfork.c")

    def case_fork(self):
        recording = self.record()
        self.assert_calls(recording, main=1, one_child=40, child=40, child_leaf=440,
                          child_thread=40)
        self.assert_returns(recording, main=1, one_child=40, child=0, child_leaf=440,
                            child_thread=40)
        self.assertEqual(dict(recording.exceptions), {})
        self.assertEqual(len({process.pid for process in recording.processes}), 41)


class ExecChain(Case):
    """Ten programs one after the other in one process."""
    program = Program("execchain.c")

    def verify(self, way):
        recording = self.record(way)
        self.assert_calls(recording, main=11, hop=10, step=11)
        self.assert_returns(recording, main=1, hop=0, step=11)
        self.assertEqual(len({process.pid for process in recording.processes}), 1)
        arguments = [process.manifest["command_line"][1:] for process in recording.processes]
        self.assertEqual(sorted(arguments), [[way], *([way, str(n)] for n in range(10))])

    def case_plain(self):
        self.verify("plain")

    def case_shell(self):
        self.verify("shell")


class Spawn(Case):
    """Children by every other way to start one."""
    program = Program("spawn.c")
    kinds = EVERY

    def case_spawn(self):
        recording = self.record()
        self.assert_calls(recording, main=13, child_work=12, child_leaf=60, by_vfork=3,
                          by_vfork_failing=3, by_spawn=3, by_system=3, by_popen=3)
        self.assert_all_returned(recording)
        workers = {process.pid for process in recording.processes
                   if "child_work" in process.names.values()}
        self.assertEqual(len(workers), 12)


class Plugins(Case):
    """Two libraries that take each other's place in memory."""
    program = Program("plugins.c", plugins=(
        ("alpha", "plugin.c", "-DNAME=alpha", "-DFACTOR=2"),
        ("beta", "plugin.c", "-DNAME=beta", "-DFACTOR=3")))

    def case_plugins(self):
        recording = self.record(self.folder)
        self.assert_calls(recording, main=1, use=200)
        self.assert_all_returned(recording)
        for name in ("alpha", "beta"):
            found = {}
            for process in recording.processes:
                for function, symbol in process.symbols.items():
                    path = process.modules[function >> 32]["path"]
                    if os.path.basename(path) == f"lib{name}.so":
                        found[symbol["name"]] = recording.ids[RETURN][path, function & 0xFFFFFFFF]
            expected = {"helper": 300, name + "_init": 100, name + "_run": 100,
                        name + "_fini": 100}
            if self.patched and name + "_init" not in found:
                # Constructors run before anybody can patch them.
                expected["helper"] = 200
                del expected[name + "_init"]
            self.assertEqual(found, expected)
