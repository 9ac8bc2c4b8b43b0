"""`weft explain`: the numbers that a user can work out by hand."""

import unittest

from _weft import CommandTest


class Explain(CommandTest):
    def test_names_layouts_steps_and_memory(self):
        text = self.succeed("explain", "24x30x20", "--kind", "r2c", "-n", 3)
        for words in (
            "24x30x20",
            "24x30x11",
            "forward",
            "backward",
            "boxes",
            "memory",
            "to other ranks",
        ):
            self.assertIn(words, text)
        for rank in range(3):
            self.assertRegex(text, rf"(?m)^ +{rank} +\[\d+,\d+\)x")

    def test_one_rank_exchanges_nothing(self):
        self.assertNotIn("to other ranks", self.succeed("explain", "16x16x16"))

    def test_grids_are_those_asked_for(self):
        text = self.succeed(
            "explain", "16x16x16", "-n", 4, "--grid", "2x2", "--output-grid", "1x2x2"
        )
        self.assertRegex(text, r"input .*grid 2x2x1 \(pencils\)")
        self.assertRegex(text, r"output .*grid 1x2x2 \(pencils\)")

    def test_many_ranks_are_shortened(self):
        text = self.succeed("explain", "40x8", "-n", 20)
        self.assertIn("more", text)
        self.assertLess(len(text.splitlines()), 45)

    def test_low_memory_tells_the_parts(self):
        text = self.succeed("explain", "12x12x129", "-n", 2, "--low-memory")
        for words in ("low memory", "fft axis 2 ", "fft axis 1, 8 parts", "fft axis 0, 1 part "):
            self.assertIn(words, text)


if __name__ == "__main__":
    unittest.main()
