// Fetch: what a later call will load is brought into the cache meanwhile, piece by piece, since
// memory can take only so many requests at a time.
#pragma once

#include <cstdint>

#include "engine/pack.hpp"

namespace weft {

template <class Real>
class Fetch {
 public:
  /// Of nothing.
  Fetch() = default;
  /// Of reals `first` to `last` (past the end) of each of `count` rows, wherever they are.
  Fetch(const Real* const* rows, std::int64_t count, std::int64_t first, std::int64_t last)
      : row_(rows), end_(rows + count), first_(first), last_(last), at_(first) {}

  /// Brings a piece: 256 bytes, or 512 if they are `long_pieces`.
  [[gnu::always_inline]] void piece() {
    if (row_ == end_) return;
    const Real* const from = *row_ + at_;
    four_lines(from);
    if (long_pieces) four_lines(from + kPiece);
    at_ += long_pieces ? 2 * kPiece : kPiece;
    if (at_ < last_) return;
    __builtin_prefetch(*row_ + last_ - 1, 0, 2);  // the line in which the row ends
    at_ = first_;
    ++row_;
  }

  bool long_pieces = false;

 private:
  static constexpr int kPiece = 4 * kWidth<Real>;
  [[gnu::always_inline]] static void four_lines(const Real* from) {
#pragma GCC unroll 4
    for (int line = 0; line < 4; ++line) __builtin_prefetch(from + line * kWidth<Real>, 0, 2);
  }

  const Real* const* row_ = nullptr;
  const Real* const* end_ = nullptr;
  std::int64_t first_ = 0;
  std::int64_t last_ = 0;
  std::int64_t at_ = 0;
};

}  // namespace weft
