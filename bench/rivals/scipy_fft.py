"""scipy.fft in one process with threads. Options: in_place (overwrite_x, a permission that SciPy may use)."""

import numpy as np
import protocol
import scipy.fft


class SciPy:
    def __init__(self, problem):
        self.input = np.zeros(problem.shape, problem.input_dtype)
        self._output = None
        self._there, self._back = (
            (scipy.fft.rfftn, scipy.fft.irfftn)
            if problem.kind == "r2c"
            else (scipy.fft.fftn, scipy.fft.ifftn)
        )
        self._options = {
            "s": problem.shape,
            "workers": problem.threads,
            "overwrite_x": "in_place" in problem.options,
        }

    def forward(self):
        self._output = self._there(self.input, **self._options)

    def backward(self):
        self.input = self._back(self._output, **self._options)

    def zero_mode(self):
        return self._output.flat[0]


protocol.serve(SciPy)
