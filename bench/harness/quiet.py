"""Were the cores ours? Asked of /proc, and of the cores themselves.

/proc compares the machine's busy time with that of the measured processes: whatever was neither idle nor used by ours
was used by others, or taken by the hypervisor. The resolution is a clock tick (10 ms), so a window should last a
second. It does not tell of what cores share with other machines, or two virtual ones with each other: so a loop in
registers and a copy of memory are timed on all cores before and after each measurement, beside the fastest times that
they ever took.
"""

from __future__ import annotations

import glob
import os
import subprocess
import time

LIMIT = 0.03  # of one core, used by others
# What is missing of the pace of cores, and of memory, where nothing disturbs.
NOISE = (0.05, 0.3)
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


class Pace:
    """How fast cores and memory are, beside their best so far; as a context, since a program of ours measures it."""

    def __init__(self, program: str):
        self._program = program if os.path.exists(program) else None
        self._best_s = [float("inf")] * len(NOISE)

    def __enter__(self) -> Pace:
        if self._program:
            self._process = subprocess.Popen(
                [self._program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,  # an interrupt is for the driver; this ends with its input
            )
            for _ in range(100):
                self.lack()
                time.sleep(0.01)
        return self

    def __exit__(self, *_):
        if self._program:
            self._process.stdin.close()
            self._process.wait()

    def lack(self) -> float:
        """The share of the best pace that is missing now; 0 where it cannot be measured."""
        if not self._program:
            return 0.0
        try:
            self._process.stdin.write(b"\n")
            self._process.stdin.flush()
            times_s = [float(word) for word in self._process.stdout.readline().split()]
        except BrokenPipeError:
            times_s = []
        if not times_s:  # it has ended
            self._program = None
            return 0.0
        self._best_s = [min(pair) for pair in zip(self._best_s, times_s)]
        lacks = [1 - best_s / time_s for best_s, time_s in zip(self._best_s, times_s)]
        return max(lack if lack > noise else 0.0 for lack, noise in zip(lacks, NOISE))

    def await_best(self, limit_s: float = 1.0) -> float:
        """Sleeps until the pace is the best, for at most so long; returns what is missing then."""
        end = time.monotonic() + limit_s
        while (lack := self.lack()) > 0 and time.monotonic() < end:
            time.sleep(0.02)
        return lack


class Watch:
    """Used around a measurement, `with Watch(pids, pace) as watch: ...`, which begins when the pace is right, if it will
    be; then watch.others is the share of one core that others used, or that was missing at its worse end."""

    def __init__(self, pids, pace: Pace):
        self._pids = [*pids, os.getpid()]
        self._pace = pace
        self.others: float | None = None  # None: unknown

    def _now(self):
        return time.monotonic(), machine_seconds(), own_seconds(self._pids)

    def __enter__(self):
        self._lack = self._pace.await_best()
        self._start = self._now()
        return self

    def __exit__(self, *_):
        (then, machine_then, own_then), (now, machine_now, own_now) = self._start, self._now()
        time.sleep(0.01)  # threads of the program may still look for work
        lack = max(self._lack, self._pace.lack())
        self.others = lack or None
        if machine_then is None or machine_now is None or now <= then:
            return
        seconds = now - then
        idle = machine_now[0] - machine_then[0]
        stolen = machine_now[1] - machine_then[1]
        others = os.cpu_count() * seconds - idle - (own_now - own_then)
        # Below two ticks nothing can be said.
        others = 0.0 if others < 2 / TICK else others
        self.others = max(others / seconds, stolen / seconds, lack)

    @property
    def quiet(self) -> bool:
        return self.others is None or self.others <= LIMIT
