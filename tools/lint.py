#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the sources: formatting, static analysis, shell scripts and a few rules of our own. Each
check counts one; the last line is exactly "N passed, N failed".

    tools/lint.py               all checks
    tools/lint.py --format      let clang-format rewrite the C sources instead
"""
import argparse
import concurrent.futures
import difflib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("BUILD", ROOT / "build")).absolute()
CORES = os.cpu_count() or 1
LINES_MAX = 1200

# Marks of work left undone, and of a machine it was done on.
BANNED = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX|HA" r"CK)\b|/ho" r"me/\w|/wo" r"rk/")
# Data and generated text: no rule about words or length applies.
DATA = ("tests/golden/atf/", "tests/golden/hpcdb/", "tests/golden/perf_script/",
        "tests/golden/uftrace/", "tests/golden/zts/", "tests/fuzz/corpus/", "LICENSE", "doc/img/")
SPDX_SUFFIXES = (".c", ".h", ".js", ".py", ".sh", ".map", ".in", ".awk")
SPDX_NAMES = ("meson.build", "meson_options.txt", "Makefile", "run")


class Skip(Exception):
    """The check cannot be made here; says why."""


def sources():
    """Every file of the tree that is ours, relative to the root."""
    if (ROOT / ".git").exists() and shutil.which("git"):
        done = subprocess.run(["git", "ls-files", "-z", "--cached", "--others",
                               "--exclude-standard"], cwd=ROOT, check=True,
                              stdout=subprocess.PIPE, text=True)
        names = [name for name in done.stdout.split("\0") if name]
    else:
        names = []
        for folder, folders, files in os.walk(ROOT):
            folders[:] = [name for name in folders
                          if not name.startswith("build")
                          and name not in (".git", "__pycache__", "demo", "node_modules")]
            names += [os.path.relpath(os.path.join(folder, name), ROOT) for name in files]
    return sorted(name for name in set(names) if (ROOT / name).is_file())


def c_sources():
    return [name for name in sources() if name.endswith((".c", ".h")) and not name.startswith(DATA)]


def run(command):
    """Runs a command; its output where it failed, else ''."""
    done = subprocess.run([str(part) for part in command], cwd=ROOT, check=False, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if done.returncode == 0:
        return ""
    return done.stdout or f"{command[0]} ended with {done.returncode}"


def tool_14(name):
    """The path of the tool in the version that our settings are made for."""
    path = shutil.which(f"{name}-14")
    if path:
        return path
    path = shutil.which(name)
    if path:
        done = subprocess.run([path, "--version"], check=False, stdout=subprocess.PIPE, text=True)
        if re.search(r"version 14\.", done.stdout):
            return path
    raise Skip(f"{name} 14 is not available here; other versions judge differently")


def check_format():
    """The differences as a patch, which is shorter to read than what --dry-run prints."""
    formatter = tool_14("clang-format")

    def one(name):
        text = (ROOT / name).read_text(encoding="utf-8")
        done = subprocess.run([formatter, name], cwd=ROOT, check=True, text=True,
                              stdout=subprocess.PIPE)
        return "".join(difflib.unified_diff(text.splitlines(True), done.stdout.splitlines(True),
                                            name, "as clang-format has it", n=1))

    with concurrent.futures.ThreadPoolExecutor(CORES) as pool:
        return "".join(pool.map(one, c_sources()))


def compile_commands():
    """The C files of the build, which is set up, or brought up to date: ninja does that."""
    exists = (BUILD / "build.ninja").exists()
    problem = run(["ninja", "-C", BUILD, "build.ninja"] if exists else ["meson", "setup", BUILD])
    # what is made by the build is looked at as well
    problem = problem or run(["ninja", "-C", BUILD, "src/cli/assets.c"])
    if problem:
        raise RuntimeError(problem)
    commands = json.loads((BUILD / "compile_commands.json").read_text())
    files = {os.path.relpath(os.path.join(entry["directory"], entry["file"]), ROOT)
             for entry in commands}
    return sorted(name for name in files if name.endswith(".c") and not name.startswith(".."))


def check_tidy():
    tidy = tool_14("clang-tidy")

    # Following every path takes nine tenths of the time: it is done within bounds, and not for tests, which
    # take their paths for real, under the sanitizers.
    arguments = ["-Wno-unknown-warning-option", "-Xclang", "-analyzer-config", "-Xclang", "mode=shallow"]

    def one(name):
        checks = ["--checks=-clang-analyzer-*"] if name.startswith(("tests/", "bench/")) else []
        return run([tidy, "-p", BUILD, "--quiet", *checks,
                    *[f"--extra-arg={argument}" for argument in arguments], name])

    with concurrent.futures.ThreadPoolExecutor(CORES) as pool:
        return "".join(pool.map(one, compile_commands()))


def check_cppcheck():
    compile_commands()
    folder = BUILD / "cppcheck"
    folder.mkdir(exist_ok=True)
    return run(["cppcheck", f"--project={BUILD / 'compile_commands.json'}",
                f"--cppcheck-build-dir={folder}", "--enable=warning,performance,portability",
                "--inline-suppr", "--suppress=missingIncludeSystem",
                "-U__cplusplus", "-Uc_plusplus",  # the header of Open MPI has C++ in it
                "--suppress=*:/usr/include/*",  # which a library may add to the path
                "--quiet", "-j", CORES, "--error-exitcode=1"])


def check_shell():
    scripts = []
    for name in sources():
        if name.startswith(DATA):
            continue
        with open(ROOT / name, "rb") as file:
            first = file.readline(64)
        if name.endswith(".sh") or re.match(rb"#!.*\b(ba|da)?sh\b", first):
            scripts.append(name)
    return run(["shellcheck", "-x", *scripts])


def text_lines():
    """(name, line number, line) of every text file that is not data."""
    for name in sources():
        if name.startswith(DATA):
            continue
        try:
            text = (ROOT / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.split("\n"), 1):
            yield name, number, line


def check_words():
    return "".join(f"{name}:{number}: {line.strip()}\n" for name, number, line in text_lines()
                   if BANNED.search(line))


def check_whitespace():
    return "".join(f"{name}:{number}: space at the end of the line\n"
                   for name, number, line in text_lines() if re.search(r"[ \t\r]$", line))


def check_length():
    lines = {}
    for name, number, _ in text_lines():
        lines[name] = number
    return "".join(f"{name}: {count} lines, more than {LINES_MAX}\n"
                   for name, count in lines.items() if count > LINES_MAX)


def check_spdx():
    missing = []
    for name in sources():
        if name.startswith(DATA):
            continue
        if not (name.endswith(SPDX_SUFFIXES) or os.path.basename(name) in SPDX_NAMES):
            continue
        head = (ROOT / name).read_text(encoding="utf-8").split("\n")[:3]
        if not any("SPDX-License-Identifier: Apache-2.0" in line for line in head):
            missing.append(f"{name}: no SPDX line at its top\n")
    return "".join(missing)


CHECKS = [
    ("formatting (clang-format)", check_format),
    ("static analysis (clang-tidy)", check_tidy),
    ("static analysis (cppcheck)", check_cppcheck),
    ("shell scripts (shellcheck)", check_shell),
    ("words that must not stay", check_words),
    ("no space at line ends", check_whitespace),
    (f"no file over {LINES_MAX} lines", check_length),
    ("SPDX lines", check_spdx),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--format", action="store_true", help="rewrite the C sources")
    if parser.parse_args().format:
        problem = run([tool_14("clang-format"), "-i", *c_sources()])
        print(problem, end="")
        return 1 if problem else 0

    passed = failed = skipped = 0
    for title, check in CHECKS:
        try:
            findings = check()
        except Skip as reason:
            skipped += 1
            print(f"  skip  {title}: {reason}", flush=True)
            continue
        except RuntimeError as problem:
            findings = str(problem)
        if findings:
            failed += 1
            print(f"  FAIL  {title}\n{findings.rstrip()}", flush=True)
        else:
            passed += 1
            print(f"  ok    {title}", flush=True)
    if skipped:
        print(f"{skipped} skipped")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
