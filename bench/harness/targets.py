"""What is wanted of Weft, as functions of the measured rows, and how much of it was reached.

Every target looks at one problem and config at a time and gives the worst value over both directions and over all
of Weft's variants that it is meant for; the best is shown beside it.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Callable, Iterable

from .catalogue import ELSEWHERE
from .results import ONE_PROCESS, config_of, fastest, is_weft, section_text, sections

SMALLEST = 64**3  # points; nothing is promised for less
LARGE = 256**3  # "256^3 and above"
EXCHANGES = ("pairwise exchange", "alltoallv exchange")
MPI_RIVALS = ("fftw_mpi", "mkl_cluster", "heffte", "p3dfft", "2decomp", "mpi4py_fft")


@dataclasses.dataclass
class Section:
    """The rows of a problem and config, and all rows of the problem for comparisons across configs."""

    problem: tuple[str, str, str]
    config: tuple[int, int]
    rows: list[dict]
    all_rows: list[dict]
    cores: int

    @property
    def points(self) -> int:
        return math.prod(int(extent) for extent in self.problem[0].split("x"))

    @property
    def large(self) -> bool:
        return self.points >= LARGE

    @property
    def element_bytes(self) -> int:
        return (8 if self.problem[1] == "r2c" else 16) // (1 if self.problem[2] == "double" else 2)

    def weft(self, direction: str, exchanges=False, config=None) -> list[dict]:
        """Weft's rows: those with its own choice of exchange, or those with a named one."""
        return [
            row
            for row in (self.rows if config is None else self.all_rows)
            if is_weft(row)
            and row["direction"] == direction
            and config_of(row) == (config or self.config)
            and (row["options"] in EXCHANGES) == exchanges
        ]

    def rival(self, direction: str, libraries, beside: dict, options: str = "") -> dict | None:
        """The fastest of these libraries; to natural output, where that was measured, if `beside` is."""
        rows = [
            row
            for row in self.rows
            if row["library"] in libraries
            and row["direction"] == direction
            and options in (row["options"], "")
        ]
        natural = [row for row in rows if is_natural(row)] if is_natural(beside) else []
        return fastest(natural or rows)


def is_natural(row: dict) -> bool:
    return "natural" in row["options"]


def has_threads_beside_mkl(section: Section) -> bool:
    return any(
        row["library"] in ONE_PROCESS and row["library"] != "mkl_dfti" for row in section.rows
    )


Values = Iterable[float]


@dataclasses.dataclass(frozen=True)
class Target:
    """`values(section)` gives what was reached, none where the target does not apply or lacks a row."""

    text: str
    wanted: Callable[[Section], float]
    values: Callable[[Section], Values]
    at_most: bool = True


@dataclasses.dataclass(frozen=True)
class Reached:
    """A line of the list."""

    text: str
    where: str
    wanted: float
    at_most: bool
    best: float
    worst: float

    @property
    def done(self) -> bool:
        # Shown with two digits, so judged with them.
        return (
            round(self.worst, 2) <= self.wanted
            if self.at_most
            else round(self.worst, 2) >= self.wanted
        )


def over_rival(
    libraries, options: str = "", inverse=False, exchanges=False, only=lambda section: True
):
    """Weft / rival (or rival / Weft) for each direction and variant."""

    def values(section: Section) -> Values:
        if section.points < SMALLEST or not only(section):
            return
        for direction in ("forward", "backward"):
            for row in section.weft(direction, exchanges):
                if rival := section.rival(direction, libraries, row, options):
                    ratio = row["min_s"] / rival["min_s"]
                    yield 1 / ratio if inverse else ratio

    return values


def over_floor(section: Section) -> Values:
    for direction in ("forward", "backward"):
        parts = [
            row
            for row in section.rows
            if row["library"] == "floor" and row["direction"] == direction
        ]
        best = fastest(section.weft(direction))
        if section.large and len(parts) == 2 and best:
            yield best["min_s"] / max(row["min_s"] for row in parts)


def ratios_in_turns(row: dict, other: dict) -> list[float]:
    """row / other in each turn; of the minima where the rows of older runs lack these.

    Weft with the same options on ranks and on threads takes turns, so a slow spell of the machine meets both. Their
    minima over all turns may come from a spell that only one of them met.
    """
    turns = row.get("turn_min_s", []), other.get("turn_min_s", [])
    if not turns[0] or len(turns[0]) != len(turns[1]):
        return [row["min_s"] / other["min_s"]]
    return [a / b for a, b in zip(*turns)]


def ranks_over_threads(suffix: str = "", natural=True):
    """P ranks on P cores, the variants with this suffix, beside one rank with P threads."""

    def values(section: Section) -> Values:
        ranks, threads = section.config
        if threads > 1 or ranks == 1 or ranks > section.cores:
            return
        for direction in ("forward", "backward"):
            threaded = {
                row["options"] + suffix: row for row in section.weft(direction, config=(1, ranks))
            }
            for row in section.weft(direction):
                if row["options"] in threaded and is_natural(row) == natural:
                    yield statistics.median(ratios_in_turns(row, threaded[row["options"]]))

    return values


def thread_gain(section: Section) -> Values:
    """In place and out of place; to one rank the natural output and the cheapest are the same plan."""
    if section.config != (1, 2) or section.cores < 2 or not section.large:
        return
    for direction in ("forward", "backward"):
        alone = {row["options"]: row for row in section.weft(direction, config=(1, 1))}
        gains: dict[str, list[float]] = {}
        for row in section.weft(direction):
            if row["options"] in alone:
                place = row["options"].split(",")[0]
                gains.setdefault(place, []).extend(ratios_in_turns(alone[row["options"]], row))
        yield from map(statistics.median, gains.values())


def planning_time(section: Section) -> Values:
    if section.points == LARGE:
        for row in section.weft("forward"):
            yield row["plan_s"]


def plan_memory(exchanges=False) -> Callable[[Section], Values]:
    """Out of place, beside the larger of input and output; rows with named exchanges are out of place."""

    def values(section: Section) -> Values:
        last = int(section.problem[0].split("x")[-1])
        growth = (last // 2 + 1) / (last / 2) if section.problem[1] == "r2c" else 1
        local_bytes = section.points * section.element_bytes * growth / section.config[0]
        for row in section.weft("forward", exchanges):
            if "plan_bytes" in row and (exchanges or row["options"].startswith("out of place")):
                yield row["plan_bytes"] / local_bytes

    return values


def on_ranks(section: Section) -> bool:
    return section.config[0] > 1 and section.config[1] == 1


TARGETS = (
    Target(
        "Weft / threaded MKL DFTI in place, on as many cores",
        lambda section: 0.75 if section.large else 1.0,
        over_rival(("mkl_dfti",), "in place", only=lambda section: section.config != (1, 1)),
    ),
    Target(
        "Weft / fastest threads of MKL DFTI, FFTW, ducc0, SciPy",
        lambda section: 1.0,
        over_rival(ONE_PROCESS, only=lambda s: s.config != (1, 1) and has_threads_beside_mkl(s)),
    ),
    Target(
        "best of FFTW-MPI and MKL cluster FFT / Weft",
        lambda section: 2.5,
        over_rival(
            ("fftw_mpi", "mkl_cluster"), inverse=True, only=lambda s: on_ranks(s) and s.large
        ),
        at_most=False,
    ),
    Target(
        "FFTW-MPI / Weft, 2-D",
        lambda section: 3.0,
        over_rival(
            ("fftw_mpi",),
            inverse=True,
            only=lambda s: on_ranks(s) and s.problem[0] == "16384x16384",
        ),
        at_most=False,
    ),
    Target(
        "best MPI rival / Weft with exchange=pairwise and alltoallv",
        lambda section: 1.8 if section.large else 1.0,
        over_rival(MPI_RIVALS, inverse=True, exchanges=True, only=on_ranks),
        at_most=False,
    ),
    Target("Weft's best / floor (two sweeps, or engine in cache)", lambda section: 1.5, over_floor),
    Target(
        "P ranks / 1 rank with P threads, cheapest output",
        lambda section: 1.1,
        ranks_over_threads(natural=False),
    ),
    Target(
        "P ranks / 1 rank with P threads, natural output",
        lambda section: 1.1,
        ranks_over_threads(),
    ),
    Target(
        "P ranks, arrays from elsewhere / 1 rank with P threads, natural output",
        lambda section: 1.1,
        ranks_over_threads(ELSEWHERE),
    ),
    Target(
        "1 rank, 1 thread: Weft / best of MKL DFTI and FFTW",
        lambda section: 1.0,
        over_rival(("mkl_dfti", "fftw_threads"), only=lambda section: section.config == (1, 1)),
    ),
    Target("1 thread / 2 threads", lambda section: 1.8, thread_gain, at_most=False),
    Target("planning, seconds", lambda section: 1.0, planning_time),
    Target("plan memory / local array, out of place", lambda section: 1.0, plan_memory()),
    Target(
        "plan memory / local array, out of place, exchange=pairwise and alltoallv",
        lambda section: 1.0,
        plan_memory(exchanges=True),
    ),
)


def evaluate(results: dict) -> list[Reached]:
    """Each target at each problem and config that has the rows for it."""
    cores = int(results["machine"]["cores"])
    lines = []
    for target in TARGETS:
        for problem, config, rows in sections(results["rows"], cores):
            same = [
                row
                for row in results["rows"]
                if tuple(row[key] for key in ("shape", "kind", "precision")) == problem
            ]
            section = Section(problem, config, rows, same, cores)
            values = sorted(target.values(section), reverse=not target.at_most)
            if values:
                where = section_text(problem, config, rows, results)
                wanted = target.wanted(section)
                lines.append(
                    Reached(target.text, where, wanted, target.at_most, values[0], values[-1])
                )
    return lines


def print_targets(results: dict, out):
    lines = evaluate(results)
    if not lines:
        return
    print("\nWanted, and reached (best ... worst over directions and Weft's variants):", file=out)
    text = ""
    for line in lines:
        if line.text != text:
            text = line.text
            print(f"  {text}", file=out)
        bound = f"{'<=' if line.at_most else '>='} {line.wanted:g}"
        reached = (
            f"{line.best:.2f}"
            if line.best == line.worst
            else f"{line.best:.2f} ... {line.worst:.2f}"
        )
        verdict = "" if line.done else "  missed"
        print(f"    {line.where:<42} wanted {bound:<8} reached {reached}{verdict}", file=out)


__all__ = ["ONE_PROCESS", "Reached", "evaluate", "print_targets"]
