"""serve(): the part that all Python programs of the comparison share, the twin of rival.cpp.

It parses the command line, fills and checks the arrays, takes the times and talks to the driver
(bench/README.md describes the conversation). A rival is any object with

    input      NumPy array, real or complex; forward() starts from it and backward() ends in it
    forward()  unscaled
    backward() scaled by 1/N
    zero_mode() the output at frequency zero; asked on rank 0 only
"""

import argparse
import json
import os
import sys
import time

import numpy as np

REPLY_MARK = "#bench "


class Unsupported(Exception):
    """A problem that a program cannot do; the driver shows the message in place of times."""


class NoMPI:
    """What serve() needs of a communicator, for libraries of one process."""

    rank = 0
    size = 1

    def barrier(self):
        pass

    def max(self, values):
        return values

    def sum(self, value):
        return value

    def gather(self, value):
        return [value]

    def share_command(self, command):
        return command


class WithMPI:
    """The same on MPI.COMM_WORLD; ranks that wait for a command sleep."""

    def __init__(self):
        from mpi4py import MPI

        self._mpi = MPI
        self._comm = MPI.COMM_WORLD.Dup()
        self.rank, self.size = self._comm.rank, self._comm.size

    def barrier(self):
        self._comm.Barrier()

    def max(self, values):
        result = np.empty_like(values)
        self._comm.Allreduce(values, result, op=self._mpi.MAX)
        return result

    def sum(self, value):
        return self._comm.allreduce(value)

    def gather(self, value):
        return self._comm.gather(value)

    def share_command(self, command):
        buffer = np.array(command, dtype="i8")
        request = self._comm.Ibcast(buffer, root=0)
        while not request.Test():
            time.sleep(0.001)
        return tuple(int(number) for number in buffer)


def parse():
    """The problem of the command line: shape, kind, precision, threads, options."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--shape", required=True)
    parser.add_argument("--kind", choices=("c2c", "r2c"), default="c2c")
    parser.add_argument("--precision", choices=("double", "single"), default="double")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--options", default="")
    parser.add_argument("--wisdom", default="")
    problem = parser.parse_args()
    problem.shape = tuple(int(extent) for extent in problem.shape.split("x"))
    problem.options = {option for option in problem.options.split(",") if option}
    problem.real_dtype = np.dtype("f8" if problem.precision == "double" else "f4")
    problem.complex_dtype = np.dtype("c16" if problem.precision == "double" else "c8")
    problem.input_dtype = problem.real_dtype if problem.kind == "r2c" else problem.complex_dtype
    problem.output_shape = (
        problem.shape[:-1] + (problem.shape[-1] // 2 + 1,)
        if problem.kind == "r2c"
        else problem.shape
    )
    return problem


def noise(problem, shape, rank):
    """The same numbers in [-0.5, 0.5) at every call, so that no copy of the input must be kept."""
    scalars = 1 if problem.kind == "r2c" else 2
    values = np.random.default_rng(rank).random(
        int(np.prod(shape)) * scalars, dtype=problem.real_dtype
    )
    values -= problem.real_dtype.type(0.5)
    return values.view(problem.input_dtype).reshape(shape)


def check(rival, problem, world):
    """The zero mode must be the sum of the input, and the input must come back."""
    expected = noise(problem, rival.input.shape, world.rank)
    rival.input[...] = expected
    total = world.sum(complex(expected.sum(dtype="c16")))
    rival.forward()
    error = (
        abs(complex(rival.zero_mode()) - total) / np.sqrt(np.prod(problem.shape))
        if world.rank == 0
        else 0.0
    )
    rival.backward()
    expected -= rival.input
    difference = expected.view(problem.real_dtype)  # its absolute value would be another array
    error = max(error, float(difference.max(initial=0.0)), -float(difference.min(initial=0.0)))
    error = float(world.max(np.array([error]))[0])
    # Compared this way round, so that a NaN is wrong too.
    if error < (1e-4 if problem.precision == "single" else 1e-12):
        return {"error": error}
    return {"failed": f"the result is wrong by {error}"}


def measure(rival, world, pairs):
    """N times forward and backward; a time is that of the slowest rank, which started after a barrier."""
    times = np.empty((2, pairs))
    for pair in range(pairs):
        for direction, transform in enumerate((rival.forward, rival.backward)):
            world.barrier()
            start = time.perf_counter()
            transform()
            times[direction, pair] = time.perf_counter() - start
        rival.input *= 1  # all programs touch the input here, whether they must scale or not
    times = world.max(times)
    return {"forward": times[0].tolist(), "backward": times[1].tolist()}


def next_command(world):
    command = (ord("q"), 0)
    if world.rank == 0:
        words = sys.stdin.readline().split()
        if words:
            command = (ord(words[0][0]), int(words[1]) if len(words) > 1 else 0)
    verb, count = world.share_command(command)
    return chr(verb), count


def serve(make, mpi=False):
    """Plans with make(problem), then obeys commands from standard input until "quit"."""
    problem = parse()
    world = WithMPI() if mpi else NoMPI()

    def reply(message):
        if world.rank == 0:
            print(REPLY_MARK + json.dumps(message), flush=True)

    start = time.perf_counter()
    try:
        rival = make(problem)
    except (Unsupported, ImportError, MemoryError, ValueError) as error:
        reply({"failed": str(error) or type(error).__name__})
        return
    seconds = float(world.max(np.array([time.perf_counter() - start]))[0])
    pids = world.gather(os.getpid())
    reply({"plan_s": seconds, "pids": pids})
    while True:
        verb, count = next_command(world)
        if verb == "q":
            return
        reply(check(rival, problem, world) if verb == "c" else measure(rival, world, count))
