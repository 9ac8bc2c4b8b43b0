// Seams: packs that follow one another in memory, from any address on, are stored past the cache by
// whole lines. What does not fill a line waits for the next pack.
#pragma once

#include <cstdint>

#include "engine/pack.hpp"

namespace weft {

/// How many reals of the line of `to` lie before it.
template <class Real>
[[gnu::always_inline]] inline std::int64_t past_line(const Real* to) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) / sizeof(Real) %
                                   kWidth<Real>);
}

/// Stores `pack` to `to`, but for what waits afterwards; `waits` is what was stored before it, and
/// then `pack`. `opens`: it is the first one, and the reals before it are somebody else's.
template <class Real>
[[gnu::always_inline]] inline void stream_seamed(Real* to, const Pack<Real>& pack, bool opens,
                                                 Pack<Real>& waits) {
  if constexpr (kHasSeams) {
    const std::int64_t past = past_line(to);
    const Pack<Real> line = meet<Real>(waits, pack, past);
    if (opens && past != 0)
      store_part(to - past, line, past, kWidth<Real>);
    else
      stream_pack(to - past, line);
    waits = pack;
  }
}

/// Stores what waits after the last pack, which ended at `end`.
template <class Real>
[[gnu::always_inline]] inline void close_seam(Real* end, const Pack<Real>& waits) {
  if constexpr (kHasSeams) {
    const std::int64_t past = past_line(end);
    store_part(end - past, meet<Real>(waits, waits, past), 0, past);
  }
}

}  // namespace weft
