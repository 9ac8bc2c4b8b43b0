"""`weft overlap`: which lines it has, that their numbers can be, plots, and wrong arguments."""

import unittest

from _weft import PYTHON, CommandTest

QUICK = ["--seconds", 0]
METHODS = ["ialltoall", "ialltoallv", "pairwise", "persistent", "scatterv"]
NUMBERS = {"exchange_s", "compute_s", "total_s", "hidden", "gflops", "gflops_alone", "repetitions"}


class Overlap(CommandTest):
    def test_every_method_has_every_kind_of_progress(self):
        for ranks in (1, 2, 3):
            with self.subTest(ranks=ranks):
                result = self.succeed_json(
                    "overlap", *QUICK, "-n", ranks, "--bytes", "100,4k", "--json", "-"
                )
                self.assertLessEqual({"ranks", "mpi", "transport", "rows"}, set(result))
                self.assertEqual(result["ranks"], ranks)
                found = [(row["method"], row["bytes"], row["progress"]) for row in result["rows"]]
                wanted = [
                    (method, bytes_, progress)
                    for method in METHODS
                    for bytes_ in (100, 4096)
                    for progress in ("none", "poll", "thread")
                ]
                self.assertEqual(found, wanted)
                for row in result["rows"]:
                    self.check_row(row)

    def check_row(self, row):
        if "refused" in row:
            self.assertTrue(row["method"] == "persistent" or row["progress"] == "thread", row)
            self.assertTrue(row["refused"])
            return
        self.assertLessEqual(NUMBERS, set(row))
        for key in NUMBERS - {"hidden"}:
            self.assertGreater(row[key], 0, key)
        self.assertGreaterEqual(row["repetitions"], 3)
        self.assertTrue(0 <= row["hidden"] <= 1, row)
        self.assertLess(row["exposed_s"], row["total_s"])
        exposed = row["exposed_s"] / row["exchange_s"]
        self.assertAlmostEqual(row["hidden"], min(1, max(0, 1 - exposed)))

    def test_table(self):
        table = self.succeed("overlap", *QUICK, "-n", 2, "--bytes", 64)
        for words in (*METHODS, "hidden", "GFlop/s", "of alone", "thread"):
            self.assertIn(words, table)

    def test_plot_is_drawn(self):
        self.need_matplotlib()
        arguments = ["overlap", *QUICK, "-n", 2, "--bytes", "64,4k", "--plot", "picture"]
        self.succeed(*arguments, environment=PYTHON)
        self.expect_picture("picture.png")
        self.expect_picture("picture.svg")

    def test_wrong_arguments(self):
        self.expect_failure(2, "overlap", "-n", 2, "--bytes", "12y", says=["'12y'"])
        self.expect_failure(2, "overlap", "-n", 2, "--bytes", "512M", says=["512M"])
        self.expect_failure(2, "overlap", "-n", 2, "--seconds", "-1", says=["--seconds"])
        self.expect_failure(
            1, "overlap", *QUICK, "-n", 2, "--bytes", 8, "--json", "/nowhere/x", says=["/nowhere"]
        )


if __name__ == "__main__":
    unittest.main()
