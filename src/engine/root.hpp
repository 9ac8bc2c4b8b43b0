// Roots of unity, as the transforms multiply by them.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace weft {

/// A complex factor of all lanes.
template <class Real>
struct Twiddle {
  Real re;
  Real im;
};

/// exp(-2 pi i numerator / denominator).
template <class Real>
Twiddle<Real> root(std::int64_t numerator, std::int64_t denominator) {
  const long double angle = 2 * std::numbers::pi_v<long double> *
                            static_cast<long double>(numerator % denominator) /
                            static_cast<long double>(denominator);
  return {static_cast<Real>(std::cos(angle)), static_cast<Real>(-std::sin(angle))};
}

}  // namespace weft
