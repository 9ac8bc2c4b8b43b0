"""DUCC in one process with threads. Options: in_place (c2c only)."""

import ducc0
import numpy as np
import protocol


class Ducc:
    def __init__(self, problem):
        in_place = "in_place" in problem.options
        self._real = problem.kind == "r2c"
        if in_place and self._real:
            raise protocol.Unsupported("DUCC transforms r2c out of place only")
        self._threads = problem.threads
        self._last = problem.shape[-1]
        self.input = np.zeros(problem.shape, problem.input_dtype)
        self._output = (
            self.input if in_place else np.zeros(problem.output_shape, problem.complex_dtype)
        )

    def forward(self):
        if self._real:
            ducc0.fft.r2c(self.input, out=self._output, nthreads=self._threads)
        else:
            ducc0.fft.c2c(self.input, out=self._output, nthreads=self._threads)

    def backward(self):
        # inorm=2 divides by N.
        if self._real:
            ducc0.fft.c2r(
                self._output, out=self.input, lastsize=self._last, forward=False, inorm=2, nthreads=self._threads,
                allow_overwriting_input=True,
            )  # fmt: skip
        else:
            ducc0.fft.c2c(
                self._output, out=self.input, forward=False, inorm=2, nthreads=self._threads
            )

    def zero_mode(self):
        return self._output.flat[0]


protocol.serve(Ducc)
