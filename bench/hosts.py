#!/usr/bin/env python3
"""Overlap between hosts: how much of the exchange Weft hides, beside the MPI rivals on the same links.

Hosts are made on this machine by tests/hosts/run. For each shape and kind one table: the transform with a blocking
exchange (alltoallv, one chunk), its parts T_comp and T_comm, the best overlapped plan, and the hidden fraction
(T_block - T_overlap) / min(T_comp, T_comm), for one field and for four; then the rivals. All times are minima over
the repetitions of the slowest rank, in ms.

  bench/hosts.py 2x1 1gbit --shapes 128x128x128 256x256x256 --kinds c2c r2c --json bench/results/hosts.json
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile

from harness.process import REPLY_MARK, REPOSITORY

CHUNKS = (1, 4, 16, 36)
EXCHANGES = ("pairwise", "ialltoallv", "mixed", "hierarchical")
RIVALS = {
    "FFTW-MPI": (["build/bench/fftw_mpi"], "in_place,transposed"),
    "MKL cluster FFT": (["build/bench/mkl_cluster"], "in_place,transposed"),
    "mpi4py-fft": ([".venv/bin/python", "bench/rivals/mpi4py_pfft.py"], ""),
}


def on_hosts(arguments, command: list[str], **options) -> subprocess.CompletedProcess:
    environment = dict(
        os.environ,
        OMP_NUM_THREADS="1",
        OMPI_ALLOW_RUN_AS_ROOT="1",
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
    )
    words = ["tests/hosts/run", arguments.hosts, "--rate", arguments.rate, *command]
    return subprocess.run(
        words,
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


def weft(arguments, shape: str, kind: str, exchange: str, chunks: int, fields: int) -> dict | None:
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = ["build/bin/weft", "bench", shape, "--kind", kind, "--exchange", exchange]
        command += ["--chunks", str(chunks), "--fields", str(fields), "--json", file.name]
        done = on_hosts(arguments, [*command, "--repeat", str(arguments.repeat)])
        if done.returncode:
            print(
                f"  {exchange} x {chunks}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr
            )
            return None
        result = json.load(open(file.name))
    row = {"exchange": exchange, "chunks": chunks, "fields": fields}
    for direction in ("forward", "backward"):
        row[direction] = result[direction]["min_s"] * 1e3
        stages = [stage for stage in result["stages"] if stage["direction"] == direction]
        for part, kept in (("compute", "compute"), ("exchange", "exchange")):
            row[f"{direction}_{part}"] = 1e3 * sum(
                stage["seconds"] for stage in stages if stage["type"] == kept
            )
    return row


def rival(arguments, name: str, shape: str, kind: str) -> dict | None:
    command, options = RIVALS[name]
    command = [
        *command,
        "--shape",
        shape,
        "--kind",
        kind,
        "--precision",
        "double",
        "--threads",
        "1",
    ]
    done = on_hosts(
        arguments, [*command, "--options", options], input=f"pairs {arguments.repeat}\nquit\n"
    )
    answers = [
        json.loads(line[len(REPLY_MARK) :])
        for line in done.stdout.splitlines()
        if line.startswith(REPLY_MARK)
    ]
    times = next((answer for answer in answers if "forward" in answer), None)
    if times is None:
        return None
    return {"library": name, **{way: min(times[way]) * 1e3 for way in ("forward", "backward")}}


def fields_table(arguments, shape: str, kind: str, fields: int) -> list[dict]:
    """Rows for one number of fields: blocking, and the best of the others for each direction."""
    block = weft(arguments, shape, kind, "alltoallv", 1, fields)
    rows = [
        weft(arguments, shape, kind, exchange, chunks, fields)
        for exchange, chunks in itertools.product(arguments.exchanges, arguments.chunks)
    ]
    rows = [row for row in rows if row]
    for direction in ("forward", "backward"):
        best = min(rows, key=lambda row: row[direction])
        compute, wire = block[f"{direction}_compute"], block[f"{direction}_exchange"]
        hidden = (block[direction] - best[direction]) / min(compute, wire)
        label = f"{best['exchange']} x {best['chunks']}"
        print(
            f"  {fields} field{'s' if fields > 1 else ' '} {direction:8}  T_comp {compute:7.1f}  T_comm {wire:7.1f}  "
            f"T_block {block[direction]:7.1f}  T_overlap {best[direction]:7.1f} ({label})  hidden {hidden:5.2f}",
            flush=True,
        )
    return [block, *rows]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("hosts", help="HOSTSxRANKS, such as 2x1")
    parser.add_argument("rate", help="of each host's link, such as 1gbit")
    parser.add_argument("--shapes", nargs="+", default=["128x128x128"])
    parser.add_argument("--kinds", nargs="+", default=["c2c"], choices=["c2c", "r2c"])
    parser.add_argument("--fields", nargs="+", type=int, default=[1, 4])
    parser.add_argument("--exchanges", nargs="+", default=["pairwise"], choices=EXCHANGES)
    parser.add_argument("--chunks", nargs="+", type=int, default=list(CHUNKS))
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--json", help="where all rows are written")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    results = []
    for shape, kind in itertools.product(arguments.shapes, arguments.kinds):
        print(f"{shape} {kind} on {arguments.hosts} hosts x ranks at {arguments.rate}, ms")
        rows = [
            row
            for fields in arguments.fields
            for row in fields_table(arguments, shape, kind, fields)
        ]
        rivals = [found for name in RIVALS if (found := rival(arguments, name, shape, kind))]
        for found in rivals:
            best = {
                way: min(row[way] for row in rows if row["fields"] == arguments.fields[0])
                for way in ("forward", "backward")
            }
            print(
                f"  {found['library']:16} forward {found['forward']:7.1f} ({found['forward'] / best['forward']:.2f} of Weft's)  "
                f"backward {found['backward']:7.1f} ({found['backward'] / best['backward']:.2f})"
            )
        results.append({"shape": shape, "kind": kind, "weft": rows, "rivals": rivals})
    if arguments.json:
        os.makedirs(os.path.dirname(os.path.abspath(arguments.json)), exist_ok=True)
        with open(arguments.json, "w") as file:
            json.dump(
                {"hosts": arguments.hosts, "rate": arguments.rate, "results": results},
                file,
                indent=1,
            )


if __name__ == "__main__":
    main()
