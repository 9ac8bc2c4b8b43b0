// The first program: a plane wave on all ranks, its mode, and back.   mpirun -n 4 first
#include <cmath>
#include <cstdio>
#include <weft/weft.hpp>

int main() {
  weft::Session mpi;
  weft::Plan<double> plan(MPI_COMM_WORLD, {64, 64, 64});  // real to complex
  auto x = plan.make_input();                             // this rank's part of the field
  auto spectrum = plan.make_output();                     // and of its 64x64x33 modes
  x.fill([](const weft::Index& i) { return std::cos(M_PI / 32 * double(3 * i[0] + 5 * i[2])); });
  plan.forward(x, spectrum);
  spectrum.for_each([](auto& k, auto& X) {
    if (std::abs(X) > 1) std::printf("%s: %g\n", to_string(k).c_str(), X.real());
  });
  plan.backward(spectrum, x);
}
