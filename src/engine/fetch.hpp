// Fetch: what a later call will load, and what this one will store, is brought into the cache
// meanwhile, piece by piece, since memory can take only so many requests at a time.
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
      : loads_{rows, rows + count, first, last, first} {}

  /// Brings likewise, before those, what will be stored by way of the cache.
  void add_stores(const Real* const* rows, std::int64_t count, std::int64_t first,
                  std::int64_t last) {
    stores_ = {rows, rows + count, first, last, first};
  }

  /// Brings a piece: 256 bytes, or 512 of what will be loaded if they are `long_pieces`.
  [[gnu::always_inline]] void piece() {
    if (stores_.row != stores_.end)
      bring<Use::store>(stores_, false);
    else if (loads_.row != loads_.end)
      bring<Use::load>(loads_, long_pieces);
  }

  bool long_pieces = false;

 private:
  static constexpr int kPiece = 4 * kWidth<Real>;
  enum class Use { load, store };
  struct Walk {
    const Real* const* row = nullptr;
    const Real* const* end = nullptr;
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::int64_t at = 0;
  };

  // What will be loaded has to be in the second-level cache only.
  template <Use kUse>
  [[gnu::always_inline]] static void line(const Real* at) {
    kUse == Use::load ? __builtin_prefetch(at, 0, 2) : __builtin_prefetch(at, 1, 3);
  }
  template <Use kUse>
  [[gnu::always_inline]] static void four_lines(const Real* from) {
#pragma GCC unroll 4
    for (int number = 0; number < 4; ++number) line<kUse>(from + number * kWidth<Real>);
  }
  template <Use kUse>
  [[gnu::always_inline]] static void bring(Walk& walk, bool two) {
    const Real* const from = *walk.row + walk.at;
    four_lines<kUse>(from);
    if (two) four_lines<kUse>(from + kPiece);
    walk.at += two ? 2 * kPiece : kPiece;
    if (walk.at < walk.last) return;
    line<kUse>(*walk.row + walk.last - 1);  // in which the row ends
    walk.at = walk.first;
    ++walk.row;
  }

  Walk loads_;
  Walk stores_;
};

}  // namespace weft
