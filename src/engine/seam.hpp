// Seams: rows that begin and end anywhere are stored past the cache by whole lines. What does not
// fill a line waits for what comes next in its row; what lies before the first whole line is kept
// until the row before it is complete. A row of which both are known has no line that is stored in
// part, for which later stores would have to wait until it has been read.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "engine/pack.hpp"

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
/// Lanes before `past` of `before`, and from there on of `from`.
template <class Real>
[[gnu::always_inline]] inline Pack<Real> before_and_from(const Pack<Real>& before,
                                                         const Pack<Real>& from,
                                                         std::int64_t past) {
  const auto mask = (1U << past) - 1;
  if constexpr (sizeof(Real) == 4)
    return (Pack<Real>)_mm512_mask_blend_ps(static_cast<__mmask16>(mask), (__m512)from,
                                            (__m512)before);
  else
    return (Pack<Real>)_mm512_mask_blend_pd(static_cast<__mmask8>(mask), (__m512d)from,
                                            (__m512d)before);
}
/// Lane i goes to lane i + past, the last ones to the first.
template <class Real>
[[gnu::always_inline]] inline Pack<Real> rotated(const Pack<Real>& pack, std::int64_t past) {
  if constexpr (sizeof(Real) == 4) {
    const __m512i count = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i from = _mm512_sub_epi32(count, _mm512_set1_epi32(static_cast<int>(past)));
    return (Pack<Real>)_mm512_permutex2var_ps((__m512)pack, from, (__m512)pack);
  } else {
    const __m512i count = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    const __m512i from = _mm512_sub_epi64(count, _mm512_set1_epi64(past));
    return (Pack<Real>)_mm512_permutex2var_pd((__m512d)pack, from, (__m512d)pack);
  }
}

/// Complex numbers one after another, from `past` reals behind the beginning of a line on: the line
/// in the `middle`, and in `ends` the one before it from there on, and the one after it until
/// there.
template <class Real>
struct JoinedColumn {
  Pack<Real> ends;
  Pack<Real> middle;
};
template <class Real>
[[gnu::always_inline]] inline JoinedColumn<Real> joined_from(const Column<Real>& column,
                                                             std::int64_t past) {
  static constexpr JoinedFrom<Real> kFrom;
  return {lanes_of<Real>(column.re, column.im, kFrom.ends[past]),
          lanes_of<Real>(column.re, column.im, kFrom.middle[past])};
}
#endif

/// How many reals of the line of `to` lie before it.
template <class Real>
[[gnu::always_inline]] inline std::int64_t past_line(const Real* to) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) / sizeof(Real) %
                                   kWidth<Real>);
}

/// Brings the line of `to`, if it begins before: what is stored after a part of a line waits until
/// that is there.
template <class Real>
[[gnu::always_inline]] inline void bring_part(const Real* to) {
  if (past_line(to) != 0) __builtin_prefetch(to, 1, 3);
}

/// Copies reals `begin` to `end` (past the last one) of a line: past the cache if these are all.
template <class Real>
[[gnu::always_inline]] inline void copy_line(Real* to, const Real* from, std::int64_t begin,
                                             std::int64_t end) {
  if (begin == 0 && end == kWidth<Real>)
    stream_pack(to, load_pack(from));
  else if (begin < end)
    store_part(to, load_part(from, begin, end), begin, end);
}

/// What waits of a row, in the lanes that it has in its line, and what is kept of its beginning.
template <class Real>
struct Seam {
  Pack<Real>* waits = nullptr;  ///< of each row
  Pack<Real>* kept = nullptr;   ///< likewise
  bool opens = false;           ///< what is stored next is the beginning of the rows

  void skip(std::int64_t rows) {
    waits += rows;
    kept += rows;
  }
};

/// Stores `ends`, whose lanes from `past` on belong to the line of `to`, the others to the next.
template <class Real>
[[gnu::always_inline]] inline void stream_ends(Real* to, std::int64_t past, const Pack<Real>& ends,
                                               const Seam<Real>& seam, std::int64_t row) {
  if (seam.opens)
    seam.kept[row] = ends;
  else
    stream_pack(to - past, before_and_from<Real>(seam.waits[row], ends, past));
  seam.waits[row] = ends;
}

/// Stores `pack` to `to`, in row `row`.
template <class Real>
[[gnu::always_inline]] inline void stream_seamed(Real* to, const Pack<Real>& pack,
                                                 const Seam<Real>& seam, std::int64_t row) {
  if constexpr (kHasSeams) {
    const std::int64_t past = past_line(to);
    stream_ends(to, past, rotated<Real>(pack, past), seam, row);
  }
}
/// Likewise the complex numbers of `column`.
template <class Real>
[[gnu::always_inline]] inline void stream_seamed(Real* to, const Column<Real>& column,
                                                 const Seam<Real>& seam, std::int64_t row) {
  if constexpr (kHasSeams) {
    const std::int64_t past = past_line(to);
    const auto [ends, middle] = joined_from<Real>(column, past);
    stream_pack(to - past + kWidth<Real>, middle);
    stream_ends(to, past, ends, seam, row);
  }
}

/// Likewise only the first `reals` of them, behind what `waits`. Returns what waits then.
template <class Real>
[[gnu::always_inline]] inline Pack<Real> stream_last(Real* to, const Column<Real>& column,
                                                     std::int64_t reals, const Pack<Real>& waits) {
  if constexpr (kHasSeams) {
    constexpr std::int64_t kPack = kWidth<Real>;
    const std::int64_t past = past_line(to);
    const auto [ends, middle] = joined_from<Real>(column, past);
    const Pack<Real> first = before_and_from<Real>(waits, ends, past);
    if (past + reals < kPack) return first;
    stream_pack(to - past, first);
    if (past + reals < 2 * kPack) return middle;
    stream_pack(to - past + kPack, middle);
    return ends;
  }
  return waits;
}

/// Stores what was kept of a row that begins at `row`, if that follows no other one.
template <class Real>
[[gnu::always_inline]] inline void store_begin(Real* row, const Pack<Real>& kept) {
  const std::int64_t past = past_line(row);
  store_part(row - past, kept, past, kWidth<Real>);
}

/// Stores what waits of a row that ends at `end`, with what was kept of the one that follows, if
/// one does.
template <class Real>
[[gnu::always_inline]] inline void store_end(Real* end, const Pack<Real>& waits,
                                             const Pack<Real>* kept_of_next) {
  const std::int64_t past = past_line(end);
  if constexpr (kHasSeams)
    if (kept_of_next != nullptr)
      return stream_pack(end - past, before_and_from<Real>(waits, *kept_of_next, past));
  if (past != 0) store_part(end - past, waits, 0, past);
}

}  // namespace weft
