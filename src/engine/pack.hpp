// Pack: a vector register of reals, and the few shuffles that the engine "weft" needs. Written with
// the vector extensions of GCC and Clang, so that one text serves SSE, AVX, AVX-512 and NEON.
#pragma once

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include <cstdint>
#include <cstring>
#include <utility>

namespace weft {

// On a lambda: it is inlined early enough for what it captures to stay in registers.
#define WEFT_INLINE __attribute__((always_inline))

#if defined(__AVX512F__)
inline constexpr int kPackBytes = 64;
#elif defined(__AVX__)
inline constexpr int kPackBytes = 32;
#else
inline constexpr int kPackBytes = 16;
#endif

template <class Real>
struct PackType;
template <>
struct PackType<double> {
  using type [[gnu::vector_size(kPackBytes)]] = double;
};
template <>
struct PackType<float> {
  using type [[gnu::vector_size(kPackBytes)]] = float;
};
template <class Real>
using Pack = typename PackType<Real>::type;

/// Reals in a pack.
template <class Real>
inline constexpr int kWidth = kPackBytes / static_cast<int>(sizeof(Real));

/// A complex number in each lane.
template <class Real>
struct Column {
  Pack<Real> re;
  Pack<Real> im;
};

/// Addresses are aligned to the real only.
template <class Real>
[[gnu::always_inline]] inline Pack<Real> load_pack(const Real* from) {
  Pack<Real> pack;
  std::memcpy(&pack, from, sizeof pack);
  return pack;
}
/// Past the cache where the processor can; `to` is aligned to packs then. Only whole lines of the
/// cache, whose packs follow one another, gain.
template <class Real>
[[gnu::always_inline]] inline void stream_pack(Real* to, const Pack<Real>& pack) {
#if defined(__AVX512F__)
  _mm512_stream_si512(reinterpret_cast<__m512i*>(to), (__m512i)pack);
#elif defined(__AVX__)
  _mm256_stream_si256(reinterpret_cast<__m256i*>(to), (__m256i)pack);
#elif defined(__SSE2__)
  _mm_stream_si128(reinterpret_cast<__m128i*>(to), (__m128i)pack);
#else
  std::memcpy(to, &pack, sizeof pack);
#endif
}
template <class Real>
[[gnu::always_inline]] inline void store_pack(Real* to, const Pack<Real>& pack) {
  std::memcpy(to, &pack, sizeof pack);
}

template <class Real>
using HalfPack [[gnu::vector_size(kPackBytes / 2)]] = Real;

/// Half a pack from each of two places.
template <class Real>
[[gnu::always_inline]] inline Pack<Real> load_halves(const Real* low, const Real* high) {
  HalfPack<Real> halves[2];
  std::memcpy(&halves[0], low, sizeof halves[0]);
  std::memcpy(&halves[1], high, sizeof halves[1]);
  const auto pick = [&]<int... kLanes>(std::integer_sequence<int, kLanes...>) WEFT_INLINE {
    return __builtin_shufflevector(halves[0], halves[1], kLanes...);
  };
  return pick(std::make_integer_sequence<int, kWidth<Real>>{});
}
template <class Real>
[[gnu::always_inline]] inline void store_halves(Real* low, Real* high, const Pack<Real>& pack) {
  const auto store = [&]<int... kLanes>(Real * to, auto first,
                                        std::integer_sequence<int, kLanes...>) WEFT_INLINE {
    const HalfPack<Real> half = __builtin_shufflevector(pack, pack, (first + kLanes)...);
    std::memcpy(to, &half, sizeof half);
  };
  constexpr auto lanes = std::make_integer_sequence<int, kWidth<Real> / 2>{};
  store(low, std::integral_constant<int, 0>{}, lanes);
  store(high, std::integral_constant<int, kWidth<Real> / 2>{}, lanes);
}

/// Stores lanes `begin` to `end` (past the last one) of what would lie at `to`. Where that is not
/// one line, both may be stored to, even if one gets nothing.
template <class Real>
[[gnu::always_inline]] inline void store_part(Real* to, const Pack<Real>& pack, std::int64_t begin,
                                              std::int64_t end) {
#if defined(__AVX512F__)
  const auto mask = (1U << end) - (1U << begin);
  if constexpr (sizeof(Real) == 4)
    _mm512_mask_storeu_ps(to, static_cast<__mmask16>(mask), (__m512)pack);
  else
    _mm512_mask_storeu_pd(to, static_cast<__mmask8>(mask), (__m512d)pack);
#else
  Real lanes[kWidth<Real>];
  store_pack(lanes, pack);
  for (std::int64_t i = begin; i < end; ++i) to[i] = lanes[i];
#endif
}
/// Lanes `begin` to `end` (past the last one) of what lies at `from`, and zeros.
template <class Real>
[[gnu::always_inline]] inline Pack<Real> load_part(const Real* from, std::int64_t begin,
                                                   std::int64_t end) {
#if defined(__AVX512F__)
  const auto mask = (1U << end) - (1U << begin);
  if constexpr (sizeof(Real) == 4)
    return (Pack<Real>)_mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), from);
  else
    return (Pack<Real>)_mm512_maskz_loadu_pd(static_cast<__mmask8>(mask), from);
#else
  Real lanes[kWidth<Real>] = {};
  for (std::int64_t i = begin; i < end; ++i) lanes[i] = from[i];
  return load_pack(lanes);
#endif
}

/// Complex numbers that follow one another in `low` and `high`, with their parts apart.
template <class Real>
[[gnu::always_inline]] inline Column<Real> split(const Pack<Real>& low, const Pack<Real>& high) {
  constexpr auto lanes = std::make_integer_sequence<int, kWidth<Real>>{};
  const auto pick = [&]<int... kLanes>(std::integer_sequence<int, kLanes...>, auto part)
      WEFT_INLINE {
    return __builtin_shufflevector(low, high, (2 * kLanes + part)...);
  };
  return {pick(lanes, std::integral_constant<int, 0>{}),
          pick(lanes, std::integral_constant<int, 1>{})};
}

/// The inverse of split(): its `low` and `high`.
template <class Real>
[[gnu::always_inline]] inline std::pair<Pack<Real>, Pack<Real>> joined(const Column<Real>& column) {
  constexpr auto lanes = std::make_integer_sequence<int, kWidth<Real>>{};
  const auto pick = [&]<int... kLanes>(std::integer_sequence<int, kLanes...>, auto half)
      WEFT_INLINE {
    return __builtin_shufflevector(
        column.re, column.im,
        (half * kWidth<Real> / 2 + kLanes / 2 + kLanes % 2 * kWidth<Real>)...);
  };
  return {pick(lanes, std::integral_constant<int, 0>{}),
          pick(lanes, std::integral_constant<int, 1>{})};
}

/// Whether shuffles across the 16-byte parts of a register cost more than those within them. Where
/// all lanes are treated alike these may lie in the order in which the latter leave them.
inline constexpr bool kShufflesWithinParts = kPackBytes == 32;

/// As split(), with lanes in that order.
template <class Real>
[[gnu::always_inline]] inline Column<Real> split_within(const Pack<Real>& low,
                                                        const Pack<Real>& high) {
  if constexpr (!kShufflesWithinParts) return split<Real>(low, high);
  constexpr auto lanes = std::make_integer_sequence<int, kWidth<Real>>{};
  constexpr int kPart = 16 / static_cast<int>(sizeof(Real));
  const auto pick = [&]<int... kLanes>(std::integer_sequence<int, kLanes...>, auto part)
      WEFT_INLINE {
    return __builtin_shufflevector(low, high,
                                   (kLanes / kPart * kPart + 2 * kLanes % kPart + part +
                                    (2 * (kLanes % kPart) < kPart ? 0 : kWidth<Real>))...);
  };
  return {pick(lanes, std::integral_constant<int, 0>{}),
          pick(lanes, std::integral_constant<int, 1>{})};
}

/// The inverse of split_within().
template <class Real>
[[gnu::always_inline]] inline std::pair<Pack<Real>, Pack<Real>> joined_within(
    const Column<Real>& column) {
  if constexpr (!kShufflesWithinParts) return joined<Real>(column);
  constexpr auto lanes = std::make_integer_sequence<int, kWidth<Real>>{};
  constexpr int kPart = 16 / static_cast<int>(sizeof(Real));
  const auto pick = [&]<int... kLanes>(std::integer_sequence<int, kLanes...>, auto half)
      WEFT_INLINE {
    return __builtin_shufflevector(column.re, column.im,
                                   (kLanes / kPart * kPart + kLanes % kPart / 2 + half * kPart / 2 +
                                    kLanes % 2 * kWidth<Real>)...);
  };
  return {pick(lanes, std::integral_constant<int, 0>{}),
          pick(lanes, std::integral_constant<int, 1>{})};
}

/// What split() returns, as split_within() does.
template <class Real>
[[gnu::always_inline]] inline Column<Real> ordered_within(const Column<Real>& column) {
  if constexpr (!kShufflesWithinParts) return column;
  const auto [low, high] = joined<Real>(column);
  return split_within<Real>(low, high);
}

/// Turns squares of kSide packs about their diagonal: lane j of pack i changes places with lane i
/// of pack j. A pack has lanes of one square or, next to each other, of several. One step for each
/// bit of the indices.
template <class Real, int kSide = kWidth<Real>, int kStep = 1>
[[gnu::always_inline]] inline void transpose(Pack<Real>* square) {
  if constexpr (kStep < kSide) {
    constexpr auto lanes = std::make_integer_sequence<int, kWidth<Real>>{};
    const auto mix = [&]<int... kLanes>(Pack<Real> & a, Pack<Real> & b,
                                        std::integer_sequence<int, kLanes...>) WEFT_INLINE {
      const Pack<Real> first = __builtin_shufflevector(
          a, b, ((kLanes & kStep) == 0 ? kLanes : kWidth<Real> + kLanes - kStep)...);
      const Pack<Real> second = __builtin_shufflevector(
          a, b, ((kLanes & kStep) == 0 ? kLanes + kStep : kWidth<Real> + kLanes)...);
      a = first;
      b = second;
    };
#pragma GCC unroll 16
    for (int i = 0; i < kSide; ++i)
      if ((i & kStep) == 0) mix(square[i], square[i + kStep], lanes);
    transpose<Real, kSide, 2 * kStep>(square);
  }
}

}  // namespace weft
