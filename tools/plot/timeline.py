#!/usr/bin/env python3
"""Draws the trace of `weft bench --timeline`: for each rank what it computed and what was on the wire.

Started by the command; also useful alone:  timeline.py trace.json trace.png trace.svg
Exit status 3 says that Matplotlib is missing.
"""

from figures import COLORS, draw_json, plt
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch

HATCHES = ("", "////", "....", "xxxx")
WAITING = "#d9d9d9"
MOST_RANKS = 16  # more lanes than that cannot be read
NARROWEST_LABEL = 0.008  # of the width
FAINTEST = 0.35


def shade(color, strength):
    """The color mixed with white; 1 leaves it alone."""
    red, green, blue = to_rgb(color)
    return tuple(1 - strength * (1 - part) for part in (red, green, blue))


def color_of(field):
    return COLORS[field % len(COLORS)]


class Lanes:
    """Where the tracks of each rank stand: threads over wires, ranks from top to bottom."""

    def __init__(self, events):
        self.heights = {}
        self.ticks = []
        top = 0.0
        for rank in sorted({event["pid"] for event in events}):
            for what, lane in (("compute", 1.0), ("wire", 1.4)):
                tracks = sorted({e["tid"] for e in events if e["pid"] == rank and e["cat"] == what})
                if not tracks:
                    continue
                for number, track in enumerate(tracks):
                    height = lane / len(tracks)
                    self.heights[rank, track] = (top + number * height, height)
                label = f"rank {rank}  {what}" if what == "compute" else what
                self.ticks.append((top + lane / 2, label))
                top += lane + (0.12 if what == "compute" else 0.5)
        self.bottom = top

    def of(self, event):
        return self.heights.get((event["pid"], event["tid"]))


class Style:
    """Passes differ in strength of colour, exchanges in hatching, fields in colour."""

    def __init__(self, events):
        self.passes = self.steps(events, "compute")
        self.exchanges = self.steps(events, "wire")
        self.fields = sorted({event["args"]["field"] for event in events})

    @staticmethod
    def steps(events, category):
        return dict(
            sorted({(e["args"]["step"], e["name"]) for e in events if e["cat"] == category})
        )

    def strength(self, step):
        number = list(self.passes).index(step)
        return 1 - (1 - FAINTEST) * number / max(1, len(self.passes) - 1) if self.passes else 1

    def of(self, event):
        step = event["args"]["step"]
        color = color_of(event["args"]["field"])
        if event["cat"] == "compute":
            return {"facecolor": shade(color, self.strength(step)), "edgecolor": "white"}
        if event["cat"] == "exchange":
            return {"facecolor": WAITING, "edgecolor": "none"}
        hatch = HATCHES[list(self.exchanges).index(step) % len(HATCHES)]
        return {"facecolor": shade(color, 0.55), "edgecolor": "white", "hatch": hatch}

    def legend(self):
        many = len(self.fields) > 1
        entries = [
            Patch(facecolor=color_of(field), label=f"field {field}")
            for field in self.fields[: len(COLORS)]
            if many
        ]
        for step, name in self.passes.items():
            entries.append(Patch(facecolor=shade("black", self.strength(step)), label=name))
        for number, name in enumerate(self.exchanges.values()):
            hatch = HATCHES[number % len(HATCHES)]
            entries.append(
                Patch(facecolor="0.6", edgecolor="white", hatch=hatch, label=f"wire, {name}")
            )
        entries.append(Patch(facecolor=WAITING, label="hands over or waits"))
        return entries


def draw_event(axes, event, lanes, style, duration):
    place = lanes.of(event)
    if place is None:
        return
    begin, length = event["ts"] * 1e-3, event["dur"] * 1e-3
    low, height = place
    look = style.of(event)
    axes.broken_barh([(begin, length)], (low, height * 0.94), linewidth=0.4, **look)
    chunk = event["args"]["chunk"]
    if event["cat"] == "exchange" or chunk < 0 or length < NARROWEST_LABEL * duration:
        return
    red, green, blue = to_rgb(look["facecolor"])
    dark = 0.3 * red + 0.6 * green + 0.1 * blue < 0.55
    axes.text(
        begin + length / 2,
        low + height * 0.47,
        str(chunk),
        ha="center",
        va="center",
        fontsize=max(3.5, min(7, 9 * height)),
        color="white" if dark else "black",
        clip_on=True,
    )


def draw(trace):
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    ranks = len({event["pid"] for event in events})
    calls = [event for event in events if event["cat"] == "call" and event["pid"] < MOST_RANKS]
    events = [e for e in events if e["cat"] != "call" and e["pid"] < MOST_RANKS]
    duration = max(call["ts"] + call["dur"] for call in calls) * 1e-3
    lanes, style = Lanes(events), Style(events)
    figure, axes = plt.subplots(figsize=(11, 1.6 + 0.42 * lanes.bottom), dpi=160)
    with plt.rc_context({"hatch.linewidth": 0.5}):
        # What a rank waits stands behind what it computes.
        for event in sorted(events, key=lambda event: event["cat"] != "exchange"):
            draw_event(axes, event, lanes, style, duration)
    axes.set(xlim=(0, duration), ylim=(lanes.bottom - 0.4, -0.1), xlabel="ms since the call began")
    axes.set_yticks([tick for tick, _ in lanes.ticks], [label for _, label in lanes.ticks])
    axes.tick_params(axis="y", length=0, labelsize="small")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.legend(
        handles=style.legend(),
        frameon=False,
        fontsize="small",
        ncols=6,
        loc="lower left",
        bbox_to_anchor=(0, 1),
    )
    about = trace["otherData"]
    title = (
        f"{calls[0]['name']} {about['shape']}, {ranks} ranks x {about['threads']}, "
        f"{about['exchange']}, chunks {about['chunks']}, fields {about['fields']}, "
        f"progress {about['progress']}, {about['transport']}"
    )
    figure.suptitle(title, fontsize="medium")
    figure.tight_layout()
    return figure


if __name__ == "__main__":
    draw_json(__doc__, draw)
