// Butterflies: discrete Fourier transforms of a few points on columns, wholly unrolled, with sign
// -1. Primes are done by their definition, the parts of x[k] and x[n - k] taken together; products
// a * b by a transforms of length b after b of length a (Cooley and Tukey, Math. Comp. 19, 1965).
#pragma once

#include <utility>

#include "engine/pack.hpp"
#include "engine/root.hpp"

namespace weft {

/// The longest transform that is unrolled.
inline constexpr int kLongestButterfly = 13;

/// cos and sin of 2 pi numerator / denominator, at compile time.
struct Turn {
  long double cosine = 1;
  long double sine = 0;
};
constexpr Turn turn(int numerator, int denominator) {
  constexpr long double kTwoPi = 6.283185307179586476925286766559005768L;
  const int in_circle = (numerator % denominator + denominator) % denominator;
  // Quarter turns are exact, and the series gets an eighth of a turn at most.
  const int quarters = (4 * in_circle + denominator / 2) / denominator;
  const long double angle = kTwoPi * (static_cast<long double>(in_circle) / denominator -
                                      static_cast<long double>(quarters) / 4);
  long double cosine = 0;
  long double sine = 0;
  long double term = 1;  // angle^k / k!
  for (int k = 0; k < 30; ++k) {
    const long double sign = k / 2 % 2 == 0 ? 1 : -1;
    (k % 2 == 0 ? cosine : sine) += sign * term;
    term *= angle / (k + 1);
  }
  switch (quarters % 4) {
    case 1:
      return {-sine, cosine};
    case 2:
      return {-cosine, -sine};
    case 3:
      return {sine, -cosine};
    default:
      return {cosine, sine};
  }
}

template <class Real>
[[gnu::always_inline]] inline Column<Real> operator+(const Column<Real>& a, const Column<Real>& b) {
  return {a.re + b.re, a.im + b.im};
}
template <class Real>
[[gnu::always_inline]] inline Column<Real> operator-(const Column<Real>& a, const Column<Real>& b) {
  return {a.re - b.re, a.im - b.im};
}

template <class Real>
[[gnu::always_inline]] inline Column<Real> operator*(const Column<Real>& a,
                                                     const Twiddle<Real>& w) {
  return {a.re * w.re - a.im * w.im, a.re * w.im + a.im * w.re};
}

template <class Real>
[[gnu::always_inline]] inline Column<Real> operator*(const Column<Real>& a, const Column<Real>& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/// Calls body(integral_constant 0), ..., body(integral_constant kEnd - 1).
template <int kEnd, class Body>
[[gnu::always_inline]] inline void unrolled(Body body) {
  [&]<int... kAll>(std::integer_sequence<int, kAll...>) WEFT_INLINE {
    (body(std::integral_constant<int, kAll>{}), ...);
  }
  (std::make_integer_sequence<int, kEnd>{});
}

/// x * exp(-2 pi i kNumerator / kDenominator).
template <int kNumerator, int kDenominator, class Real>
[[gnu::always_inline]] inline Column<Real> turned(const Column<Real>& x) {
  constexpr int kEighths = 8 * (kNumerator % kDenominator);
  if constexpr (kEighths == 0) {
    return x;
  } else if constexpr (kEighths == 2 * kDenominator) {
    return {x.im, -x.re};
  } else if constexpr (kEighths == 4 * kDenominator) {
    return {-x.re, -x.im};
  } else if constexpr (kEighths == kDenominator) {
    constexpr auto half = static_cast<Real>(turn(1, 8).cosine);
    return {half * (x.re + x.im), half * (x.im - x.re)};
  } else if constexpr (kEighths == 3 * kDenominator) {
    constexpr auto half = static_cast<Real>(turn(1, 8).cosine);
    return {half * (x.im - x.re), -half * (x.re + x.im)};
  } else {
    constexpr Turn by = turn(kNumerator, kDenominator);
    return x * Twiddle<Real>{static_cast<Real>(by.cosine), static_cast<Real>(-by.sine)};
  }
}

/// The factor by which a product is divided: 4 where it can be, since its transform needs no
/// multiplications.
constexpr int butterfly_factor(int n) {
  if (n > 4 && n % 4 == 0) return 4;
  for (int factor = 2; factor * factor <= n; ++factor)
    if (n % factor == 0) return factor;
  return n;
}

/// Transforms x[0], ..., x[kPoints - 1] in place.
template <int kPoints, class Real>
[[gnu::always_inline]] inline void butterfly(Column<Real>* x) {
  constexpr int kFactor = butterfly_factor(kPoints);
  if constexpr (kPoints == 1) {
    return;
  } else if constexpr (kPoints == 2) {
    const Column<Real> first = x[0];
    x[0] = first + x[1];
    x[1] = first - x[1];
  } else if constexpr (kFactor < kPoints) {
    constexpr int kOther = kPoints / kFactor;
    Column<Real> parts[kOther][kFactor];
    unrolled<kOther>([&](auto b) WEFT_INLINE {
      unrolled<kFactor>([&](auto a) WEFT_INLINE { parts[b][a] = x[kOther * a + b]; });
      butterfly<kFactor>(parts[b]);
    });
    unrolled<kFactor>([&](auto a) WEFT_INLINE {
      Column<Real> part[kOther];
      unrolled<kOther>([&](auto b)
                           WEFT_INLINE { part[b] = turned<a() * b(), kPoints>(parts[b][a]); });
      butterfly<kOther>(part);
      unrolled<kOther>([&](auto b) WEFT_INLINE { x[a + kFactor * b] = part[b]; });
    });
  } else {
    constexpr int kPairs = kPoints / 2;
    Column<Real> sums[kPairs];
    Column<Real> differences[kPairs];
    Column<Real> total = x[0];
    unrolled<kPairs>([&](auto p) WEFT_INLINE {
      sums[p] = x[p + 1] + x[kPoints - 1 - p];
      differences[p] = x[p + 1] - x[kPoints - 1 - p];
      total = total + sums[p];
    });
    Column<Real> results[kPairs][2];
    unrolled<kPairs>([&](auto k) WEFT_INLINE {
      Column<Real> even = x[0];
      Column<Real> odd{};
      unrolled<kPairs>([&](auto p) WEFT_INLINE {
        constexpr Turn by = turn((k() + 1) * (p() + 1), kPoints);
        constexpr auto cosine = static_cast<Real>(by.cosine);
        constexpr auto sine = static_cast<Real>(by.sine);
        even = {even.re + cosine * sums[p].re, even.im + cosine * sums[p].im};
        if constexpr (p() == 0)
          odd = {sine * differences[p].re, sine * differences[p].im};
        else
          odd = {odd.re + sine * differences[p].re, odd.im + sine * differences[p].im};
      });
      results[k][0] = {even.re + odd.im, even.im - odd.re};
      results[k][1] = {even.re - odd.im, even.im + odd.re};
    });
    x[0] = total;
    unrolled<kPairs>([&](auto k) WEFT_INLINE {
      x[k + 1] = results[k][0];
      x[kPoints - 1 - k] = results[k][1];
    });
  }
}

}  // namespace weft
