// The engine "weft", of this library: as many signals at once as a vector register has lanes, with
// real and imaginary parts in registers of their own, so that no arithmetic needs a shuffle.
// Signals are turned into columns on their way in and back on their way out. Two real signals, or
// the even and the odd points of one, are the parts of a complex signal. It is made for batches in
// cache: all of a signal's columns lie in scratch.
#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "base/cache.hpp"
#include "engine/engine.hpp"
#include "engine/instructions.hpp"
#include "engine/root.hpp"
#include "engine/spec.hpp"
#include "engine/weft/column_transform.hpp"
#include "engine/weft/lane_batch.hpp"
#include "engine/weft/next_rows.hpp"
#include "engine/weft/row_batch.hpp"
#include "engine/weft/sheet.hpp"
#include "engine/weft/short_rows.hpp"
#include "engine/weft/trial.hpp"
#include "weft/error.hpp"

namespace weft {
namespace {

/// Longer signals outgrow the cache, where others are better.
constexpr std::int64_t kLongest = 32768;

/// Real signals whose columns take more are done in halves, since those of a pair would displace
/// from a core's L1 what is loaded and stored (rows of 256 points: 39 -> 32 cycles for 8 results,
/// 16384: 139 -> 88; but 128: 28.7 -> 29.3).
constexpr std::int64_t kPairBytes = 16 * 1024;

/// Results of signals that take so much come many at a time, while a core can have few stores past
/// the cache under way. (A Cascade Lake Xeon, rows of 4096^2 past the cache and by way of it: c2c,
/// 1 rank with 2 threads 50 -> 40 ms, 2 ranks in place 64 -> 53, r2c there 33 -> 25.)
constexpr std::int64_t kLongBytes = 16 * 1024;

template <class Real>
class WeftBatch : public Batch {
 public:
  explicit WeftBatch(const BatchSpec& spec)
      : spec_(spec),
        in_halves_(spec.kind != BatchKind::c2c && spec.n % 2 == 0 &&
                   spec.n * static_cast<std::int64_t>(sizeof(Column<Real>)) > kPairBytes),
        transform_(in_halves_ ? spec.n / 2 : spec.n, spec.direction) {
    if (in_halves_) prepare_halves();
    if (ShortRows<Real>::takes(spec))
      short_rows_ = std::make_unique<ShortRows<Real>>(spec);
    else if (RowBatch<Real>::takes(spec))
      rows_ = std::make_unique<RowBatch<Real>>(spec);
    if (LaneBatch<Real>::takes(spec)) lanes_ = std::make_unique<LaneBatch<Real>>(spec, transform_);
  }

  std::int64_t scratch_bytes(bool streaming) const override {
    const std::int64_t bytes = work_columns() * static_cast<std::int64_t>(sizeof(Column<Real>)) +
                               spec_.n * static_cast<std::int64_t>(2 * sizeof(void*));
    return std::max({bytes, rows_ ? rows_->scratch_bytes() : 0,
                     short_rows_ ? short_rows_->scratch_bytes() : 0,
                     lanes_ ? lanes_->scratch_bytes(streaming) : 0});
  }

  void run(void* in, void* out, void* scratch) const override {
    const bool are_lanes = spec_.in_distance == 1 || spec_.out_distance == 1;
    if (spec_.kind == BatchKind::c2c && are_lanes)
      return run_lanes(static_cast<Real*>(in), static_cast<Real*>(out), scratch);
    const Piece from = whole(in, Side::in);
    const Piece to = whole(out, Side::out);
    run_pieces({&from, 1}, {&to, 1}, {}, {}, scratch);
  }

  // Long rows that are said to go past the cache are also tried by way of it, but not where they
  // come from slices, for which that is to stay free.
  void run_pieces(Pieces in, Pieces out, const Ahead& ahead, const Storing& how,
                  void* scratch) const override {
    Storing storing = how;
    if (are_in_cache(in, out)) storing.streaming = false;
    if (!storing.streaming || !are_long() || !ahead.empty())
      return run_signals(in, out, ahead, storing, scratch);
    const int way = stores_.next();
    storing.streaming = way == 0;
    const auto begin = std::chrono::steady_clock::now();
    run_signals(in, out, ahead, storing, scratch);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    stores_.note(way, taken.count());
  }

  std::int64_t at_once() const override {
    return rows_ || short_rows_ ? RowTransform<Real>::kRows : signals_at_once();
  }

  bool takes_rows() const override { return lanes_ != nullptr; }
  void run_rows(const RowsOfLanes& in, const RowsOfLanes& out, const Loading& loading,
                const Storing& storing, void* scratch) const override {
    lanes_->run(in, out, loading, storing, scratch);
  }

 private:
  /// Some signals of run_pieces(): `first` and following, as many as are transformed at once.
  struct Job {
    Pieces in;
    Pieces out;
    std::int64_t first;
    Ahead ahead;
    Real factor;
    bool streaming;
    Column<Real>* work;
  };

  void run_signals(Pieces in, Pieces out, const Ahead& ahead, const Storing& storing,
                   void* scratch) const {
    if ((short_rows_ || rows_) && are_rows(in) && are_rows(out))
      return short_rows_ ? short_rows_->run(in, out, ahead, storing, scratch)
                         : rows_->run(in, out, ahead, storing, scratch);
    auto* work = static_cast<Column<Real>*>(scratch);
    for (std::int64_t first = 0; first < spec_.count; first += signals_at_once()) {
      const Ahead share = ahead.during(first, first + signals_at_once(), spec_.count);
      const Job job{in,  out, first, share, static_cast<Real>(storing.factor), storing.streaming,
                    work};
      switch (spec_.kind) {
        case BatchKind::c2c:
          run_c2c(job);
          break;
        case BatchKind::r2c:
          in_halves_ ? run_r2c_in_halves(job) : run_r2c_in_pairs(job);
          break;
        case BatchKind::c2r:
          in_halves_ ? run_c2r_in_halves(job) : run_c2r_in_pairs(job);
          break;
      }
    }
  }

  // Those whose columns are transformed together. Pairs round together, so real signals that are no
  // more than a line of the cache has reals are done without others, on every processor: results
  // of a few rows then do not depend on the chunk that they come in.
  std::int64_t signals_at_once() const {
    const bool in_pairs = spec_.kind != BatchKind::c2c && !in_halves_ && spec_.count > kLine<Real>;
    return kWidth<Real> * (in_pairs ? 2 : 1);
  }
  // The first of those that are the imaginary parts, or none.
  std::int64_t second_of(const Job& job) const {
    return signals_at_once() > kWidth<Real> ? job.first + kWidth<Real> : spec_.count;
  }

  bool are_long() const {
    const std::int64_t reals = std::max(reals_in(spec_).row, reals_out(spec_).row);
    return reals * static_cast<std::int64_t>(sizeof(Real)) >= kLongBytes;
  }

  // True for rows that lie in the cache when they are stored, since they are stored where they were
  // loaded (4096^2 r2c in place, 1 rank with 2 threads of a Zen 4, axis 1: 15.2 -> 9.9 ms, backward
  // 12.1 -> 9.1; in single precision 10.2 -> 6.7, 6.4 -> 4.8).
  bool are_in_cache(Pieces in, Pieces out) const {
    const Piece& first = in.front();
    const RowReals row = reals_in(spec_);
    const bool is_most = 10 * first.count * row.element >= 9 * row.row;
    const std::int64_t rows = rows_ || short_rows_ ? 1 : signals_at_once();
    const std::int64_t reals = rows * std::max(row.row, reals_out(spec_).row);
    return out.size() == 1 && first.base == out.front().base && is_most &&
           reals * static_cast<std::int64_t>(sizeof(Real)) <= second_level_cache_bytes() / 2;
  }

  Piece whole(void* base, Side side) const {
    const bool is_in = side == Side::in;
    const bool is_half = spec_.kind == (is_in ? BatchKind::c2r : BatchKind::r2c);
    return {static_cast<std::byte*>(base), 0, is_half ? spec_.n / 2 + 1 : spec_.n,
            is_in ? spec_.in_stride : spec_.out_stride,
            is_in ? spec_.in_distance : spec_.out_distance};
  }

  std::int64_t work_columns() const { return transform_.work_columns() + (in_halves_ ? 1 : 0); }

  // Goes on with what is read after `job`.
  void transform(const Job& job, std::int64_t together, int parts) const {
    const NextRows<Real> next(job.in, job.first + together, together, parts);
    transform_.run(job.work, next.fetch(job.ahead));
  }

  /// Signals `first` and following; `parts` is the number of reals of an element. May be empty.
  template <class Value>
  Sheet<Value> sheet(const Piece& piece, std::int64_t first, int parts) const {
    return {reinterpret_cast<Value*>(piece.base) + first * piece.distance * parts, piece.stride,
            piece.distance, std::clamp<std::int64_t>(spec_.count - first, 0, kWidth<Real>)};
  }
  // Elements of signals `first` and following, in all pieces.
  template <class Put>
  void read_complex(const Job& job, std::int64_t first, Put put) const {
    for (const Piece& piece : job.in)
      weft::read_complex<Real>(sheet<const Real>(piece, first, 2), piece.count,
                               [&](std::int64_t j, const Column<Real>& column)
                                   WEFT_INLINE { put(piece.begin + j, column); });
  }
  template <class Put>
  void read_real(const Job& job, std::int64_t first, Put put) const {
    for (const Piece& piece : job.in)
      weft::read_real<Real>(sheet<const Real>(piece, first, 1), piece.count,
                            [&](std::int64_t j, const Pack<Real>& pack)
                                WEFT_INLINE { put(piece.begin + j, pack); });
  }
  template <class Get>
  void write_complex(const Job& job, std::int64_t first, Get get) const {
    for (const Piece& piece : job.out)
      weft::write_complex<Real>(
          sheet<Real>(piece, first, 2), piece.count,
          [&](std::int64_t k) WEFT_INLINE { return get(piece.begin + k); }, job.streaming);
  }
  template <class Get>
  void write_real(const Job& job, std::int64_t first, Get get) const {
    for (const Piece& piece : job.out)
      weft::write_real<Real>(
          sheet<Real>(piece, first, 1), piece.count,
          [&](std::int64_t k) WEFT_INLINE { return job.factor * get(piece.begin + k); },
          job.streaming);
  }

  void run_c2c(const Job& job) const {
    Column<Real>* const work = job.work;
    read_complex(job, job.first,
                 [&](std::int64_t j, const Column<Real>& column) WEFT_INLINE { work[j] = column; });
    transform(job, kWidth<Real>, 2);
    write_complex(job, job.first, [&](std::int64_t k) WEFT_INLINE {
      const Column<Real>& z = work[transform_.position(k)];
      return Column<Real>{job.factor * z.re, job.factor * z.im};
    });
  }

  // With lanes on one side or both: whole packs of them go straight through the transform.
  void run_lanes(Real* in, Real* out, void* scratch) const {
    auto* work = static_cast<Column<Real>*>(scratch);
    auto** const in_rows = reinterpret_cast<Real**>(work + work_columns());
    auto** const out_rows = in_rows + spec_.n;
    for (std::int64_t i = 0; i < spec_.n; ++i) {
      in_rows[i] = in + 2 * transform_.point_loaded(i) * spec_.in_stride;
      out_rows[i] = out + 2 * transform_.frequency_stored(i) * spec_.out_stride;
    }
    const Piece from = whole(in, Side::in);
    const Piece to = whole(out, Side::out);
    for (std::int64_t first = 0; first < spec_.count; first += kWidth<Real>) {
      const bool packed = spec_.count - first >= kWidth<Real>;
      const bool load = !packed || spec_.in_distance != 1;
      const bool store = !packed || spec_.out_distance != 1;
      const Job job{{&from, 1}, {&to, 1}, first, {}, 1, false, work};
      if (load)
        read_complex(job, first, [&](std::int64_t j, const Column<Real>& column) WEFT_INLINE {
          work[j] = column;
        });
      transform_.run(
          work, load ? LanesIn<Real>{} : LanesIn<Real>{.rows = in_rows, .first = 2 * first},
          store ? LanesOut<Real>{} : LanesOut<Real>{.rows = out_rows, .first = 2 * first});
      if (store)
        write_complex(job, first,
                      [&](std::int64_t k) WEFT_INLINE { return work[transform_.position(k)]; });
    }
  }

  void prepare_halves() {
    for (std::int64_t k = 0; k < spec_.n / 2; ++k) {
      const Twiddle<Real> w = root<Real>(k, spec_.n);
      roots_.push_back({w.re, spec_.kind == BatchKind::r2c ? w.im : -w.im});
      places_.push_back(transform_.position(k));
    }
    roots_.push_back({-1, 0});
    places_.push_back(places_.front());
  }

  // With h = n / 2 and w = exp(-2 pi i / n), z[j] = x[2 j] + i x[2 j + 1] has Z[k] = E[k] + i F[k],
  // of the even and the odd points, the conjugate of Z[h - k] is E[k] - i F[k], and X[k] =
  // E[k] + w^k F[k], the conjugate of X[h - k] = E[k] - w^k F[k].
  void run_r2c_in_halves(const Job& job) const {
    Column<Real>* const work = job.work;
    auto* const points = reinterpret_cast<Pack<Real>*>(work);
    const std::int64_t h = spec_.n / 2;
    read_real(job, job.first,
              [&](std::int64_t j, const Pack<Real>& pack) WEFT_INLINE { points[j] = pack; });
    transform(job, kWidth<Real>, 1);
    const Real half = job.factor / 2;
    const Twiddle<Real>* const roots = roots_.data();
    const std::int64_t* const places = places_.data();
    write_complex(job, job.first, [&](std::int64_t k) WEFT_INLINE {
      const Column<Real>& z = work[places[k]];
      const Column<Real>& y = work[places[h - k]];
      const Twiddle<Real> w{half * roots[k].re, half * roots[k].im};
      const Column<Real> even{z.re + y.re, z.im - y.im};
      const Column<Real> odd = Column<Real>{z.im + y.im, y.re - z.re} * w;
      return Column<Real>{half * even.re + odd.re, half * even.im + odd.im};
    });
  }

  // Back: E[k] and F[k] are sums and differences of X[k] and the conjugate of X[h - k]. The
  // imaginary parts of X are not there at k = 0 and k = h.
  void run_c2r_in_halves(const Job& job) const {
    Column<Real>* const work = job.work;
    const auto* const points = reinterpret_cast<const Pack<Real>*>(work);
    const Twiddle<Real>* const roots = roots_.data();
    const std::int64_t h = spec_.n / 2;
    read_complex(job, job.first,
                 [&](std::int64_t k, const Column<Real>& column) WEFT_INLINE { work[k] = column; });
    work[0] = {work[0].re + work[h].re, work[0].re - work[h].re};
    for (std::int64_t k = 1; k <= h - k; ++k) {
      Column<Real>& x = work[k];
      Column<Real>& other = work[h - k];
      const Column<Real> even{x.re + other.re, x.im - other.im};
      const Column<Real> odd = Column<Real>{x.re - other.re, x.im + other.im} * roots[k];
      x = {even.re - odd.im, even.im + odd.re};
      other = {even.re + odd.im, odd.re - even.im};
    }
    transform(job, kWidth<Real>, 2);
    write_real(job, job.first, [&](std::int64_t j) WEFT_INLINE {
      return points[2 * transform_.position(j / 2) + j % 2];
    });
  }

  // z = a + i b has Z[k] = A[k] + i B[k], and the conjugate of Z[n - k] is A[k] - i B[k].
  void run_r2c_in_pairs(const Job& job) const {
    Column<Real>* const work = job.work;
    const std::int64_t second = second_of(job);
    const Real half = job.factor / 2;
    read_real(job, job.first,
              [&](std::int64_t j, const Pack<Real>& pack) WEFT_INLINE { work[j].re = pack; });
    read_real(job, second,
              [&](std::int64_t j, const Pack<Real>& pack) WEFT_INLINE { work[j].im = pack; });
    transform(job, signals_at_once(), 1);
    const auto mirrored = [&](std::int64_t k) WEFT_INLINE -> const Column<Real>& {
      return work[transform_.position(k == 0 ? 0 : spec_.n - k)];
    };
    write_complex(job, job.first, [&](std::int64_t k) WEFT_INLINE {
      const Column<Real>& z = work[transform_.position(k)];
      const Column<Real>& y = mirrored(k);
      return Column<Real>{half * (z.re + y.re), half * (z.im - y.im)};
    });
    write_complex(job, second, [&](std::int64_t k) WEFT_INLINE {
      const Column<Real>& z = work[transform_.position(k)];
      const Column<Real>& y = mirrored(k);
      return Column<Real>{half * (z.im + y.im), half * (y.re - z.re)};
    });
  }

  // Z[k] = A[k] + i B[k] and Z[n - k] = conj(A[k]) + i conj(B[k]); the imaginary parts of A and B
  // are not there at k = 0 and k = n / 2.
  void run_c2r_in_pairs(const Job& job) const {
    Column<Real>* const work = job.work;
    const std::int64_t second = second_of(job);
    const auto is_real = [&](std::int64_t k) WEFT_INLINE { return k == 0 || 2 * k == spec_.n; };
    read_complex(job, job.first, [&](std::int64_t k, const Column<Real>& a) WEFT_INLINE {
      const Pack<Real> zero{};
      if (is_real(k)) {
        work[k] = {a.re, zero};
      } else {
        work[k] = a;
        work[spec_.n - k] = {a.re, -a.im};
      }
    });
    read_complex(job, second, [&](std::int64_t k, const Column<Real>& b) WEFT_INLINE {
      if (is_real(k)) {
        work[k].im += b.re;
      } else {
        work[k] = {work[k].re - b.im, work[k].im + b.re};
        Column<Real>& other = work[spec_.n - k];
        other = {other.re + b.im, other.im + b.re};
      }
    });
    transform(job, signals_at_once(), 2);
    write_real(job, job.first,
               [&](std::int64_t j) WEFT_INLINE { return work[transform_.position(j)].re; });
    write_real(job, second,
               [&](std::int64_t j) WEFT_INLINE { return work[transform_.position(j)].im; });
  }

  BatchSpec spec_;
  bool in_halves_;
  ColumnTransform<Real> transform_;
  std::unique_ptr<ShortRows<Real>> short_rows_;  // one of these two does rows, or none
  std::unique_ptr<RowBatch<Real>> rows_;
  std::unique_ptr<LaneBatch<Real>> lanes_;  // or lanes whose rows lie anywhere
  mutable Trial stores_{2};                 // of pieces: past the cache, by way of it
  std::vector<Twiddle<Real>> roots_;        // for real signals in halves: w^k or its conjugate
  std::vector<std::int64_t> places_;        // likewise: of Z[k], periodic
};

class WeftEngine : public Engine {
 public:
  std::string_view name() const override { return "weft"; }
  bool takes_pieces() const override { return true; }
  std::string refusal(const BatchSpec& spec) const override {
    if (std::string flaw = flaw_of(spec); !flaw.empty()) return flaw;
    if (spec.n > kLongest)
      return "the length is " + std::to_string(spec.n) + ", it takes up to " +
             std::to_string(kLongest);
    return "";
  }
  std::unique_ptr<Batch> make(const BatchSpec& spec) const override {
    if (const std::string why = refusal(spec); !why.empty())
      throw Error(ErrorCode::engine_failure, "weft cannot do " + to_string(spec) + ": " + why);
    if (spec.precision == Precision::single) return std::make_unique<WeftBatch<float>>(spec);
    return std::make_unique<WeftBatch<double>>(spec);
  }
};

const Engine& weft_engine() {
  static const WeftEngine engine;
  return engine;
}

}  // namespace

// Compiled for several sets of instructions, this is all of it that others see (WeftInstructions).
#ifndef WEFT_INSTRUCTION_SET
#define WEFT_INSTRUCTION_SET weft_for_baseline
#define WEFT_INSTRUCTION_SET_NAME "baseline"
#endif
extern "C" const Instructions WEFT_INSTRUCTION_SET;
const Instructions WEFT_INSTRUCTION_SET{WEFT_INSTRUCTION_SET_NAME, kPackBytes, &weft_engine};

}  // namespace weft
