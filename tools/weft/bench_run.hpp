// What `weft bench` and its sweeps do with a plan: fill the input with values that any layout
// gives, check what comes out, and time calls. Every time is the slowest rank's, from a barrier on.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "bench.hpp"
#include "direct_sum.hpp"
#include "world.hpp"

namespace weft::command {

/// What one field's values depend on besides the index.
inline std::uint64_t seed_of(int field) { return 1000 + static_cast<std::uint64_t>(field); }

template <class T>
void fill_fields(Array<T>& array, const Shape& shape) {
  const int last = shape.size() - 1;
  for (int field = 0; field < array.fields(); ++field) {
    const RandomField values(shape, seed_of(field));
    for_each_row(array.box(), [&](const Index& first) {
      T* row = &array(first, field);
      const std::int64_t linear = values.linear(first);
      for (std::int64_t j = 0; j < array.box().extent(last); ++j)
        row[j * array.strides()[last]] = values.at<T>(linear + j);
    });
  }
}

/// max |array - what fill_fields() put there| / max |what it put there|, over all ranks. Values are
/// at most 1, or sqrt 2.
template <class T>
double roundtrip_error(const World& world, const Array<T>& array, const Shape& shape) {
  const int last = shape.size() - 1;
  double error = 0;
  double largest = 0;
  for (int field = 0; field < array.fields(); ++field) {
    const RandomField values(shape, seed_of(field));
    for_each_row(array.box(), [&](const Index& first) {
      const T* row = &array(first, field);
      const std::int64_t linear = values.linear(first);
      for (std::int64_t j = 0; j < array.box().extent(last); ++j) {
        const T expected = values.at<T>(linear + j);
        const double difference = std::abs(row[j * array.strides()[last]] - expected);
        error = difference <= error ? error : difference;  // keeps a NaN
        largest = std::max(largest, static_cast<double>(std::abs(expected)));
      }
    });
  }
  return world.max(std::isnan(error) ? HUGE_VAL : error) / world.max(largest);
}

inline bool contains(const Box& box, const Index& index) {
  for (int axis = 0; axis < box.dimensions(); ++axis)
    if (index[axis] < box.lower[axis] || index[axis] >= box.upper[axis]) return false;
  return true;
}

/// Values that a spectrum must have at sampled modes, by direct sums.
struct Sample {
  std::vector<Index> indices;
  std::int64_t modes = 0;
  ReferenceSpectrum reference;
};

/// Of what fill_fields() puts into a field. Collective.
template <class In, class Out>
Sample sample_of(const World& world, const Plan<In, Out>& plan, int field) {
  const Shape& shape = plan.input_layout().shape();
  const SampledModes modes = sample_modes(shape, plan.output_layout().shape(), world.size(), 7);
  const RandomField values(shape, seed_of(field));
  return {modes.indices(), modes.count(),
          direct_sum<In>(world, shape, plan.input_layout().box(world.rank()), values, modes)};
}

/// max |X - X_direct| / rms of X, over the sampled modes, of a field of `spectrum`. Collective.
template <class Out>
double reference_error(const World& world, const Sample& sample, const Array<Out>& spectrum,
                       int field) {
  double error = 0;
  for (std::size_t i = 0; i < sample.indices.size(); ++i) {
    if (!contains(spectrum.box(), sample.indices[i])) continue;
    const auto difference = static_cast<double>(
        std::abs(LongComplex(spectrum(sample.indices[i], field)) - sample.reference.values[i]));
    error = std::max(error, std::isnan(difference) ? HUGE_VAL : difference);
  }
  return world.max(error) / static_cast<double>(sample.reference.rms);
}

/// Far above all rounding, far below what a mistake makes: a fast wrong transform is no result.
inline double largest_error(const TransformArguments& arguments) {
  return arguments.is_single() ? 1e-3 : 1e-10;
}

/// Parts of each axis; empty for explicit boxes.
inline std::vector<int> parts_of(const Layout& layout) {
  std::vector<int> parts;
  if (layout.grid())
    for (int axis = 0; axis < layout.shape().size(); ++axis)
      parts.push_back(layout.grid()->parts(axis));
  return parts;
}

/// Seconds of `call`, which all ranks make. Collective.
template <class Call>
double slowest_seconds(const World& world, Call&& call) {
  check_mpi(MPI_Barrier(world.comm()), "MPI_Barrier");
  const double start = MPI_Wtime();
  call();
  return world.max(MPI_Wtime() - start);
}

/// Rounds of a measurement: `asked`, or without it what takes about two seconds.
inline int repetitions(int asked, double seconds_of_one) {
  if (asked > 0) return asked;
  return static_cast<int>(std::clamp(2.0 / std::max(seconds_of_one, 1e-6), 5.0, 100.0));
}

}  // namespace weft::command
