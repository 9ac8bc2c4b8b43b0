"""The command line itself: help, version, and one line for every mistake, with status 2."""

import os
import shlex
import sys
import unittest

from _weft import WEFT, CommandTest


class Usage(CommandTest):
    def test_version_is_one_line(self):
        self.assertRegex(self.succeed("--version"), r"^weft \d+\.\d+\.\d+\n$")

    def test_help_names_all_subcommands(self):
        text = self.succeed("--help")
        for name in ("bench", "explain", "spectrum", "check", "alltoall", "overlap", "info"):
            self.assertIn(name, text)

    def test_info_tells_ranks_engines_and_exchanges(self):
        text = self.succeed("info", "-n", 3)
        for words in ("3 on 1 node", "engines", "exchanges", "MPI", "transport", "processor"):
            self.assertIn(words, text)

    def test_instructions_that_this_build_lacks(self):
        wrong = {"WEFT_INSTRUCTIONS": "steam"}
        self.assertIn("weft", self.succeed("--help", environment=wrong))
        for arguments in (["info"], ["bench", "8x8", "-n", 2]):
            result = self.run_weft(*arguments, environment=wrong)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertRegex(
                result.stderr, '^weft: WEFT_INSTRUCTIONS is "steam", expected .*baseline\\n$'
            )

    def test_no_subcommand(self):
        self.expect_failure(2, says=["subcommand is required"])

    def test_unknown_subcommand(self):
        self.expect_failure(2, "brench", says=["brench"])

    def test_bad_shape_says_what_would_be_right(self):
        self.expect_failure(2, "bench", "12y", "-n", 2, says=["'12y'", "64x64x64"])
        self.expect_failure(2, "bench", "0x4", says=["'0x4'"])
        self.expect_failure(2, "explain", "2x2x2x2x2x2x2", says=["1 to 6"])

    def test_unknown_kind_exchange_and_engine(self):
        self.expect_failure(2, "bench", "8x8", "--kind", "r3c", says=["r3c", "c2c", "r2c"])
        self.expect_failure(
            2, "bench", "8x8", "--exchange", "pigeon", says=["pigeon", "it may be", "auto"]
        )
        self.expect_failure(
            2, "bench", "8x8", "--engine", "steam", says=["steam", "it may be", "auto"]
        )
        self.expect_failure(2, "check", "-n", 2, "--exchange", "pigeon", says=["pigeon"])

    def test_grid_must_fit_the_ranks(self):
        self.expect_failure(
            2, "bench", "8x8x8", "-n", 2, "--grid", "3", says=["2 ranks", "product is 2"]
        )
        self.expect_failure(2, "explain", "8x8", "-n", 2, "--grid", "1x1x2", says=["at most 2"])
        self.expect_failure(2, "explain", "8x8", "--output-grid", "natural", says=["--grid"])

    def test_under_a_launcher_an_error_stands_once(self):
        launcher = [*shlex.split(os.environ.get("MPIEXEC", "mpiexec")), "-n", "3"]
        for arguments in (["bench", "8x8", "--kind", "r3c"], ["bench", "8x8", "--grid", "2"]):
            result = self.run_weft(*arguments, launcher=launcher)
            lines = [line for line in result.stderr.splitlines() if line.startswith("weft")]
            self.assertEqual(len(lines), 1, result.stderr)
            self.assertEqual(result.returncode, 2)

    def test_what_is_wrong_on_one_rank_is_told_once(self):
        last = 'test "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 2 && export WEFT_INSTRUCTIONS=steam'
        mpiexec = shlex.split(os.environ.get("MPIEXEC", "mpiexec"))
        launcher = [*mpiexec, "-n", "3", "sh", "-c", last + '; exec "$0" "$@"']
        result = self.run_weft("bench", "8x8", launcher=launcher)
        lines = [line for line in result.stderr.splitlines() if line.startswith("weft")]
        self.assertEqual(len(lines), 1, result.stderr)
        self.assertIn("WEFT_INSTRUCTIONS", lines[0])
        self.assertEqual(result.returncode, 2)

    def test_a_launcher_with_another_number_of_ranks(self):
        launcher = [*shlex.split(os.environ.get("MPIEXEC", "mpiexec")), "-n", "2"]
        result = self.run_weft("info", "-n", "3", launcher=launcher)
        self.assertEqual(result.returncode, 2)
        self.assertIn("-n 3", result.stderr)

    def test_a_missing_launcher_is_told(self):
        result = self.run_weft("info", "-n", "2", environment={"WEFT_MPIEXEC": "/nowhere/mpiexec"})
        self.assertEqual(result.returncode, 1)
        self.assertIn("/nowhere/mpiexec", result.stderr)

    def test_ranks_may_use_all_processors_where_threads_are_bound(self):
        launcher = self.path("mpiexec")
        with open(launcher, "w") as file:
            print(f"#!{sys.executable}\nimport os\nprint(*os.sched_getaffinity(0))", file=file)
        os.chmod(launcher, 0o755)
        bound = {"OMP_PROC_BIND": "true", "OMP_PLACES": "cores", "WEFT_MPIEXEC": launcher}
        allowed = self.succeed("info", "-n", "2", environment=bound)
        self.assertEqual({*map(int, allowed.split())}, os.sched_getaffinity(0))

    def test_runs_alone_without_launcher(self):
        self.assertIn("1 on 1 node", self.succeed("info"))
        self.assertTrue(os.path.exists(WEFT))


if __name__ == "__main__":
    unittest.main()
