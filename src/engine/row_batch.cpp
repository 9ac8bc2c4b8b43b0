// Rows are read where they lie, or put together first where they are in pieces, and likewise
// stored.
#include "engine/row_batch.hpp"

#include <algorithm>
#include <utility>

#include "engine/next_rows.hpp"
#include "engine/root.hpp"
#include "engine/seam.hpp"

namespace weft {
namespace {

/// Signals whose columns would take less than these bytes are better done a pack of them at a time:
/// while they fit into L1, or real ones that are put together a column at a time into L2. (Cycles
/// for 8 results: c2c 256 points 41 -> 36, 1024 54 -> 42, 8192 131 -> 60, but 128 32 -> 40; c2r
/// 1024 49 -> 44, 16384 110 -> 70; r2c 4096 62 -> 62, 16384 104 -> 80.)
constexpr std::int64_t fewest_bytes(BatchKind kind) {
  constexpr std::int64_t kKib = 1024;
  return kind == BatchKind::c2c ? 32 * kKib : kind == BatchKind::c2r ? 128 * kKib : 1024 * kKib;
}

/// c2c rows of so many columns are one butterfly and stay in registers, or in what the compiler
/// makes of these, if there are enough: 64 points 26 -> 23, 128 32 -> 25, 256 36 -> 29, 384 37 ->
/// 31, 512 36 -> 32; single precision 256 19 -> 15, 512 18 -> 16.
using ShortColumns = std::integer_sequence<int, 8, 16, 32, 48, 64>;
constexpr bool kHasShort = kPackBytes == 64;
template <int... kColumns>
constexpr bool is_any(std::int64_t columns, std::integer_sequence<int, kColumns...>) {
  return ((columns == kColumns) || ...);
}

/// Then a row is fetched while the one so many before it is transformed.
constexpr std::int64_t kRowsAhead = 8;

std::int64_t complex_length(const BatchSpec& spec) {
  return spec.kind == BatchKind::c2c ? spec.n : spec.n / 2;
}
// Of a row, on a side whose elements are real if that is `real_kind`.
std::int64_t reals_of(const BatchSpec& spec, BatchKind real_kind) {
  if (spec.kind == real_kind) return spec.n;
  return 2 * (spec.kind == BatchKind::c2c ? spec.n : spec.n / 2 + 1);
}

template <class Real>
std::int64_t whole_packs(std::int64_t reals) {
  return (reals + kWidth<Real> - 1) / kWidth<Real> * kWidth<Real>;
}

// As split(), with the lanes of each row in opposite order.
template <int kParts, class Real>
[[gnu::always_inline]] inline Column<Real> split_opposite(const Pack<Real>& low,
                                                          const Pack<Real>& high) {
  constexpr auto lanes = std::make_integer_sequence<int, kWidth<Real>>{};
  const auto pick = [&]<int... kLanes>(std::integer_sequence<int, kLanes...>, auto part)
      WEFT_INLINE {
    return __builtin_shufflevector(
        low, high, (2 * (kLanes / kParts * kParts + kParts - 1 - kLanes % kParts) + part)...);
  };
  return {pick(lanes, std::integral_constant<int, 0>{}),
          pick(lanes, std::integral_constant<int, 1>{})};
}

// The first lane of each row of `first`, then the others of `others`, the last first.
template <int kParts, class Real>
[[gnu::always_inline]] inline Pack<Real> mirrored(const Pack<Real>& first,
                                                  const Pack<Real>& others) {
  const auto pick = [&]<int... kLanes>(std::integer_sequence<int, kLanes...>) WEFT_INLINE {
    return __builtin_shufflevector(first, others,
                                   (kLanes % kParts == 0 ? kLanes
                                                         : kWidth<Real> + kLanes / kParts * kParts +
                                                               kParts - kLanes % kParts)...);
  };
  return pick(std::make_integer_sequence<int, kWidth<Real>>{});
}

// `pack` with zeros in the first lane of each row.
template <int kParts, class Real>
[[gnu::always_inline]] inline Pack<Real> without_first(const Pack<Real>& pack) {
  const Pack<Real> zeros{};
  const auto pick = [&]<int... kLanes>(std::integer_sequence<int, kLanes...>) WEFT_INLINE {
    return __builtin_shufflevector(pack, zeros,
                                   (kLanes % kParts == 0 ? kWidth<Real> + kLanes : kLanes)...);
  };
  return pick(std::make_integer_sequence<int, kWidth<Real>>{});
}

// Past the cache, wherever `to` lies.
template <class Real>
void stream_row(Real* to, const Real* from, std::int64_t reals) {
  constexpr std::int64_t kPack = kWidth<Real>;
  const std::int64_t past = past_line(to);
  const std::int64_t head = std::min(reals, past == 0 ? 0 : kPack - past);
  store_part(to, load_part(from, head), 0, head);
  std::int64_t i = head;
  for (; i + kPack <= reals; i += kPack) stream_pack(to + i, load_pack(from + i));
  store_part(to + i, load_part(from + i, reals - i), 0, reals - i);
}

}  // namespace

template <class Real>
struct RowBatch<Real>::Job {
  Real factor;
  bool streaming;
  Column<Real>* work;
  Column<Real>* spectrum;   // of r2c, before the halves of a row are put together
  Real* whole_in;           // kRows that are put together from pieces
  Real* whole_out;          // likewise, that are stored in pieces or past the cache
  const Real** columns;     // where those of the first row lie that are loaded
  std::int64_t first = 0;   // row
  std::int64_t second = 0;  // the last one, where two are done together
};

template <class Real>
bool RowBatch<Real>::takes(const BatchSpec& spec) {
  if (spec.in_stride != 1 || spec.out_stride != 1) return false;
  const std::int64_t n = complex_length(spec);
  const bool in_squares = n % (kParts * kParts) == 0;
  return (is_long(spec) || is_short(spec.kind, n)) && spec.n % 2 == 0 &&
         RowTransform<Real>::takes(n) && (in_squares || spec.kind != BatchKind::r2c);
}

template <class Real>
bool RowBatch<Real>::is_long(const BatchSpec& spec) {
  return spec.n * static_cast<std::int64_t>(sizeof(Column<Real>)) >= fewest_bytes(spec.kind);
}

template <class Real>
bool RowBatch<Real>::is_short(BatchKind kind, std::int64_t n) {
  return kHasShort && kind == BatchKind::c2c && n % kParts == 0 &&
         is_any(n / kParts, ShortColumns{});
}

template <class Real>
bool RowBatch<Real>::takes(Pieces in, Pieces out, const Storing& storing) const {
  const auto is_contiguous = [](const Piece& piece) { return piece.stride == 1; };
  if (!std::ranges::all_of(in, is_contiguous) || !std::ranges::all_of(out, is_contiguous))
    return false;
  return is_long_ || runs_short(in, out, storing);
}

template <class Real>
bool RowBatch<Real>::runs_short(Pieces in, Pieces out, const Storing& storing) const {
  return is_short(kind_, transform_.n()) && in.size() == 1 && out.size() == 1 && !storing.streaming;
}

template <class Real>
RowBatch<Real>::RowBatch(const BatchSpec& spec)
    : kind_(spec.kind),
      direction_(spec.direction),
      count_(spec.count),
      in_reals_(reals_of(spec, BatchKind::r2c)),
      out_reals_(reals_of(spec, BatchKind::c2r)),
      is_long_(is_long(spec)),
      transform_(complex_length(spec), spec.direction) {
  if (kind_ == BatchKind::c2c) return;
  for (std::int64_t k = 0; k < transform_.n(); k += kParts)
    roots_.push_back(RowTransform<Real>::roots(1, k, spec.n, spec.direction));
}

template <class Real>
std::int64_t RowBatch<Real>::scratch_bytes() const {
  const std::int64_t columns = transform_.columns();
  return (transform_.work_columns() + columns) * static_cast<std::int64_t>(sizeof(Column<Real>)) +
         kRows * (whole_packs<Real>(in_reals_) + whole_packs<Real>(out_reals_)) *
             static_cast<std::int64_t>(sizeof(Real)) +
         columns * static_cast<std::int64_t>(sizeof(void*));
}

// c2c rows of kColumns columns; those that come soon are fetched meanwhile.
template <class Real>
template <int kColumns, Direction kDirection>
void RowBatch<Real>::run_short(const Piece& in, const Piece& out, const Storing& storing) const {
  const auto factor = static_cast<Real>(storing.factor);
  for (std::int64_t row = 0; row < count_; row += kRows) {
    const std::int64_t last = std::min(row + kRows, count_) - 1;
    const Rows from = rows_of(in, row, last, 2);
    const Rows to = rows_of(out, row, last, 2);
    const Real* const next = from.low + 2 * kRowsAhead * in.distance;
    for (int i = 0; i < kRows; ++i)
      for (std::int64_t real = 0; real < in_reals_; real += kWidth<Real>)
        __builtin_prefetch(next + 2 * i * in.distance + real, 0, 2);
    transform_.template run_short<kColumns, kDirection>(
        from.low, from.high, [&](std::int64_t k, const Column<Real>& x) WEFT_INLINE {
          const auto [low, high] = joined<Real>(Column<Real>{factor * x.re, factor * x.im});
          store_pack(to.low + 2 * k, low);
          store_pack(to.low + 2 * k + to.high, high);
        });
  }
}

template <class Real>
void RowBatch<Real>::run(Pieces in, Pieces out, const Storing& storing, void* scratch) const {
  if (runs_short(in, out, storing)) {
    const auto run_if = [&](auto columns) {
      if (transform_.columns() != columns) return;
      if (direction_ == Direction::forward)
        run_short<columns, Direction::forward>(in.front(), out.front(), storing);
      else
        run_short<columns, Direction::backward>(in.front(), out.front(), storing);
    };
    [&]<int... kColumns>(std::integer_sequence<int, kColumns...>) {
      (run_if(std::integral_constant<int, kColumns>{}), ...);
    }
    (ShortColumns{});
    return;
  }
  auto* const work = static_cast<Column<Real>*>(scratch);
  auto* const spectrum = work + transform_.work_columns();
  auto* const whole_in = reinterpret_cast<Real*>(spectrum + transform_.columns());
  auto* const whole_out = whole_in + kRows * whole_packs<Real>(in_reals_);
  auto* const columns =
      reinterpret_cast<const Real**>(whole_out + kRows * whole_packs<Real>(out_reals_));
  Job job{static_cast<Real>(storing.factor),
          storing.streaming,
          work,
          spectrum,
          whole_in,
          whole_out,
          columns};
  const int parts_in = kind_ == BatchKind::r2c ? 1 : 2;
  for (job.first = 0; job.first < count_; job.first += kRows) {
    job.second = std::min(job.first + kRows, count_) - 1;
    const NextRows<Real> next(in, job.first + kRows, kRows, parts_in);
    const Rows rows = rows_in(job, in);
    LanesIn<Real> from{};
    if (kind_ == BatchKind::c2r) {
      read_c2r(job, rows);
    } else {
      if (job.first == 0 || in.size() > 1)
        for (std::int64_t i = 0; i < transform_.columns(); ++i)
          job.columns[i] = rows.low + 2 * kParts * transform_.column_loaded(i);
      from.rows = job.columns;
      from.first = rows.low - job.columns[0];
      from.high = rows.high;
    }
    store(job, out, [&](const Rows& to, auto put) WEFT_INLINE {
      if (kind_ == BatchKind::r2c)
        run_r2c(job, from, next.fetch(), to, put);
      else
        run_complex(job, from, next.fetch(), to, put);
    });
  }
}

template <class Real>
auto RowBatch<Real>::rows_of(const Piece& piece, std::int64_t first, std::int64_t last, int parts)
    -> Rows {
  auto* const base = reinterpret_cast<Real*>(piece.base);
  return {base + first * piece.distance * parts,
          kRows == 1 ? kWidth<Real> : (last - first) * piece.distance * parts};
}

template <class Real>
auto RowBatch<Real>::whole_rows(Real* rows, std::int64_t reals) -> Rows {
  return {rows, kRows == 1 ? kWidth<Real> : whole_packs<Real>(reals)};
}

template <class Real>
auto RowBatch<Real>::rows_in(const Job& job, Pieces in) const -> Rows {
  const int parts = kind_ == BatchKind::r2c ? 1 : 2;
  if (in.size() == 1) return rows_of(in.front(), job.first, job.second, parts);
  const std::int64_t pitch = whole_packs<Real>(in_reals_);
  for (const Piece& piece : in)
    for (std::int64_t row = job.first; row <= job.second; ++row)
      std::copy_n(reinterpret_cast<const Real*>(piece.base) + row * piece.distance * parts,
                  piece.count * parts,
                  job.whole_in + (row - job.first) * pitch + piece.begin * parts);
  return whole_rows(job.whole_in, in_reals_);
}

template <class Real>
template <class Put>
void RowBatch<Real>::run_complex(const Job& job, const LanesIn<Real>& in, const Fetch<Real>& fetch,
                                 const Rows& to, Put put) const {
  const Real factor = job.factor;
  transform_.run(job.work, in, fetch, [&](std::int64_t k, const Column<Real>& x) WEFT_INLINE {
    put(to, k, joined<Real>(Column<Real>{factor * x.re, factor * x.im}));
  });
}

// With h = n / 2 and w = exp(-2 pi i / n), z[j] = x[2 j] + i x[2 j + 1] has Z[k] = E[k] + i F[k],
// of the even and the odd points, the conjugate of Z[h - k] is E[k] - i F[k], and X[k] =
// E[k] + w^k F[k]; X[h] = E[0] - F[0].
template <class Real>
template <class Put>
void RowBatch<Real>::run_r2c(const Job& job, const LanesIn<Real>& in, const Fetch<Real>& fetch,
                             const Rows& to, Put put) const {
  Column<Real>* const spectrum = job.spectrum;
  transform_.run(job.work, in, fetch, [&](std::int64_t k, const Column<Real>& z) WEFT_INLINE {
    spectrum[k / kParts] = z;
  });
  const Real half = job.factor / 2;
  const std::int64_t columns = transform_.columns();
  for (std::int64_t c = 0; c < columns; ++c) {
    const Column<Real>& z = spectrum[c];
    const Column<Real>& first = spectrum[c == 0 ? 0 : columns - c];
    const Column<Real>& others = spectrum[columns - 1 - c];
    const Column<Real> y{mirrored<kParts, Real>(first.re, others.re),
                         mirrored<kParts, Real>(first.im, others.im)};
    const Column<Real> even{z.re + y.re, z.im - y.im};
    const Column<Real> odd = Column<Real>{z.im + y.im, y.re - z.re} * roots_[c];
    put(to, c * kParts,
        joined<Real>(Column<Real>{half * (even.re + odd.re), half * (even.im + odd.im)}));
  }
  const Column<Real>& z = spectrum[0];
  for (std::int64_t row = 0; row <= job.second - job.first; ++row) {
    Real* const last = to.low + row * to.high + 2 * transform_.n();
    last[0] = job.factor * (z.re[row * kParts] - z.im[row * kParts]);
    last[1] = 0;
  }
}

// Back: E[k] and F[k] are sums and differences of X[k] and the conjugate of X[h - k]. The imaginary
// parts of X are not there at k = 0 and k = h.
template <class Real>
void RowBatch<Real>::read_c2r(const Job& job, const Rows& in) const {
  const std::int64_t columns = transform_.columns();
  const auto load = [&](std::int64_t k) WEFT_INLINE {
    return std::make_pair(load_pack(in.low + 2 * k), load_pack(in.low + 2 * k + in.high));
  };
  for (std::int64_t c = 0; c < columns; ++c) {
    const auto [low, high] = load(c * kParts);
    const auto [mirrored_low, mirrored_high] = load(transform_.n() - c * kParts - (kParts - 1));
    Column<Real> x = split<Real>(low, high);
    Column<Real> y = split_opposite<kParts, Real>(mirrored_low, mirrored_high);
    if (c == 0) {
      x.im = without_first<kParts, Real>(x.im);
      y.im = without_first<kParts, Real>(y.im);
    }
    const Column<Real> even{x.re + y.re, x.im - y.im};
    const Column<Real> odd = Column<Real>{x.re - y.re, x.im + y.im} * roots_[c];
    job.work[c] = {even.re - odd.im, even.im + odd.re};
  }
}

template <class Real>
template <class Fill>
void RowBatch<Real>::store(const Job& job, Pieces out, Fill fill) const {
  const int parts = kind_ == BatchKind::c2r ? 1 : 2;
  using Packs = std::pair<Pack<Real>, Pack<Real>>;
  const auto put_cached = [](const Rows& to, std::int64_t k, const Packs& packs) WEFT_INLINE {
    store_pack(to.low + 2 * k, packs.first);
    store_pack(to.low + 2 * k + to.high, packs.second);
  };
  const auto put_streamed = [](const Rows& to, std::int64_t k, const Packs& packs) WEFT_INLINE {
    stream_pack(to.low + 2 * k, packs.first);
    stream_pack(to.low + 2 * k + to.high, packs.second);
  };
  const bool streams = job.streaming && kHasSeams;
  if (out.size() == 1) {
    const Rows to = rows_of(out.front(), job.first, job.second, parts);
    if (!streams) return fill(to, put_cached);
    const bool is_aligned = past_line(to.low) == 0 && to.high % kWidth<Real> == 0;
    if (is_aligned && transform_.in_squares()) return fill(to, put_streamed);
  }
  fill(whole_rows(job.whole_out, out_reals_), put_cached);
  const std::int64_t pitch = whole_packs<Real>(out_reals_);
  for (const Piece& piece : out)
    for (std::int64_t row = job.first; row <= job.second; ++row) {
      const Real* const from = job.whole_out + (row - job.first) * pitch + piece.begin * parts;
      auto* const to = reinterpret_cast<Real*>(piece.base) + row * piece.distance * parts;
      if (streams)
        stream_row(to, from, piece.count * parts);
      else
        std::copy_n(from, piece.count * parts, to);
    }
}

template class RowBatch<double>;
template class RowBatch<float>;

}  // namespace weft
