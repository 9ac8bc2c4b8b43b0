// RowTransform: the transform of rows one by one, or of two at once in single precision. The lanes
// of its columns are parts of a row: lane p of column j is point j * kParts + p, so that columns
// are loaded as they lie in memory and few of them fill L1. What is left after their transform is
// done kParts columns at a time, turned about in registers (the four steps of Bailey, J.
// Supercomputing 4, 1990, the last three in one).
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "base/rounding.hpp"
#include "engine/weft/column_transform.hpp"

namespace weft {

template <class Real>
class RowTransform {
 public:
  /// Points next to each other that a column has of each row, and rows of which it has them.
  static constexpr int kParts = kPackBytes / 8;
  static constexpr int kRows = kWidth<Real> / kParts;

  static bool takes(std::int64_t n) { return n % kParts == 0 && n >= kParts * kParts; }

  /// exp(-2 pi i p k / n), or its conjugate backward, for kParts k from `first` on, for each row.
  static Column<Real> roots(std::int64_t p, std::int64_t first, std::int64_t n,
                            Direction direction) {
    Column<Real> column;
    for (int lane = 0; lane < kWidth<Real>; ++lane) {
      const Twiddle<Real> w = root<Real>(p * (first + lane % kParts), n);
      column.re[lane] = w.re;
      column.im[lane] = direction == Direction::forward ? w.im : -w.im;
    }
    return column;
  }

  /// For run_short() if `in_registers`, else for run().
  RowTransform(std::int64_t n, Direction direction, bool in_registers = false);

  std::int64_t n() const noexcept { return n_; }
  bool in_squares() const noexcept { return columns() % kParts == 0; }
  std::int64_t columns() const noexcept { return n_ / kParts; }
  /// Columns that run() needs.
  std::int64_t work_columns() const noexcept { return parts_.work_columns(); }
  /// The order in which the columns of `in.rows` are loaded: rows[i] is column column_loaded(i).
  std::int64_t column_loaded(std::int64_t i) const noexcept { return parts_.point_loaded(i); }

  /// Transforms what `in` loads, or what is in work[0], ..., work[columns() - 1] where it has no
  /// rows; goes on with `fetch` meanwhile. Calls put(k, column) for each kParts frequencies from k
  /// on: if in_squares(), for each multiple of kParts, else for some frequencies twice.
  template <class Put>
  [[gnu::always_inline]] void run(Column<Real>* work, const LanesIn<Real>& in, Fetch<Real> fetch,
                                  Put put) const {
    parts_.run(work, in, fetch);
    const Column<Real>* const of_lanes = twiddles_.data();
    const Twiddle<Real>* of_square = of_squares_.data();
    const std::int64_t* at = positions_.data();
    for (std::int64_t k = 0; k < columns(); k += kParts, at += kParts, of_square += kParts - 1) {
      finish([&](auto i) WEFT_INLINE -> const Column<Real>& { return work[at[i]]; },
             [&](auto p, const Column<Real>& x)
                 WEFT_INLINE { return x * of_lanes[p] * of_square[p]; },
             [&](auto q, const Column<Real>& value)
                 WEFT_INLINE { put(begins_[q] + square_from(k), value); });
    }
  }

  /// The same of kColumns columns, which stay in registers: those that load(j) returns, for j an
  /// integral constant. Calls put(k, column), with k likewise.
  template <int kColumns, Direction kDirection, class Load, class Put>
  [[gnu::always_inline]] void run_short(Load load, Put put) const {
    constexpr bool kForward = kDirection == Direction::forward;
    const Column<Real>* const twiddles = twiddles_.data();
    Column<Real> x[kColumns];
    unrolled<kColumns>([&](auto j) WEFT_INLINE { x[j] = load(j); });
    butterfly<kColumns>(x);
    unrolled<ceil_div(kColumns, kParts)>([&](auto square) WEFT_INLINE {
      constexpr int kBegin = std::min(square * kParts, kColumns - kParts);
      finish(
          [&](auto i) WEFT_INLINE -> const Column<Real>& {
            constexpr int kAt = kBegin + i;
            return x[kForward ? kAt : (kColumns - kAt) % kColumns];
          },
          [&](auto p, const Column<Real>& column)
              WEFT_INLINE { return column * twiddles[square * (kParts - 1) + p]; },
          [&](auto q, const Column<Real>& value) WEFT_INLINE {
            constexpr int kPart = kForward ? q : (kParts - q) % kParts;
            put(std::integral_constant<int, kColumns * kPart + kBegin>{}, value);
          });
    });
  }

 private:
  /// The first of the frequencies of the parts that are done with the k-th. The last squares
  /// overlap where the columns are not squares.
  std::int64_t square_from(std::int64_t k) const { return std::min(k, columns() - kParts); }

  /// Puts what a square of columns becomes: the q-th of these is put(q, column). turn(p, column)
  /// multiplies what lane p + 1 of all has become.
  template <class Get, class Turn, class Put>
  [[gnu::always_inline]] static void finish(Get get, Turn turn, Put put) {
    Pack<Real> re[kParts];
    Pack<Real> im[kParts];
    unrolled<kParts>([&](auto i) WEFT_INLINE { re[i] = get(i).re; });
    transpose<Real, kParts>(re);
    unrolled<kParts>([&](auto i) WEFT_INLINE { im[i] = get(i).im; });
    transpose<Real, kParts>(im);
    Column<Real> x[kParts];
    x[0] = {re[0], im[0]};
    unrolled<kParts - 1>([&](auto p) WEFT_INLINE {
      x[p + 1] = turn(p, Column<Real>{re[p + 1], im[p + 1]});
    });
    butterfly<kParts>(x);
    unrolled<kParts>([&](auto q) WEFT_INLINE { put(q, x[q]); });
  }

  std::int64_t n_;
  ColumnTransform<Real> parts_;
  std::vector<std::int64_t> positions_;  // of the frequencies of parts
  // Of lanes 1 and following, kParts frequencies at a time: of all, or of the first ones. Others
  // are these times a factor for each square and lane, since a table of all would be as large as a
  // long row (rows of 2048 x 16384 c2c single, 1 rank with 2 threads of a Cascade Lake Xeon: 53.6
  // -> 47.9 ms).
  std::vector<Column<Real>> twiddles_;
  std::vector<Twiddle<Real>> of_squares_;
  std::int64_t begins_[kParts];  // frequencies that the last butterfly has, but for k
};

template <class Real>
RowTransform<Real>::RowTransform(std::int64_t n, Direction direction, bool in_registers)
    : n_(n), parts_(n / kParts, direction) {
  const bool forward = direction == Direction::forward;
  for (std::int64_t k = 0; k < columns(); k += kParts) {
    for (int i = 0; i < kParts; ++i) positions_.push_back(parts_.position(square_from(k) + i));
    if (k == 0 || in_registers)
      for (int p = 1; p < kParts; ++p) twiddles_.push_back(roots(p, square_from(k), n, direction));
    for (int p = 1; p < kParts && !in_registers; ++p) {
      const Twiddle<Real> w = root<Real>(p * square_from(k), n);
      of_squares_.push_back({w.re, forward ? w.im : -w.im});
    }
  }
  for (int q = 0; q < kParts; ++q) begins_[q] = columns() * (forward ? q : (kParts - q) % kParts);
}

}  // namespace weft
