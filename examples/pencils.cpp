// Explicit choices: three velocity components in single precision, pencils in and pencils out,
// NumPy's "ortho" scaling, each output pencil contiguous along the axis that it holds whole. mpirun
// -n 4 pencils
#include <cstdio>
#include <weft/weft.hpp>

int main() {
  weft::Session mpi;
  const int rows = mpi.size() % 2 == 0 ? 2 : 1;
  const int columns = mpi.size() / rows;

  weft::Options options;
  options.fields = 3;
  options.normalization = weft::Normalization::ortho;
  options.input.grid = {rows, columns, 1};   // axes 0 and 1 are cut, axis 2 is whole
  options.output.grid = {1, rows, columns};  // axis 0 is whole ...
  options.output.order = {1, 2, 0};          // ... and contiguous
  weft::Plan<float> plan(MPI_COMM_WORLD, {40, 30, 50}, options);

  auto velocity = plan.make_input();
  auto modes = plan.make_output();
  for (int component = 0; component < 3; ++component)
    velocity.fill(
        [&](const weft::Index& i) {
          return static_cast<float>((i[0] + 2 * i[1] + 3 * i[2] + component) % 7);
        },
        component);
  plan.forward(velocity, modes);

  double energy[2] = {
      0, 0};  // in space and, counting mirrored modes too, in wavenumber: equal by Parseval
  for (int component = 0; component < 3; ++component) {
    velocity.for_each([&](const weft::Index&, float v) { energy[0] += v * v; }, component);
    modes.for_each(
        [&](const weft::Index& k, std::complex<float> v) {
          energy[1] += (k[2] == 0 || k[2] == 25 ? 1 : 2) * std::norm(v);
        },
        component);
  }
  MPI_Allreduce(MPI_IN_PLACE, energy, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (mpi.rank() == 0)
    std::printf("energy %.7g in space, %.7g in wavenumber\n", energy[0], energy[1]);
  return std::abs(energy[1] / energy[0] - 1) < 1e-5 ? 0 : 1;
}
