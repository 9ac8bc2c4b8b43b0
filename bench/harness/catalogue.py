"""What is compared: the problems, and the libraries with the sets of options that make a row each.

A new rival is a program in bench/rivals and an entry in LIBRARIES. Nothing else names a library, apart from the
targets.
"""

from __future__ import annotations

import dataclasses
import math

ELSEWHERE = ", arrays from elsewhere"


@dataclasses.dataclass(frozen=True)
class Problem:
    """One transform: shape, c2c or r2c, double or single."""

    shape: tuple[int, ...]
    kind: str = "c2c"
    precision: str = "double"

    @property
    def points(self) -> int:
        return math.prod(self.shape)

    @property
    def array_bytes(self) -> int:
        """Of the input over all ranks; the output takes as much, give or take a plane."""
        return (
            self.points
            * (8 if self.kind == "r2c" else 16)
            // (1 if self.precision == "double" else 2)
        )

    @property
    def shape_text(self) -> str:
        return "x".join(str(extent) for extent in self.shape)

    def __str__(self):
        return f"{self.shape_text} {self.kind} {self.precision}"


@dataclasses.dataclass(frozen=True)
class Config:
    """How many ranks, and threads of each rank."""

    ranks: int
    threads: int = 1

    @classmethod
    def parse(cls, text: str) -> Config:
        """From "2" (ranks) or "1x2" (ranks x threads)."""
        ranks, _, threads = text.partition("x")
        return cls(int(ranks), int(threads or 1))

    @property
    def cores(self) -> int:
        return self.ranks * self.threads

    def __str__(self):
        ranks = f"{self.ranks} rank" + "s" * (self.ranks > 1)
        return ranks + (f" x {self.threads} threads" if self.threads > 1 else "")


@dataclasses.dataclass(frozen=True)
class Variant:
    """A set of options: its name in the table, the words for the program."""

    label: str
    options: str = ""
    kinds: tuple[str, ...] = ("c2c", "r2c")

    @property
    def plain_label(self) -> str:
        """That of the same options with arrays of the plan."""
        return self.label.removesuffix(ELSEWHERE)


IN_PLACE = Variant("in place", "in_place")
OUT_OF_PLACE = Variant("out of place")
IN_PLACE_TRANSPOSED = Variant("in place, transposed", "in_place,transposed")
IN_PLACE_NATURAL = Variant("in place, natural", "in_place")
OUT_OF_PLACE_NATURAL = Variant("out of place, natural")


@dataclasses.dataclass(frozen=True)
class Library:
    """A rival. `variants`: those that are best as a rule come first, since narrow runs take only these."""

    name: str
    program: str  # in build/bench, or a Python file in bench/rivals
    variants: tuple[Variant, ...]
    best_variants: int = 1  # of a narrow run; 2 where natural output has one of its own
    one_process: bool = False  # threads instead of ranks
    threads_in_ranks: bool = True  # can do several ranks with several threads each
    dimensions: tuple[int, ...] = (1, 2, 3)
    kinds: tuple[str, ...] = ("c2c", "r2c")
    modules: tuple[str, ...] = ()  # that a Python program imports

    @property
    def is_python(self) -> bool:
        return self.program.endswith(".py")

    @property
    def is_rival(self) -> bool:
        return self.name not in ("weft", "floor")

    @property
    def uses_mpi(self) -> bool:
        return not (self.is_python and self.one_process)

    def config_for(self, config: Config, cores: int) -> Config:
        """The ranks and threads it runs with where Weft runs with `config` on a machine of `cores` cores."""
        return Config(1, min(config.cores, cores)) if self.one_process else config

    def objection(self, problem: Problem, config: Config) -> str:
        """Why it is left out for this; "" when it is not."""
        if len(problem.shape) not in self.dimensions:
            return f"it has no {len(problem.shape)}-D transforms here"
        if problem.kind not in self.kinds:
            return f"it has no {problem.kind}"
        if config.threads > 1 and not (self.one_process or self.threads_in_ranks):
            return "one thread per rank"
        return ""

    def variants_for(self, problem: Problem, config: Config, narrow: bool) -> list[Variant]:
        """Those that can do the problem; of a rival only the best when the run is narrow."""
        able = [variant for variant in self.variants if problem.kind in variant.kinds]
        if not self.is_rival:
            # To one rank an exchange means nothing, nor does whether peers reach its arrays.
            alone = [
                v for v in able if "exchange" not in v.options and "elsewhere" not in v.options
            ]
            return able if config.ranks > 1 else alone
        return able[: self.best_variants] if narrow else able


LIBRARIES = (
    Library(
        "weft",
        "weft",
        (
            Variant("out of place, cheapest"),
            Variant("in place, cheapest", "in_place"),
            Variant("out of place, natural", "natural"),
            Variant("out of place, natural" + ELSEWHERE, "natural,elsewhere"),
            Variant("in place, natural", "in_place,natural"),
            Variant("in place, natural" + ELSEWHERE, "in_place,natural,elsewhere"),
            Variant("pairwise exchange", "exchange=pairwise"),
            Variant("alltoallv exchange", "exchange=alltoallv"),
        ),
    ),
    Library(
        "fftw_mpi",
        "fftw_mpi",
        (IN_PLACE_TRANSPOSED, IN_PLACE_NATURAL, OUT_OF_PLACE_NATURAL),
        best_variants=2,
        dimensions=(2, 3),
    ),
    Library(
        "mkl_cluster",
        "mkl_cluster",
        (IN_PLACE_TRANSPOSED, IN_PLACE_NATURAL, OUT_OF_PLACE_NATURAL),
        best_variants=2,
        threads_in_ranks=False,
        dimensions=(2, 3),
    ),
    Library(
        "heffte",
        "heffte",
        (
            Variant("MKL, transposed, slabs, p2p", "mkl,transposed,slabs,p2p_plined"),
            Variant("MKL, transposed, slabs, strided", "mkl,transposed,slabs,p2p_plined,strided"),
            Variant("MKL, natural, defaults", "mkl"),
            Variant("FFTW, natural, defaults", "fftw"),
        ),
        threads_in_ranks=False,
        dimensions=(2, 3),
    ),
    Library(
        "2decomp",
        "2decomp",
        (Variant("slabs, transposed"),),
        threads_in_ranks=False,
        dimensions=(3,),
    ),
    Library(
        "p3dfft",
        "p3dfft",
        (Variant("slabs, transposed"),),
        threads_in_ranks=False,
        dimensions=(3,),
    ),
    Library(
        "mpi4py_fft",
        "mpi4py_pfft.py",
        (Variant("slabs, transposed"),),
        dimensions=(2, 3),
        modules=("mpi4py", "mpi4py_fft"),
    ),
    Library("mkl_dfti", "mkl_dfti", (IN_PLACE, OUT_OF_PLACE), one_process=True),
    Library("fftw_threads", "fftw_threads", (IN_PLACE, OUT_OF_PLACE), one_process=True),
    Library(
        "ducc",
        "ducc.py",
        (OUT_OF_PLACE, Variant("in place", "in_place", kinds=("c2c",))),
        one_process=True,
        modules=("numpy", "ducc0"),
    ),
    Library(
        "scipy",
        "scipy_fft.py",
        (Variant("overwrite_x", "in_place"), OUT_OF_PLACE),
        one_process=True,
        modules=("numpy", "scipy"),
    ),
    # Not a rival: what the memory and the engine of this machine allow.
    Library(
        "floor", "floor", (Variant("two sweeps", "sweeps"), Variant("engine in cache", "engine"))
    ),
)

# What the comparison is wanted for; `make bench` alone takes less.
ALL_SIZES = ("64", "128", "200", "243", "256", "384", "400", "512", "4096x4096", "16384x16384")
ALL_RANKS = ("2", "1x2", "4", "1")
DEFAULT_SIZES = ("128", "256")
DEFAULT_RANKS = ("2",)


def parse_shape(text: str) -> tuple[int, ...]:
    """From "128" (a cube) or "4096x4096"."""
    extents = tuple(int(extent) for extent in text.split("x"))
    if min(extents) < 1:
        raise ValueError(f"extents are positive, got {text}")
    return extents * 3 if len(extents) == 1 else extents
