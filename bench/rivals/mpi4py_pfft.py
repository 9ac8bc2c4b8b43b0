"""mpi4py-fft with FFTW; its output is transposed by nature. Options: pencil (without it: slabs).

The file is not called mpi4py_fft.py, since it would then import itself.
"""

import protocol
from mpi4py import MPI
from mpi4py_fft import PFFT, newDistArray


class Mpi4pyFft:
    def __init__(self, problem):
        grid = {} if "pencil" in problem.options else {"grid": (-1,)}
        self._plan = PFFT(
            MPI.COMM_WORLD,
            problem.shape,
            dtype=problem.input_dtype,
            collapse=True,
            threads=problem.threads,
            **grid,
        )
        self.input = newDistArray(self._plan, forward_output=False)
        self.input[...] = 0
        self._output = newDistArray(self._plan, forward_output=True)

    def forward(self):
        self._plan.forward(self.input, self._output, normalize=False)

    def backward(self):
        self._plan.backward(self._output, self.input, normalize=True)

    def zero_mode(self):
        return self._output.flat[0]


protocol.serve(Mpi4pyFft, mpi=True)
