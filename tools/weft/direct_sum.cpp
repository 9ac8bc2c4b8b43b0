// The direct sum, axis by axis: the sums over the last axis are formed row by row, then weighted
// and added along the axis before, and so on. See direct_sum.hpp.
#include "direct_sum.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace weft::command {
namespace {

/// Long-double complex products that a rank may spend on one reference: about a second.
constexpr double kProductsPerRank = 2.5e8;

/// Sums over one box; the recursion goes down the axes.
template <class T>
class BoxSum {
 public:
  BoxSum(const Shape& shape, const Box& box, const RandomField& field, const SampledModes& modes)
      : box_(box), field_(field), frequencies_(modes.frequencies) {
    const auto dimensions = static_cast<std::size_t>(shape.size());
    twiddles_.resize(dimensions);
    partial_.resize(dimensions);
    std::size_t width = 1;
    for (std::size_t axis = dimensions; axis-- > 0;) {
      width *= frequencies_[axis].size();
      partial_[axis].resize(width);
      for (std::int64_t k : frequencies_[axis])
        for (std::int64_t j = box.lower[static_cast<int>(axis)];
             j < box.upper[static_cast<int>(axis)]; ++j)
          twiddles_[axis].push_back(root_of_unity(j, k, shape[static_cast<int>(axis)]));
    }
  }

  const std::vector<LongComplex>& run() {
    if (!box_.empty()) {
      Index index = box_.lower;
      sum_axis(0, index);
    }
    return partial_[0];
  }
  long double squares() const { return squares_; }

 private:
  /// Leaves in partial_[axis] the sums over the axes from `axis` on, the indices before being
  /// fixed.
  void sum_axis(int axis, Index& index) {
    if (axis + 1 == box_.dimensions()) return sum_row(index);
    auto& result = partial_[static_cast<std::size_t>(axis)];
    const auto& inner = partial_[static_cast<std::size_t>(axis) + 1];
    const auto extent = static_cast<std::size_t>(box_.extent(axis));
    std::fill(result.begin(), result.end(), LongComplex());
    for (std::size_t j = 0; j < extent; ++j) {
      index[axis] = box_.lower[axis] + static_cast<std::int64_t>(j);
      sum_axis(axis + 1, index);
      for (std::size_t f = 0; f < frequencies_[static_cast<std::size_t>(axis)].size(); ++f)
        for (std::size_t i = 0; i < inner.size(); ++i)
          result[f * inner.size() + i] +=
              twiddles_[static_cast<std::size_t>(axis)][f * extent + j] * inner[i];
    }
    index[axis] = box_.lower[axis];
  }

  void sum_row(Index& index) {
    const int last = box_.dimensions() - 1;
    auto& result = partial_.back();
    const auto extent = static_cast<std::size_t>(box_.extent(last));
    const std::int64_t first = field_.linear(index);
    std::fill(result.begin(), result.end(), LongComplex());
    for (std::size_t j = 0; j < extent; ++j) {
      const LongComplex value = field_.at<T>(first + static_cast<std::int64_t>(j));
      squares_ += value.real() * value.real() + value.imag() * value.imag();
      for (std::size_t f = 0; f < result.size(); ++f)
        add_product(result[f], value, twiddles_.back()[f * extent + j]);
    }
  }

  static void add_product(LongComplex& sum, const LongComplex& value, const LongComplex& twiddle) {
    if constexpr (kIsComplex<T>)
      sum += LongComplex(value.real() * twiddle.real() - value.imag() * twiddle.imag(),
                         value.real() * twiddle.imag() + value.imag() * twiddle.real());
    else
      sum += LongComplex(value.real() * twiddle.real(), value.real() * twiddle.imag());
  }

  const Box box_;
  const RandomField& field_;
  const std::vector<std::vector<std::int64_t>>& frequencies_;
  std::vector<std::vector<LongComplex>>
      twiddles_;  ///< [axis][frequency * local extent + local index]
  std::vector<std::vector<LongComplex>> partial_;  ///< [axis]
  long double squares_ = 0;
};

/// One frequency from each of `count` equal parts of [0, extent).
std::vector<std::int64_t> spread_frequencies(std::int64_t extent, std::int64_t count,
                                             Choices& choices) {
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < count; ++i)
    result.push_back(choices.between(i * extent / count, (i + 1) * extent / count - 1));
  return result;
}

}  // namespace

LongComplex root_of_unity(std::int64_t j, std::int64_t k, std::int64_t n) {
  const auto product = static_cast<std::int64_t>(static_cast<__int128>(j) * k % n);
  const long double angle = -2 * std::numbers::pi_v<long double> *
                            static_cast<long double>(product) / static_cast<long double>(n);
  return {std::cos(angle), std::sin(angle)};
}

std::int64_t SampledModes::count() const {
  std::int64_t result = 1;
  for (const auto& axis : frequencies) result *= static_cast<std::int64_t>(axis.size());
  return result;
}

std::vector<Index> SampledModes::indices() const {
  Shape extents;
  for (const auto& axis : frequencies) extents.push_back(static_cast<std::int64_t>(axis.size()));
  std::vector<Index> result;
  for_each_index(Box::whole(extents), [&](const Index& position) {
    Index mode;
    for (int axis = 0; axis < extents.size(); ++axis)
      mode.push_back(
          frequencies[static_cast<std::size_t>(axis)][static_cast<std::size_t>(position[axis])]);
    result.push_back(mode);
  });
  return result;
}

SampledModes sample_modes(const Shape& shape, const Shape& output_shape, int ranks,
                          std::uint64_t seed) {
  // Work is proportional to the frequencies of the last axis, so that axis gets few and the first
  // axes get the rest.
  const double points_per_rank = static_cast<double>(shape.product()) / ranks;
  const auto affordable =
      static_cast<std::int64_t>(std::clamp(kProductsPerRank / points_per_rank, 1.0, 32.0));
  const int dimensions = shape.size();
  Choices choices(seed);
  SampledModes result;
  std::int64_t left = 32;
  for (int axis = dimensions - 1; axis >= 0; --axis) {
    std::int64_t count =
        axis == 0 ? left : std::min<std::int64_t>(left, axis == dimensions - 1 ? 2 : 4);
    if (axis == dimensions - 1) count = std::min(count, affordable);
    count = std::min(count, output_shape[axis]);
    left /= count;
    result.frequencies.insert(result.frequencies.begin(),
                              spread_frequencies(output_shape[axis], count, choices));
  }
  return result;
}

template <class T>
ReferenceSpectrum direct_sum(const World& world, const Shape& shape, const Box& box,
                             const RandomField& field, const SampledModes& modes) {
  BoxSum<T> sum(shape, box, field, modes);
  ReferenceSpectrum result;
  result.values = sum.run();
  long double squares = sum.squares();
  check_mpi(
      MPI_Allreduce(MPI_IN_PLACE, result.values.data(), static_cast<int>(2 * result.values.size()),
                    MPI_LONG_DOUBLE, MPI_SUM, world.comm()),
      "MPI_Allreduce");
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &squares, 1, MPI_LONG_DOUBLE, MPI_SUM, world.comm()),
            "MPI_Allreduce");
  result.rms = std::sqrt(squares);
  return result;
}

template ReferenceSpectrum direct_sum<float>(const World&, const Shape&, const Box&,
                                             const RandomField&, const SampledModes&);
template ReferenceSpectrum direct_sum<double>(const World&, const Shape&, const Box&,
                                              const RandomField&, const SampledModes&);
template ReferenceSpectrum direct_sum<std::complex<float>>(const World&, const Shape&, const Box&,
                                                           const RandomField&, const SampledModes&);
template ReferenceSpectrum direct_sum<std::complex<double>>(const World&, const Shape&, const Box&,
                                                            const RandomField&,
                                                            const SampledModes&);

}  // namespace weft::command
