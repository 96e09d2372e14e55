#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The library as others meet it: what it exports, headers that stand on their own, and an
installed tree that a program finds through pkg-config. SOURCE_ROOT and BUILD_ROOT say where.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.environ["SOURCE_ROOT"], "tests", "interop"))
import tap  # noqa: E402 pylint: disable=wrong-import-position

SOURCE = os.environ["SOURCE_ROOT"]
BUILD = os.environ["BUILD_ROOT"]
INCLUDE = os.path.join(SOURCE, "include")
HEADERS = sorted(glob.glob(os.path.join(INCLUDE, "sonde", "*.h")))
SANITIZED = os.environ.get("SANITIZED") == "1"

PROGRAM = """
#include <sonde/sonde.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	struct sonde_recording *recording;
	struct sonde_error err;

	if (argc < 2 || sonde_recording_open(argv[1], NULL, &recording, &err))
		return 1;
	printf("%s %llu\\n", sonde_version(),
	       (unsigned long long)sonde_recording_event_count(recording));
	sonde_recording_close(recording);
	return 0;
}
"""


def run(command, **options):
    return subprocess.run(command, check=False, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)


RUNTIME_HEADERS = [os.path.join(INCLUDE, "sonde", name) for name in ("annotate.h", "record.h")]
LIBRARY_HEADERS = [header for header in HEADERS if header not in RUNTIME_HEADERS]
# What libsonde-rt.so has besides: what compilers and a sanitizer call, a variable, and functions that it
# stands in for.
RUNTIME_HOOKS = {"__asan_default_options", "__cyg_profile_func_enter", "__cyg_profile_func_exit",
                 "sonde_annotate_on"}
RUNTIME_WRAPPED = {
    "__cxa_begin_catch", "__cxa_rethrow", "__cxa_throw", "__longjmp_chk", "_Unwind_Backtrace",
    "_longjmp", "backtrace", "dlclose", "dlmopen", "dlopen", "dlsym", "fork", "longjmp", "pthread_create",
    "pthread_exit", "setcontext", "sigaltstack", "siglongjmp", "swapcontext",
}


def declared_functions(headers):
    """Every function that these headers declare and do not define inline."""
    names = set()
    for header in headers:
        done = run(["cc", "-E", "-P", "-I", INCLUDE, "-x", "c", header])
        assert done.returncode == 0, done.stdout
        text = re.sub(r"__attribute__\s*\(\(.*?\)\)(?=\s*[;{])", "", done.stdout, flags=re.S)
        text = re.sub(r"\bstatic\b[^;{]*\{", "{", text)
        text = re.sub(r"\{[^{}]*\}", "{}", text)
        while re.search(r"\{[^{}]*\{\}[^{}]*\}", text):
            text = re.sub(r"\{[^{}]*\{\}[^{}]*\}", "{}", text)
        for statement in re.split(r"[;}]", text):
            if "typedef" in statement:
                continue
            match = re.search(r"\b(sonde_\w+)\s*\(", statement)
            if match:
                names.add(match.group(1))
    return names


class Exports(unittest.TestCase):
    def exported(self, name):
        library = os.path.join(BUILD, name)
        done = run(["nm", "-D", "--defined-only", "--without-symbol-versions", library])
        self.assertEqual(done.returncode, 0, done.stdout)
        symbols = [line.split() for line in done.stdout.splitlines()]
        return {name for *_, kind, name in symbols if kind != "A"}

    def test_functions_are_found_in_the_headers(self):
        names = declared_functions(HEADERS)
        for name in ("sonde_version", "sonde_fail", "sonde_definitions_add_function",
                     "sonde_definitions_track_count", "sonde_recording_open", "sonde_check",
                     "sonde_record_mark"):
            self.assertIn(name, names)
        for name in ("sonde_event_leaves", "sonde_progress_function", "sonde_status"):
            self.assertNotIn(name, names)

    def test_exports_are_exactly_the_declared_functions(self):
        self.assertEqual(sorted(self.exported("libsonde.so.0")),
                         sorted(declared_functions(LIBRARY_HEADERS)))

    def test_exports_of_the_runtime(self):
        expected = declared_functions(RUNTIME_HEADERS) | RUNTIME_HOOKS | RUNTIME_WRAPPED
        self.assertEqual(sorted(self.exported("libsonde-rt.so")), sorted(expected))

    def test_runtime_brings_nothing_along(self):
        done = run(["readelf", "-dW", os.path.join(BUILD, "libsonde-rt.so")])
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", done.stdout)
        self.assertLessEqual(set(needed), {"libc.so.6", "ld-linux-x86-64.so.2"})

    def test_library_needs_no_more_than_it_says(self):
        done = run(["readelf", "-d", os.path.join(BUILD, "libsonde.so.0")])
        self.assertIn("soname: [libsonde.so.0]", done.stdout)


class Headers(unittest.TestCase):
    def compile_alone(self, compiler, standard, language):
        for header in HEADERS:
            with self.subTest(os.path.basename(header)):
                done = self.include_only(compiler, standard, language, header)
                self.assertEqual(done.returncode, 0, done.stdout)

    @staticmethod
    def include_only(compiler, standard, language, header):
        with tempfile.NamedTemporaryFile("w", suffix=".c") as source:
            source.write(f"#include <sonde/{os.path.basename(header)}>\n"
                         f"#include <sonde/{os.path.basename(header)}>\n"
                         "extern int not_empty;\n")
            source.flush()
            return run([compiler, f"-std={standard}", "-pedantic", "-Wall", "-Wextra", "-Werror",
                        "-fsyntax-only", "-I", INCLUDE, "-x", language, source.name])

    def test_each_as_c11(self):
        self.compile_alone("cc", "c11", "c")

    def test_each_as_c17_with_gnu_extensions(self):
        self.compile_alone("cc", "gnu17", "c")

    def test_each_as_cpp17(self):
        compiler = shutil.which("clang++") or shutil.which("g++")
        if not compiler:
            self.skipTest("no C++ compiler here")
        self.compile_alone(compiler, "c++17", "c++")


class Installed(unittest.TestCase):
    """meson install below a folder, then a program that knows only pkg-config."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="sonde-install-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        done = run(["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", cls.folder])
        assert done.returncode == 0, done.stdout
        found = glob.glob(os.path.join(cls.folder, "**", "sonde.pc"), recursive=True)
        assert len(found) == 1, found
        cls.pkgconfig = os.path.dirname(found[0])
        cls.libraries = os.path.dirname(cls.pkgconfig)

    def file(self, *pattern):
        found = glob.glob(os.path.join(self.folder, "**", *pattern), recursive=True)
        self.assertEqual(len(found), 1, pattern)
        return found[0]

    def pkg_config(self, *arguments):
        environment = dict(os.environ, PKG_CONFIG_SYSROOT_DIR=self.folder,
                           PKG_CONFIG_LIBDIR=self.pkgconfig + ":" + run(
                               ["pkg-config", "--variable", "pc_path", "pkg-config"]).stdout.strip())
        done = run(["pkg-config", *arguments, "sonde"], env=environment)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout.split()

    def build_and_run(self, text, flags, **environment):
        """What a program prints about a golden recording of 4000 events."""
        source, program = (os.path.join(self.folder, name) for name in ("tiny.c", "tiny"))
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        done = run(["cc", "-std=c11", "-Wall", "-Werror", source, "-o", program, *flags])
        self.assertEqual(done.returncode, 0, done.stdout)
        golden = os.path.join(os.environ["GOLDEN"], "atf", "normal")
        done = run([program, golden], env=dict(os.environ, **environment))
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    @unittest.skipIf(SANITIZED, "the library needs the sanitizer's run time here")
    def test_program_with_the_shared_library(self):
        printed = self.build_and_run(PROGRAM, self.pkg_config("--cflags", "--libs"),
                                     LD_LIBRARY_PATH=self.libraries)
        self.assertEqual(printed.split(), self.pkg_config("--modversion") + ["4000"])

    @unittest.skipIf(SANITIZED, "the library needs the sanitizer's run time here")
    def test_example_of_the_readme(self):
        with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as file:
            blocks = re.findall(r"^```c\n(.*?)^```", file.read(), re.M | re.S)
        example, = [block for block in blocks if "int main(" in block]
        printed = self.build_and_run(example, self.pkg_config("--cflags", "--libs"),
                                     LD_LIBRARY_PATH=self.libraries)
        times = [int(line.split()[0]) for line in printed.splitlines()]
        self.assertEqual(times, sorted(times))
        self.assertGreater(len(times), 1500)
        self.assertIn(" handle_request\n", printed)

    @unittest.skipIf(SANITIZED, "the library needs the sanitizer's run time here")
    def test_program_with_the_static_library(self):
        flags = [flag if flag != "-lsonde" else self.file("libsonde.a")
                 for flag in self.pkg_config("--cflags", "--libs", "--static")]
        printed = self.build_and_run(PROGRAM, flags)
        self.assertEqual(printed.split(), self.pkg_config("--modversion") + ["4000"])

    def test_what_is_installed(self):
        for header in HEADERS:
            self.file("include", "sonde", os.path.basename(header))
        for library in ("libsonde", "libsonde-rt"):
            self.file(library + ".so.0")
            self.file(library + ".so")
            self.file(library + ".a")

    def test_command_completions_and_pages(self):
        if not os.path.exists(os.path.join(BUILD, "sonde")):
            self.skipTest("no command in this build")
        done = run([self.file("bin", "sonde"), "--version"])
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn(self.pkg_config("--modversion")[0], done.stdout)
        self.file("bash-completion", "completions", "sonde")
        self.file("zsh", "site-functions", "_sonde")
        self.file("fish", "vendor_completions.d", "sonde.fish")
        self.file("man1", "sonde.1")


if __name__ == "__main__":
    tap.main()
