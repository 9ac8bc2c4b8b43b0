// No transform at all: an array goes from slabs along axis 0 to slabs along axis 2, for a solver
// that wants whole planes of the other kind.   mpirun -n 3 redistribute
#include <cstdio>
#include <weft/weft.hpp>

int main() {
  weft::Session mpi;
  const auto number = [](const weft::Index& i) {
    return static_cast<double>(10000 * i[0] + 100 * i[1] + i[2]);
  };

  weft::Options options;
  options.kinds = {weft::Kind::none, weft::Kind::none, weft::Kind::none};
  options.input.grid = {mpi.size(), 1, 1};
  options.output.grid = {1, 1, mpi.size()};
  weft::Plan<double, double> plan(MPI_COMM_WORLD, {20, 30, 40}, options);

  auto before = plan.make_input();
  auto after = plan.make_output();
  before.fill(number);
  plan.forward(before, after);

  int wrong = 0;
  after.for_each([&](const weft::Index& i, double value) { wrong += value != number(i); });
  std::printf("rank %d: %s became %s, %d wrong\n", mpi.rank(), to_string(before.box()).c_str(),
              to_string(after.box()).c_str(), wrong);
  return wrong == 0 ? 0 : 1;
}
