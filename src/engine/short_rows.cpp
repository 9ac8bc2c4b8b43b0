// Rows are loaded and stored where they lie; those in pieces, or past the cache, by way of
// WholeRows.
#include "engine/short_rows.hpp"

#include <algorithm>
#include <type_traits>

#include "engine/mirror.hpp"

namespace weft {
namespace {

/// Columns of which there are butterflies: of rows of 64, 96, 128, 192, 256, 320, 384 and 512
/// points. Real ones are taken only in whole squares.
using ShortColumns = std::integer_sequence<int, 8, 12, 16, 24, 32, 40, 48, 64>;
/// Processors without AVX-512 have too few registers.
constexpr bool kHasShort = kPackBytes == 64;

/// Calls body(integral_constant) for that many columns.
template <class Body>
bool with_columns(std::int64_t columns, Body body) {
  const auto is = [&](auto constant) {
    if (columns != constant) return false;
    body(constant);
    return true;
  };
  return [&]<int... kColumns>(std::integer_sequence<int, kColumns...>) {
    return (is(std::integral_constant<int, kColumns>{}) || ...);
  }
  (ShortColumns{});
}

/// Most rows are not scaled, which saves one operation of twenty.
template <bool kScaled, class Real>
[[gnu::always_inline]] inline Column<Real> scaled(const Column<Real>& x, Real factor) {
  if constexpr (kScaled)
    return {factor * x.re, factor * x.im};
  else
    return x;
}

/// What is loaded comes from memory so many bytes ahead.
constexpr std::int64_t kBytesAhead = 8 * 1024;

/// Fetches kRows rows of kReals reals, that are loaded soon, while kSteps steps are done. Memory
/// takes only so many requests at a time, and what computing loads from the cache waits behind
/// those that are too many: so each step brings its share of the lines (256^3 c2c, rows from
/// memory: 14 -> 9 ns for 8 points on a core of a Xeon, all in cache 7).
template <class Real, int kRows, int kReals, int kSteps>
class RowsAhead {
 public:
  /// `row` is the first of those that are loaded now, `pitch` reals apart, and number `number` of
  /// `count`. If anything is `ahead`, their share of that instead.
  RowsAhead(const Real* row, std::int64_t pitch, const Ahead& ahead, std::int64_t number,
            std::int64_t count)
      : rows_(row + kAhead * pitch), pitch_(pitch) {
    if (ahead.empty()) return;
    const auto rows = static_cast<std::int64_t>(ahead.rows.size());
    const auto at = [&](std::int64_t i) {
      return reinterpret_cast<const Real*>(ahead.rows[static_cast<std::size_t>(i)]);
    };
    const std::int64_t first = number * rows / count;
    rows_ = at(first);
    pitch_ = first + 1 < rows ? at(first + 1) - rows_ : 0;
    lines_ = (ahead.bytes + kPackBytes - 1) / kPackBytes;
  }

  template <int kStep>
  [[gnu::always_inline]] void step() const {
    constexpr int kBegin = kStep * kLines / kSteps;
    constexpr int kEnd = (kStep + 1) * kLines / kSteps;
    unrolled<kEnd - kBegin>([&](auto i) WEFT_INLINE {
      constexpr int kLine = kBegin + i;
      if (kLine % kLinesOfRow < lines_)
        __builtin_prefetch(
            rows_ + kLine / kLinesOfRow * pitch_ + kLine % kLinesOfRow * kWidth<Real>, 0, 2);
    });
  }

 private:
  static constexpr int kLinesOfRow = (kReals + kWidth<Real> - 1) / kWidth<Real>;
  static constexpr int kLines = kRows * kLinesOfRow;
  static constexpr std::int64_t kBytes = kLines * kPackBytes;
  static constexpr std::int64_t kAhead = kRows * ((kBytesAhead + kBytes - 1) / kBytes);

  const Real* rows_;
  std::int64_t pitch_;
  std::int64_t lines_ = kLinesOfRow;  // of each row
};

}  // namespace

template <class Real>
bool ShortRows<Real>::takes(const BatchSpec& spec) {
  if (!kHasShort || spec.in_stride != 1 || spec.out_stride != 1 || spec.n % kParts != 0)
    return false;
  const std::int64_t columns = spec.n / kParts;
  return (spec.kind == BatchKind::c2c || columns % kParts == 0) &&
         with_columns(columns, [](auto) {});
}

template <class Real>
ShortRows<Real>::ShortRows(const BatchSpec& spec)
    : kind_(spec.kind),
      direction_(spec.direction),
      count_(spec.count),
      in_(reals_in(spec)),
      out_(reals_out(spec)),
      transform_(spec.n, spec.direction) {}

template <class Real>
std::int64_t ShortRows<Real>::scratch_bytes() const {
  return kTogether * (WholeRows<Real>::pitch(in_.row) + 2 * WholeRows<Real>::pitch(out_.row)) *
         static_cast<std::int64_t>(sizeof(Real));
}

// Stores past the cache hold up what is loaded meanwhile, if many follow one another. So results of
// c2r go there as they are computed, or else while the next ones are (2 ranks of a Granite Rapids
// Xeon, 256^3 r2c backward, the pass that ends with rows: 17.9 -> 16.5 ms; in place, where rows
// begin within lines, 19.4 -> 15.4; single 9.9 -> 8.0).
template <class Real>
void ShortRows<Real>::run(Pieces in, Pieces out, const Ahead& ahead, const Storing& storing,
                          void* scratch) const {
  const auto factor = static_cast<Real>(storing.factor);
  const Piece& sink = out.front();
  const bool joins = in.size() > 1;
  if (!joins && out.size() == 1 && (!storing.streaming || streams_to(sink)))
    return run_job({in.front(),
                    sink,
                    count_,
                    factor,
                    storing.streaming ? RowStore::streamed : RowStore::cached,
                    {},
                    ahead});
  const WholeRows<Real> from(static_cast<Real*>(scratch), in_.row, in_.element);
  WholeRows<Real> to(from.row(kTogether), out_.row, out_.element);
  WholeRows<Real> before(to.row(kTogether), out_.row, out_.element);
  const bool lags = storing.streaming && kHasSeams && out.size() == 1 && kind_ == BatchKind::c2r;
  const std::int64_t pitch = sink.distance * out_.element;
  RowsBehind<Real> behind;
  for (std::int64_t first = 0; first < count_; first += kTogether) {
    const std::int64_t count = std::min(kTogether, count_ - first);
    Piece rows = in.front();
    rows.base += first * rows.distance * in_.element * static_cast<std::int64_t>(sizeof(Real));
    if (joins) from.join(in, first, count);
    const bool stores_later = lags && first + kTogether < count_;
    const RowsBehind<Real> later(to.row(0), to.pitch(),
                                 reinterpret_cast<Real*>(sink.base) + first * pitch, pitch);
    if (stores_later) later.bring_ends(kTogether, out_.row);
    run_job({joins ? from.piece() : rows, to.piece(), count, factor,
             lags ? RowStore::behind : RowStore::cached, behind,
             ahead.during(first, first + count, count_)});
    if (stores_later) {
      behind = later;
      std::swap(to, before);
    } else {
      to.store(out, first, count, storing.streaming);
    }
  }
}

// What is stored of two real rows at once is too short for that.
template <class Real>
bool ShortRows<Real>::streams_to(const Piece& piece) const {
  const auto* const base = reinterpret_cast<const Real*>(piece.base);
  return kHasSeams && kind_ == BatchKind::c2r && kRows == 1 && past_line(base) == 0 &&
         piece.distance * out_.element % kWidth<Real> == 0;
}

template <class Real>
void ShortRows<Real>::run_job(const Job& job) const {
  if constexpr (kHasShort)
    with_columns(transform_.columns(), [&](auto columns) {
      job.factor == 1 ? run_columns<columns, false>(job) : run_columns<columns, true>(job);
    });
}

template <class Real>
template <int kColumns, bool kScaled>
void ShortRows<Real>::run_columns(const Job& job) const {
  if (kind_ == BatchKind::c2c)
    return direction_ == Direction::forward ? run_c2c<kColumns, kScaled, Direction::forward>(job)
                                            : run_c2c<kColumns, kScaled, Direction::backward>(job);
  if constexpr (kColumns % kParts == 0)
    return kind_ == BatchKind::r2c         ? run_r2c<kColumns>(job)
           : job.store == RowStore::cached ? run_c2r<kColumns, kScaled, false>(job)
                                           : run_c2r<kColumns, kScaled, true>(job);
}

template <class Real>
auto ShortRows<Real>::rows_of(const Piece& piece, std::int64_t count, std::int64_t first, int parts)
    -> Rows {
  const std::int64_t last = std::min(first + kRows, count) - 1;
  first = std::min(first, last);
  const std::int64_t pitch = piece.distance * parts;
  return {reinterpret_cast<Real*>(piece.base) + first * pitch, (last - first) * pitch};
}

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

// Of kParts complex numbers, the first and the second half, or those of one row and of another.
template <class Real>
[[gnu::always_inline]] inline Column<Real> ShortRows<Real>::load_complex(const Rows& rows,
                                                                         std::int64_t at) {
  const std::int64_t apart = kRows == 1 ? kWidth<Real> : rows.second;
  return split<Real>(load_pack(rows.first + 2 * at), load_pack(rows.first + 2 * at + apart));
}

template <class Real>
[[gnu::always_inline]] inline void ShortRows<Real>::store_complex(const Rows& rows, std::int64_t at,
                                                                  const Column<Real>& values) {
  const std::int64_t apart = kRows == 1 ? kWidth<Real> : rows.second;
  const auto [low, high] = joined<Real>(values);
  store_pack(rows.first + 2 * at, low);
  store_pack(rows.first + 2 * at + apart, high);
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

template <class Real>
template <int kColumns, bool kScaled, Direction kDirection>
void ShortRows<Real>::run_c2c(const Job& job) const {
  for (std::int64_t row = 0; row < job.count; row += kRows) {
    const Rows from = rows_of(job.in, job.count, row, 2);
    const Rows to = rows_of(job.out, job.count, row, 2);
    const RowsAhead<Real, kRows, 2 * kParts * kColumns, 2 * kColumns> ahead(
        from.first, 2 * job.in.distance, job.ahead, row, job.count);
    transform_.template run_short<kColumns, kDirection>(
        [&](auto j) WEFT_INLINE {
          ahead.template step<j>();
          return load_complex(from, kParts * j);
        },
        [&](auto k, const Column<Real>& x) WEFT_INLINE {
          ahead.template step<kColumns + k / kParts>();
          store_complex(to, k, scaled<kScaled>(x, job.factor));
        });
  }
}

// z = a + i b has Z[k] = A[k] + i B[k], and the conjugate of Z[n - k] is A[k] - i B[k].
template <class Real>
template <int kColumns>
void ShortRows<Real>::run_r2c(const Job& job) const {
  constexpr int kHalf = kColumns / 2;
  const Real half = job.factor / 2;
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
    store_last(a_out, kHalf * kParts, job.factor * middle.re);
    store_last(b_out, kHalf * kParts, job.factor * middle.im);
  }
}

// Z[k] = A[k] + i B[k] and Z[n - k] = conj(A[k]) + i conj(B[k]); the imaginary parts of A and B are
// not there at k = 0 and k = n / 2.
template <class Real>
template <int kColumns, bool kScaled, bool kPastCache>
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
          const Column<Real> y = scaled<kScaled>(x, job.factor);
          if (kPastCache && job.store == RowStore::streamed) {
            store_real<true>(a_out, k, y.re);
            store_real<true>(b_out, k, y.im);
          } else {
            store_real<false>(a_out, k, y.re);
            store_real<false>(b_out, k, y.im);
          }
        });
  }
}

template class ShortRows<double>;
template class ShortRows<float>;

}  // namespace weft
