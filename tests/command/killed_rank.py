"""A rank that is killed in the midst of exchanges: the whole job has to end, soon and as a failure."""

import os
import signal
import subprocess
import time
import unittest

from _weft import WEFT, CommandTest

MPIEXEC = os.environ.get("MPIEXEC", "mpirun")
RANKS = 3
SECONDS_TO_START = 60
SECONDS_TO_END = 20
FOREVER = 1000000  # repetitions


def descendants(pid):
    """Processes below `pid`; launchers differ in whether there is one between them and the ranks."""
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/children") as file:
                found += [int(child) for child in file.read().split()]
        except FileNotFoundError:
            pass
    return found + [below for child in found for below in descendants(child)]


def ranks_of(job):
    """Those of the job's processes that run the command."""
    try:
        return [pid for pid in descendants(job.pid) if runs_weft(pid)]
    except FileNotFoundError:  # it has ended meanwhile
        return []


def runs_weft(pid):
    try:
        return os.path.realpath(f"/proc/{pid}/exe") == os.path.realpath(WEFT)
    except OSError:
        return False


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class KilledRank(CommandTest):
    def start(self, exchange):
        job = subprocess.Popen(
            [MPIEXEC, "-n", str(RANKS), WEFT, "bench", "48x48x48", "--exchange", exchange]
            + ["--repeat", str(FOREVER)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self.folder,
        )
        self.addCleanup(self.end, job)
        return job

    def end(self, job):
        for pid in ranks_of(job):
            os.kill(pid, signal.SIGKILL)
        if job.poll() is None:
            job.kill()
        job.communicate()

    def wait_until_it_transforms(self, job):
        """All ranks are there and compute; making the plan takes far less time than that."""
        end = time.monotonic() + SECONDS_TO_START
        while time.monotonic() < end:
            self.assertIsNone(job.poll(), "the job has ended by itself")
            ranks = ranks_of(job)
            if len(ranks) == RANKS and min(cpu_seconds(pid) for pid in ranks) > 1:
                return ranks
            time.sleep(0.1)
        self.fail(f"{RANKS} ranks did not start to compute in {SECONDS_TO_START} s")

    def test_ends_the_job(self):
        for exchange in ("shared", "pairwise", "ialltoallv"):
            with self.subTest(exchange=exchange):
                job = self.start(exchange)
                ranks = self.wait_until_it_transforms(job)
                os.kill(ranks[1], signal.SIGKILL)
                try:
                    output, _ = job.communicate(timeout=SECONDS_TO_END)
                except subprocess.TimeoutExpired:
                    self.fail(f"the job goes on {SECONDS_TO_END} s after a rank was killed")
                self.assertNotEqual(job.returncode, 0, output)
                self.assertEqual([pid for pid in ranks if runs_weft(pid)], [])


if __name__ == "__main__":
    unittest.main()
