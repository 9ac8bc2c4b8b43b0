"""`weft spectrum` against NumPy: every element type, both formats and orders, 1 to 4 axes."""

import csv
import os
import unittest

import numpy as np
from _weft import PYTHON, CommandTest

try:
    import h5py
except ImportError:
    h5py = None

RNG = np.random.default_rng(3)
FIELD = RNG.standard_normal((12, 15, 10))
MISSING = "/nowhere/python"


def expected_shells(x, lengths=None):
    """E(k) and the number of modes of each shell, from the full spectrum."""
    lengths = lengths or x.shape
    squared = 0
    for axis, (n, length) in enumerate(zip(x.shape, lengths, strict=True)):
        k = np.fft.fftfreq(n) * n * (max(lengths) / length)
        squared = squared + np.expand_dims(k**2, tuple(a for a in range(x.ndim) if a != axis))
    shell = np.floor(np.sqrt(squared) + 0.5).astype(int).ravel()
    energy = np.abs(np.fft.fftn(x)).ravel() ** 2 / x.size**2
    return np.bincount(shell, weights=energy), np.bincount(shell)


def read_csv(path):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    return tuple(np.array([float(row[key]) for row in rows]) for key in ("k", "E", "modes"))


class Spectrum(CommandTest):
    def check_file(self, path, x, *options, ranks=2, lengths=None, tolerance=1e-13):
        """Spectrum and modes of a file that holds x."""
        out, modes = self.path("out.csv"), self.path("modes.npy")
        text = self.succeed(
            "spectrum", path, "-n", ranks, "--no-plot", "--out", out, "--modes", modes, *options
        )
        self.assertIn("Parseval", text)
        x = x.astype(complex if np.iscomplexobj(x) else float)
        energy, counts = expected_shells(x, lengths)
        k, found, found_counts = read_csv(out)
        shells = k.astype(int)
        np.testing.assert_array_equal(found_counts, counts[shells])
        self.assertEqual(found_counts.sum(), x.size)
        np.testing.assert_allclose(found, energy[shells], rtol=0, atol=tolerance * energy.max())
        np.testing.assert_allclose(found.sum(), np.mean(np.abs(x) ** 2), rtol=10 * tolerance)
        transformed = np.fft.fftn(x) if np.iscomplexobj(x) else np.fft.rfftn(x)
        np.testing.assert_allclose(
            np.load(modes), transformed, rtol=0, atol=tolerance * np.abs(transformed).max()
        )

    def save(self, x, name="field.npy"):
        np.save(self.path(name), x)
        return self.path(name)

    def test_npy_of_every_element_type(self):
        for type_ in "?,i1,i2,<i4,>i4,i8,u1,>u2,u4,u8,f2,<f4,>f4,<f8,>f8,c8,>c8,c16".split(","):
            with self.subTest(type=type_):
                x = 20 * (np.abs(FIELD) if "u" in type_ else FIELD)
                x = x + 5j * FIELD[::-1] if "c" in type_ else x
                self.check_file(self.save(x.astype(type_)), x.astype(type_))

    def test_npy_in_fortran_order(self):
        for x in (FIELD, FIELD + 1j * FIELD[::-1]):
            self.check_file(self.save(np.asfortranarray(x)), x, ranks=3)

    def test_one_to_four_axes_and_more_ranks_than_rows(self):
        for shape in ((64,), (9, 14), (14, 9), (3, 2, 1), (2, 5, 4, 6), (1, 1, 7)):
            for ranks in (1, 4):
                with self.subTest(shape=shape, ranks=ranks):
                    x = RNG.standard_normal(shape)
                    self.check_file(self.save(x), x, ranks=ranks)

    def test_odd_and_even_last_axis_weigh_mirrored_modes(self):
        for n in (1, 2, 3, 8, 9):
            x = RNG.standard_normal((4, 5, n))
            self.check_file(self.save(x), x)

    def test_lengths_stretch_wavenumbers(self):
        self.check_file(self.save(FIELD), FIELD, "--length", "1,2,0.5", lengths=(1, 2, 0.5))

    def test_single_precision_transform(self):
        self.check_file(self.save(FIELD), FIELD, "--precision", "single", tolerance=1e-6)

    def test_a_single_mode_lands_in_its_shell(self):
        i = np.indices((16, 16, 16))
        self.save(np.cos(2 * np.pi * (3 * i[0] + 4 * i[1]) / 16))
        self.succeed("spectrum", "field.npy", "-n", 2, "--no-plot")
        k, energy, _ = read_csv(self.path("field_spectrum.csv"))
        self.assertEqual(k[np.argmax(energy)], 5)
        self.assertAlmostEqual(energy.max(), 0.5)

    def test_csv_on_stdout(self):
        self.save(FIELD)
        text = self.succeed("spectrum", "field.npy", "--out", "-", "-n", 2)
        self.assertEqual(text.splitlines()[0], "k,E,modes")

    @unittest.skipIf(h5py is None, "h5py is not installed")
    def test_hdf5_datasets(self):
        complex_field = (FIELD + 1j * FIELD[::-1]).astype("c8")
        with h5py.File(self.path("fields.h5"), "w") as file:
            file["group/u"] = FIELD
            file["c"] = complex_field
            file["big"] = (100 * FIELD).astype(">i2")
            file["mask"] = FIELD > 0
            file["x"] = np.arange(3.0)
            file.create_dataset("z", data=FIELD.astype("f4"), chunks=(5, 4, 3), compression="gzip")
        self.skip_without_hdf5("fields.h5")
        for name, x in (
            ("group/u", FIELD),
            ("/c", complex_field),
            ("big", (100 * FIELD).astype("i2")),
            ("mask", FIELD > 0),
            ("z", FIELD.astype("f4")),
        ):
            with self.subTest(dataset=name):
                self.check_file(self.path("fields.h5"), x, "--dataset", name, ranks=3)
        self.expect_failure(2, "spectrum", "fields.h5", says=["--dataset", "group/u", "mask"])
        self.expect_failure(
            2, "spectrum", "fields.h5", "-n", 2, "--dataset", "v", says=["'v'", "group/u"]
        )

    @unittest.skipIf(h5py is None, "h5py is not installed")
    def test_the_only_field_of_an_hdf5_file_needs_no_name(self):
        with h5py.File(self.path("one.h5"), "w") as file:
            file["time"] = np.arange(3.0)
            file["u"] = FIELD
        self.skip_without_hdf5("one.h5")
        self.check_file(self.path("one.h5"), FIELD)

    def skip_without_hdf5(self, name):
        if "without parallel HDF5" in self.run_weft("spectrum", name).stderr:
            self.skipTest("this weft was built without parallel HDF5")

    def test_plot_is_drawn(self):
        self.need_matplotlib()
        self.save(FIELD)
        arguments = ["spectrum", "field.npy", "-n", 2, "--plot", "x.png", "--out", "x.csv"]
        self.assertIn("x.png", self.succeed(*arguments, environment=PYTHON))
        self.expect_picture("x.png")

    def test_without_python_the_csv_is_still_written(self):
        self.save(FIELD)
        result = self.run_weft("spectrum", "field.npy", environment={"WEFT_PYTHON": MISSING})
        self.assertEqual(result.returncode, 0)
        self.assertIn("Matplotlib", result.stderr)
        self.assertTrue(os.path.exists(self.path("field_spectrum.csv")))
        self.assertFalse(os.path.exists(self.path("field_spectrum.png")))

    def test_files_that_cannot_be_read(self):
        self.save(np.zeros(3, dtype=[("a", "f4")]), "records.npy")
        self.save(FIELD * np.nan, "nan.npy")
        self.save(np.zeros((0, 3)), "empty.npy")
        with open(self.save(FIELD), "r+b") as file:
            file.truncate(5000)
        with open(self.path("text"), "w") as file:
            file.write("hello, this is no field")
        for name, words in (
            ("records.npy", "records"),
            ("nan.npy", "not finite"),
            ("empty.npy", "no field"),
            ("field.npy", "truncated"),
            ("text", "neither a .npy nor an HDF5"),
            ("missing.npy", "No such file"),
        ):
            with self.subTest(file=name):
                self.expect_failure(1, "spectrum", name, "-n", 2, "--no-plot", says=[name, words])

    def test_results_that_cannot_be_written(self):
        self.save(FIELD)
        for option in ("--out", "--modes"):
            result = self.run_weft(
                "spectrum", "field.npy", "-n", 2, "--no-plot", option, "/nowhere/x"
            )
            self.assertEqual(result.returncode, 1)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)

    def test_wrong_number_of_lengths(self):
        self.save(FIELD)
        self.expect_failure(2, "spectrum", "field.npy", "--length", "1,2", says=["3 axes"])


if __name__ == "__main__":
    unittest.main()
