"""Measures the rows of one problem, interleaved: in every round each program is started, timed and ended.

Where a program's memory lies decides much of its times, for as long as it lives; so each round has new memory. Rows
that are compared with one another, the same options on ranks and on threads, are timed in turns while their programs
live side by side, so that a slow spell of the machine meets them all. What was timed while others used the cores, or
while these were slow, is thrown away and timed again, a few times; then the least disturbed is kept, and the row says
so.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
import statistics
import sys
import time

from .catalogue import Config, Library, Problem, Variant
from .process import BENCH, Failed, Program, cores
from .quiet import Pace, Watch

TURNS = 5  # of each program in a sample group, at most


@dataclasses.dataclass
class Settings:
    """How long and how carefully to measure."""

    build: str  # the folder with the programs
    python: str  # for the programs in Python
    wisdom: str  # a folder for planning results of this run
    pace: Pace
    rounds: int = 4
    seconds: float = 1.0  # of one sample group
    repeats: int = 4  # of a disturbed group


@dataclasses.dataclass
class Group:
    """The times of one sample group turn by turn, and how much of a core others used meanwhile, or was missing."""

    forward: list[list[float]]
    backward: list[list[float]]
    others: float


class Job:
    """One row to be: a library with a set of options on a problem, with its program and its times."""

    def __init__(self, library: Library, variant: Variant, problem: Problem, config: Config):
        self.library, self.variant, self.problem, self.config = library, variant, problem, config
        self.groups: list[Group] = []
        self.discarded = 0
        self.failure = ""
        self.plan_s = 0.0
        self.plan_bytes: float | None = None
        self._pair_s = 0.0  # how long a forward and a backward transform take together

    @property
    def name(self) -> str:
        return f"{self.library.name} ({self.variant.label})"

    @property
    def disturbed(self) -> float:
        """The most that others used or was missing while a kept group was timed, as a share of a core."""
        return max((group.others for group in self.groups), default=0.0)

    @property
    def bytes_needed(self) -> float:
        """An estimate from above: the arrays, a work array, and copies that the Python programs make to check."""
        arrays = 2.3 if "in_place" in self.variant.options and not self.library.is_python else 3.3
        return (
            arrays + 1.2 * self.library.is_python
        ) * self.problem.array_bytes + self.config.ranks * 150e6

    @property
    def family(self) -> tuple:
        """The same for jobs that take turns: a library with the same options, wherever the arrays lie."""
        return self.library.name, self.variant.plain_label

    def start(self, settings: Settings, stack: contextlib.ExitStack) -> Program | None:
        """A running program that the stack will end; a failure is kept for the table, and ends the job."""
        free = memory("MemAvailable")
        if free < self.bytes_needed:
            self.failure = f"it needs about {self.bytes_needed / 2**30:.1f} GiB, but {free / 2**30:.1f} are free"
            return None
        try:
            program = stack.enter_context(self._program(settings))
            self._warm(program)
            return program
        except Failed as failure:
            self.failure = str(failure)
            return None

    def pairs(self, settings: Settings) -> int:
        """How many pairs of transforms a sample group of this length has."""
        return min(1000, max(1, round(settings.seconds / self._pair_s)))

    def ask_pairs(self, program: Program, pairs: int) -> dict:
        return program.ask(f"pairs {pairs}", timeout=120 + 20 * pairs * self._pair_s)

    def _program(self, settings: Settings) -> Program:
        source = os.path.join(BENCH, "rivals", self.library.program)
        file = os.path.join(settings.build, self.library.program)
        command = [settings.python, source] if self.library.is_python else [file]
        wisdom = os.path.join(
            settings.wisdom,
            f"{self.library.program}-{self.problem.precision}-{self.config}-{self.variant.options}",
        )
        return Program(self.library, self.problem, self.variant, self.config, command, wisdom)

    def _warm(self, program: Program):
        """Touches all memory; the first program is checked, and what it tells of its plan is kept."""
        if self.groups:
            program.ask("pairs 1", timeout=600)
            return
        self.plan_s = program.ready["plan_s"]
        self.plan_bytes = program.ready.get("plan_bytes")
        program.ask("check", timeout=600)
        reply = program.ask("pairs 2", timeout=600)
        self._pair_s = max(1e-6, reply["forward"][-1] + reply["backward"][-1])


def memory(field: str) -> float:
    """MemTotal or MemAvailable, in bytes."""
    with open("/proc/meminfo") as file:
        for line in file:
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024.0
    return float("inf")


def take_turns(running: list[tuple[Job, Program]], settings: Settings) -> list[tuple[Job, Group]]:
    """A sample group of each job, a few pairs at a time. A job that fails is left out."""
    groups = {job: Group([], [], 0.0) for job, _ in running}
    turns = min(TURNS, *(job.pairs(settings) for job in groups))
    for _ in range(turns):
        for job, program in running:
            if job.failure:
                continue
            try:
                reply = job.ask_pairs(program, round(job.pairs(settings) / turns))
                groups[job].forward.append(reply["forward"])
                groups[job].backward.append(reply["backward"])
            except Failed as failure:
                job.failure = str(failure)
    return [(job, group) for job, group in groups.items() if not job.failure]


def run_together(jobs: list[Job], settings: Settings):
    """One round of jobs that are compared: their programs live side by side."""
    with contextlib.ExitStack() as stack:
        started = [(job, job.start(settings, stack)) for job in jobs]
        running = [(job, program) for job, program in started if program]
        best: list[tuple[Job, Group]] = []
        for attempt in range(settings.repeats + 1):
            running = [(job, program) for job, program in running if not job.failure]
            if not running:
                break
            if attempt > 0:
                for job, _ in running:
                    job.discarded += 1
                time.sleep(0.5)
            pids = [pid for _, program in running for pid in program.pids]
            with Watch(pids, settings.pace) as watch:
                groups = take_turns(running, settings)
            for _, group in groups:
                group.others = watch.others or 0.0
            if not best or (groups and groups[0][1].others < best[0][1].others):
                best = groups
            if watch.quiet:
                break
        for job, group in best:
            job.groups.append(group)


def fitting(jobs: list[Job]):
    """The jobs in order, as many together as the free memory has room for, at least one."""
    together: list[Job] = []
    for job in jobs:
        needed = sum(other.bytes_needed for other in [*together, job])
        if together and needed > memory("MemAvailable"):
            yield together
            together = []
        together.append(job)
    yield together


def run_problem(jobs: list[Job], settings: Settings, say):
    """All rounds of the jobs of one problem; say(text) tells how far it is."""
    for number in range(settings.rounds):
        able = [job for job in jobs if not job.failure]
        for _, family in itertools.groupby(able, key=lambda job: job.family):
            for together in fitting(list(family)):
                names = ", ".join(str(job.config) for job in together)
                say(
                    f"{together[0].problem}, round {number + 1} of {settings.rounds}: "
                    f"{together[0].name}, {names}"
                )
                run_together(together, settings)


def rows_of(job: Job) -> list[dict]:
    """The rows of compare.json for one job, a direction each; ratios come later, when all are known."""
    rows = []
    for direction in ("forward", "backward"):
        turns = [turn for group in job.groups for turn in getattr(group, direction)]
        times = [time_s for turn in turns for time_s in turn]
        if not times:
            continue
        row = {
            "library": job.library.name,
            "options": job.variant.label,
            "shape": job.problem.shape_text,
            "kind": job.problem.kind,
            "precision": job.problem.precision,
            "ranks": job.config.ranks,
            "threads": job.config.threads,
            "direction": direction,
            "min_s": min(times),
            "median_s": statistics.median(times),
            "turn_min_s": [min(turn) for turn in turns],
            "ratio": None,
            "samples": len(times),
            "disturbed": round(job.disturbed, 3),
            "discarded_groups": job.discarded,
            "plan_s": job.plan_s,
        }
        if job.plan_bytes is not None:
            row["plan_bytes"] = job.plan_bytes
        rows.append(row)
    return rows


def progress_printer(quiet: bool = False):
    """say(text) for a person: one line that changes on a terminal; elsewhere a line for each problem, unless quiet."""
    state = {"problem": "", "width": 0}

    def say(text: str):
        if sys.stderr.isatty():
            print("\r" + text.ljust(state["width"]), end="", file=sys.stderr, flush=True)
            state["width"] = len(text)
            return
        problem = text.split(",")[0]
        if problem and problem != state["problem"] and not quiet:
            print(f"measuring {problem}", file=sys.stderr, flush=True)
            state["problem"] = problem

    return say


__all__ = ["Job", "Settings", "cores", "memory", "progress_printer", "rows_of", "run_problem"]
