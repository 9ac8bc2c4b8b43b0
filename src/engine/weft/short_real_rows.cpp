// ShortRows, of real numbers on one side.
#include "engine/weft/mirror.hpp"
#include "engine/weft/rows_ahead.hpp"
#include "engine/weft/short_rows.hpp"

namespace weft {

template <class Real>
[[gnu::always_inline]] inline Pack<Real> ShortRows<Real>::load_real(const Rows& rows,
                                                                    std::int64_t at) {
  if constexpr (kRows == 1) {
    return load_pack(rows.first + at);
  } else {
    return load_halves(rows.first + at, rows.first + rows.second + at);
  }
}

template <class Real>
template <bool kStreamed>
[[gnu::always_inline]] inline void ShortRows<Real>::store_real(const Rows& rows, std::int64_t at,
                                                               const Pack<Real>& values) {
  if constexpr (kRows == 1) {
    kStreamed ? stream_pack(rows.first + at, values) : store_pack(rows.first + at, values);
  } else {
    store_halves(rows.first + at, rows.first + rows.second + at, values);
  }
}

// The last element of half a spectrum, which is real, in the first lane of each row.
template <class Real>
[[gnu::always_inline]] inline Pack<Real> ShortRows<Real>::load_last(const Rows& rows,
                                                                    std::int64_t at) {
  Pack<Real> last{};
  for (int i = 0; i < kRows; ++i) last[i * kParts] = rows.first[2 * at + i * rows.second];
  return last;
}

template <class Real>
[[gnu::always_inline]] inline void ShortRows<Real>::store_last(const Rows& rows, std::int64_t at,
                                                               const Pack<Real>& values) {
  for (int i = 0; i < kRows; ++i) {
    Real* const last = rows.first + 2 * at + i * rows.second;
    last[0] = values[i * kParts];
    last[1] = 0;
  }
}

// z = a + i b has Z[k] = A[k] + i B[k], and the conjugate of Z[n - k] is A[k] - i B[k].
template <class Real>
template <int kColumns>
void ShortRows<Real>::run_r2c(const Job& job) const {
  constexpr int kHalf = kColumns / 2;
  constexpr Real half = 0.5;
  for (std::int64_t row = 0; row < job.count; row += 2 * kRows) {
    const Rows a = rows_of(job.in, job.count, row, 1);
    const Rows b = rows_of(job.in, job.count, row + kRows, 1);
    const RowsAhead<Real, 2 * kRows, kParts * kColumns, 5 * kHalf> ahead(a.first, job.in.distance,
                                                                         job.ahead, row, job.count);
    Column<Real> z[kColumns];
    transform_.template run_short<kColumns, Direction::forward>(
        [&](auto j) WEFT_INLINE {
          ahead.template step<j>();
          return Column<Real>{load_real(a, kParts * j), load_real(b, kParts * j)};
        },
        [&](auto k, const Column<Real>& x) WEFT_INLINE {
          ahead.template step<kColumns + k / kParts>();
          z[k / kParts] = x;
        });
    const Rows a_out = rows_of(job.out, job.count, row, 2);
    const Rows b_out = rows_of(job.out, job.count, row + kRows, 2);
    unrolled<kHalf>([&](auto c) WEFT_INLINE {
      ahead.template step<2 * kColumns + c>();
      const Column<Real> y = mirrored<kParts>(z[(kColumns - c) % kColumns], z[kColumns - 1 - c]);
      const Column<Real> x{half * z[c].re, half * z[c].im};
      store_complex(a_out, kParts * c, {x.re + half * y.re, x.im - half * y.im});
      store_complex(b_out, kParts * c, {x.im + half * y.im, half * y.re - x.re});
    });
    const Column<Real>& middle = z[kHalf];
    store_last(a_out, kHalf * kParts, middle.re);
    store_last(b_out, kHalf * kParts, middle.im);
  }
}

// Z[k] = A[k] + i B[k] and Z[n - k] = conj(A[k]) + i conj(B[k]); the imaginary parts of A and B are
// not there at k = 0 and k = n / 2.
template <class Real>
template <int kColumns, bool kPastCache>
void ShortRows<Real>::run_c2r(const Job& job) const {
  constexpr int kHalf = kColumns / 2;
  for (std::int64_t row = 0; row < job.count; row += 2 * kRows) {
    const Rows a = rows_of(job.in, job.count, row, 2);
    const Rows b = rows_of(job.in, job.count, row + kRows, 2);
    const RowsAhead<Real, 2 * kRows, kParts * kColumns + 2, 5 * kHalf> ahead(
        a.first, 2 * job.in.distance, job.ahead, row, job.count);
    const auto step = [&](auto number) WEFT_INLINE {
      ahead.template step<number>();
      if constexpr (kPastCache)
        job.behind.template step<2 * kRows, kParts * kColumns, 5 * kHalf, number>();
    };
    Column<Real> z[kColumns];
    Column<Real> mirror[kHalf + 1];  // Z[n - k]
    unrolled<kHalf>([&](auto c) WEFT_INLINE {
      step(c);
      Column<Real> x = load_complex(a, kParts * c);
      Column<Real> y = load_complex(b, kParts * c);
      if constexpr (c == 0) {
        x.im = without_first<kParts, Real>(x.im);
        y.im = without_first<kParts, Real>(y.im);
      }
      z[c] = {x.re - y.im, x.im + y.re};
      mirror[c] = {x.re + y.im, y.re - x.im};
    });
    mirror[kHalf] = {load_last(a, kHalf * kParts), load_last(b, kHalf * kParts)};
    unrolled<kHalf>([&](auto c) WEFT_INLINE {
      z[kColumns - 1 - c] = mirrored<kParts>(mirror[c + 1], mirror[c]);
    });
    const Rows a_out = rows_of(job.out, job.count, row, 1);
    const Rows b_out = rows_of(job.out, job.count, row + kRows, 1);
    transform_.template run_short<kColumns, Direction::backward>(
        [&](auto j) WEFT_INLINE {
          step(std::integral_constant<int, kHalf + j>{});
          return z[j];
        },
        [&](auto k, const Column<Real>& x) WEFT_INLINE {
          step(std::integral_constant<int, kHalf + kColumns + k / kParts>{});
          if (kPastCache && job.store == RowStore::streamed) {
            store_real<true>(a_out, k, x.re);
            store_real<true>(b_out, k, x.im);
          } else {
            store_real<false>(a_out, k, x.re);
            store_real<false>(b_out, k, x.im);
          }
        });
  }
}

template <class Real>
void ShortRows<Real>::run_real(const Job& job) const {
  with_columns(transform_.columns(), [&](auto columns) {
    if constexpr (columns % kParts == 0)
      kind_ == BatchKind::r2c         ? run_r2c<columns>(job)
      : job.store == RowStore::cached ? run_c2r<columns, false>(job)
                                      : run_c2r<columns, true>(job);
  });
}

template void ShortRows<double>::run_real(const Job& job) const;
template void ShortRows<float>::run_real(const Job& job) const;

}  // namespace weft
