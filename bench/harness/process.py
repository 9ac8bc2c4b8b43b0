"""The programs that are measured: how they are launched, spoken to and ended.

A program ends when the driver ends, however that happens.
"""

from __future__ import annotations

import ctypes
import functools
import json
import os
import selectors
import shutil
import signal
import subprocess
import tempfile
import time

from .catalogue import Config, Library, Problem, Variant

REPLY_MARK = "#bench "
BENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
REPOSITORY = os.path.dirname(BENCH)


class Failed(Exception):
    """The program could not do it; the message is for the table."""


def cores() -> int:
    return len(os.sched_getaffinity(0))


@functools.cache
def mpi_launcher() -> tuple[str, str]:
    """The program that starts ranks, and the version it reports."""
    places = os.pathsep.join((os.path.join(REPOSITORY, ".venv", "bin"), os.environ.get("PATH", "")))
    program = (
        os.environ.get("MPIEXEC")
        or shutil.which("mpirun", path=places)
        or shutil.which("mpiexec", path=places)
    )
    if not program:
        raise Failed("no mpirun was found")
    answer = subprocess.run(
        [program, "--version"], capture_output=True, text=True, env=environment(1), check=False
    )
    return program, (answer.stdout.strip().splitlines() or ["unknown"])[0]


def launch_words(config: Config) -> list[str]:
    """mpirun with its binding: a rank to a core each where there are cores for all, else no binding."""
    program, version = mpi_launcher()
    words = [program, "-n", str(config.ranks)]
    binds = config.threads == 1 and config.ranks <= cores()
    if "Open MPI" in version or "OpenRTE" in version:
        words += ["--oversubscribe"] if config.ranks > cores() else []
        return words + ["--bind-to", "core" if binds else "none"]
    return words + ["-bind-to", "core" if binds else "none"]


def environment(threads: int, ranks: int = 1) -> dict[str, str]:
    result = dict(os.environ)
    result.update(
        OMP_NUM_THREADS=str(threads),
        OMPI_ALLOW_RUN_AS_ROOT="1",
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
        OMPI_MCA_rmaps_base_oversubscribe="1",
        PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe",
    )
    if threads > 1 and ranks == 1:
        result.update(
            OMP_PROC_BIND="true", OMP_PLACES="cores"
        )  # several ranks would bind to the same cores
    return result


def end_with_parent():
    """Runs in the child: the kernel kills it when the driver ends."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


class Program:
    """A running program: a library with one problem, one set of options, some ranks and threads."""

    def __init__(
        self,
        library: Library,
        problem: Problem,
        variant: Variant,
        config: Config,
        command: list[str],
        wisdom: str,
    ):
        words = [
            *command,
            "--shape",
            problem.shape_text,
            "--kind",
            problem.kind,
            "--precision",
            problem.precision,
        ]
        words += [
            "--threads",
            str(config.threads),
            "--options",
            variant.options,
            "--wisdom",
            wisdom,
        ]
        if library.uses_mpi:
            words = launch_words(config) + words
        self._errors = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment(config.threads, config.ranks),
            start_new_session=True,
            preexec_fn=end_with_parent,
        )
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._process.stdout, selectors.EVENT_READ)
        self._unread = b""
        self._ranks: list[int] = []
        self.ready = self._reply(timeout=900)
        self._ranks = [int(pid) for pid in self.ready["pids"]]

    @property
    def pids(self) -> list[int]:
        return [*self._ranks, self._process.pid]

    def ask(self, command: str, timeout: float) -> dict:
        """Sends a command and returns the answer. Throws Failed when none comes."""
        try:
            self._process.stdin.write(command.encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise Failed(self._last_words()) from None
        return self._reply(timeout)

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        """Asks it to quit, if it still runs, and kills it when it does not."""
        if self._process.poll() is None:
            try:
                self._process.stdin.write(b"quit\n")
                self._process.stdin.close()
                self._process.wait(timeout=20)
            except (OSError, subprocess.TimeoutExpired):
                self.kill()
        self._close()

    def kill(self):
        """mpirun gets time to clean up after its ranks; then all are killed."""
        self._process.terminate()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._kill_ranks()
            self._process.kill()
            self._process.wait()
        self._close()

    def _close(self):
        self._selector.close()
        self._process.stdout.close()
        self._errors.close()

    def _kill_ranks(self):
        for pid in self._ranks:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def _reply(self, timeout: float) -> dict:
        limit = time.monotonic() + timeout
        while True:
            while b"\n" in self._unread:
                line, _, self._unread = self._unread.partition(b"\n")
                text = line.decode(errors="replace")
                if text.startswith(REPLY_MARK):
                    return self._checked(json.loads(text[len(REPLY_MARK) :]))
            left = limit - time.monotonic()
            if left <= 0:
                self.kill()
                raise Failed(f"no answer within {timeout:.0f} s")
            if self._selector.select(left):
                piece = os.read(self._process.stdout.fileno(), 1 << 20)
                if not piece:
                    raise Failed(self._last_words())
                self._unread += piece

    def _checked(self, reply: dict) -> dict:
        if "failed" in reply:
            self.end()
            raise Failed(reply["failed"])
        return reply

    def _last_words(self) -> str:
        """Why it ended: the first line on standard error that says something."""
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").splitlines()
        said = [line.strip() for line in lines if any(c.isalpha() for c in line)]
        self._close()
        return f"it ended with status {self._process.returncode}" + (
            f": {said[0][:200]}" if said else ""
        )
