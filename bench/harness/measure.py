"""Measures the rows of one problem, interleaved: in every round each program is started, timed and ended.

Where a program's memory lies decides much of its times, for as long as it lives; so each round has new memory. What
was timed while others used the cores, or while these were slow, is thrown away and timed again, a few times; then the
least disturbed is kept, and the row says so.
"""

from __future__ import annotations

import dataclasses
import os
import statistics
import sys
import time

from .catalogue import Config, Library, Problem, Variant
from .process import BENCH, Failed, Program, cores
from .quiet import Pace, Watch


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
    """The times of one sample group, and how much of a core others used meanwhile, or was missing."""

    forward: list[float]
    backward: list[float]
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

    def __str__(self):
        return f"{self.library.name} ({self.variant.label}), {self.config}"

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

    def measure(self, settings: Settings):
        """One round. A failure is kept for the table, and ends the job."""
        free = memory("MemAvailable")
        if free < self.bytes_needed:
            self.failure = f"it needs about {self.bytes_needed / 2**30:.1f} GiB, but {free / 2**30:.1f} are free"
            return
        try:
            with self._program(settings) as program:
                self._warm(program)
                self.groups.append(self._quiet_group(program, settings))
        except Failed as failure:
            self.failure = str(failure)

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

    def _quiet_group(self, program: Program, settings: Settings) -> Group:
        pairs = min(1000, max(1, round(settings.seconds / self._pair_s)))
        best = None
        for attempt in range(settings.repeats + 1):
            if attempt > 0:
                self.discarded += 1
                time.sleep(0.5)
            with Watch(program.pids, settings.pace) as watch:
                reply = program.ask(f"pairs {pairs}", timeout=120 + 20 * pairs * self._pair_s)
            group = Group(reply["forward"], reply["backward"], watch.others or 0.0)
            if best is None or group.others < best.others:
                best = group
            if watch.quiet:
                break
        return best


def memory(field: str) -> float:
    """MemTotal or MemAvailable, in bytes."""
    with open("/proc/meminfo") as file:
        for line in file:
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024.0
    return float("inf")


def run_problem(jobs: list[Job], settings: Settings, say):
    """All rounds of the jobs of one problem; say(text) tells how far it is."""
    for number in range(settings.rounds):
        for job in jobs:
            if job.failure:
                continue
            say(f"{job.problem}, round {number + 1} of {settings.rounds}: {job}")
            job.measure(settings)


def rows_of(job: Job) -> list[dict]:
    """The rows of compare.json for one job, a direction each; ratios come later, when all are known."""
    rows = []
    for direction in ("forward", "backward"):
        groups = [getattr(group, direction) for group in job.groups]
        times = [time_s for group in groups for time_s in group]
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
            "round_min_s": [min(group) for group in groups],
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
