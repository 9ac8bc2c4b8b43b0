"""`weft bench`: its table, its JSON, and that the numbers in it fit together."""

import itertools
import json
import math
import unittest

from _weft import PYTHON, CommandTest


class Bench(CommandTest):
    def test_json_has_the_documented_keys(self):
        result = self.succeed_json("bench", "20x15x12", "-n", 2, "--repeat", 3, "--json", "-")
        for key in (
            "shape kind precision ranks threads fields options forward backward gflops"
            " roundtrip_error reference_error workspace_bytes stages stream_bytes_per_s floor_s"
        ).split():
            self.assertIn(key, result)
        self.assertLessEqual({"grid", "exchange", "engine"}, set(result["options"]))
        self.assertEqual(result["shape"], [20, 15, 12])
        self.assertEqual((result["kind"], result["precision"]), ("c2c", "double"))
        self.assertEqual((result["ranks"], result["fields"]), (2, 1))
        for direction in ("forward", "backward"):
            times = [result[direction][key] for key in ("min_s", "median_s", "max_s")]
            self.assertEqual(times, sorted(times))
            self.assertGreater(times[0], 0)
            self.assertEqual(result[direction]["repetitions"], 3)

    def test_stages_tell_time_and_bytes(self):
        result = self.succeed_json("bench", "32x32x32", "-n", 2, "--repeat", 3, "--json", "-")
        self.assertTrue(result["stages"])
        for stage in result["stages"]:
            self.assertLessEqual({"name", "seconds", "bytes"}, set(stage))
            self.assertGreaterEqual(stage["bytes"], 0)
        for direction in ("forward", "backward"):
            seconds = sum(s["seconds"] for s in result["stages"] if s["direction"] == direction)
            self.assertLess(seconds, 3 * result[direction]["max_s"])
        sent = [s["bytes"] for s in result["stages"] if s["type"] == "exchange"]
        self.assertIn(32**3 * 16 // 2, sent)  # each of two ranks sends half of its half

    def test_copies_count_only_what_they_copy(self):
        grids = ("--grid", "2x1x1", "--output-grid", "natural")
        bench = ("bench", "32x32x32", "-n", 2, *grids, "--repeat", 2, "--json", "-")
        direct = self.succeed_json(*bench)
        self.assertNotIn("copy", [s["name"] for s in direct["stages"]])
        no_memfd = {"WEFT_WINDOW": "mpi"}  # so that ranks do not reach each other's arrays
        array = 32**3 * 16
        for result in (
            self.succeed_json(*bench, "--arrays-elsewhere"),
            self.succeed_json(*bench, environment=no_memfd),
        ):
            copied = [s["bytes"] for s in result["stages"] if s["name"] == "copy"]
            self.assertEqual(copied, [array, array])  # half of it, read and written
            self.assertEqual(result["pass_bytes"], 2 * 2 * array + array)

    def test_floor_is_what_passes_move_at_the_measured_bandwidth(self):
        result = self.succeed_json("bench", "32x32", "--repeat", 2, "--json", "-")
        self.assertEqual(result["pass_bytes"], result["passes"] * 2 * 32 * 32 * 16)
        self.assertAlmostEqual(
            result["floor_s"] * result["stream_bytes_per_s"] / result["pass_bytes"], 1
        )
        self.assertGreater(result["stream_bytes_per_s"], 1e8)

    def test_gflops_count_half_for_real_input(self):
        for kind, factor in (("c2c", 1), ("r2c", 0.5)):
            result = self.succeed_json(
                "bench", "16x16x16", "--kind", kind, "--fields", 2, "--repeat", 2, "--json", "-"
            )
            operations = 2 * 5 * 16**3 * math.log2(16**3) * factor
            seconds = result["forward"]["median_s"]
            self.assertAlmostEqual(result["forward"]["gflops"] * 1e9 * seconds / operations, 1)

    def test_values_are_right_in_every_variant(self):
        for variant in (
            ["17x19x23", "--kind", "r2c", "-n", 3],
            ["30x20x10", "--precision", "single", "-n", 2, "--in-place"],
            ["12x10x40", "-n", 3, "--low-memory", "--fields", 2],
            ["12x9x8", "-n", 3, "--shared-arrays", "--grid", "3", "--output-grid", "natural"],
            ["12x10x8", "-n", 4, "--grid", "2x2", "--output-grid", "natural"],
            ["12x9x8", "-n", 3, "--arrays-elsewhere", "--grid", "3", "--output-grid", "natural"],
            ["12x9x8", "-n", 3, "--arrays-elsewhere", "--in-place", "--kind", "r2c"],
            ["12x10x8", "-n", 4, "--grid", "2x2", "--output-grid", "1x4", "--fields", 3],
            ["24x18", "--kind", "r2c", "--in-place", "-n", 2, "--threads", 2],
            ["1000", "-n", 2],
            ["3x2x4x5x2x3", "-n", 3],
        ):
            with self.subTest(variant=variant):
                result = self.succeed_json("bench", *variant, "--repeat", 1, "--json", "-")
                epsilon = 2e-7 if result["precision"] == "single" else 3e-16
                self.assertLess(result["roundtrip_error"], 20 * epsilon)
                self.assertLess(result["reference_error"], 20 * epsilon)
                self.assertGreater(result["reference_modes"], 0)

    def test_table_and_json_file(self):
        table = self.succeed("bench", "16x16", "--repeat", 1, "--json", self.path("result.json"))
        for words in ("forward", "backward", "GFlop/s", "floor", "round trip", "direct sum"):
            self.assertIn(words, table)
        with open(self.path("result.json")) as file:
            self.assertEqual(json.load(file)["shape"], [16, 16])

    def test_timeline_has_every_rank_and_thread(self):
        arguments = ["bench", "24x20x16", "-n", 2, "--repeat", 1, "--exchange", "pairwise"]
        arguments += ["--chunks", 3, "--fields", 2, "--timeline", "weave.json"]
        self.assertEqual(self.run_weft(*arguments, environment=PYTHON).returncode, 0)
        with open(self.path("weave.json")) as file:
            trace = json.load(file)
        spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        calls = {span["pid"]: span for span in spans if span["cat"] == "call"}
        self.assertEqual(set(calls), {0, 1})
        for span in spans:
            call = calls[span["pid"]]
            self.assertGreaterEqual(span["ts"], call["ts"])
            self.assertLessEqual(span["ts"] + span["dur"], call["ts"] + call["dur"] + 1e-3)
        wire = [s for s in spans if s["cat"] == "wire"]
        units = [(s["pid"], s["args"]["field"], s["args"]["chunk"]) for s in wire]
        self.assertEqual(
            sorted(units), [(p, f, c) for p in (0, 1) for f in (0, 1) for c in range(3)]
        )
        self.assert_tracks_do_not_overlap([s for s in spans if s["cat"] != "call"])
        names = {
            (e["pid"], e["tid"]): e["args"]["name"]
            for e in trace["traceEvents"]
            if e["name"] == "thread_name"
        }
        self.assertEqual(names[1, 0], "thread 0")
        for span in wire:
            self.assertEqual(names[span["pid"], span["tid"]], f"wire of {span['name']}")

    def assert_tracks_do_not_overlap(self, spans):
        spans = sorted(spans, key=lambda span: (span["pid"], span["tid"], span["ts"]))
        for one, next_ in itertools.pairwise(spans):
            if (one["pid"], one["tid"]) == (next_["pid"], next_["tid"]):
                self.assertLessEqual(one["ts"] + one["dur"], next_["ts"] + 1e-3)

    def test_timeline_is_drawn_beside(self):
        self.need_matplotlib()
        for number, variant in enumerate((["--chunks", 2], ["--threads", 2, "--grid", "2x2"], [])):
            ranks = ["-n", 4] if "--grid" in variant else []
            arguments = ["bench", "16x16x16", "--repeat", 1, *ranks, *variant]
            name = f"t.{number}.json"
            self.succeed(*arguments, "--timeline", name, environment=PYTHON)
            self.expect_picture(f"t.{number}.png")
            self.expect_picture(f"t.{number}.svg")

    def test_wrong_timeline(self):
        self.expect_failure(2, "bench", "8x8", "--timeline", "x.png", says=["x.png", ".json"])
        arguments = ["bench", "8x8", "-n", 2, "--repeat", 1, "--timeline"]
        self.expect_failure(1, *arguments, "/nowhere/x.json", says=["/nowhere"])

    def test_arrays_from_elsewhere_are_not_shared(self):
        for option in (["--shared-arrays"], ["--sweep", "chunks=1,2"]):
            self.expect_failure(
                2, "bench", "8x8", "--arrays-elsewhere", *option, says=["--arrays-elsewhere"]
            )

    def test_unwritable_json_file(self):
        self.expect_failure(
            1, "bench", "8x8", "--repeat", 1, "--json", "/nowhere/x.json", says=["/nowhere"]
        )


if __name__ == "__main__":
    unittest.main()
