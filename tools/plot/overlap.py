#!/usr/bin/env python3
"""Draws the JSON of `weft overlap`: what is hidden and what computing keeps, over message sizes.

Started by the command; also useful alone:  overlap.py result.json overlap.png overlap.svg
Exit status 3 says that Matplotlib is missing.
"""

from figures import COLORS, draw_json, plt, tidy

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
    tidy(axes)


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


if __name__ == "__main__":
    draw_json(__doc__, draw)
