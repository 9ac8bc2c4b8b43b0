// Spectra of real rows are symmetric: packs whose lanes, kParts of each row, go the other way.
#pragma once

#include <utility>

#include "engine/pack.hpp"

namespace weft {

/// As split(), with the lanes of each row in opposite order.
template <int kParts, class Real>
[[gnu::always_inline]] inline Column<Real> split_opposite(const Pack<Real>& low,
                                                          const Pack<Real>& high) {
  constexpr auto lanes = std::make_integer_sequence<int, kWidth<Real>>{};
  const auto pick = [&]<int... kLanes>(std::integer_sequence<int, kLanes...>, auto part)
      WEFT_INLINE {
    return __builtin_shufflevector(
        low, high, (2 * (kLanes / kParts * kParts + kParts - 1 - kLanes % kParts) + part)...);
  };
  return {pick(lanes, std::integral_constant<int, 0>{}),
          pick(lanes, std::integral_constant<int, 1>{})};
}

/// The first lane of each row of `first`, then the others of `others`, the last first.
template <int kParts, class Real>
[[gnu::always_inline]] inline Pack<Real> mirrored(const Pack<Real>& first,
                                                  const Pack<Real>& others) {
  const auto pick = [&]<int... kLanes>(std::integer_sequence<int, kLanes...>) WEFT_INLINE {
    return __builtin_shufflevector(first, others,
                                   (kLanes % kParts == 0 ? kLanes
                                                         : kWidth<Real> + kLanes / kParts * kParts +
                                                               kParts - kLanes % kParts)...);
  };
  return pick(std::make_integer_sequence<int, kWidth<Real>>{});
}

template <int kParts, class Real>
[[gnu::always_inline]] inline Column<Real> mirrored(const Column<Real>& first,
                                                    const Column<Real>& others) {
  return {mirrored<kParts, Real>(first.re, others.re), mirrored<kParts, Real>(first.im, others.im)};
}

/// `pack` with zeros in the first lane of each row.
template <int kParts, class Real>
[[gnu::always_inline]] inline Pack<Real> without_first(const Pack<Real>& pack) {
  const Pack<Real> zeros{};
  const auto pick = [&]<int... kLanes>(std::integer_sequence<int, kLanes...>) WEFT_INLINE {
    return __builtin_shufflevector(pack, zeros,
                                   (kLanes % kParts == 0 ? kWidth<Real> + kLanes : kLanes)...);
  };
  return pick(std::make_integer_sequence<int, kWidth<Real>>{});
}

}  // namespace weft
