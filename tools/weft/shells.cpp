// Sums over spherical shells. See shells.hpp.
#include "shells.hpp"

#include <algorithm>
#include <cmath>

#include "pseudo_random.hpp"

namespace weft::command {
namespace {

/// The signed frequency of index i on an axis of n points: 0, 1, ..., then negative ones.
std::int64_t signed_frequency(std::int64_t i, std::int64_t n) { return 2 * i <= n ? i : i - n; }

/// k_a^2 for each index of the box along one axis.
std::vector<double> squared_wavenumbers(const ShellGeometry& geometry, const Box& box, int axis) {
  std::vector<double> result;
  for (std::int64_t i = box.lower[axis]; i < box.upper[axis]; ++i) {
    const double k = static_cast<double>(signed_frequency(i, geometry.shape[axis])) *
                     geometry.unit[static_cast<std::size_t>(axis)];
    result.push_back(k * k);
  }
  return result;
}

/// How many modes of the full spectrum an index of the halved axis stands for.
std::int64_t weight_of(const ShellGeometry& geometry, std::int64_t i) {
  return i == 0 || 2 * i == geometry.shape[geometry.halved_axis] ? 1 : 2;
}

std::size_t shell_of(double squared_wavenumber) {
  return static_cast<std::size_t>(std::floor(std::sqrt(squared_wavenumber) + 0.5));
}

/// Sums of this rank.
struct LocalSums {
  std::vector<long double> squares;
  std::vector<std::int64_t> modes;
};

template <class Real>
LocalSums sum_box(const ShellGeometry& geometry, const Array<std::complex<Real>>& spectrum) {
  const Box& box = spectrum.box();
  const int last = box.dimensions() - 1;
  std::vector<std::vector<double>> squared;
  for (int axis = 0; axis <= last; ++axis)
    squared.push_back(squared_wavenumbers(geometry, box, axis));
  LocalSums sums{std::vector<long double>(geometry.shells()),
                 std::vector<std::int64_t>(geometry.shells())};
  for_each_row(box, [&](const Index& first) {
    double base = 0;
    std::int64_t row_weight = 1;
    for (int axis = 0; axis < last; ++axis) {
      base += squared[static_cast<std::size_t>(axis)]
                     [static_cast<std::size_t>(first[axis] - box.lower[axis])];
      if (axis == geometry.halved_axis) row_weight = weight_of(geometry, first[axis]);
    }
    const std::complex<Real>* row = &spectrum(first);
    for (std::int64_t j = 0; j < box.extent(last); ++j) {
      const std::size_t shell = shell_of(base + squared.back()[static_cast<std::size_t>(j)]);
      const std::complex<double> value(row[j * spectrum.strides()[last]]);
      const std::int64_t weight =
          last == geometry.halved_axis ? weight_of(geometry, box.lower[last] + j) : row_weight;
      sums.squares[shell] += static_cast<double>(weight) * std::norm(value);
      sums.modes[shell] += weight;
    }
  });
  return sums;
}

}  // namespace

ShellGeometry ShellGeometry::from_lengths(const Shape& shape, const std::vector<double>& lengths,
                                          int halved_axis) {
  ShellGeometry result{shape, {}, halved_axis};
  const double longest = *std::max_element(lengths.begin(), lengths.end());
  for (double length : lengths) result.unit.push_back(longest / length);
  return result;
}

double ShellGeometry::complete_up_to() const {
  double result = HUGE_VAL;
  for (int axis = 0; axis < shape.size(); ++axis)
    if (shape[axis] > 1)
      result = std::min(
          result, static_cast<double>(shape[axis] / 2) * unit[static_cast<std::size_t>(axis)]);
  return std::isinf(result) ? 0 : std::max(0.0, std::floor(result - 0.5));
}

std::size_t ShellGeometry::shells() const {
  double largest = 0;
  for (int axis = 0; axis < shape.size(); ++axis) {
    const double k = static_cast<double>(shape[axis] / 2) * unit[static_cast<std::size_t>(axis)];
    largest += k * k;
  }
  return shell_of(largest) + 1;
}

template <class Real>
ShellSums sum_shells(const World& world, const ShellGeometry& geometry,
                     const Array<std::complex<Real>>& spectrum) {
  const LocalSums local = sum_box(geometry, spectrum);
  const int count = static_cast<int>(local.squares.size());
  const auto points = static_cast<double>(geometry.shape.product());
  ShellSums result;
  result.energy.assign(local.squares.begin(), local.squares.end());
  result.modes = local.modes;
  check_mpi(
      MPI_Allreduce(MPI_IN_PLACE, result.energy.data(), count, MPI_DOUBLE, MPI_SUM, world.comm()),
      "MPI_Allreduce");
  check_mpi(
      MPI_Allreduce(MPI_IN_PLACE, result.modes.data(), count, MPI_INT64_T, MPI_SUM, world.comm()),
      "MPI_Allreduce");
  for (double& energy : result.energy) {
    result.total += energy;
    energy /= points * points;
  }
  return result;
}

template ShellSums sum_shells<float>(const World&, const ShellGeometry&,
                                     const Array<std::complex<float>>&);
template ShellSums sum_shells<double>(const World&, const ShellGeometry&,
                                      const Array<std::complex<double>>&);

}  // namespace weft::command
