// Direct sums of the Fourier transform in long double: at a few modes of a large distributed field.
// This is what `weft bench` compares with; it shares no code with the library's transforms.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "pseudo_random.hpp"
#include "weft/layout.hpp"
#include "world.hpp"

namespace weft::command {

using LongComplex = std::complex<long double>;

/// A tensor grid of modes: every combination of frequencies[axis][i].
struct SampledModes {
  std::vector<std::vector<std::int64_t>> frequencies;

  std::int64_t count() const;
  /// The modes in row-major order of the grid.
  std::vector<Index> indices() const;
};

/// Modes of a spectrum of `output_shape`, up to 32, fewer where the sum over `shape` would take
/// seconds.
SampledModes sample_modes(const Shape& shape, const Shape& output_shape, int ranks,
                          std::uint64_t seed);

struct ReferenceSpectrum {
  std::vector<LongComplex> values;  ///< at modes.indices()
  long double rms =
      0;  ///< root mean square of the whole (full) spectrum, by Parseval: sqrt(sum |x|^2)
};

/// sum_j x_j exp(-2 pi i j.k / n) at each sampled mode k, x being `field` rounded to T.
/// `box` is the part that this rank sums. Collective over `world`. Time: (last axis' frequencies) x
/// points of the box.
template <class T>
ReferenceSpectrum direct_sum(const World& world, const Shape& shape, const Box& box,
                             const RandomField& field, const SampledModes& modes);

extern template ReferenceSpectrum direct_sum<float>(const World&, const Shape&, const Box&,
                                                    const RandomField&, const SampledModes&);
extern template ReferenceSpectrum direct_sum<double>(const World&, const Shape&, const Box&,
                                                     const RandomField&, const SampledModes&);
extern template ReferenceSpectrum direct_sum<std::complex<float>>(const World&, const Shape&,
                                                                  const Box&, const RandomField&,
                                                                  const SampledModes&);
extern template ReferenceSpectrum direct_sum<std::complex<double>>(const World&, const Shape&,
                                                                   const Box&, const RandomField&,
                                                                   const SampledModes&);

/// exp(-2 pi i j k / n), exact to the last bit or two: the product is reduced modulo n before the
/// angle is formed.
LongComplex root_of_unity(std::int64_t j, std::int64_t k, std::int64_t n);

}  // namespace weft::command
