// The oracle of `weft check`: direct Fourier sums in long double of a small array that is whole in
// memory. It shares no code with the library's transforms or layouts.
#pragma once

#include <vector>

#include "direct_sum.hpp"
#include "weft/options.hpp"

namespace weft::command {

/// The extents after a transform: an r2c axis of n becomes n/2 + 1.
Shape transformed_shape(const Shape& shape, const std::vector<Kind>& kinds);

/// The unscaled forward transform of `values` (row-major, of `shape`), in the row-major order of
/// transformed_shape(). Time: points times the sum of the transformed extents.
std::vector<LongComplex> direct_transform(const Shape& shape, const std::vector<Kind>& kinds,
                                          std::vector<LongComplex> values);

/// The product of the extents of the transformed axes.
std::int64_t transformed_points(const Shape& shape, const std::vector<Kind>& kinds);

}  // namespace weft::command
