"""`weft bench --sweep`: every combination is there once, numbers fit together, plots, wrong arguments."""

import json
import math
import os
import unittest

from _weft import PYTHON, CommandTest

QUICK = ["--repeat", 2]


class Sweep(CommandTest):
    def sweep(self, shape, *arguments):
        return self.succeed_json("bench", shape, *QUICK, *arguments, "--json", "-")

    def test_all_combinations_in_order(self):
        result = self.sweep(
            "16x12x8", "-n", 2, "--sweep", "chunks=1,2,4", "--sweep", "exchange=pairwise,alltoallv"
        )
        found = [(row["options"]["chunks"], row["options"]["exchange"]) for row in result["sweep"]]
        expected = [(c, e) for c in (1, 2, 4) for e in ("pairwise", "alltoallv")]
        self.assertEqual(found, expected)
        self.assertEqual(result["swept"], ["chunks", "exchange"])
        self.assertEqual((result["ranks"], result["shape"]), (2, [16, 12, 8]))
        self.assertEqual(result["refused"], [])

    def test_numbers_fit_together(self):
        result = self.sweep("20x16x12", "--kind", "r2c", "--sweep", "fields=1,3")
        for direction in ("forward", "backward"):
            per_field = {}
            for row in result["sweep"]:
                fields, times = row["options"]["fields"], row[direction]
                sorted_times = [times[key] for key in ("min_s", "median_s", "max_s")]
                self.assertEqual(sorted_times, sorted(sorted_times))
                self.assertGreater(times["min_s"], 0)
                self.assertEqual(times["repetitions"], 2)
                operations = fields * 2.5 * 3840 * math.log2(3840)
                self.assertAlmostEqual(times["gflops"] * 1e9 * times["median_s"] / operations, 1)
                per_field[fields] = times["median_s"] / fields
            best = [r["options"]["fields"] for r in result["sweep"] if r[direction]["best"]]
            self.assertEqual(best, [min(per_field, key=per_field.get)])

    def test_every_option_of_a_plan(self):
        for sweep, key, values in (
            ("engine=weft", "engine", ["weft"]),
            ("progress=none,poll,thread", "progress", ["none", "poll", "thread"]),
            ("threads=1,2", "threads", [1, 2]),
            ("grid=2x1,1x2", "grid", [[2, 1, 1], [1, 2, 1]]),
            ("output-grid=1x2,1x1x2", "output_grid", [[1, 2, 1], [1, 1, 2]]),
            ("in-place=false,true", "in_place", [False, True]),
            ("shared-arrays=false,true", "shared_arrays", [False, True]),
            ("timeout=0,60", "timeout", [0, 60]),
        ):
            with self.subTest(sweep=sweep):
                if sweep == "engine=weft" and "weft" not in self.succeed("info"):
                    self.skipTest("there is no engine of that name")
                result = self.sweep("8x12x10", "-n", 2, "--sweep", sweep)
                self.assertEqual([row["options"][key] for row in result["sweep"]], values)
                for row in result["sweep"]:
                    self.assertLess(row["roundtrip_error"], 1e-14)
                    self.assertLess(row["reference_error"], 1e-14)

    def test_what_cannot_be_planned_is_listed(self):
        arguments = ["9x9x9", "-n", 2, "--sweep", "exchange=alltoall,pairwise"]
        result = self.sweep(*arguments, "--sweep", "grid=2x1,3x1")
        asked = [row["settings"] for row in result["refused"]]
        self.assertIn({"exchange": "pairwise", "grid": "3x1"}, asked)
        self.assertEqual(len(result["sweep"]) + len(asked), 4)
        for row in result["refused"]:
            self.assertTrue(row["reason"])
        table = self.succeed("bench", *arguments, *QUICK, "--sweep", "grid=2x1,3x1")
        for words in ("exchange", "grid", "median", "cannot be", "3x1", "*"):
            self.assertIn(words, table)

    def test_none_can_be_planned(self):
        arguments = ["bench", "8x8", *QUICK, "--sweep", "grid=2,3", "--plot", "x.png"]
        self.expect_failure(1, *arguments, says=["none of the combinations"])

    def test_plots(self):
        self.need_matplotlib()
        exchanges = ["--sweep", "exchange=alltoallv,pairwise"]
        for sweeps in (
            ["--sweep", "chunks=1,2", *exchanges],
            ["--sweep", "chunks=2,3"],
            [*exchanges, "--sweep", "progress=none,poll"],
        ):
            with self.subTest(sweeps=sweeps):
                arguments = ["bench", "12x12x12", *QUICK, "-n", 2, *sweeps, "--plot", "picture"]
                self.succeed(*arguments, environment=PYTHON)
                self.expect_picture("picture.png")
                self.expect_picture("picture.svg")
                os.remove(self.path("picture.png"))

    def test_json_file(self):
        self.succeed("bench", "8x8", *QUICK, "--sweep", "chunks=1,2", "--json", "a.json")
        with open(self.path("a.json")) as file:
            self.assertEqual(len(json.load(file)["sweep"]), 2)

    def test_wrong_arguments(self):
        for sweep, says in (
            ("wind=3", ["wind", "chunks"]),
            ("precision=single", ["precision"]),
            ("chunks", ["chunks=A,B"]),
            ("chunks=", ["chunks=A,B"]),
            ("chunks=0", ["chunks", "0"]),
            ("chunks=1,x", ["chunks", "x"]),
            ("exchange=pigeon", ["pigeon", "it may be"]),
            ("grid=ax2", ["ax2"]),
        ):
            with self.subTest(sweep=sweep):
                self.expect_failure(2, "bench", "8x8", "-n", 2, "--sweep", sweep, says=says)
        twice = ["--sweep", "chunks=1", "--sweep", "chunks=2"]
        self.expect_failure(2, "bench", "8x8", *twice, says=["twice"])
        many = ["--sweep", "chunks=" + ",".join(map(str, range(1, 1200)))]
        self.expect_failure(2, "bench", "8x8", *many, says=["1000"])
        self.expect_failure(2, "bench", "8x8", "--plot", "x.png", says=["--sweep"])
        timeline = ["--sweep", "chunks=1", "--timeline", "t.json"]
        self.expect_failure(2, "bench", "8x8", *timeline, says=["--timeline"])


if __name__ == "__main__":
    unittest.main()
