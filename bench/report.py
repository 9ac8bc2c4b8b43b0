#!/usr/bin/env python3
"""Writes docs/performance.md from bench/results/compare.json: report.py [JSON [MARKDOWN]]."""

from __future__ import annotations

import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from harness import results, targets  # noqa: E402
from harness.process import BENCH, REPOSITORY  # noqa: E402

INTRODUCTION = """# Performance

<!-- Written by bench/report.py from bench/results/compare.json; do not edit by hand. -->

Weft beside its rivals: the same problems, the same cores, interleaved in one run. Times are milliseconds for one
transform, the minimum and the median of all samples. *ratio* is the time of Weft's fastest row divided by the row's:
below 1 Weft is faster. How it is measured: [bench/README.md](../bench/README.md).
"""


def machine_lines(outcome: dict) -> list[str]:
    now = outcome["machine"]["Weft"]
    mixed = any(row.get("weft", now) != now for row in outcome["rows"])
    when = f"Measured on {outcome['date']}"
    lines = [when + (", what names another Weft with that one:" if mixed else ":"), ""]
    lines += ["| | |", "|---|---|"]
    lines += [f"| {name} | {value} |" for name, value in outcome["machine"].items()]
    return lines


def reproduce_lines(outcome: dict) -> list[str]:
    return ["", "To reproduce, in a clone:", "", "```", "make", *outcome["commands"], "```"]


def chart_lines(json_path: str, markdown_path: str) -> list[str]:
    """The chart, copied beside the page: what lies in results/ is not kept in the repository."""
    chart = os.path.splitext(json_path)[0] + ".png"
    if not os.path.exists(chart):
        return []
    copy = os.path.splitext(markdown_path)[0] + ".png"
    shutil.copyfile(chart, copy)
    return [
        f"![bars of the forward transforms, the best options of each library]({os.path.basename(copy)})",
        "",
    ]


def section_lines(outcome: dict) -> list[str]:
    cores = int(outcome["machine"]["cores"])
    lines = []
    for problem, config, rows in results.sections(outcome["rows"], cores):
        lines += ["", f"### {results.section_text(problem, config, rows, outcome)}", ""]
        lines += ["| " + " | ".join(results.HEADINGS) + " |", "|---|---" + "|---:" * 6 + "|"]
        for cells in results.table_lines(rows, results.references(rows)):
            if cells[0] == "weft":
                cells[0] = "**weft**"
            lines.append(
                "| "
                + " | ".join(
                    cell.replace("*", "\\*") if i > 0 else cell for i, cell in enumerate(cells)
                )
                + " |"
            )
    return lines


def target_lines(outcome: dict) -> list[str]:
    lines = ["", "## Wanted and reached", ""]
    lines += [
        "Best and worst over both directions and all of Weft's variants that the line is meant for. Weft's natural output",
        "is compared with rivals' natural output where that was measured, else with their fastest. Rows are compared by",
        "their minima, Weft on ranks and on threads by the median of the ratios in each turn (minima in older rows).",
        "",
    ]
    lines += ["| | where | wanted | best | worst | |", "|---|---|---:|---:|---:|---|"]
    for line in targets.evaluate(outcome):
        bound = f"{'at most' if line.at_most else 'at least'} {line.wanted:g}"
        verdict = "reached" if line.done else "missed"
        lines.append(
            f"| {line.text} | {line.where} | {bound} | {line.best:.2f} | {line.worst:.2f} | {verdict} |"
        )
    return lines


def note_lines(outcome: dict) -> list[str]:
    lines = []
    if any(map(results.is_disturbed, outcome["rows"])):
        lines += ["", f"\\* {results.DISTURBED}"]
    if outcome["left_out"]:
        lines += ["", "Left out:", ""]
        for entry in outcome["left_out"]:
            where = ", ".join(str(entry[key]) for key in ("options", "problem") if key in entry)
            lines.append(f"- {entry['library']}{f' ({where})' if where else ''}: {entry['reason']}")
    return lines


def main() -> int:
    json_path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(BENCH, "results", "compare.json")
    markdown_path = (
        sys.argv[2] if len(sys.argv) > 2 else os.path.join(REPOSITORY, "docs", "performance.md")
    )
    if not os.path.exists(json_path):
        print(f"report: there is no {json_path}; run bench/run first", file=sys.stderr)
        return 1
    outcome = results.read_json(json_path)
    lines = [
        INTRODUCTION,
        *machine_lines(outcome),
        *reproduce_lines(outcome),
        *chart_lines(json_path, markdown_path),
    ]
    lines += target_lines(outcome)
    lines += ["", "## All rows", *section_lines(outcome), *note_lines(outcome)]
    with open(markdown_path, "w") as file:
        file.write("\n".join(lines) + "\n")
    print(f"Written: {os.path.relpath(markdown_path)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
