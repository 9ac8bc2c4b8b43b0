// RowsBehind: rows that have been put together in the cache are stored past it, a little in each of
// the steps in which the next ones are computed. All at once they would hold up what is loaded
// meanwhile.
#pragma once

#include <cstdint>

#include "engine/seam.hpp"

namespace weft {

template <class Real>
class RowsBehind {
 public:
  /// Of none.
  RowsBehind() = default;
  /// Rows at `from` and following, `from_pitch` reals apart, are stored to `to`, `to_pitch` apart.
  RowsBehind(const Real* from, std::int64_t from_pitch, Real* to, std::int64_t to_pitch)
      : from_(from), from_pitch_(from_pitch), to_(to), to_pitch_(to_pitch) {}

  /// Brings the lines of such rows of `reals` that others share.
  static void bring_ends(Real* to, std::int64_t to_pitch, std::int64_t rows, std::int64_t reals) {
    for (std::int64_t i = 0; i < rows; ++i, to += to_pitch) {
      bring_part(to);
      bring_part(to + reals);
    }
  }

  /// Step kStep of kSteps that store kRows rows of kReals, a multiple of those of a line.
  template <int kRows, int kReals, int kSteps, int kStep>
  [[gnu::always_inline]] void step() const {
    if (from_ == nullptr) return;
    constexpr int kLines = kReals / kWidth<Real> + 1;  // of each row, with its ends
    constexpr int kBegin = kStep * kRows * kLines / kSteps;
    constexpr int kEnd = (kStep + 1) * kRows * kLines / kSteps;
    unrolled<kEnd - kBegin>([&](auto i) WEFT_INLINE {
      constexpr int kRow = (kBegin + i) / kLines;
      constexpr int kLine = (kBegin + i) % kLines;
      store_line<kLine, kLines>(from_ + kRow * from_pitch_, to_ + kRow * to_pitch_);
    });
  }

 private:
  template <int kLine, int kLines>
  [[gnu::always_inline]] static void store_line(const Real* from, Real* to) {
    constexpr int kPack = kWidth<Real>;
    const std::int64_t past = past_line(to);
    const std::int64_t at = kLine * kPack - past;
    if (kLine == kLines - 1) {
      if (past != 0) store_part(to + at, load_part(from + at, 0, past), 0, past);
    } else if (kLine == 0 && past != 0) {
      store_part(to + at, load_part(from + at, past, kPack), past, kPack);
    } else {
      stream_pack(to + at, load_pack(from + at));
    }
  }

  const Real* from_ = nullptr;
  std::int64_t from_pitch_ = 0;
  Real* to_ = nullptr;
  std::int64_t to_pitch_ = 0;
};

}  // namespace weft
