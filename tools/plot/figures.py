"""What the plotting helpers have in common: Matplotlib without a display, colors, a command line.

Exit status 3 of a helper says that Matplotlib is missing.
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

__all__ = ["COLORS", "draw_json", "plt", "tidy"]

COLORS = ("#1d3557", "#e63946", "#2a9d8f", "#f4a261", "#6d597a", "#457b9d", "#8d99ae", "#bc6c25")


def tidy(axes):
    """A faint grid behind the data, and no frame at the top and on the right."""
    axes.grid(True, which="major", color="0.9", lw=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def draw_json(description, draw):
    """The main program of a helper `name.py result.json image...`: saves draw(result) as each image."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
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
