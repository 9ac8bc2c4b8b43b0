// NextRows: the rows that a batch of rows reads next, to be fetched meanwhile.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/engine.hpp"
#include "engine/weft/fetch.hpp"

namespace weft {

template <class Real>
class NextRows {
 public:
  /// `together` rows from `first` on of all pieces, whose elements have `parts` reals, even if they
  /// are another batch's.
  NextRows(Pieces pieces, std::int64_t first, std::int64_t together, int parts) {
    for (const Piece& piece : pieces) {
      reals_ = std::max(reals_, piece.count * parts);
      if (piece.stride != 1 || count_ + together > kMost) {
        count_ = 0;
        return;
      }
      const auto* base = reinterpret_cast<const Real*>(piece.base);
      for (std::int64_t i = 0; i < together; ++i)
        rows_[count_++] = base + (first + i) * piece.distance * parts;
    }
    if (count_ * reals_ * static_cast<std::int64_t>(sizeof(Real)) > kMostBytes) count_ = 0;
  }
  /// Of what is `ahead`, or else of these.
  Fetch<Real> fetch(const Ahead& ahead) const {
    if (ahead.empty()) return {rows_, count_, 0, reals_};
    return {reinterpret_cast<const Real* const*>(ahead.rows.data()),
            static_cast<std::int64_t>(ahead.rows.size()), 0,
            ahead.bytes / static_cast<std::int64_t>(sizeof(Real))};
  }

 private:
  static constexpr std::int64_t kMost = 8 * kWidth<Real>;
  /// Rows that take more are not fetched ahead: they would displace what is transformed.
  static constexpr std::int64_t kMostBytes = 1024 * 1024;

  const Real* rows_[kMost];
  std::int64_t count_ = 0;
  std::int64_t reals_ = 0;
};

}  // namespace weft
