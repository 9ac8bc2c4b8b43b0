#!/usr/bin/env python3
"""Runs Weft beside its rivals on the same problems, interleaved, and prints a table with ratios.

bench/README.md says how. Examples:

    bench/compare.py --sizes 128 256 --kinds c2c r2c --ranks 2
    bench/compare.py --shape 128x128x128 --kind c2c --ranks 2 --rivals weft,fftw_mpi --quick
"""

from __future__ import annotations

import argparse
import datetime
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from harness import catalogue, machine, measure, results, targets  # noqa: E402
from harness.process import BENCH, REPOSITORY, Failed, cores, mpi_launcher  # noqa: E402
from harness.quiet import Pace  # noqa: E402

# What tells one row that was left out from another.
FAILURE = ("library", "options", "problem", "ranks", "threads")


def words(text: str) -> list[str]:
    return text.replace(",", " ").split()


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--sizes", "--shape", nargs="+", default=list(catalogue.DEFAULT_SIZES),
        help='"128" for a cube, "4096x4096", or "all" for the whole list with all ranks and precisions')  # fmt: skip
    add("--kinds", "--kind", nargs="+", default=["c2c", "r2c"], help="c2c, r2c")
    add("--precisions", "--precision", nargs="+", help="double (default), single")
    add("--ranks", nargs="+", help='"2" ranks, or "1x2" for 1 rank with 2 threads')
    add("--rivals", nargs="+", default=[], help="names or their beginnings; weft is always there")
    add(
        "--best", action="store_true", help="of each rival only the options that are best as a rule"
    )
    add(
        "--rounds",
        type=int,
        default=4,
        help="programs started for each row, for a sample group each",
    )
    add("--seconds", type=float, default=1.0, help="length of a sample group")
    add("--repeats", type=int, default=4, help="times that a disturbed group is repeated")
    add(
        "--quick",
        action="store_true",
        help="a line for each library in a few seconds; writes no file",
    )
    add(
        "--append",
        action="store_true",
        help="keep the rows of compare.json that are not measured now",
    )
    add("--output", default=os.path.join(BENCH, "results", "compare.json"))
    add(
        "--build", default=os.path.join(REPOSITORY, "build", "bench"), help="folder of the programs"
    )
    add("--python", default=default_python(), help="for the rivals in Python and the chart")
    arguments = parser.parse_args()
    for name in ("sizes", "kinds", "precisions", "ranks", "rivals"):
        value = getattr(arguments, name)
        setattr(arguments, name, words(" ".join(value)) if value is not None else None)
    complete(arguments, parser)
    return arguments


def default_python() -> str:
    own = os.path.join(REPOSITORY, ".venv", "bin", "python")
    return own if os.path.exists(own) else sys.executable


def complete(arguments: argparse.Namespace, parser: argparse.ArgumentParser):
    """Fills what was not given and refuses what cannot be."""
    everything = arguments.sizes == ["all"]
    if everything:
        arguments.sizes = list(catalogue.ALL_SIZES)
    arguments.precisions = arguments.precisions or (
        ["double", "single"] if everything else ["double"]
    )
    arguments.ranks = arguments.ranks or list(
        catalogue.ALL_RANKS if everything else catalogue.DEFAULT_RANKS
    )
    if arguments.quick:
        arguments.rounds, arguments.seconds, arguments.repeats, arguments.best = 3, 0.3, 2, True
    try:
        arguments.shapes = [catalogue.parse_shape(size) for size in arguments.sizes]
        arguments.configs = [catalogue.Config.parse(ranks) for ranks in arguments.ranks]
    except ValueError as error:
        parser.error(f"sizes are like 128 or 4096x4096, ranks like 2 or 1x2: {error}")
    if not set(arguments.kinds) <= {"c2c", "r2c"}:
        parser.error(f"kinds are c2c and r2c, got {' '.join(arguments.kinds)}")
    if not set(arguments.precisions) <= {"double", "single"}:
        parser.error(f"precisions are double and single, got {' '.join(arguments.precisions)}")
    for rival in arguments.rivals:
        if not any(library.name.startswith(rival) for library in catalogue.LIBRARIES):
            names = " ".join(library.name for library in catalogue.LIBRARIES)
            parser.error(f"no rival is called {rival}; there are {names}")


def missing(library: catalogue.Library, settings: measure.Settings) -> str:
    """Why a library cannot be run here at all; "" when it can."""
    if not library.is_python:
        built = os.path.exists(os.path.join(settings.build, library.program))
        return "" if built else "it was not built (CMake did not find the library)"
    check = "; ".join(f"import {module}" for module in library.modules)
    answer = subprocess.run(
        [settings.python, "-c", check], capture_output=True, text=True, check=False
    )
    return (
        ""
        if answer.returncode == 0
        else f"{settings.python} cannot import {' '.join(library.modules)}"
    )


def choose_libraries(arguments, settings) -> tuple[list[catalogue.Library], list[dict]]:
    """Those that are wanted and there, and those that are not there."""
    chosen, missed = [], []
    for library in catalogue.LIBRARIES:
        wanted = not arguments.rivals and not (arguments.quick and library.name == "floor")
        wanted = wanted or any(library.name.startswith(rival) for rival in arguments.rivals)
        if not (wanted or library.name == "weft"):
            continue
        why = missing(library, settings)
        if why:
            missed.append({"library": library.name, "reason": why})
        else:
            chosen.append(library)
    return chosen, missed


def make_jobs(libraries, problem, arguments) -> list[measure.Job]:
    """A job for each row. A one-process library runs once for all configs with as many cores.

    The configs of the same options, which are compared, follow one another: slow spells of a machine last seconds.
    """
    jobs, seen = [], set()
    for number, config in enumerate(arguments.configs):
        for library in libraries:
            own = library.config_for(config, cores())
            if library.objection(problem, own):
                continue
            variants = library.variants_for(problem, own, narrow=arguments.best or number > 0)
            for variant in variants[: 1 if arguments.quick else None]:
                key = (library.name, variant.label, own)
                if key not in seen:
                    seen.add(key)
                    jobs.append(measure.Job(library, variant, problem, own))
    return sorted(
        jobs,
        key=lambda job: (libraries.index(job.library), job.library.variants.index(job.variant)),
    )


def with_failures(left_out: list[dict], jobs) -> list[dict]:
    """What was left out before, and the jobs that failed; what was tried again is told anew."""
    tried = [
        dict(zip(FAILURE, (job.library.name, job.variant.label, str(job.problem),
                           job.config.ranks, job.config.threads)))
        for job in jobs
    ]  # fmt: skip
    kept = [one for one in left_out if {key: one.get(key) for key in FAILURE} not in tried]
    return kept + [{**one, "reason": job.failure} for one, job in zip(tried, jobs) if job.failure]


def run(arguments, settings) -> dict:
    before = results.read_json(arguments.output) if appends(arguments) else {}
    libraries, missed = choose_libraries(arguments, settings)
    failed = [one for one in before.get("left_out", []) if "problem" in one]
    command = shlex.join(["bench/compare.py", *sys.argv[1:]])
    outcome = {
        "date": datetime.date.today().isoformat(),
        "machine": machine.describe(settings.build),
        "commands": [one for one in before.get("commands", []) if one != command] + [command],
        "rows": before.get("rows", []),
        "left_out": missed + failed,
    }
    say = measure.progress_printer(quiet=arguments.quick)
    for precision in arguments.precisions:
        for shape in arguments.shapes:
            for kind in arguments.kinds:
                problem = catalogue.Problem(shape, kind, precision)
                jobs = make_jobs(libraries, problem, arguments)
                measure.run_problem(jobs, settings, say)
                new = [
                    {**row, "weft": outcome["machine"]["Weft"]}
                    for job in jobs
                    for row in measure.rows_of(job)
                ]
                outcome["rows"] = results.merge(outcome["rows"], new)
                outcome["left_out"] = with_failures(outcome["left_out"], jobs)
                results.set_ratios(outcome["rows"], cores())
                if not arguments.quick:
                    results.write_json(outcome, arguments.output)
    say("")
    return outcome


def appends(arguments) -> bool:
    return arguments.append and os.path.exists(arguments.output)


def print_quick(outcome: dict):
    """A line for each row: the library, both times, and how Weft does beside it."""
    rows = outcome["rows"]
    weft = results.references(rows)
    for row in (row for row in rows if row["direction"] == "forward"):
        back = next(
            r
            for r in rows
            if r["direction"] == "backward"
            and all(
                r[key] == row[key] for key in ("library", "options", "shape", "kind", "precision")
            )
        )
        beside = ""
        if not results.is_weft(row) and weft["forward"]:
            beside = f"   Weft is {row['min_s'] / weft['forward']['min_s']:.1f} times as fast"
        print(f"  {row['library']:<13} {row['options']:<24} forward {results.milliseconds(row['min_s']):>7} ms"
              f"   backward {results.milliseconds(back['min_s']):>7} ms{beside}")  # fmt: skip


def print_left_out(outcome: dict):
    seen = set()
    for entry in outcome["left_out"]:
        where = ", ".join(str(entry[key]) for key in ("options", "problem") if key in entry)
        line = f"Left out: {entry['library']}{f' ({where})' if where else ''}: {entry['reason']}"
        if line not in seen:
            print(line)
        seen.add(line)


def draw_chart(arguments):
    base = os.path.splitext(arguments.output)[0]
    command = [arguments.python, os.path.join(BENCH, "harness", "chart.py"), arguments.output]
    answer = subprocess.run(
        [*command, base + ".png", base + ".svg"], capture_output=True, text=True, check=False
    )
    if answer.returncode == 0:
        print(f"Written: {arguments.output}, {base}.png, {base}.svg")
    else:
        last = (answer.stderr.strip().splitlines() or ["it said nothing"])[-1]
        print(f"Written: {arguments.output}; no chart, since {arguments.python} failed: {last}")


def main() -> int:
    arguments = parse_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    wisdom = tempfile.mkdtemp(prefix="weft-bench-")
    try:
        mpi_launcher()
        with Pace(os.path.join(arguments.build, "pace")) as pace:
            settings = measure.Settings(
                arguments.build,
                arguments.python,
                wisdom,
                pace,
                arguments.rounds,
                arguments.seconds,
                arguments.repeats,
            )
            outcome = run(arguments, settings)
    except Failed as failure:
        print(f"bench: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(
            "\nbench: interrupted; the problems that were finished are in the output file",
            file=sys.stderr,
        )
        return 130
    finally:
        shutil.rmtree(wisdom, ignore_errors=True)
    if not outcome["rows"]:
        print_left_out(outcome)
        print("bench: nothing was measured", file=sys.stderr)
        return 1
    if arguments.quick:
        print_quick(outcome)
        print_left_out(outcome)
        return 0
    results.print_tables(outcome, sys.stdout)
    targets.print_targets(outcome, sys.stdout)
    print()
    print_left_out(outcome)
    draw_chart(arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
