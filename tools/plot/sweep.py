#!/usr/bin/env python3
"""Draws the JSON of `weft bench --sweep`: time over chunks, and what overlap gains over blocking.

Panels that the combinations have nothing for are left out; when that is all, every combination is a
bar. Started by the command; also useful alone:  sweep.py result.json sweep.png sweep.svg
Exit status 3 says that Matplotlib is missing.
"""

import json

from figures import COLORS, draw_json, plt, tidy

STYLES = ("-", "--", "-.", ":")
DIRECTIONS = ("forward", "backward")
BARS = (
    ("blocking\nalltoallv, chunks 1", "#8d99ae"),
    ("pairwise\nchunks 1", "#457b9d"),
    ("best overlap", "#e63946"),
)
WITHOUT_OVERLAP = ("alltoallv", "shared")  # blocks; has nothing on the wire
MOST_LEGEND = 16
MOST_SHADES = 4  # more cannot be told apart


def label_of(settings, without=()):
    return ", ".join(f"{name} {value}" for name, value in settings.items() if name not in without)


def milliseconds(row, direction, key="median_s"):
    return row[direction][key] * 1e3


def both(row):
    return sum(row[direction]["median_s"] for direction in DIRECTIONS)


def draw_over_chunks(axes, rows, direction):
    """A line for each of the other combinations: medians, shaded down to the minima."""
    lines = {}
    for row in rows:
        lines.setdefault(label_of(row["settings"], ("chunks",)), []).append(row)
    for number, (label, points) in enumerate(lines.items()):
        points.sort(key=lambda row: row["options"]["chunks"])
        chunks = [row["options"]["chunks"] for row in points]
        medians = [milliseconds(row, direction) for row in points]
        minima = [milliseconds(row, direction, "min_s") for row in points]
        color = COLORS[number % len(COLORS)]
        style = STYLES[number // len(COLORS) % len(STYLES)]
        axes.plot(chunks, medians, color=color, ls=style, marker="o", ms=3.5, lw=1.4, label=label)
        if len(lines) <= MOST_SHADES:
            axes.fill_between(chunks, minima, medians, color=color, alpha=0.12, lw=0)
    chunks = sorted({row["options"]["chunks"] for row in rows})
    axes.set_xscale("log", base=2)
    axes.set_xticks(chunks, [str(count) for count in chunks])
    axes.minorticks_off()
    axes.set(xlabel=r"chunks $N_c$", ylabel=f"{direction} [ms], median")
    axes.set_ylim(bottom=0)
    if direction == DIRECTIONS[0] and any(lines) and len(lines) <= MOST_LEGEND:
        axes.legend(
            frameon=False, fontsize="small", ncols=2, loc="lower left", bbox_to_anchor=(0, 1)
        )


def comparisons(rows):
    """For all options that are neither exchange, chunks nor progress: the three rows to compare."""
    groups = {}
    for row in rows:
        options = dict(row["options"])
        for name in ("exchange", "chunks", "progress"):
            del options[name]
        groups.setdefault(json.dumps(options), []).append(row)
    found = []
    for group in groups.values():
        whole = [row for row in group if row["options"]["chunks"] == 1]
        blocking = [row for row in whole if row["options"]["exchange"] == "alltoallv"]
        pairwise = [row for row in whole if row["options"]["exchange"] == "pairwise"]
        # Where progress is swept, none is what overlaps least.
        pairwise.sort(key=lambda row: row["options"]["progress"] != "none")
        overlap = [
            row
            for row in group
            if row["options"]["chunks"] > 1 and row["options"]["exchange"] not in WITHOUT_OVERLAP
        ]
        if blocking and pairwise and overlap:
            found.append((min(blocking, key=both), pairwise[0], min(overlap, key=both)))
    return found


def draw_comparisons(axes, found, swept):
    hidden = ("exchange", "chunks", "progress")
    ticks, labels = [], []
    place = 0
    for group in found:
        for direction in DIRECTIONS:
            base = milliseconds(group[0], direction)
            for number, row in enumerate(group):
                height = milliseconds(row, direction)
                name, color = BARS[number]
                axes.bar(place + number * 0.8, height, 0.76, color=color, label=name)
                axes.plot(
                    [place + number * 0.8 - 0.3, place + number * 0.8 + 0.3],
                    [milliseconds(row, direction, "min_s")] * 2,
                    color="black",
                    lw=0.8,
                )
                where = (place + number * 0.8, height)
                centered = {"ha": "center", "fontsize": 6.5}
                axes.annotate(f"{height / base:.2f}", where, va="bottom", **centered)
                if number == 2:
                    which = label_of(row["settings"], set(swept) - set(hidden)).replace(
                        "exchange ", ""
                    )
                    upright = {"rotation": 90, "va": "bottom", "color": "white"}
                    axes.annotate(f" {which}", (where[0], 0), **upright, **centered)
            ticks.append(place + 0.8)
            labels.append(f"{direction}\n{label_of(group[0]['settings'], hidden)}")
            place += 3.2
    axes.set_xticks(ticks, labels, fontsize="small")
    axes.set(ylabel="median [ms] (line: minimum)")
    axes.set_ylim(top=1.25 * axes.get_ylim()[1])
    handles, names = axes.get_legend_handles_labels()
    entries = dict(zip(names, handles, strict=True))
    axes.legend(entries.values(), entries.keys(), frameon=False, fontsize="small", ncols=3)


def draw_all(axes, rows):
    places = range(len(rows))
    for number, direction in enumerate(DIRECTIONS):
        axes.barh(
            [place + 0.38 * number for place in places],
            [milliseconds(row, direction) for row in rows],
            0.36,
            color=COLORS[number],
            label=direction,
        )
    axes.set_yticks([place + 0.19 for place in places], [label_of(row["settings"]) for row in rows])
    axes.invert_yaxis()
    axes.set(xlabel="median [ms]")
    axes.legend(frameon=False, fontsize="small")


def panels_of(result):
    """Functions that draw into axes of their own."""
    rows = result["sweep"]
    panels = []
    if len({row["options"]["chunks"] for row in rows}) > 1:
        for direction in DIRECTIONS:
            panels.append(lambda axes, which=direction: draw_over_chunks(axes, rows, which))
    if found := comparisons(rows):
        panels.append(lambda axes: draw_comparisons(axes, found, result["swept"]))
    return panels or [lambda axes: draw_all(axes, rows)]


def draw(result):
    panels = panels_of(result)
    height = 4.4 if len(panels) > 1 else max(3, 1.5 + 0.35 * len(result["sweep"]))
    figure, grid = plt.subplots(
        1, len(panels), figsize=(5.2 * len(panels) + 2, height), dpi=160, squeeze=False
    )
    for axes, panel in zip(grid[0], panels, strict=True):
        panel(axes)
        tidy(axes)
    shape = "x".join(map(str, result["shape"]))
    title = f"{shape} {result['kind']} {result['precision']}, {result['ranks']} ranks, "
    figure.suptitle(title + result["transport"], fontsize="medium")
    figure.tight_layout()
    return figure


if __name__ == "__main__":
    draw_json(__doc__, draw)
