// Solves Laplace(u) = f with periodic boundaries, in place: the field, its spectrum and the
// solution share one array.
//   mpirun -n 4 poisson
#include <cmath>
#include <cstdio>
#include <weft/weft.hpp>

namespace {

constexpr std::int64_t kPoints = 48;  // per axis, on [0, 2 pi)^3

double exact(const weft::Index& i) {
  const double h = 2 * M_PI / kPoints;
  return std::sin(h * static_cast<double>(i[0])) * std::cos(2 * h * static_cast<double>(i[1])) *
         std::sin(3 * h * static_cast<double>(i[2]));
}

double signed_frequency(std::int64_t i) {
  return static_cast<double>(2 * i <= kPoints ? i : i - kPoints);
}

}  // namespace

int main() {
  weft::Session mpi;
  weft::Options options;
  options.in_place = true;
  weft::Plan<double> plan(MPI_COMM_WORLD, {kPoints, kPoints, kPoints}, options);
  auto u = plan.make_input();
  auto modes = plan.output_in(u);

  u.fill([](const weft::Index& i) { return -(1 + 4 + 9) * exact(i); });
  plan.forward(u, modes);
  modes.for_each([](const weft::Index& k, std::complex<double>& mode) {
    const double square = std::pow(signed_frequency(k[0]), 2) +
                          std::pow(signed_frequency(k[1]), 2) + std::pow(signed_frequency(k[2]), 2);
    mode = square > 0 ? -mode / square : 0;
  });
  plan.backward(modes, u);

  double error = 0;
  u.for_each([&](const weft::Index& i, double value) {
    error = std::max(error, std::abs(value - exact(i)));
  });
  MPI_Allreduce(MPI_IN_PLACE, &error, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (mpi.rank() == 0) std::printf("largest error %.1e\n", error);
  return error < 1e-12 ? 0 : 1;
}
