"""From measured rows to ratios, the table and compare.json. Times are compared by their minimum."""

from __future__ import annotations

import json
import os

from .quiet import LIMIT

PROBLEM = ("shape", "kind", "precision")
IDENTITY = ("library", "options", *PROBLEM, "ranks", "threads", "direction")
ONE_PROCESS = (
    "mkl_dfti",
    "fftw_threads",
    "ducc",
    "scipy",
)  # compared by cores, since they have no ranks


def problem_of(row: dict) -> tuple:
    return tuple(row[key] for key in PROBLEM)


def config_of(row: dict) -> tuple[int, int]:
    return row["ranks"], row["threads"]


def is_weft(row: dict) -> bool:
    return row["library"] == "weft"


def is_disturbed(row: dict) -> bool:
    return row["disturbed"] > LIMIT


DISTURBED = (
    f"Others used more than {100 * LIMIT:.0f} % of a core, or cores or memory were slower than at their best, at every "
    "attempt in one of the rounds; the least disturbed was kept."
)


def fastest(rows) -> dict | None:
    return min(rows, key=lambda row: row["min_s"], default=None)


def threads_against(config: tuple[int, int], cores: int) -> int:
    """How many threads a one-process library has where others run with this config."""
    return min(config[0] * config[1], cores)


def stands_in(row: dict, config: tuple[int, int], cores: int) -> bool:
    """Does the row belong into the table of this config?"""
    if row["library"] in ONE_PROCESS:
        return row["threads"] == threads_against(config, cores)
    return config_of(row) == config


def set_ratios(rows: list[dict], cores: int):
    """ratio: the fastest Weft row of the same problem, direction and config, divided by this row.

    A one-process library is compared with Weft on as many cores: on a rank for each, where that was measured.
    """
    weft: dict[tuple, list[dict]] = {}
    for row in filter(is_weft, rows):
        weft.setdefault((*problem_of(row), row["direction"]), []).append(row)
    for row in rows:
        candidates = weft.get((*problem_of(row), row["direction"]), [])
        peers = [other for other in candidates if stands_in(row, config_of(other), cores)]
        if row["library"] in ONE_PROCESS:
            exact = [other for other in peers if config_of(other) == (row["threads"], 1)]
            peers = exact or peers
        best = fastest(peers)
        row["ratio"] = best["min_s"] / row["min_s"] if best else None


def sections(rows: list[dict], cores: int):
    """(problem, config, rows) for each table, in order of measurement; configs are those of MPI programs."""
    seen = []
    for row in rows:
        key = (problem_of(row), config_of(row))
        if row["library"] not in ONE_PROCESS and key not in seen:
            seen.append(key)
    if not seen:  # only one-process libraries were measured
        seen = list(dict.fromkeys((problem_of(row), config_of(row)) for row in rows))
    for problem, config in seen:
        yield (
            problem,
            config,
            [r for r in rows if problem_of(r) == problem and stands_in(r, config, cores)],
        )


def config_text(config: tuple[int, int], cores: int) -> str:
    ranks, threads = config
    text = f"{ranks} rank" + ("s" if ranks > 1 else "")
    if threads > 1:
        text += f" x {threads} threads"
    return text + (f" on {cores} cores" if ranks * threads > cores else "")


def milliseconds(seconds: float) -> str:
    value = seconds * 1e3
    return f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 100 else f"{value:.0f}"


def forward_time(both: dict[str, dict]) -> float:
    return both.get("forward", both.get("backward"))["min_s"]


def table_lines(rows: list[dict], reference: dict[str, dict | None]) -> list[list[str]]:
    """A line of cells for each library and set of options, the fastest forward transform first."""
    pairs: dict[tuple, dict[str, dict]] = {}
    for row in rows:
        pairs.setdefault((row["library"], row["options"]), {})[row["direction"]] = row
    lines = []
    for (library, options), both in sorted(pairs.items(), key=lambda item: forward_time(item[1])):
        cells = [library, options]
        for direction in ("forward", "backward"):
            row = both.get(direction)
            best = reference[direction]
            if row is None:
                cells += ["-", "-", "-"]
                continue
            ratio = f"{best['min_s'] / row['min_s']:.2f}" if best else "-"
            mark = "*" if is_disturbed(row) else ""
            cells += [milliseconds(row["min_s"]) + mark, milliseconds(row["median_s"]), ratio]
        lines.append(cells)
    return lines


HEADINGS = ["library", "options", "forward", "median", "ratio", "backward", "median", "ratio"]


def references(rows: list[dict]) -> dict[str, dict | None]:
    """The fastest Weft row of each direction."""
    return {
        direction: fastest(row for row in rows if is_weft(row) and row["direction"] == direction)
        for direction in ("forward", "backward")
    }


def print_tables(results: dict, out):
    cores = int(results["machine"]["cores"])
    for problem, config, rows in sections(results["rows"], cores):
        lines = [HEADINGS, *table_lines(rows, references(rows))]
        widths = [max(len(line[i]) for line in lines) for i in range(len(HEADINGS))]
        print(f"\n{' '.join(problem)}, {config_text(config, cores)}", file=out)
        for line in lines:
            cells = [
                cell.ljust(width) if i < 2 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(line, widths))
            ]
            print("  " + "  ".join(cells).rstrip(), file=out)
    print(
        "\nMilliseconds: minimum and median. ratio: the fastest Weft / this row; below 1 Weft is faster.",
        file=out,
    )
    discarded = sum(row["discarded_groups"] for row in results["rows"]) // 2
    if discarded:
        print(f"Thrown away since others used the cores: {discarded} sample groups.", file=out)
    if any(map(is_disturbed, results["rows"])):
        print(f"* {DISTURBED}", file=out)


def section_text(problem, config, rows: list[dict], outcome: dict) -> str:
    """What was measured, and with which Weft if that is not the one named at the top."""
    text = f"{' '.join(problem)}, {config_text(config, int(outcome['machine']['cores']))}"
    now = outcome["machine"]["Weft"]
    others = sorted({row.get("weft", now) for row in rows if is_weft(row)} - {now})
    return text + (f" (Weft {', '.join(others)})" if others else "")


def merge(old: list[dict], new: list[dict]) -> list[dict]:
    """The old rows without those that were measured anew, then the new ones."""
    measured = {tuple(row[key] for key in IDENTITY) for row in new}
    return [row for row in old if tuple(row[key] for key in IDENTITY) not in measured] + new


def write_json(results: dict, path: str):
    """In place of the old file at once, so that an interruption leaves one of the two."""
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path + ".new", "w") as file:
        json.dump(results, file, indent=1)
        file.write("\n")
    os.replace(path + ".new", path)


def read_json(path: str) -> dict:
    with open(path) as file:
        return json.load(file)
