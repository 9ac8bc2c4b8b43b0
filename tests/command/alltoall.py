"""`weft alltoall`: its JSON, that its bandwidths follow from its times, plots, and wrong arguments."""

import json
import os
import unittest

from _weft import PYTHON, CommandTest

QUICK = ["--seconds", 0]


class AllToAll(CommandTest):
    def measure(self, *arguments):
        return self.succeed_json("alltoall", *QUICK, "--json", "-", *arguments)

    def test_rows_and_columns_of_every_grid(self):
        result = self.measure("-n", 6, "--bytes", "64,2k")
        self.assertEqual(result["ranks"], 6)
        found = [(row["group"], row["ranks"], row["bytes"]) for row in result["rows"]]
        groups = [("all", 6), ("rows of 2x3", 3), ("columns of 2x3", 2)]
        groups += [("rows of 3x2", 2), ("columns of 3x2", 3)]
        self.assertEqual(found, [(*group, bytes_) for group in groups for bytes_ in (64, 2048)])

    def test_bandwidths_follow_from_the_times(self):
        for row in self.measure("-n", 3, "--bytes", "100,1M")["rows"]:
            n, m, seconds = row["ranks"], row["bytes"], row["median_s"]
            self.assertLessEqual(row["min_s"], seconds)
            self.assertGreater(row["min_s"], 0)
            self.assertGreaterEqual(row["repetitions"], 3)
            self.assertAlmostEqual(row["bisection_bytes_per_s"] * 4 * seconds / (m * n * n), 1)
            self.assertAlmostEqual(row["insertion_bytes_per_s"] * seconds / (m * (n - 1)), 1)

    def test_regimes(self):
        rows = self.measure("-n", 2, "--bytes", "1M,1023,1k,128k,131073,1k")["rows"]
        self.assertEqual(
            [(row["bytes"], row["regime"]) for row in rows],
            [
                (1023, "below 1 kB"),
                (1024, "to 128 kB"),
                (131072, "to 128 kB"),
                (131073, "above"),
                (1 << 20, "above"),
            ],
        )

    def test_one_grid_and_one_rank(self):
        groups = [
            row["group"] for row in self.measure("-n", 4, "--grid", "4x1", "--bytes", 8)["rows"]
        ]
        self.assertEqual(groups, ["all", "rows of 4x1", "columns of 4x1"])
        self.assertEqual(
            [row["insertion_bytes_per_s"] for row in self.measure("--bytes", 8)["rows"]], [0]
        )

    def test_table_and_files(self):
        table = self.succeed("alltoall", *QUICK, "-n", 2, "--bytes", "1k", "--json", "a.json")
        for words in ("B_eff", "bytes/pair", "all: 2", "to 128 kB"):
            self.assertIn(words, table)
        with open(self.path("a.json")) as file:
            result = json.load(file)
        self.assertLessEqual({"ranks", "mpi", "transport", "rows"}, set(result))
        self.assertIn(result["transport"], table)

    def test_plot_is_drawn_as_png_and_svg(self):
        self.need_matplotlib()
        arguments = ["alltoall", *QUICK, "-n", 4, "--bytes", "64,4k", "--plot", "picture"]
        self.succeed(*arguments, environment=PYTHON)
        self.expect_picture("picture.png")
        self.expect_picture("picture.svg")

    def test_without_python_the_table_is_still_there(self):
        environment = {"WEFT_PYTHON": "/nowhere/python"}
        arguments = ["alltoall", *QUICK, "--bytes", "64", "--plot", "x.png"]
        result = self.run_weft(*arguments, environment=environment)
        self.assertEqual(result.returncode, 0)
        self.assertIn("Matplotlib", result.stderr)
        self.assertIn("B_eff", result.stdout)
        self.assertFalse(os.path.exists(self.path("x.png")))

    def test_wrong_arguments(self):
        for bytes_ in ("0", "-4", "64,x", "4G", "", "2000M", "99999999999999999999"):
            with self.subTest(bytes=bytes_):
                self.expect_failure(2, "alltoall", "-n", 2, f"--bytes={bytes_}", says=["bytes"])
        for grid in ("3x2", "4", "2x2x1", "ax2", "9999999999x1"):
            with self.subTest(grid=grid):
                self.expect_failure(2, "alltoall", "-n", 4, "--grid", grid, says=[grid])
        self.expect_failure(2, "alltoall", "-n", 2, "--bytes", "512M", says=["smallest"])
        for option in ("--json", "--plot"):
            result = self.expect_failure(
                1,
                "alltoall",
                *QUICK,
                "-n",
                2,
                "--bytes",
                8,
                option,
                "/nowhere/x.png",
                says=["/nowhere"],
            )
            self.assertNotIn("rank", result.stderr)


if __name__ == "__main__":
    unittest.main()
