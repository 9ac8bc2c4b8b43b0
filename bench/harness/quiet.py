"""Were the cores ours? Compares the machine's busy time with that of the measured processes, from /proc.

Idle time of all cores is what /proc/stat says; whatever was neither idle nor used by our processes was used by
others, or taken by the hypervisor. The resolution is a clock tick (10 ms), so a window should last a second.
"""

from __future__ import annotations

import glob
import os
import time

LIMIT = 0.03  # of one core, used by others
TICK = os.sysconf("SC_CLK_TCK")


def own_seconds(pids) -> float:
    """CPU time of all threads of the processes; one that has ended counts 0."""
    total = 0.0
    for pid in pids:
        for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
            try:
                with open(path) as file:
                    total += int(file.read().split()[0]) * 1e-9
            except (OSError, IndexError, ValueError):
                pass
    return total


def machine_seconds() -> tuple[float, float] | None:
    """Idle time and time stolen by the hypervisor over all cores; None where /proc/stat does not say."""
    try:
        with open("/proc/stat") as file:
            fields = [int(word) for word in file.readline().split()[1:]]
    except (OSError, ValueError):
        return None
    if len(fields) < 8 or not any(fields):
        return None
    return (fields[3] + fields[4]) / TICK, fields[7] / TICK


class Watch:
    """Used around a measurement: `with Watch(pids) as watch: ...`; then watch.others is the share of one core."""

    def __init__(self, pids):
        self._pids = [*pids, os.getpid()]
        self.others: float | None = None  # None: unknown

    def _now(self):
        return time.monotonic(), machine_seconds(), own_seconds(self._pids)

    def __enter__(self):
        self._start = self._now()
        return self

    def __exit__(self, *_):
        (then, machine_then, own_then), (now, machine_now, own_now) = self._start, self._now()
        if machine_then is None or machine_now is None or now <= then:
            return
        seconds = now - then
        idle = machine_now[0] - machine_then[0]
        stolen = machine_now[1] - machine_then[1]
        others = os.cpu_count() * seconds - idle - (own_now - own_then)
        # Below two ticks nothing can be said.
        others = 0.0 if others < 2 / TICK else others
        self.others = max(others, stolen) / seconds

    @property
    def quiet(self) -> bool:
        return self.others is None or self.others <= LIMIT
