# SPDX-License-Identifier: Apache-2.0
"""Writes sets of runs of a made-up program as ATF sessions, for comparisons: every function has a cost
and a noise of its own, every run a speed, and now and then something interrupts a function. One
function can be made slower. The same seed gives the same runs.

    make_runs.py FOLDER [--runs 10] [--functions 500] [--seed 1] [--slow 0.05]

writes FOLDER/a0 ... and FOLDER/b0 ..., and says which function is slower in b.
"""
import argparse
import os
import random

from atf_reader import CALL, NONE, RETURN
from atf_writer import ThreadWriter, function_id, manifest_of, write_process

FUNCTIONS_A_STAGE = 25


class Program:
    """`main` calls stages, each stage its functions, each function `calls` times."""

    def __init__(self, seed, functions=500, noise=(0.01, 0.02), speed=0.03, interrupts=0.001):
        choice = random.Random(seed)
        self.functions, self.speed, self.interrupts = functions, speed, interrupts
        self.costs = [choice.lognormvariate(0, 1) * 100_000 for _ in range(functions)]
        self.noises = [choice.uniform(*noise) for _ in range(functions)]
        self.calls = [choice.randint(1, 4) for _ in range(functions)]
        self.stages = (functions + FUNCTIONS_A_STAGE - 1) // FUNCTIONS_A_STAGE
        self.slow = choice.randrange(functions)
        self.random = random.Random(seed + 1_000_003)

    def name(self, number):
        return f"work_{number:03}"

    def names(self):
        names = {1: "main"}
        names.update({2 + stage: f"stage_{stage:02}" for stage in range(self.stages)})
        names.update({1000 + number: self.name(number) for number in range(self.functions)})
        return names

    def spent(self, number, speed, slower):
        """The nanoseconds of one function in one run."""
        cost = self.costs[number] * speed * self.random.lognormvariate(0, self.noises[number])
        if self.random.random() < self.interrupts:
            cost *= self.random.uniform(1.1, 2)
        return cost * (1 + slower if number == self.slow else 1)

    def write(self, folder, slower=0.0):
        """One run."""
        speed = self.random.lognormvariate(0, self.speed)
        thread = ThreadWriter(0)
        events, time = thread.events, 1_000_000

        def put(kind, function, depth):
            events.append((time, function_id(function), 0, kind, depth, NONE))

        put(CALL, 1, 1)
        for stage in range(self.stages):
            time += int(1000 * speed)
            put(CALL, 2 + stage, 2)
            first = stage * FUNCTIONS_A_STAGE
            for number in range(first, min(first + FUNCTIONS_A_STAGE, self.functions)):
                each = int(self.spent(number, speed, slower) / self.calls[number])
                for _ in range(self.calls[number]):
                    time += int(40 * speed)
                    put(CALL, 1000 + number, 3)
                    time += each
                    put(RETURN, 1000 + number, 3)
            put(RETURN, 2 + stage, 2)
        put(RETURN, 1, 1)
        write_process(folder, [thread], manifest_of([thread], self.names()))
        return folder

    def sets(self, folder, runs, slower=0.0):
        """The paths of both sets; the second is slower in one function."""
        return ([self.write(os.path.join(folder, f"a{run}")) for run in range(runs)],
                [self.write(os.path.join(folder, f"b{run}"), slower) for run in range(runs)])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--functions", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--slow", type=float, default=0.05)
    arguments = parser.parse_args()
    program = Program(arguments.seed, arguments.functions)
    program.sets(arguments.folder, arguments.runs, arguments.slow)
    print(program.name(program.slow))


if __name__ == "__main__":
    main()
