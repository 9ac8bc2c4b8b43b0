#!/usr/bin/env python3
"""Draws the CSV of `weft spectrum` (columns k, E, modes) as a log-log plot.

Started by the command; also useful alone:  spectrum.py spectrum.csv spectrum.png
Exit status 3 says that Matplotlib is missing.
"""

import argparse
import csv
import math
import sys

from figures import COLORS, plt, tidy

INK, ACCENT = COLORS[:2]


def read_spectrum(path):
    """The shells that a logarithmic plot can show: k and E above zero."""
    with open(path, newline="") as file:
        rows = [(float(row["k"]), float(row["E"])) for row in csv.DictReader(file)]
    return [(k, energy) for k, energy in rows if k > 0 and energy > 0 and math.isfinite(energy)]


def draw(shells, image, title, complete):
    figure, axes = plt.subplots(figsize=(7, 4.6), dpi=160)
    inside = [shell for shell in shells if shell[0] <= complete]
    outside = [shell for shell in shells if shell[0] >= complete]
    if inside:
        axes.plot(*zip(*inside, strict=True), color=INK, lw=1.6, label="complete shells")
    if outside:
        label = "shells cut by the corners of the grid"
        axes.plot(*zip(*outside, strict=True), color=INK, lw=1, alpha=0.35, label=label)
    if inside and outside:
        axes.axvline(complete, color=ACCENT, lw=0.8, ls=":")
    axes.set(xscale="log", yscale="log", title=title)
    axes.set_xlabel(r"wavenumber $k$  [$2\pi / L_{\mathrm{max}}$]")
    axes.set_ylabel(r"$E(k) = \sum_{|\mathbf{k}| \approx k} |\hat{x}_\mathbf{k}|^2$")
    tidy(axes)
    if shells:
        axes.legend(frameon=False, fontsize="small")
    figure.tight_layout()
    figure.savefig(image)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("csv")
    parser.add_argument("image")
    parser.add_argument("--title", default="Isotropic power spectrum")
    parser.add_argument("--complete", type=float, default=math.inf, metavar="K")
    arguments = parser.parse_args()
    try:
        draw(read_spectrum(arguments.csv), arguments.image, arguments.title, arguments.complete)
    except (OSError, ValueError) as error:
        sys.exit(f"{arguments.image}: {error}")


if __name__ == "__main__":
    main()
