// Division and multiples, rounded up.
#pragma once

#include <concepts>
#include <type_traits>

namespace weft {

/// `value` / `divisor`, rounded up; `value` is at least 0 and `divisor` at least 1.
template <std::integral T>
constexpr T ceil_div(T value, std::type_identity_t<T> divisor) noexcept {
  return (value + divisor - 1) / divisor;
}

/// The least multiple of `unit` that is at least `value`; for such as ceil_div() takes.
template <std::integral T>
constexpr T round_up(T value, std::type_identity_t<T> unit) noexcept {
  return ceil_div(value, unit) * unit;
}

}  // namespace weft
