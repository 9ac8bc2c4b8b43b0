// Line: the reals of a line of the cache, in one pack or several, and how what begins anywhere
// within one is moved to where it lies there. Past the cache memory is written by whole lines.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/cache.hpp"
#include "engine/pack.hpp"

namespace weft {

/// Reals of a line.
template <class Real>
inline constexpr int kLine = kLineBytes / static_cast<int>(sizeof(Real));
inline constexpr int kPacksOfLine = static_cast<int>(kLineBytes) / kPackBytes;

// (GCC keeps arrays of packs in memory.)
template <class Real, int kPacks = kPacksOfLine>
struct Line {
  Pack<Real> first;
  Line<Real, kPacks - 1> others;
};
template <class Real>
struct Line<Real, 1> {
  Pack<Real> first;
};

template <class Real, int kPacks = kPacksOfLine>
[[gnu::always_inline]] inline Line<Real, kPacks> load_line(const Real* from) {
  if constexpr (kPacks == 1)
    return {load_pack(from)};
  else
    return {load_pack(from), load_line<Real, kPacks - 1>(from + kWidth<Real>)};
}
template <class Real, int kPacks>
[[gnu::always_inline]] inline void store_line(Real* to, const Line<Real, kPacks>& line) {
  store_pack(to, line.first);
  if constexpr (kPacks > 1) store_line(to + kWidth<Real>, line.others);
}
/// Past the cache, to the beginning of a line.
template <class Real, int kPacks>
[[gnu::always_inline]] inline void stream_line(Real* to, const Line<Real, kPacks>& line) {
  stream_pack(to, line.first);
  if constexpr (kPacks > 1) stream_line(to + kWidth<Real>, line.others);
}

/// How many reals of the line of `to` lie before it.
template <class Real>
[[gnu::always_inline]] inline std::int64_t past_line(const Real* to) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) / sizeof(Real) %
                                   kLine<Real>);
}

/// Stores reals `begin` to `end` (past the last one) of the line that lies at `to`.
template <class Real>
[[gnu::always_inline]] inline void store_part(Real* to, const Line<Real>& line, std::int64_t begin,
                                              std::int64_t end) {
  if constexpr (kPacksOfLine == 1) {
    store_part(to, line.first, begin, end);
  } else {
    Real reals[kLine<Real>];
    store_line(reals, line);
    std::copy(reals + begin, reals + end, to + begin);
  }
}

/// Copies reals `begin` to `end` (past the last one) of a line: past the cache if these are all.
template <class Real>
[[gnu::always_inline]] inline void copy_line(Real* to, const Real* from, std::int64_t begin,
                                             std::int64_t end) {
  if (begin == 0 && end == kLine<Real>) {
    stream_line(to, load_line(from));
  } else if constexpr (kPacksOfLine == 1) {
    if (begin < end) store_part(to, load_part(from, begin, end), begin, end);
  } else {
    for (std::int64_t i = begin; i < end; ++i) to[i] = from[i];
  }
}

#if defined(__AVX512F__)
inline constexpr bool kHasSeams = true;

/// Real i goes to i + past, the last ones to the first.
template <class Real>
[[gnu::always_inline]] inline Line<Real> rotated(const Line<Real>& line, std::int64_t past) {
  const Pack<Real>& pack = line.first;
  if constexpr (sizeof(Real) == 4) {
    const __m512i count = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i from = _mm512_sub_epi32(count, _mm512_set1_epi32(static_cast<int>(past)));
    return {(Pack<Real>)_mm512_permutex2var_ps((__m512)pack, from, (__m512)pack)};
  } else {
    const __m512i count = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    const __m512i from = _mm512_sub_epi64(count, _mm512_set1_epi64(past));
    return {(Pack<Real>)_mm512_permutex2var_pd((__m512d)pack, from, (__m512d)pack)};
  }
}

/// Reals before `past` of `before`, and from there on of `from`.
template <class Real>
[[gnu::always_inline]] inline Line<Real> before_and_from(const Line<Real>& before,
                                                         const Line<Real>& from,
                                                         std::int64_t past) {
  const auto mask = (1U << past) - 1;
  if constexpr (sizeof(Real) == 4)
    return {(Pack<Real>)_mm512_mask_blend_ps(static_cast<__mmask16>(mask), (__m512)from.first,
                                             (__m512)before.first)};
  else
    return {(Pack<Real>)_mm512_mask_blend_pd(static_cast<__mmask8>(mask), (__m512d)from.first,
                                             (__m512d)before.first)};
}

#elif defined(__AVX2__)
inline constexpr bool kHasSeams = true;

/// Masks of words of four bytes, read from kWords - past on, where `past` words lie before a place
/// in a line.
struct LineMasks {
  static constexpr int kWords = 16;                // of a line
  alignas(32) std::int32_t before[2 * kWords];     // those that lie before it
  alignas(32) std::int32_t stays[3 * kWords / 2];  // of a pack: those that remain in it

  constexpr LineMasks() : before(), stays() {
    for (int i = 0; i < 2 * kWords; ++i) before[i] = i < kWords ? -1 : 0;
    for (int i = 0; i < 3 * kWords / 2; ++i) stays[i] = i / 8 == 1 ? 0 : -1;
  }
};
inline constexpr LineMasks kLineMasks;

[[gnu::always_inline]] inline __m256i load_words(const std::int32_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
template <class Real>
[[gnu::always_inline]] inline std::int64_t words(std::int64_t reals) {
  return reals * static_cast<std::int64_t>(sizeof(Real) / sizeof(std::int32_t));
}

/// Real i goes to i + past, the last ones to the first.
template <class Real>
[[gnu::always_inline]] inline Line<Real> rotated(const Line<Real>& line, std::int64_t past) {
  const std::int64_t by = words<Real>(past);
  const __m256i from = _mm256_sub_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
                                        _mm256_set1_epi32(static_cast<int>(by)));
  const __m256i low = _mm256_permutevar8x32_epi32((__m256i)line.first, from);
  const __m256i high = _mm256_permutevar8x32_epi32((__m256i)line.others.first, from);
  const __m256i stays = load_words(kLineMasks.stays + LineMasks::kWords - by);
  return {(Pack<Real>)_mm256_blendv_epi8(high, low, stays),
          {(Pack<Real>)_mm256_blendv_epi8(low, high, stays)}};
}

/// Reals before `past` of `before`, and from there on of `from`.
template <class Real>
[[gnu::always_inline]] inline Line<Real> before_and_from(const Line<Real>& before,
                                                         const Line<Real>& from,
                                                         std::int64_t past) {
  const std::int32_t* const mask = kLineMasks.before + LineMasks::kWords - words<Real>(past);
  return {
      (Pack<Real>)_mm256_blendv_epi8((__m256i)from.first, (__m256i)before.first, load_words(mask)),
      {(Pack<Real>)_mm256_blendv_epi8((__m256i)from.others.first, (__m256i)before.others.first,
                                      load_words(mask + LineMasks::kWords / 2))}};
}

#else
inline constexpr bool kHasSeams = false;

template <class Real>
inline Line<Real> rotated(const Line<Real>& line, std::int64_t /*past*/) {
  return line;
}
template <class Real>
inline Line<Real> before_and_from(const Line<Real>& /*before*/, const Line<Real>& from,
                                  std::int64_t /*past*/) {
  return from;
}
#endif

}  // namespace weft
