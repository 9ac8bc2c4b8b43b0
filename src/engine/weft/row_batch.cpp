// Rows are read where they lie, and likewise stored; where pieces of them do not begin with a
// column, they are put together first, or taken apart.
#include "engine/weft/row_batch.hpp"

#include <algorithm>
#include <utility>

#include "base/cache.hpp"
#include "engine/root.hpp"
#include "engine/weft/mirror.hpp"
#include "engine/weft/next_rows.hpp"
#include "weft/error.hpp"

namespace weft {
namespace {

/// Signals whose columns would take so few bytes are better done a pack of them at a time: while
/// they fit into L1, or real ones that are put together a column at a time into L2. (Cycles for 8
/// results: c2c 256 points 41 -> 36, 1024 54 -> 42, 8192 131 -> 60, but 128 32 -> 40; c2r 1024 49
/// -> 44, 16384 110 -> 70; r2c 4096 62 -> 62, 16384 104 -> 80.) Beside a large second-level cache
/// fewer are (1 rank with 2 threads of a Granite Rapids Xeon, in place: 64 x 128 x 1024 r2c 8.4
/// -> 7.3 ms, 64 x 128 x 768 5.5 -> 4.9, backward 6.3 -> 5.8; but 4096^2 29.3 -> 31.8), and of
/// those in single precision, which are done two at once, even fewer (4096 points from memory to
/// memory on a core of it 7.8 -> 3.2 us).
bool are_few(std::int64_t bytes, BatchKind kind, bool two_at_once) {
  constexpr std::int64_t kKib = 1024;
  const bool beside_large_cache = has_large_second_level_cache();
  switch (kind) {
    case BatchKind::c2c:
      return bytes < 32 * kKib;
    case BatchKind::c2r:
      return bytes < (beside_large_cache ? 64 : 128) * kKib;
    case BatchKind::r2c:
      return bytes < 1024 * kKib &&
             !(beside_large_cache && bytes >= 64 * kKib && (two_at_once || bytes < 512 * kKib));
  }
  throw Error(ErrorCode::internal, "a batch has no kind");
}

std::int64_t complex_length(const BatchSpec& spec) {
  return spec.kind == BatchKind::c2c ? spec.n : spec.n / 2;
}

/// True where pieces of rows begin at multiples of `reals`.
bool begin_at(Pieces pieces, int parts, std::int64_t reals) {
  return std::ranges::all_of(pieces,
                             [&](const Piece& piece) { return piece.begin * parts % reals == 0; });
}

/// True where rows are as far apart in all pieces.
bool lie_alike(Pieces pieces) {
  return std::ranges::all_of(
      pieces, [&](const Piece& piece) { return piece.distance == pieces.front().distance; });
}

}  // namespace

template <class Real>
struct RowBatch<Real>::Job {
  Real factor;
  bool streaming;
  Column<Real>* work;
  Column<Real>* spectrum;  // of r2c, before the halves of a row are put together
  WholeRows<Real> whole_in;
  WholeRows<Real> whole_out;
  const Real** columns;     // where those of the first row lie, as they are loaded
  At* in_columns;           // where they lie in pieces, one after another
  At* out_columns;          // likewise
  bool in_at_columns;       // pieces begin there
  bool out_at_columns;      // likewise
  std::int64_t first = 0;   // row
  std::int64_t second = 0;  // the last one, where two are done together
};

template <class Real>
bool RowBatch<Real>::takes(const BatchSpec& spec) {
  if (spec.in_stride != 1 || spec.out_stride != 1) return false;
  const std::int64_t n = complex_length(spec);
  const bool in_squares = n % (kParts * kParts) == 0;
  const std::int64_t bytes = spec.n * static_cast<std::int64_t>(sizeof(Column<Real>));
  const bool few = spec.together && are_few(bytes, spec.kind, kRows == 2);
  return !few && spec.n % 2 == 0 && RowTransform<Real>::takes(n) &&
         (in_squares || spec.kind != BatchKind::r2c);
}

template <class Real>
RowBatch<Real>::RowBatch(const BatchSpec& spec)
    : kind_(spec.kind),
      count_(spec.count),
      in_(reals_in(spec)),
      out_(reals_out(spec)),
      transform_(complex_length(spec), spec.direction) {
  if (kind_ == BatchKind::c2c) return;
  for (std::int64_t k = 0; k < transform_.n(); k += kParts)
    roots_.push_back(RowTransform<Real>::roots(1, k, spec.n, spec.direction));
}

template <class Real>
std::int64_t RowBatch<Real>::scratch_bytes() const {
  const std::int64_t columns = transform_.columns();
  return (transform_.work_columns() + columns) * static_cast<std::int64_t>(sizeof(Column<Real>)) +
         kRows * (WholeRows<Real>::pitch(in_.row) + WholeRows<Real>::pitch(out_.row)) *
             static_cast<std::int64_t>(sizeof(Real)) +
         2 * (columns + 1) * static_cast<std::int64_t>(sizeof(At)) +
         columns * static_cast<std::int64_t>(sizeof(void*));
}

template <class Real>
void RowBatch<Real>::run(Pieces in, Pieces out, const Ahead& ahead, const Storing& storing,
                         void* scratch) const {
  auto* const work = static_cast<Column<Real>*>(scratch);
  auto* const spectrum = work + transform_.work_columns();
  const WholeRows<Real> whole_in(reinterpret_cast<Real*>(spectrum + transform_.columns()), in_.row,
                                 in_.element);
  const WholeRows<Real> whole_out(whole_in.row(kRows), out_.row, out_.element);
  auto* const in_columns = reinterpret_cast<At*>(whole_out.row(kRows));
  auto* const out_columns = in_columns + transform_.columns() + 1;
  Job job{static_cast<Real>(storing.factor),
          storing.streaming,
          work,
          spectrum,
          whole_in,
          whole_out,
          reinterpret_cast<const Real**>(out_columns + transform_.columns() + 1),
          in_columns,
          out_columns,
          begin_at(in, in_.element, 2 * kParts) &&
              (kRows == 1 || kind_ == BatchKind::c2r || lie_alike(in)),
          transform_.in_squares() && begin_at(out, out_.element, 2 * kParts)};
  for (job.first = 0; job.first < count_; job.first += kRows) {
    job.second = std::min(job.first + kRows, count_) - 1;
    const NextRows<Real> next(in, job.first + kRows, kRows, in_.element);
    const Fetch<Real> fetch = next.fetch(ahead.during(job.first, job.first + kRows, count_));
    const Rows rows = rows_in(job, in);
    LanesIn<Real> from{};
    if (kind_ == BatchKind::c2r) {
      read_c2r(job, rows);
    } else {
      if (job.first == 0 || in.size() > 1)
        for (std::int64_t i = 0; i < transform_.columns(); ++i)
          job.columns[i] = rows.column(transform_.column_loaded(i)).low;
      from.rows = job.columns;
      from.first = rows.column(transform_.column_loaded(0)).low - job.columns[0];
      from.high = rows.first.high;
    }
    store(job, out, [&](const Rows& to, auto put) WEFT_INLINE {
      if (kind_ == BatchKind::r2c)
        run_r2c(job, from, fetch, to, put);
      else
        run_complex(job, from, fetch, to, put);
    });
  }
}

template <class Real>
auto RowBatch<Real>::rows_of(const Piece& piece, std::int64_t first, std::int64_t last, int parts)
    -> Rows {
  auto* const base = reinterpret_cast<Real*>(piece.base);
  return {{base + first * piece.distance * parts,
           kRows == 1 ? kWidth<Real> : (last - first) * piece.distance * parts}};
}

template <class Real>
auto RowBatch<Real>::rows_of(const WholeRows<Real>& whole, const Job& job) -> Rows {
  return {{whole.row(0), kRows == 1 ? kWidth<Real> : (job.second - job.first) * whole.pitch()}};
}

template <class Real>
auto RowBatch<Real>::rows_of(Pieces pieces, std::int64_t first, std::int64_t last, int parts,
                             At* columns) -> Rows {
  constexpr std::int64_t kReals = 2 * kParts;
  for (const Piece& piece : pieces) {
    const Rows rows = rows_of(piece, first, last, parts);
    const std::int64_t begin = piece.begin * parts / kReals;
    const std::int64_t end = (piece.begin + piece.count) * parts;
    for (std::int64_t c = begin; c * kReals < end; ++c) columns[c] = rows.column(c - begin);
  }
  return {columns[0], columns};
}

template <class Real>
auto RowBatch<Real>::rows_in(const Job& job, Pieces in) const -> Rows {
  if (in.size() == 1) return rows_of(in.front(), job.first, job.second, in_.element);
  if (job.in_at_columns) return rows_of(in, job.first, job.second, in_.element, job.in_columns);
  job.whole_in.join(in, job.first, job.second - job.first + 1);
  return rows_of(job.whole_in, job);
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
    const Column<Real> y =
        mirrored<kParts>(spectrum[c == 0 ? 0 : columns - c], spectrum[columns - 1 - c]);
    const Column<Real> even{z.re + y.re, z.im - y.im};
    const Column<Real> odd = Column<Real>{z.im + y.im, y.re - z.re} * roots_[c];
    put(to, c * kParts,
        joined<Real>(Column<Real>{half * (even.re + odd.re), half * (even.im + odd.im)}));
  }
  const Column<Real>& z = spectrum[0];
  for (std::int64_t row = 0; row <= job.second - job.first; ++row) {
    Real* const last = to.column(columns).low + row * to.column(columns).high;
    last[0] = job.factor * (z.re[row * kParts] - z.im[row * kParts]);
    last[1] = 0;
  }
}

// Back: E[k] and F[k] are sums and differences of X[k] and the conjugate of X[h - k]. The imaginary
// parts of X are not there at k = 0 and k = h.
template <class Real>
std::pair<Pack<Real>, Pack<Real>> RowBatch<Real>::load_across(const Rows& in, std::int64_t c) {
  constexpr std::int64_t kReals = 2 * kParts;
  const At before = in.column(c - 1);
  const At after = in.column(c);
  if (after.low == before.low + kReals && after.high == before.high)
    return {load_pack(before.low + 2), load_pack(before.low + 2 + before.high)};
  Real joined[2][kReals];
  for (int row = 0; row < kRows; ++row) {
    std::copy_n(before.low + 2 + row * before.high, kReals - 2, joined[row]);
    std::copy_n(after.low + row * after.high, 2, joined[row] + kReals - 2);
  }
  return {load_pack(joined[0]), load_pack(joined[0] + kWidth<Real>)};
}

template <class Real>
void RowBatch<Real>::read_c2r(const Job& job, const Rows& in) const {
  const std::int64_t columns = transform_.columns();
  for (std::int64_t c = 0; c < columns; ++c) {
    const At at = in.column(c);
    const auto [mirrored_low, mirrored_high] = load_across(in, columns - c);
    Column<Real> x = split<Real>(load_pack(at.low), load_pack(at.low + at.high));
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

// Stores points k and following; k is a multiple of kParts where rows lie in pieces.
template <class Real>
template <bool kStreamed, bool kInPieces>
struct RowBatch<Real>::PutTo {
  [[gnu::always_inline]] void operator()(const Rows& to, std::int64_t k,
                                         const std::pair<Pack<Real>, Pack<Real>>& packs) const {
    const At at = kInPieces ? to.columns[k / kParts] : At{to.first.low + 2 * k, to.first.high};
    if constexpr (kStreamed) {
      stream_pack(at.low, packs.first);
      stream_pack(at.low + at.high, packs.second);
    } else {
      store_pack(at.low, packs.first);
      store_pack(at.low + at.high, packs.second);
    }
  }
};

template <class Real>
template <class Fill>
void RowBatch<Real>::store(const Job& job, Pieces out, Fill fill) const {
  const bool streams = job.streaming && kHasSeams;
  const auto are_aligned = [&] {
    return transform_.in_squares() && std::ranges::all_of(out, [&](const Piece& piece) {
             const Rows to = rows_of(piece, job.first, job.second, out_.element);
             return past_line(to.first.low) == 0 &&
                    (kRows == 1 || to.first.high % kLine<Real> == 0);
           });
  };
  if (out.size() == 1) {
    const Rows to = rows_of(out.front(), job.first, job.second, out_.element);
    if (!streams) return fill(to, PutTo<false, false>{});
    if (are_aligned()) return fill(to, PutTo<true, false>{});
  } else if (job.out_at_columns && (!streams || are_aligned())) {
    const Rows to = rows_of(out, job.first, job.second, out_.element, job.out_columns);
    return streams ? fill(to, PutTo<true, true>{}) : fill(to, PutTo<false, true>{});
  }
  fill(rows_of(job.whole_out, job), PutTo<false, false>{});
  job.whole_out.store(out, job.first, job.second - job.first + 1, streams);
}

template class RowBatch<double>;
template class RowBatch<float>;

}  // namespace weft
