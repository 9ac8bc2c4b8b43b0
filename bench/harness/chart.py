"""Draws compare.json as a bar chart. A program of its own, since only it needs Matplotlib: chart.py JSON FILE..."""

from __future__ import annotations

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from harness.results import (  # noqa: E402
    config_text,
    fastest,
    is_weft,
    milliseconds,
    read_json,
    sections,
)

WEFT, RIVAL, INK = "#c2410c", "#94a3b8", "#1e293b"
MOST_PANELS = 12


def bars(rows: list[dict]) -> list[dict]:
    """The best forward row of each library, fastest first; the floor is no library."""
    best: dict[str, dict] = {}
    for row in rows:
        if row["direction"] == "forward" and row["library"] != "floor":
            best[row["library"]] = fastest([row, best.get(row["library"], row)])
    return sorted(best.values(), key=lambda row: row["min_s"])


def draw_panel(axes, title: str, rows: list[dict]):
    weft = fastest(filter(is_weft, rows))
    places = range(len(rows))
    axes.barh(
        places,
        [row["min_s"] * 1e3 for row in rows],
        color=[WEFT if is_weft(row) else RIVAL for row in rows],
    )
    axes.set_yticks(places, [f"{row['library']}\n{row['options']}" for row in rows], fontsize=7)
    axes.invert_yaxis()
    for place, row in zip(places, rows):
        times = f"  x{row['min_s'] / weft['min_s']:.1f}" if weft and not is_weft(row) else ""
        axes.annotate(
            f" {milliseconds(row['min_s'])} ms{times}",
            (row["min_s"] * 1e3, place),
            va="center",
            fontsize=7,
            color=INK,
        )
    axes.set_xlim(0, max(row["min_s"] for row in rows) * 1e3 * 1.3)
    axes.set_title(title, fontsize=9, loc="left", color=INK)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=7)


def draw(results: dict, paths: list[str]):
    cores = int(results["machine"]["cores"])
    panels = []
    for problem, config, rows in sections(results["rows"], cores):
        chosen = bars(rows)
        if len(chosen) > 1:
            panels.append((f"{' '.join(problem)}, {config_text(config, cores)}", chosen))
    panels = panels[:MOST_PANELS]
    if not panels:
        return
    columns = min(2, len(panels))
    lines = -(-len(panels) // columns)
    title_inches = 0.5
    inches = lines * (max(len(rows) for _, rows in panels) * 0.34 + 0.8) + title_inches
    figure, grid = plt.subplots(lines, columns, figsize=(5.4 * columns, inches), squeeze=False)
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    for axes, (title, rows) in zip(grid.flat, panels):
        draw_panel(axes, title, rows)
    title = "One forward transform, milliseconds (shorter is better); x: times Weft's"
    figure.suptitle(
        f"{title}\n{results['machine']['CPU']}, {results['date']}",
        fontsize=9,
        color=INK,
        y=1 - 0.1 / inches,
        verticalalignment="top",
    )
    figure.tight_layout(rect=(0, 0, 1, 1 - title_inches / inches))
    for path in paths:
        figure.savefig(path, dpi=150)


if __name__ == "__main__":
    draw(read_json(sys.argv[1]), sys.argv[2:])
