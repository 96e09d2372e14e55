# SPDX-License-Identifier: Apache-2.0
"""Details of calls and returns of a program whose arguments and results are known."""
import collections
import struct

from atf_reader import DETAIL_CALL, DETAIL_RETURN
from harness import BOTH, Case, Program, for_kinds, read_session, symbols_of

ARGUMENTS = ("rdi", "rsi", "rdx", "rcx", "r8", "r9")
STEP = 1 << 48 | 1  # between two numbers of stackbytes.c
LOW = {8: 0xFF, 16: 0xFFFF, 32: 0xFFFFFFFF, 64: 0xFFFFFFFFFFFFFFFF}


class Details(Case):
    """`--detail --stack-bytes 64`."""
    program = Program("details.c")
    options = ("--detail", "--stack-bytes", "64")

    def load(self):
        """Details by function: the payloads of its calls and of its returns, in order."""
        recording = self.record()
        self.assert_all_returned(recording)
        self.assert_truth(recording)
        session = read_session(self.session)
        self.assertEqual(session.problems, [])
        process, = session.processes
        self.module = next(module for module in process.manifest["modules"]
                           if module["path"] == self.path)
        calls, returns = collections.defaultdict(list), collections.defaultdict(list)
        names = {int(symbol["function_id"], 16): symbol["name"]
                 for symbol in process.manifest["symbols"]}
        thread, = process.threads
        self.assertEqual(len(thread.details), len(thread.events))
        for detail in thread.details:
            payload = detail.registers(thread.header["arch"])
            table = {DETAIL_CALL: calls, DETAIL_RETURN: returns}[detail.type]
            table[names[payload["function_id"]]].append(payload)
        return calls, returns

    def arguments(self, payload, *sizes):
        return [payload["registers"][name] & LOW[size] for name, size in zip(ARGUMENTS, sizes)]

    @for_kinds("b-gcc", "b-clang")
    def case_values(self):
        calls, returns = self.load()
        for payloads, flag in ((calls, 1), (returns, 2)):
            for name, values in payloads.items():
                self.assertTrue(all(value["flags"] & 3 == flag for value in values), name)
                self.assertTrue(all(value["stack_size"] == 64 for value in values), name)
        side = self.recorded.side
        self.assertEqual([self.arguments(value, 32, 32) for value in calls["add"]],
                         [[i & LOW[32], i * 1000 & LOW[32]] for i in range(-3, 4)])
        self.assertEqual([value["registers"]["rax"] & LOW[32] for value in returns["add"]],
                         [i * 1001 & LOW[32] for i in range(-3, 4)])
        self.expect(calls, returns, "wide", [-1, 0x123456789ABCDEF], -1 - 0x123456789ABCDEF)
        self.expect(calls, returns, "skip", [side("text")], side("skip"))
        self.expect(calls, returns, "six", [1, 2, 3, 4, 5, 6], 654321)
        self.expect(calls, returns, "make_small", [0x1234567890], 0x1234567890)
        self.assertEqual(returns["make_small"][0]["registers"]["rdx2"], -0x1234567890 & LOW[64])
        # A structure in memory: the caller says where, and gets that back.
        large = calls["make_large"][0]["registers"]
        self.assertEqual(large["rsi"], 42)
        self.assertEqual(returns["make_large"][0]["registers"]["rax"], large["rdi"])
        self.assertEqual(self.arguments(calls["narrow"][0], 8, 16), [-5 & 0xFF, 700])
        self.assertEqual(returns["narrow"][0]["registers"]["rax"] & 0xFF, 695 & 0xFF)
        self.expect(calls, returns, "nine", [1, 2, 3, 4, 5, 6],
                    21 + 0x7777777777 * 1000 - 80000 + 0x9999 * 100000)
        self.check_stack(calls["nine"][0])

    def expect(self, calls, returns, name, arguments, result):
        self.assertEqual(len(calls[name]), 1)
        self.assertEqual(self.arguments(calls[name][0], *[64] * len(arguments)),
                         [value & LOW[64] for value in arguments])
        self.assertEqual(returns[name][0]["registers"]["rax"], result & LOW[64], name)

    def check_stack(self, payload):
        """The stack pointer is that of the entry: the return address, then the other arguments."""
        values = struct.unpack_from("<8Q", payload["stack"])
        self.assertEqual(values[1:4], (0x7777777777, -8 & LOW[64], 0x9999))
        self.assertEqual(values[0], payload["registers"]["rip"], "the real return address")

    @for_kinds(*BOTH)
    def case_places(self):
        calls, returns = self.load()
        callers = {name: "caller" for name in ("add", "wide", "skip", "six", "nine", "narrow",
                                               "make_small", "make_large", "nothing")}
        callers["caller"] = "main"
        ranges = self.ranges()
        for payloads in (calls, returns):
            for name, values in payloads.items():
                for value in values:
                    self.check_place(name, callers.get(name), value["registers"], ranges)
        if not self.patched:
            for payloads in (calls, returns):
                for name, values in payloads.items():
                    for value in values:
                        self.assertEqual(value["flags"] & 3, 0, name)
                        self.assertEqual({value["registers"][register] for register in
                                          (*ARGUMENTS, "rax", "rdx2")}, {0}, name)
                        self.assertEqual(value["stack_size"], 64, name)

    def check_place(self, name, caller, registers, ranges):
        low, high = self.stack
        self.assertTrue(low <= registers["rsp"] < high, f"{name}: rsp {registers['rsp']:#x}")
        self.assertEqual(registers["rsp"] % 8, 0)
        if caller:
            begin, end = ranges[caller]
            site = registers["rip"] - int(self.module["base_address"], 16)
            self.assertTrue(begin < site <= end, f"{name}: called from {site:#x}, expected in "
                            f"{caller} {begin:#x}..{end:#x}")

    @property
    def stack(self):
        stack = self.recorded.side("large")
        return stack - (1 << 20), stack + (1 << 20)

    def ranges(self):
        addresses = sorted(symbols_of(self.path).items())
        ends = [address for address, _ in addresses[1:]] + [1 << 64]
        return {name: (address, end) for (address, names), end in zip(addresses, ends)
                for name in names}


class StackBytes(Case):
    """Stacks that look like records, in a ring that is used many times over."""
    program = Program("stackbytes.c")
    kinds = BOTH

    def record_stacks(self, size):
        """The stack bytes of the calls and returns of leaf()."""
        recording = self.record(options=("--detail", "--stack-bytes", str(size),
                                         "--ring-size", "64K", "--force"))
        self.assert_all_returned(recording)
        session = read_session(self.session)
        self.assertEqual(session.problems, [])
        process, = session.processes
        thread, = process.threads
        leaf, = (int(symbol["function_id"], 16) for symbol in process.manifest["symbols"]
                 if symbol["name"] == "leaf")
        payloads = [detail.registers(thread.header["arch"]) for detail in thread.details]
        self.assertEqual(len(thread.events), 2 * 3002)
        self.assertEqual(len(payloads), len(thread.events))
        stacks = [payload["stack"] for payload in payloads if payload["function_id"] == leaf]
        self.assertEqual(len(stacks), 2 * 3000)
        return stacks

    def case_numbers(self):
        # In records that are all kept free of such words, and in ones that are too long for that.
        for size in (128, 256):
            count = size // 8
            for stack in self.record_stacks(size):
                self.assertEqual(len(stack), size)
                values = struct.unpack(f"<{count}Q", stack)
                # The frame of caller() goes on beyond these bytes.
                first = next(i for i in range(count - 1)
                             if values[i] == self.number(0) == values[i + 1] - STEP)
                self.assertLess(first, count - 8)
                self.assertEqual(list(values[first:]),
                                 [self.number(i) for i in range(count - first)])

    def number(self, i):
        return 1 << 56 | 1 + i << 48 | 0xABCD00 | i

    def case_sizes(self):
        for size in (0, 8, 40, 100, 224):
            for stack in self.record_stacks(size):
                self.assertEqual(len(stack), size)
