# SPDX-License-Identifier: Apache-2.0
"""sonde-mpi: many processes give the bytes that one gives, failures are told once, nothing is left behind."""
import os
import shutil
import signal
import subprocess
import time
import unittest

import tap
from hpcrun_writer import write_folder
from sonde_case import SONDE, SondeCase

SONDE_MPI = os.environ.get("SONDE_MPI", "")
TEAM_CHECK = os.environ.get("MPI_TEAM_CHECK", "")
GENERATOR = os.environ.get("HPCRUN_GENERATOR", "")
SECONDS = 120  # after which something hangs
RANKS = (2, 4)

# Few processors, root, no network, no rights to look into other processes: Open MPI works in a container with this.
ENVIRONMENT = {
    "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0",  # of MPI itself
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_btl": "self,vader",
    "OMPI_MCA_btl_base_warn_component_unused": "0",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_mca_base_component_show_load_errors": "0",
    "OMPI_MCA_opal_warn_on_missing_libcuda": "0",
    "OMPI_MCA_plm_rsh_agent": "/bin/true",
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PMIX_MCA_gds": "hash",
    "PMIX_MCA_psec": "native",
    "PRTE_ALLOW_RUN_AS_ROOT": "1",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "TMPDIR": "/tmp",  # paths of sockets are short
}


def launcher():
    """mpirun of the MPI that sonde-mpi is linked with, where several are installed; None: there is none."""
    done = subprocess.run([SONDE_MPI, "--version"], stdout=subprocess.PIPE, check=True, env=environment())
    kind = "openmpi" if b"Open MPI" in done.stdout else "mpich"
    for name in (f"mpirun.{kind}", "mpirun", "mpiexec"):
        if shutil.which(name):
            return [name]
    return None


def environment():
    return {**os.environ, **ENVIRONMENT}


def files_of(folder):
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = file.read()
    return found


def children_of(pid):
    """Processes below one, at any depth."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        direct = [int(word) for word in file.read().split()]
    found = list(direct)
    for child in direct:
        try:
            found += children_of(child)
        except OSError:
            pass
    return found


@unittest.skipUnless(SONDE_MPI, "sonde-mpi was not built: no MPI here (libopenmpi-dev)")
class MpiCase(SondeCase):
    @classmethod
    def setUpClass(cls):
        cls.launcher = launcher()

    def setUp(self):
        super().setUp()
        if not self.launcher:
            self.skipTest("no mpirun here (openmpi-bin)")
        self.out = self.path("out")
        os.mkdir(self.out)

    def command(self, ranks, *arguments, program=None):
        launch = [*self.launcher, "-n", str(ranks)] if ranks else []
        return [*launch, program or SONDE_MPI, *arguments]

    def mpi(self, ranks, *arguments, program=None):
        done = subprocess.run(self.command(ranks, *arguments, program=program), check=False, timeout=SECONDS,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=environment())
        done.text = done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace")
        return done

    def start(self, ranks, *arguments, program=None):
        process = subprocess.Popen(self.command(ranks, *arguments, program=program), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment())
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        return process

    def assert_nothing_left(self, *names):
        """The output's folder has only these names; what is removed may go a moment after mpirun."""
        for _ in range(100):
            if sorted(os.listdir(self.out)) == sorted(names):
                return
            time.sleep(0.05)
        self.assertEqual(sorted(os.listdir(self.out)), sorted(names))


class Team(MpiCase):
    """The calls that a team is made of, without a command."""

    def check(self, ranks, *arguments):
        return self.mpi(ranks, *arguments, program=TEAM_CHECK)

    def test_numbers_bytes_and_failures_reach_every_rank(self):
        for ranks in (0, 1, 3, 4):
            with self.subTest(ranks=ranks):
                done = self.check(ranks)
                self.assertEqual(done.returncode, 0, done.text)
                count = ranks or 1
                self.assertEqual(sorted(done.stdout.decode().split("\n"))[1:],
                                 [f"rank {rank} of {count}: 0" for rank in range(count)])

    def test_a_killed_rank_leaves_nothing(self):
        for victim in (0, 2):
            with self.subTest(victim=victim):
                done = self.check(4, os.path.join(self.out, "target"), str(victim))
                self.assertNotEqual(done.returncode, 0, done.text)
                self.assertIn("staged", done.text)
                self.assert_nothing_left()

    def test_a_rank_that_leaves_alone_ends_all(self):
        done = self.check(3, "leave")
        self.assertEqual(done.returncode, 7, done.text)


class Prof(MpiCase):
    def prof(self, ranks, *arguments):
        return self.mpi(ranks, "prof", *arguments)

    def single(self, *arguments, expect=(0,)):
        """One process, without MPI: what the others must equal."""
        target = self.path("single.d")
        self.sonde("prof", "-q", *arguments, "-o", target, expect=expect)
        return files_of(target)

    def assert_same(self, single, ranks, *arguments, expect=0):
        target = os.path.join(self.out, f"team{ranks}.d")
        done = self.prof(ranks, *arguments, "-o", target)
        self.assertEqual(done.returncode, expect, done.text)
        written = files_of(target)
        self.assertEqual(sorted(written), sorted(single))
        for name, data in single.items():
            self.assertTrue(written[name] == data, f"{name} of {ranks} ranks differs")
        shutil.rmtree(target)
        self.assert_nothing_left()
        return done

    def test_a_thousand_threads_give_the_same_bytes(self):
        folder = self.path("app.m")
        write_folder(folder, threads=1000, tree=150, leaves=12, metrics=2, trace=6, ranks=20)
        single = self.single(folder)
        for ranks in (0, 1, *RANKS):
            with self.subTest(ranks=ranks):
                self.assert_same(single, ranks, folder)
        with self.subTest("with threads"):
            self.assert_same(single, 2, folder, "-j3")

    def test_odd_measurements_and_fewer_threads_than_ranks(self):
        odd, few = self.path("odd.m"), self.path("few.m")
        write_folder(odd, threads=7, tree=300, leaves=30, metrics=3, trace=20, ranks=2, odd=True)
        write_folder(few, threads=2, tree=50, leaves=5, trace=3)
        for inputs in ((odd,), (few,), (odd, few)):
            single = self.single(*inputs)
            shutil.rmtree(self.path("single.d"))
            for ranks in RANKS:
                with self.subTest(inputs=len(inputs), ranks=ranks):
                    self.assert_same(single, ranks, *inputs)

    def damage(self, folder, every):
        for number, name in enumerate(sorted(os.listdir(folder))):
            if name.endswith(".hpcrun") and number % every == 0:
                path = os.path.join(folder, name)
                os.truncate(path, os.path.getsize(path) // 2)

    def test_damaged_profiles_are_refused_as_by_one_process(self):
        folder, target = self.path("app.m"), self.path("one.d")
        write_folder(folder, threads=9, tree=60, leaves=8)
        self.damage(folder, 4)
        alone = self.run_sonde("prof", folder, "-o", target)
        self.assertIn(alone.returncode, (0, 1))
        for ranks in RANKS:
            with self.subTest(ranks=ranks):
                done = self.assert_same(files_of(target), ranks, folder, expect=alone.returncode)
                refused = [line for line in (alone.stdout + alone.stderr).decode().split("\n") if ".hpcrun" in line]
                self.assertTrue(refused)
                for line in refused:
                    self.assertEqual(done.text.count(line), 1, done.text)

    def assert_fails_once(self, message, ranks, *arguments, left=()):
        done = self.prof(ranks, *arguments)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.text.count(message), 1, done.text)
        self.assert_nothing_left(*left)

    def test_failures_are_told_once(self):
        folder, target = self.path("app.m"), os.path.join(self.out, "app.d")
        write_folder(folder, threads=4, tree=30, leaves=4)
        self.assert_fails_once("no-such-option", 4, folder, "--no-such-option", "-o", target)
        self.assert_fails_once("no such file or folder", 4, self.path("nothing.m"), "-o", target)
        self.assert_fails_once("does not exist", 4, folder, "-o", self.path("no", "folder", "app.d"))
        os.mkdir(target)
        with open(os.path.join(target, "mine"), "wb"):
            pass
        self.assert_fails_once("exists already", 4, folder, "-o", target, left=("app.d",))
        self.assertEqual(os.listdir(target), ["mine"])
        shutil.rmtree(target)
        self.damage(folder, 1)
        self.assert_fails_once("sonde: ", 4, folder, "-o", target)

    def big(self):
        """Work for some seconds."""
        folder = self.path("big.m")
        subprocess.run([GENERATOR, folder, "800", "40000", "4000", "3", "1000"], check=True)
        return folder

    def wait_for_work(self, process):
        """Until the output is being written; False where it was over before that was seen."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end and process.poll() is None:
            if any(".partial-" in name for name in os.listdir(self.out)):
                return True
            time.sleep(0.001)
        return False

    def ranks_below(self, process):
        """Process ids of the ranks; what a rank itself has started is none."""
        programs = {}
        for child in children_of(process.pid):
            try:
                with open(f"/proc/{child}/stat", encoding="ascii") as file:
                    name, rest = file.read().split("(", 1)[1].rsplit(")", 1)
                programs[child] = (name, int(rest.split()[1]))
            except OSError:
                pass
        ours = {child for child, (name, _) in programs.items() if name == "sonde-mpi"}
        return sorted(child for child in ours if programs[child][1] not in ours)

    def end_midway(self, ranks, end):
        target = os.path.join(self.out, "app.d")
        process = self.start(ranks, "prof", self.big(), "-o", target)
        self.assertTrue(self.wait_for_work(process), "the work was not seen")
        end(process)
        output = process.communicate(timeout=SECONDS)[0].decode(errors="replace")
        self.assertNotEqual(process.returncode, 0, output)
        self.assert_nothing_left()
        return output

    def test_a_killed_rank_leaves_no_database(self):
        for victim in (0, 3):
            with self.subTest(victim=victim):
                def kill(process, victim=victim):
                    os.kill(self.ranks_below(process)[victim], signal.SIGKILL)
                self.end_midway(4, kill)
                shutil.rmtree(self.folder)
                self.setUp()

    def test_mpirun_that_is_ended_leaves_no_database(self):
        self.end_midway(2, lambda process: process.send_signal(signal.SIGTERM))

    def test_help_needs_no_mpirun(self):
        done = self.mpi(0, "prof", "--help")
        self.assertEqual(done.returncode, 0, done.text)
        self.assertIn("mpirun", done.text)
        self.assertIn("sonde-mpi", self.mpi(0, "--version").text)


if __name__ == "__main__":
    tap.main()
