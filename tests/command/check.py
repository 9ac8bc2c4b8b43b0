"""`weft check`: that it passes, counts, and repeats a case exactly."""

import os
import re
import shlex
import unittest

from _weft import CommandTest

SUMMARY = re.compile(r"^(\d+) cases passed, (\d+) failed, (\d+) skipped on (\d+) ranks?$", re.M)


class Check(CommandTest):
    def counts(self, *arguments):
        match = SUMMARY.search(self.succeed("check", *arguments))
        self.assertIsNotNone(match)
        return [int(number) for number in match.groups()]

    def test_random_cases_pass(self):
        for ranks in (1, 2, 3, 4):
            with self.subTest(ranks=ranks):
                passed, failed, skipped, shown = self.counts(
                    "-n", ranks, "--cases", 60, "--seed", 11
                )
                self.assertEqual((failed, shown), (0, ranks))
                self.assertEqual(passed + skipped, 60)
                self.assertGreater(passed, 30)

    def test_one_case_is_the_same_alone(self):
        together = self.succeed("check", "-n", 2, "--cases", 8, "--seed", 5, "--verbose")
        alone = self.succeed(
            "check", "-n", 2, "--cases", 1, "--first", 6, "--seed", 5, "--verbose"
        ).splitlines()
        self.assertIn("--seed 5 --first 6 --cases 1", alone[0])
        self.assertIn("\n".join(alone[:2]), together)

    def test_random_cases_pass_with_all_instructions(self):
        for name in ("baseline", "x86-64-v3", "x86-64-v4"):
            with self.subTest(instructions=name):
                chosen = {"WEFT_INSTRUCTIONS": name}
                if self.run_weft("info", environment=chosen).returncode != 0:
                    continue  # not those of this processor or this build
                self.assertIn(f"processor  {name}", self.succeed("info", environment=chosen))
                arguments = ["-n", 2, "--cases", 40, "--seed", 12, "--engine", "weft"]
                text = self.succeed("check", *arguments, environment=chosen)
                self.assertIn(", 0 failed", text)

    def test_ranks_may_have_different_processors(self):
        other = 'test "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 && export WEFT_INSTRUCTIONS=baseline'
        mpiexec = shlex.split(os.environ.get("MPIEXEC", "mpiexec"))
        launcher = [*mpiexec, "-n", "2", "sh", "-c", other + '; exec "$0" "$@"']
        arguments = ["--cases", 40, "--seed", 13, "--engine", "weft"]
        self.assertIn(", 0 failed", self.succeed("check", *arguments, launcher=launcher))

    def test_exchanges_can_be_restricted(self):
        text = self.succeed("check", "-n", 2, "--cases", 10, "--exchange", "alltoallv", "--verbose")
        self.assertEqual(text.count("exchange alltoallv in "), 10)

    def test_low_memory_can_be_required(self):
        arguments = ["check", "-n", 3, "--cases", 40, "--seed", 2, "--low-memory", "--verbose"]
        text = self.succeed(*arguments)
        self.assertGreater(text.count("in place with low memory"), 25)
        self.assertIn("--first 7 --cases 1 --low-memory", text)
        passed, failed, skipped, _ = map(int, SUMMARY.search(text).groups())
        self.assertEqual((passed + skipped, failed), (40, 0))
        self.assertNotIn("low_memory needs", text)  # none that could not be planned


if __name__ == "__main__":
    unittest.main()
