#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs all tests and sums them up: gcc with -Werror, clang with address and undefined-behaviour
sanitizers, and a fuzz run of every target. The last line is exactly "N passed, N failed".

    tools/test.py               everything; FUZZ_SECONDS (5) for each fuzz target, which start
                                with the same seed and inputs each time
    tools/test.py --fuzz N      only the fuzz targets, N seconds each, with another seed each time
                                and what earlier runs found
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PREFIX = os.path.abspath(os.environ.get("BUILD", ROOT / "build"))
SANITIZE = ["-Db_sanitize=address,undefined", "-Db_lundef=false"]
CORES = os.cpu_count() or 1

TAP_PLAN = re.compile(r"^1\.\.\d+", re.M)
TAP_LINE = re.compile(r"^(not )?ok\b[^#\n]*(#\s*(skip|todo)\b)?", re.M | re.I)


class Tally:
    """Counts, and the names of what failed."""

    def __init__(self):
        self.passed = self.skipped = 0
        self.failures = []

    def add(self, other):
        self.passed += other.passed
        self.skipped += other.skipped
        self.failures += other.failures


def run(command, **options):
    return subprocess.run([str(part) for part in command], cwd=ROOT, check=False,
                          stdin=subprocess.DEVNULL, **options)


def build(folder, compiler, options, targets=()):
    """Configures where needed and builds; True where all went well."""
    environment = dict(os.environ, CC=compiler)
    options = ["-Dtests=enabled", *options]
    if (folder / "build.ninja").exists():
        steps = [["meson", "configure", folder, *options]]
    else:
        steps = [["meson", "setup", folder, *options]]
    steps.append(["ninja", "-C", folder, *targets])
    for step in steps:
        done = run(step, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                   text=True)
        if done.returncode:
            print(done.stdout)
            print(f"failed: {' '.join(map(str, step))}")
            return False
    return True


def count_test(entry, label, tally):
    """One meson test; where it speaks TAP each of its lines counts."""
    name = f"{label}: {entry['name']}"
    output = entry.get("stdout") or ""
    failed_before = len(tally.failures)
    if TAP_PLAN.search(output):
        for line in TAP_LINE.finditer(output):
            if line.group(2) and line.group(3).lower() == "skip":
                tally.skipped += 1
            elif line.group(1) and not line.group(2):
                tally.failures.append(f"{name}: {line.group(0).strip()}")
            else:
                tally.passed += 1
    elif entry["result"] in ("OK", "EXPECTEDFAIL"):
        tally.passed += 1
    elif entry["result"] == "SKIP":
        tally.skipped += 1
    bad = entry["result"] not in ("OK", "EXPECTEDFAIL", "SKIP")
    if bad:
        show_failure(name, output)
    if bad and len(tally.failures) == failed_before:
        tally.failures.append(f"{name}: {entry['result'].lower()}")


def show_failure(name, output):
    """What a failed test printed, apart from what went well; meson shows only its errors."""
    lines = [line for line in output.splitlines() if not re.match(r"ok\b", line)]
    print(f"-- {name}")
    for line in lines[:80]:
        print(f"   {line[:300]}")
    if len(lines) > 80:
        print(f"   ... {len(lines) - 80} more lines in the test log")


def run_tests(label, folder, compiler, options):
    tally = Tally()
    print(f"== {label}: build", flush=True)
    if not build(folder, compiler, options):
        tally.failures.append(f"{label}: build")
        return tally
    print(f"== {label}: tests", flush=True)
    log = folder / "meson-logs" / "testlog.json"
    log.unlink(missing_ok=True)
    done = run(["meson", "test", "-C", folder, "--no-rebuild", "--print-errorlogs",
                "--num-processes", CORES])
    if log.exists():
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
            count_test(json.loads(line), label, tally)
    if done.returncode and not tally.failures:
        tally.failures.append(f"{label}: meson test ended with {done.returncode}")
    return tally


def fuzz_seeds(folder):
    """Target name -> its seed folders, as the replay tests have them."""
    done = run(["meson", "introspect", "--tests", folder], stdout=subprocess.PIPE, text=True)
    tests = json.loads(done.stdout)
    return {test["name"][len("replay_"):]: [seed for seed in test["cmd"][1:]
                                            if os.path.exists(seed)]
            for test in tests if test["name"].startswith("replay_")}


def fuzz_one(folder, name, seeds, seconds, is_repeatable):
    """Fuzzes one target; the text to show where it failed, else None."""
    corpus = folder / ("corpus-fixed" if is_repeatable else "corpus") / name
    if is_repeatable:
        shutil.rmtree(corpus, ignore_errors=True)
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds):
        if os.path.isfile(seed):
            shutil.copy(seed, corpus / f"seed-{number}")
    folders = [seed for seed in seeds if os.path.isdir(seed)]
    command = [folder / "tests" / "fuzz" / f"fuzz_{name}", f"-max_total_time={seconds}",
               "-timeout=25", "-rss_limit_mb=2048", "-print_final_stats=1", "-verbosity=0",
               f"-seed={1 if is_repeatable else 0}",  # 0: a random one
               f"-artifact_prefix={folder}/{name}-", corpus, *folders]
    environment = dict(os.environ, UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1",
                       ASAN_OPTIONS="detect_leaks=1:allocator_may_return_null=1")
    done = run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
               text=True, errors="replace")
    runs = re.search(r"number_of_executed_units:\s*(\d+)", done.stdout)
    print(f"  {'FAIL' if done.returncode else 'ok'}  fuzz_{name}"
          f"  {runs.group(1) if runs else '?'} runs in {seconds} s", flush=True)
    return done.stdout[-6000:] if done.returncode else None


def run_fuzz(seconds, is_repeatable):
    tally = Tally()
    folder = pathlib.Path(PREFIX + "-fuzz")
    print(f"== fuzz: build, then {seconds} s for each target", flush=True)
    if not build(folder, "clang", ["-Dfuzz=true", *SANITIZE], ["fuzz-targets"]):
        tally.failures.append("fuzz: build")
        return tally
    seeds = fuzz_seeds(folder)
    with concurrent.futures.ThreadPoolExecutor(CORES) as pool:
        jobs = {name: pool.submit(fuzz_one, folder, name, seeds[name], seconds,
                                  is_repeatable)
                for name in sorted(seeds)}
    for name, job in jobs.items():
        if job.result() is None:
            tally.passed += 1
        else:
            print(job.result())
            tally.failures.append(f"fuzz: {name} (input kept in {folder})")
    return tally


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fuzz", type=int, metavar="SECONDS", help="only fuzz, that long each")
    arguments = parser.parse_args()
    start = time.monotonic()
    parts = []
    if arguments.fuzz is None:
        parts.append(("gcc", run_tests("gcc", pathlib.Path(PREFIX), "gcc", ["-Dwerror=true"])))
        parts.append(("clang, sanitizers",
                      run_tests("clang", pathlib.Path(PREFIX + "-asan"), "clang",
                                ["-Dwerror=true", *SANITIZE])))
        seconds = int(os.environ.get("FUZZ_SECONDS", "5"))
    else:
        seconds = arguments.fuzz
    parts.append(("fuzz", run_fuzz(seconds, arguments.fuzz is None)))

    total = Tally()
    print("\n== summary")
    for label, tally in parts:
        total.add(tally)
        print(f"  {label:<20}{tally.passed:>6} passed {len(tally.failures):>4} failed"
              f" {tally.skipped:>4} skipped")
    for failure in total.failures:
        print(f"  FAILED  {failure}")
    print(f"  in {time.monotonic() - start:.0f} s")
    print(f"{total.passed} passed, {len(total.failures)} failed")
    return 1 if total.failures else 0


if __name__ == "__main__":
    sys.exit(main())
