#!/usr/bin/env python3
"""Draws the JSON of `weft overlap`: what is hidden and what computing keeps, over message sizes.

Started by the command; also useful alone:  overlap.py result.json overlap.png overlap.svg
Exit status 3 says that Matplotlib is missing.
"""

import argparse
import json
import sys

try:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
except ImportError:
    sys.exit(3)

COLORS = ("#1d3557", "#e63946", "#2a9d8f", "#f4a261", "#6d597a", "#457b9d", "#8d99ae")
LABELS = ("exchange hidden  [%]", "GFlop/s, of alone  [%]")


def values(row):
    return 100 * row["hidden"], 100 * row["gflops"] / row["gflops_alone"]


def draw_panel(axes, rows, which):
    for number, method in enumerate(dict.fromkeys(row["method"] for row in rows)):
        points = [
            (row["bytes"], values(row)[which])
            for row in rows
            if row["method"] == method and "refused" not in row
        ]
        if points:
            color = COLORS[number % len(COLORS)]
            axes.plot(
                *zip(*points, strict=True), color=color, marker="o", ms=3, lw=1.4, label=method
            )
    if not axes.lines:
        reasons = {row["refused"] for row in rows if "refused" in row}
        axes.text(0.5, 0.5, "\n".join(reasons), ha="center", transform=axes.transAxes, wrap=True)
    axes.set(xscale="log", ylim=(-4, 112))
    axes.grid(True, which="major", color="0.9", lw=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def draw(result):
    modes = list(dict.fromkeys(row["progress"] for row in result["rows"]))
    figure, panels = plt.subplots(
        2, len(modes), figsize=(10, 6), dpi=160, sharex=True, sharey=True, squeeze=False
    )
    for column, mode in enumerate(modes):
        rows = [row for row in result["rows"] if row["progress"] == mode]
        for which in range(2):
            draw_panel(panels[which][column], rows, which)
        panels[0][column].set_title(f"progress: {mode}", fontsize="medium")
        panels[1][column].set_xlabel("bytes for each pair of ranks")
    for which, label in enumerate(LABELS):
        panels[which][0].set_ylabel(label)
    if panels[0][0].lines:
        panels[0][0].legend(frameon=False, fontsize="small")
    figure.suptitle(
        f"{result['ranks']} ranks, {result['mpi']}, {result['transport']}", fontsize="medium"
    )
    figure.tight_layout()
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("json")
    parser.add_argument("images", nargs="+", metavar="image")
    arguments = parser.parse_args()
    try:
        with open(arguments.json) as file:
            figure = draw(json.load(file))
        for image in arguments.images:
            figure.savefig(image)
    except (OSError, ValueError) as error:
        sys.exit(f"{' '.join(arguments.images)}: {error}")


if __name__ == "__main__":
    main()
