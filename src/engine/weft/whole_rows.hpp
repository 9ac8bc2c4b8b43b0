// WholeRows: memory for some rows of a batch that lie in pieces, or are to be stored past the
// cache wherever they lie: they are put together there, and taken apart.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/rounding.hpp"
#include "engine/engine.hpp"
#include "engine/weft/seam.hpp"

namespace weft {

template <class Real>
class WholeRows {
 public:
  /// Reals from one row to the next.
  static std::int64_t pitch(std::int64_t reals) {
    constexpr std::int64_t kPack = kWidth<Real>;
    return round_up(reals, kPack);
  }

  /// In `memory`, of rows of `reals`, whose elements have `parts` of them.
  WholeRows(Real* memory, std::int64_t reals, int parts)
      : rows_(memory), reals_(reals), pitch_(pitch(reals)), parts_(parts) {}

  Real* row(std::int64_t number) const { return rows_ + number * pitch_; }
  std::int64_t pitch() const { return pitch_; }
  /// The rows as they lie here.
  Piece piece() const {
    return {reinterpret_cast<std::byte*>(rows_), 0, pitch_ / parts_, 1, pitch_ / parts_};
  }

  /// Puts together `count` rows, `first` and following.
  void join(Pieces pieces, std::int64_t first, std::int64_t count) const {
    for (const Piece& piece : pieces)
      for (std::int64_t i = 0; i < count; ++i)
        std::copy_n(part(piece, first + i), piece.count * parts_, row(i) + piece.begin * parts_);
  }

  /// Multiplies the first `count` rows.
  void scale(std::int64_t count, Real factor) const {
    for (std::int64_t i = 0; i < count; ++i)
      for (std::int64_t j = 0; j < reals_; ++j) row(i)[j] *= factor;
  }

  /// Stores them as `first` and following, past the cache if `streaming` and where the processor
  /// can.
  void store(Pieces pieces, std::int64_t first, std::int64_t count, bool streaming) const {
    for (const Piece& piece : pieces)
      for (std::int64_t i = 0; i < count; ++i) {
        const Real* const from = row(i) + piece.begin * parts_;
        if (streaming && kHasSeams)
          stream(part(piece, first + i), from, piece.count * parts_);
        else
          std::copy_n(from, piece.count * parts_, part(piece, first + i));
      }
  }

 private:
  Real* part(const Piece& piece, std::int64_t row) const {
    return reinterpret_cast<Real*>(piece.base) + row * piece.distance * parts_;
  }

  static void stream(Real* to, const Real* from, std::int64_t reals) {
    constexpr std::int64_t kAll = kLine<Real>;
    const std::int64_t past = past_line(to);
    const std::int64_t end = past + reals;
    for (std::int64_t line = 0; line < end; line += kAll)
      copy_line(to - past + line, from - past + line, line == 0 ? past : 0,
                std::min(kAll, end - line));
  }

  Real* rows_;
  std::int64_t reals_;  // of each
  std::int64_t pitch_;
  int parts_;
};

/// Whether rows can be joined and stored: their elements are contiguous.
inline bool are_rows(Pieces pieces) {
  return std::ranges::all_of(pieces, [](const Piece& piece) { return piece.stride == 1; });
}

/// Reals of a row of `spec`, and of an element, on one side.
struct RowReals {
  std::int64_t row;
  int element;
};
inline RowReals reals_in(const BatchSpec& spec) {
  if (spec.kind == BatchKind::r2c) return {spec.n, 1};
  return {2 * (spec.kind == BatchKind::c2r ? spec.n / 2 + 1 : spec.n), 2};
}
inline RowReals reals_out(const BatchSpec& spec) {
  if (spec.kind == BatchKind::c2r) return {spec.n, 1};
  return {2 * (spec.kind == BatchKind::r2c ? spec.n / 2 + 1 : spec.n), 2};
}

}  // namespace weft
