// Seams: rows that begin and end anywhere are stored past the cache by whole lines. What does not
// fill a line waits for what comes next in its row; what lies before the first whole line is kept
// until the row before it is complete. A row of which both are known has no line that is stored in
// part, for which later stores would have to wait until it has been read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "engine/line.hpp"

namespace weft {

#if defined(__AVX512F__)
/// For joined_from(): which lanes of `re`, and behind them of `im`, are those of both packs.
template <class Real>
struct JoinedFrom {
  using Index = std::conditional_t<sizeof(Real) == 4, std::int32_t, std::int64_t>;
  static constexpr int kPack = kWidth<Real>;
  alignas(kPackBytes) Index ends[kPack][kPack];
  alignas(kPackBytes) Index middle[kPack][kPack];

  static constexpr Index lane_of(int real) { return real / 2 + real % 2 * kPack; }
  constexpr JoinedFrom() : ends(), middle() {
    for (int past = 0; past < kPack; ++past)
      for (int i = 0; i < kPack; ++i) {
        ends[past][i] = lane_of((i - past + 2 * kPack) % (2 * kPack));
        middle[past][i] = lane_of(i - past + kPack);
      }
  }
};

/// Lanes `index` of `a`, and behind them `b`.
template <class Real, class Index>
[[gnu::always_inline]] inline Pack<Real> lanes_of(const Pack<Real>& a, const Pack<Real>& b,
                                                  const Index* index) {
  __m512i from;
  std::memcpy(&from, index, sizeof from);
  if constexpr (sizeof(Real) == 4)
    return (Pack<Real>)_mm512_permutex2var_ps((__m512)a, from, (__m512)b);
  else
    return (Pack<Real>)_mm512_permutex2var_pd((__m512d)a, from, (__m512d)b);
}

/// Complex numbers one after another, from `past` reals behind the beginning of a line on: what
/// lies in the `middle` is whole lines; `ends` has what lies in the line before them from there on,
/// and in the one after them until there.
template <class Real>
struct JoinedColumn {
  Line<Real> ends;
  Line<Real> middle;
};
template <class Real>
[[gnu::always_inline]] inline JoinedColumn<Real> joined_from(const Column<Real>& column,
                                                             std::int64_t past) {
  static constexpr JoinedFrom<Real> kFrom;
  return {{lanes_of<Real>(column.re, column.im, kFrom.ends[past])},
          {lanes_of<Real>(column.re, column.im, kFrom.middle[past])}};
}
#endif

/// Brings the line of `to`, if it begins before: what is stored after a part of a line waits until
/// that is there.
template <class Real>
[[gnu::always_inline]] inline void bring_part(const Real* to) {
  if (past_line(to) != 0) __builtin_prefetch(to, 1, 3);
}

/// What waits of a row, where it lies in its line, and what is kept of its beginning.
template <class Real>
struct Seam {
  Real* waits = nullptr;  ///< a line for each row
  Real* kept = nullptr;   ///< likewise
  bool opens = false;     ///< what is stored next is the beginning of the rows

  void skip(std::int64_t rows) {
    waits += rows * kLine<Real>;
    kept += rows * kLine<Real>;
  }
};

/// Stores `ends`, whose reals from `past` on belong to the line of `to`, the others to the next.
template <class Real>
[[gnu::always_inline]] inline void stream_ends(Real* to, std::int64_t past, const Line<Real>& ends,
                                               const Seam<Real>& seam, std::int64_t row) {
  Real* const waits = seam.waits + row * kLine<Real>;
  if (seam.opens)
    store_line(seam.kept + row * kLine<Real>, ends);
  else
    stream_line(to - past, before_and_from<Real>(load_line(waits), ends, past));
  store_line(waits, ends);
}

/// Stores `line` to `to`, in row `row`.
template <class Real>
[[gnu::always_inline]] inline void stream_seamed(Real* to, const Line<Real>& line,
                                                 const Seam<Real>& seam, std::int64_t row) {
  const std::int64_t past = past_line(to);
  stream_ends(to, past, rotated<Real>(line, past), seam, row);
}

#if defined(__AVX512F__)
/// Likewise the complex numbers of `column`, which fill two lines.
template <class Real>
[[gnu::always_inline]] inline void stream_seamed(Real* to, const Column<Real>& column,
                                                 const Seam<Real>& seam, std::int64_t row) {
  const std::int64_t past = past_line(to);
  const auto [ends, middle] = joined_from<Real>(column, past);
  stream_line(to - past + kLine<Real>, middle);
  stream_ends(to, past, ends, seam, row);
}
#endif

/// Likewise only the first `reals` of `line`, behind what `waits`. Returns what waits then.
template <class Real>
[[gnu::always_inline]] inline Line<Real> stream_last(Real* to, const Line<Real>& line,
                                                     std::int64_t reals, const Line<Real>& waits) {
  const std::int64_t past = past_line(to);
  const Line<Real> ends = rotated<Real>(line, past);
  const Line<Real> first = before_and_from<Real>(waits, ends, past);
  if (past + reals < kLine<Real>) return first;
  stream_line(to - past, first);
  return ends;
}
/// Likewise of the complex numbers of `column`.
template <class Real>
[[gnu::always_inline]] inline Line<Real> stream_last(Real* to, const Column<Real>& column,
                                                     std::int64_t reals, Line<Real> waits) {
  [[maybe_unused]] const auto [low, high] = joined<Real>(column);
  if constexpr (kPacksOfLine == 1) {
    constexpr std::int64_t kAll = kLine<Real>;
    waits = stream_last(to, Line<Real>{low}, std::min(reals, kAll), waits);
    if (reals > kAll) waits = stream_last(to + kAll, Line<Real>{high}, reals - kAll, waits);
  } else if constexpr (kPacksOfLine == 2) {
    waits = stream_last(to, Line<Real>{low, {high}}, reals, waits);
  }
  return waits;
}

/// Stores what was kept of a row that begins at `row`, if that follows no other one.
template <class Real>
[[gnu::always_inline]] inline void store_begin(Real* row, const Real* kept) {
  const std::int64_t past = past_line(row);
  store_part(row - past, load_line(kept), past, kLine<Real>);
}

/// Stores what waits of a row that ends at `end`, with what was kept of the one that follows, if
/// one does.
template <class Real>
[[gnu::always_inline]] inline void store_end(Real* end, const Line<Real>& waits,
                                             const Real* kept_of_next) {
  const std::int64_t past = past_line(end);
  if constexpr (kHasSeams)
    if (kept_of_next != nullptr)
      return stream_line(end - past, before_and_from<Real>(waits, load_line(kept_of_next), past));
  if (past != 0) store_part(end - past, waits, 0, past);
}

}  // namespace weft
