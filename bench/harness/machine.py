"""What the numbers were measured on: for compare.json and docs/performance.md."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path

from .measure import memory
from .process import REPOSITORY, Failed, cores, mpi_launcher


def first_line(command: list[str]) -> str:
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, cwd=REPOSITORY, check=False
        )
    except OSError:
        return "unknown"
    return (answer.stdout.strip().splitlines() or ["unknown"])[0]


def cpu_model() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            text = file.read()
    except OSError:
        return platform.processor() or "unknown"
    name = re.search(r"^model name\s*:\s*(.*)$", text, re.M)
    flags = re.search(r"^flags\s*:\s*(.*)$", text, re.M)
    widest = ""
    for flag, label in (("avx512f", "AVX-512"), ("avx2", "AVX2")):
        if flags and flag in flags.group(1).split():
            widest = f" ({label})"
            break
    return (name.group(1) if name else platform.machine()) + widest


def caches() -> str:
    """Of the first core, from the inside out, as Linux tells them."""
    folder = "/sys/devices/system/cpu/cpu0/cache"
    found = {}
    try:
        for index in os.listdir(folder):
            if not index.startswith("index"):
                continue
            level, kind, size = (
                Path(folder, index, name).read_text().strip() for name in ("level", "type", "size")
            )
            if kind != "Instruction":
                found[level] = f"L{level} {size}"
    except OSError:
        pass
    return ", ".join(text for _, text in sorted(found.items())) or "unknown"


def compiler(build: str) -> str:
    """The C++ compiler of the build, from its cache."""
    try:
        with open(os.path.join(os.path.dirname(build), "CMakeCache.txt")) as file:
            path = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", file.read(), re.M)
    except OSError:
        path = None
    return first_line([path.group(1), "--version"]) if path else "unknown"


def operating_system() -> str:
    try:
        name = platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    except OSError:
        name = platform.system()
    return f"{name}, Linux {platform.release()}"


def describe(build: str) -> dict[str, str]:
    try:
        mpi = mpi_launcher()[1]
    except Failed as failure:
        mpi = str(failure)
    changed = first_line(["git", "status", "--porcelain", "--", "src", "include"])
    return {
        "CPU": cpu_model(),
        "cores": str(cores()),
        "caches": caches(),
        "memory": f"{memory('MemTotal') / 2**30:.0f} GiB",
        "system": operating_system(),
        "MPI": mpi,
        "compiler": compiler(build),
        "Weft": first_line(["git", "describe", "--always", "--tags"])
        + ("" if changed == "unknown" else ", with changes"),
    }
