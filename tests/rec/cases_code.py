# SPDX-License-Identifier: Apache-2.0
"""What compilers make of calls: inlining, alloca, tail calls, C++ names, static functions of one
name, and everything that a call carries in registers."""
import os

from harness import CALL, EVERY, GCC, PROGRAMS, RETURN, Case, Program, for_kinds


def flatten(tree, hidden, depth=0):
    """The events of a tree (name, children...) without the functions that are hidden."""
    name, *children = tree
    shown = name not in hidden
    events = [(CALL, name, depth)] if shown else []
    for child in children:
        events += flatten(child, hidden, depth + shown)
    return events + ([(RETURN, name, depth)] if shown else [])


class Inlined(Case):
    """Functions in one another's frames nest as the source says."""
    program = Program("inlined.c", flags=("-O2",))
    kinds = EVERY

    def case_nesting(self):
        inner, leaf = ("inner",), ("real_leaf",)
        middle = ("middle", inner, leaf, inner)
        outer = ("outer", middle, middle, inner)

        def recursive(left):
            return ("recursive", inner, *([recursive(left - 1)] if left else []), middle)

        tree = ("main", outer, outer, recursive(2))
        hidden = () if self.kind.startswith("a-") else ("inner", "middle", "outer")
        track, = self.record().tracks
        base = min(track.depths)
        found = [(kind, name, depth - base) for kind, name, depth in track.events()]
        self.assertEqual(found, flatten(tree, hidden))


class Alloca(Case):
    """The stack pointer moves while a function runs."""
    program = Program("alloca.c")
    kinds = EVERY

    def case_alloca(self):
        recording = self.record()
        self.assert_truth(recording)
        self.assert_all_returned(recording)
        self.assertEqual(recording.depths("variable"), set(range(1, 8)))
        self.assertEqual(recording.depths("recursive"), set(range(1, 12)))
        self.assertEqual(recording.depths("growing"), {1} | set(range(2, 13)))


class Tail(Case):
    """One return instruction ends many calls; an exit hook is jumped to."""
    program = Program("tail.c", flags=("-O2",))
    kinds = EVERY

    def case_tail(self):
        recording = self.record()
        self.assert_truth(recording)
        self.assert_all_returned(recording)
        self.assert_calls(recording, main=1, even=10 * (501 + 6), odd=10 * (500 + 5), first=20,
                          second=20, last=20, normal=10)
        self.assertEqual(max(recording.depths("even")), 1001)
        self.assertEqual(recording.depths("normal"), {1})
        self.assertEqual(recording.depths("last"), {3, 4})


class Names(Case):
    """Demangled names with the raw name kept; files and lines."""
    program = Program("names.cpp", "names_other.cpp")
    kinds = EVERY

    def case_names(self):
        recording = self.record()
        self.assert_truth(recording)
        self.assert_all_returned(recording)
        symbols = recording.processes[0].symbols.values()
        names = {symbol["name"] for symbol in symbols}
        for name in ("int twice<int>(int)", "double twice<double>(double)",
                     "outer::Box<long, 7>::scaled() const", "overloaded(int)",
                     "overloaded(char const*)", "main", "other_static()",
                     "outer::(anonymous namespace)::Pair::operator+("
                     "outer::(anonymous namespace)::Pair const&) const"):
            self.assertIn(name, names)
        self.assertTrue(any(name.endswith("operator()(int) const") for name in names), names)
        raw = {symbol["name"]: symbol.get("raw_name") for symbol in symbols}
        self.assertEqual(raw["overloaded(char const*)"], "_ZL10overloadedPKc")
        self.assertIn(raw["main"], (None, "main"))
        self.check_lines(symbols)

    def check_lines(self, symbols):
        places = sorted((symbol["file"], symbol["line"]) for symbol in symbols
                        if symbol["name"] == "same_name()")
        expected = sorted((os.path.join(PROGRAMS, name),
                           self.line(name, "FN static int same_name()"))
                          for name in ("names.cpp", "names_other.cpp"))
        self.assertEqual(places, expected)
        for name, text in (("main", "int main()"), ("overloaded(int)", "int overloaded(int"),
                           ("int twice<int>(int)", "FN T twice(T value)"),
                           ("outer::Box<long, 7>::scaled() const", "FN T scaled() const")):
            symbol, = [symbol for symbol in symbols if symbol["name"] == name]
            self.assertEqual((os.path.basename(symbol["file"]), symbol["line"]),
                             ("names.cpp", self.line("names.cpp", text)), name)

    @staticmethod
    def line(name, text):
        with open(os.path.join(PROGRAMS, name), encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if text in line:
                    return number
        raise AssertionError(text)


class Comdat(Case):
    """Functions that several files have. g++ before 13 lists the patchable entries of a file all
    together: the linker drops the list with the first of them, or complains of others in it that
    it dropped."""
    program = Program("comdat.cpp", "comdat_after.cpp", "comdat_before.cpp",
                      flags=("-O1", "-Wl,--noinhibit-exec"), quiet=False)
    kinds = EVERY

    def case_comdat(self):
        recording = self.record()
        self.assert_truth(recording)
        self.assert_all_returned(recording)


class Backtrace(Case):
    """A program that looks at its own stack sees its own callers."""
    program = Program("backtrace.c", flags=("-O1", "-fno-optimize-sibling-calls"))
    kinds = EVERY

    def case_backtrace(self):
        recording = self.record()
        self.assertGreaterEqual(self.plain.stdout.count(" "), 3 * (7 + 6) + 1)
        self.assertNotIn("nowhere", self.plain.stdout)
        self.assert_calls(recording, main=1, deep=18, handler=3, show=7)
        self.assert_all_returned(recording)


class Preserve(Case):
    """Vectors, x87 numbers, the static chain: all arrive, recorded or not."""
    program = Program("preserve.c")
    kinds = EVERY

    def case_registers(self):
        recording = self.record()
        self.assertEqual(self.plain.stdout, "0 wrong\n")
        self.assert_truth(recording)
        self.assert_all_returned(recording)

    @for_kinds(*GCC)
    def case_registers_with_detail(self):
        recording = self.record(options=("--detail", "--stack-bytes", "256"))
        self.assert_all_returned(recording)

    @for_kinds(*GCC)
    def case_registers_with_small_ring(self):
        recording = self.record(options=("--ring-size", "64K"))
        self.assert_all_returned(recording)
