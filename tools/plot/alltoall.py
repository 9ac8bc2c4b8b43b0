#!/usr/bin/env python3
"""Draws the JSON of `weft alltoall`: bandwidths over the bytes of a message, one line per group.

Started by the command; also useful alone:  alltoall.py result.json alltoall.png alltoall.svg
Exit status 3 says that Matplotlib is missing.
"""

from figures import COLORS, draw_json, plt, tidy

PANELS = (
    ("bisection_bytes_per_s", r"bisection  $m n^2 / 4t$  [MB/s]"),
    ("insertion_bytes_per_s", r"insertion of one rank  $m (n-1) / t$  [MB/s]"),
)


def draw(result):
    figure, panels = plt.subplots(1, 2, figsize=(10, 4.4), dpi=160, sharex=True)
    groups = list(dict.fromkeys(row["group"] for row in result["rows"]))
    for axes, (key, label) in zip(panels, PANELS, strict=True):
        for number, group in enumerate(groups):
            rows = [row for row in result["rows"] if row["group"] == group and row[key] > 0]
            if rows:
                axes.plot(
                    [row["bytes"] for row in rows],
                    [row[key] * 1e-6 for row in rows],
                    color=COLORS[number % len(COLORS)],
                    ls="--" if "columns" in group else "-",
                    marker="o",
                    ms=3,
                    lw=1.4,
                    label=f"{group}: {rows[0]['ranks']} ranks",
                )
        for border in (1 << 10, 128 << 10):
            axes.axvline(border, color="0.7", lw=0.8, ls=":")
        axes.set(xscale="log", yscale="log", xlabel="bytes for each pair of ranks", ylabel=label)
        tidy(axes)
    if panels[0].lines:
        panels[0].legend(frameon=False, fontsize="small")
    title = f"MPI_Alltoall, {result['ranks']} ranks, {result['mpi']}, {result['transport']}"
    figure.suptitle(title, fontsize="medium")
    figure.tight_layout()
    return figure


if __name__ == "__main__":
    draw_json(__doc__, draw)
