// RowsAhead: rows that are loaded soon are fetched, a little in each of the steps in which those
// before them are transformed.
#pragma once

#include <cstdint>

#include "base/rounding.hpp"
#include "engine/engine.hpp"
#include "engine/weft/butterfly.hpp"

namespace weft {

/// Fetches kRows rows of kReals reals, that are loaded soon, while kSteps steps are done. Memory
/// takes only so many requests at a time, and what computing loads from the cache waits behind
/// those that are too many: so each step brings its share of the lines (256^3 c2c, rows from
/// memory: 14 -> 9 ns for 8 points on a core of a Xeon, all in cache 7).
template <class Real, int kRows, int kReals, int kSteps>
class RowsAhead {
 public:
  /// `row` is the first of those that are loaded now, `pitch` reals apart, and number `number` of
  /// `count`. If anything is `ahead`, their share of that instead.
  RowsAhead(const Real* row, std::int64_t pitch, const Ahead& ahead, std::int64_t number,
            std::int64_t count)
      : rows_(row + kAhead * pitch), pitch_(pitch) {
    if (ahead.empty()) return;
    const auto rows = static_cast<std::int64_t>(ahead.rows.size());
    const auto at = [&](std::int64_t i) {
      return reinterpret_cast<const Real*>(ahead.rows[static_cast<std::size_t>(i)]);
    };
    const std::int64_t first = number * rows / count;
    rows_ = at(first);
    pitch_ = first + 1 < rows ? at(first + 1) - rows_ : 0;
    lines_ = ceil_div(ahead.bytes, kPackBytes);
  }

  template <int kStep>
  [[gnu::always_inline]] void step() const {
    constexpr int kBegin = kStep * kLines / kSteps;
    constexpr int kEnd = (kStep + 1) * kLines / kSteps;
    unrolled<kEnd - kBegin>([&](auto i) WEFT_INLINE {
      constexpr int kLine = kBegin + i;
      if (kLine % kLinesOfRow < lines_)
        __builtin_prefetch(
            rows_ + kLine / kLinesOfRow * pitch_ + kLine % kLinesOfRow * kWidth<Real>, 0, 2);
    });
  }

 private:
  /// What is loaded comes from memory so many bytes ahead.
  static constexpr std::int64_t kBytesAhead = 8 * 1024;
  static constexpr int kLinesOfRow = ceil_div(kReals, kWidth<Real>);
  static constexpr int kLines = kRows * kLinesOfRow;
  static constexpr std::int64_t kBytes = kLines * kPackBytes;
  static constexpr std::int64_t kAhead = kRows * ceil_div(kBytesAhead, kBytes);

  const Real* rows_;
  std::int64_t pitch_;
  std::int64_t lines_ = kLinesOfRow;  // of each row
};

}  // namespace weft
