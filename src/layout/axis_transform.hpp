// AxisTransform: what happens to one axis, as a table of one-liners. The only place that knows
// n/2+1; sine, cosine and Chebyshev kinds are further lines here.
#pragma once

#include <cstdint>

#include "weft/kinds.hpp"

namespace weft {

struct AxisTransform {
  Kind kind = Kind::c2c;
  std::int64_t n = 1;  ///< extent of the forward input

  bool transforms() const noexcept { return kind != Kind::none; }
  bool input_is_real() const noexcept { return kind == Kind::r2c; }
  /// Extent of the forward output.
  std::int64_t output_extent() const noexcept { return kind == Kind::r2c ? n / 2 + 1 : n; }
  /// backward(forward(x)) without any scaling is this many times x.
  double unscaled_round_trip() const noexcept {
    return transforms() ? static_cast<double>(n) : 1.0;
  }
};

}  // namespace weft
