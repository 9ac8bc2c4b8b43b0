// RowsBehind: rows that have been put together in the cache are stored past it, a little in each of
// the steps in which the next ones are computed. All at once they would hold up what is loaded
// meanwhile.
#pragma once

#include <cstdint>

#include "engine/weft/seam.hpp"

namespace weft {

template <class Real>
class RowsBehind {
 public:
  /// Of none.
  RowsBehind() = default;
  /// Rows at `from` and following, `from_pitch` reals apart, are stored to `to`, `to_pitch` apart.
  RowsBehind(const Real* from, std::int64_t from_pitch, Real* to, std::int64_t to_pitch)
      : from_(from), from_pitch_(from_pitch), to_(to), to_pitch_(to_pitch) {}

  /// Brings the lines that others share, of `rows` rows of `reals`. (GCC drops calls of functions
  /// that only fetch, where it does not inline them.)
  [[gnu::always_inline]] void bring_ends(std::int64_t rows, std::int64_t reals) const {
    for (std::int64_t i = 0; i < rows; ++i) {
      bring_part(to_ + i * to_pitch_);
      bring_part(to_ + i * to_pitch_ + reals);
    }
  }

  /// Step kStep of kSteps that store kRows rows of kReals, a multiple of those of a line.
  template <int kRows, int kReals, int kSteps, int kStep>
  [[gnu::always_inline]] void step() const {
    if (from_ == nullptr) return;
    constexpr int kLines = kReals / kLine<Real> + 1;  // of each row, with its ends
    constexpr int kBegin = kStep * kRows * kLines / kSteps;
    constexpr int kEnd = (kStep + 1) * kRows * kLines / kSteps;
    unrolled<kEnd - kBegin>([&](auto i) WEFT_INLINE {
      constexpr int kRow = (kBegin + i) / kLines;
      constexpr int kNumber = (kBegin + i) % kLines;
      Real* const to = to_ + kRow * to_pitch_;
      const std::int64_t past = past_line(to);
      const std::int64_t at = kNumber * kLine<Real> - past;
      copy_line(to + at, from_ + kRow * from_pitch_ + at, kNumber == 0 ? past : 0,
                kNumber == kLines - 1 ? past : kLine<Real>);
    });
  }

 private:
  const Real* from_ = nullptr;
  std::int64_t from_pitch_ = 0;
  Real* to_ = nullptr;
  std::int64_t to_pitch_ = 0;
};

}  // namespace weft
