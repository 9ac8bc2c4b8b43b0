// The engine "weft", of this library: as many signals at once as a vector register has lanes, with
// real and imaginary parts in registers of their own, so that no arithmetic needs a shuffle.
// Signals are turned into columns on their way in and back on their way out; two real signals are
// the parts of one complex signal. It is made for batches in cache: all of a signal's columns lie
// in scratch.
#include <algorithm>

#include "engine/column_transform.hpp"
#include "engine/engine.hpp"
#include "engine/sheet.hpp"
#include "engine/spec.hpp"
#include "weft/error.hpp"

namespace weft {
namespace {

/// Longer signals outgrow the cache, where others are better.
constexpr std::int64_t kLongest = 32768;

template <class Real>
class WeftBatch : public Batch {
 public:
  explicit WeftBatch(const BatchSpec& spec) : spec_(spec), transform_(spec.n, spec.direction) {}

  std::int64_t scratch_bytes() const override {
    return work_columns() * static_cast<std::int64_t>(sizeof(Column<Real>)) +
           spec_.n * static_cast<std::int64_t>(
                         std::max(2 * sizeof(void*), takes_rows() ? sizeof(Pack<Real>) : 0));
  }

  void run(void* in, void* out, void* scratch) const override {
    auto* from = static_cast<Real*>(in);
    auto* to = static_cast<Real*>(out);
    auto* work = static_cast<Column<Real>*>(scratch);
    if (spec_.kind == BatchKind::c2c) return run_c2c(from, to, work);
    for (std::int64_t first = 0; first < spec_.count; first += 2 * std::int64_t{kWidth<Real>})
      spec_.kind == BatchKind::r2c ? run_r2c(from, to, first, work)
                                   : run_c2r(from, to, first, work);
  }

  bool takes_rows() const override {
    return spec_.kind == BatchKind::c2c && spec_.in_distance == 1 && spec_.out_distance == 1;
  }

  void run_rows(const RowsOfLanes& in, const RowsOfLanes& out, double factor, bool streaming,
                void* scratch) const override {
    auto* work = static_cast<Column<Real>*>(scratch);
    const auto* from = reinterpret_cast<const Real* const*>(in.data());
    LanesOut<Real> to{.rows = reinterpret_cast<Real* const*>(out.data()),
                      .factor = static_cast<Real>(factor),
                      .store = store_for(out, streaming),
                      .seam = reinterpret_cast<Pack<Real>*>(work + work_columns()),
                      .opens = true};
    std::int64_t first = 0;
    while (first + kWidth<Real> <= spec_.count) {
      const auto packs = static_cast<int>(std::min<std::int64_t>(
          transform_.packs_at_once(), (spec_.count - first) / kWidth<Real>));
      transform_.run(work, {from, 2 * first}, to, packs);
      first += packs * std::int64_t{kWidth<Real>};
      to.first = 2 * first;
      to.opens = false;
    }
    if (to.store == LaneStore::seamed && first > 0) close_seam(to, spec_.n);
    if (first == spec_.count) return;
    const std::int64_t left = spec_.count - first;
    for (std::int64_t j = 0; j < spec_.n; ++j) work[j] = first_lanes(from[j] + 2 * first, left);
    transform_.run(work);
    for (std::int64_t k = 0; k < spec_.n; ++k)
      store_first_lanes(work[transform_.position(k)], to.factor, to.rows[k] + 2 * first, left);
  }

 private:
  std::int64_t work_columns() const {
    return transform_.work_columns() * (takes_rows() ? transform_.packs_at_once() : 1);
  }

  static LaneStore store_for(const RowsOfLanes& rows, bool streaming) {
    if (!streaming) return LaneStore::cached;
    std::uintptr_t bits = 0;
    for (const std::byte* row : rows) bits |= reinterpret_cast<std::uintptr_t>(row);
    if (bits % kPackBytes == 0) return LaneStore::streamed;
    return kHasSeams ? LaneStore::seamed : LaneStore::cached;
  }

  /// Signals `first` and following; `parts` is the number of reals of an element. May be empty.
  template <class Value>
  Sheet<Value> sheet(Value* base, Side side, std::int64_t first, int parts) const {
    const std::int64_t distance = side == Side::in ? spec_.in_distance : spec_.out_distance;
    return {base + first * distance * parts, side == Side::in ? spec_.in_stride : spec_.out_stride,
            distance, std::clamp<std::int64_t>(spec_.count - first, 0, kWidth<Real>)};
  }

  // Whole packs of lanes go straight through the transform, others by way of its work.
  void run_c2c(Real* in, Real* out, Column<Real>* work) const {
    auto** const in_rows = reinterpret_cast<Real**>(work + work_columns());
    auto** const out_rows = in_rows + spec_.n;
    const bool lanes_in = spec_.in_distance == 1;
    const bool lanes_out = spec_.out_distance == 1;
    for (std::int64_t j = 0; j < spec_.n; ++j) {
      in_rows[j] = in + 2 * j * spec_.in_stride;
      out_rows[j] = out + 2 * j * spec_.out_stride;
    }
    for (std::int64_t first = 0; first < spec_.count; first += kWidth<Real>) {
      const bool whole = spec_.count - first >= kWidth<Real>;
      if (!(whole && lanes_in))
        read_complex<Real>(sheet<const Real>(in, Side::in, first, 2), spec_.n,
                           [&](std::int64_t j, const Column<Real>& column)
                               WEFT_INLINE { work[j] = column; });
      transform_.run(work, whole && lanes_in ? LanesIn<Real>{in_rows, 2 * first} : LanesIn<Real>{},
                     whole && lanes_out ? LanesOut<Real>{out_rows, 2 * first} : LanesOut<Real>{});
      if (!(whole && lanes_out))
        write_complex<Real>(sheet(out, Side::out, first, 2), spec_.n,
                            [&](std::int64_t k)
                                WEFT_INLINE { return work[transform_.position(k)]; });
    }
  }

  static Column<Real> first_lanes(const Real* from, std::int64_t lanes) {
    Column<Real> column{};
    for (std::int64_t i = 0; i < lanes; ++i) {
      column.re[i] = from[2 * i];
      column.im[i] = from[2 * i + 1];
    }
    return column;
  }
  static void store_first_lanes(const Column<Real>& column, Real factor, Real* to,
                                std::int64_t lanes) {
    for (std::int64_t i = 0; i < lanes; ++i) {
      to[2 * i] = factor * column.re[i];
      to[2 * i + 1] = factor * column.im[i];
    }
  }

  // z = a + i b has Z[k] = A[k] + i B[k], and the conjugate of Z[n - k] is A[k] - i B[k].
  void run_r2c(const Real* in, Real* out, std::int64_t first, Column<Real>* work) const {
    const std::int64_t second = first + kWidth<Real>;
    const Real half = Real{1} / 2;
    read_real<Real>(sheet(in, Side::in, first, 1), spec_.n,
                    [&](std::int64_t j, const Pack<Real>& pack) WEFT_INLINE { work[j].re = pack; });
    read_real<Real>(sheet(in, Side::in, second, 1), spec_.n,
                    [&](std::int64_t j, const Pack<Real>& pack) WEFT_INLINE { work[j].im = pack; });
    transform_.run(work);
    const auto mirrored = [&](std::int64_t k) WEFT_INLINE -> const Column<Real>& {
      return work[transform_.position(k == 0 ? 0 : spec_.n - k)];
    };
    write_complex<Real>(sheet(out, Side::out, first, 2), spec_.n / 2 + 1,
                        [&](std::int64_t k) WEFT_INLINE {
                          const Column<Real>& z = work[transform_.position(k)];
                          const Column<Real>& y = mirrored(k);
                          return Column<Real>{half * (z.re + y.re), half * (z.im - y.im)};
                        });
    write_complex<Real>(sheet(out, Side::out, second, 2), spec_.n / 2 + 1,
                        [&](std::int64_t k) WEFT_INLINE {
                          const Column<Real>& z = work[transform_.position(k)];
                          const Column<Real>& y = mirrored(k);
                          return Column<Real>{half * (z.im + y.im), half * (y.re - z.re)};
                        });
  }

  // Z[k] = A[k] + i B[k] and Z[n - k] = conj(A[k]) + i conj(B[k]); the imaginary parts of A and B
  // are not there at k = 0 and k = n / 2.
  void run_c2r(const Real* in, Real* out, std::int64_t first, Column<Real>* work) const {
    const std::int64_t second = first + kWidth<Real>;
    const auto is_real = [&](std::int64_t k) WEFT_INLINE { return k == 0 || 2 * k == spec_.n; };
    read_complex<Real>(sheet(in, Side::in, first, 2), spec_.n / 2 + 1,
                       [&](std::int64_t k, const Column<Real>& a) WEFT_INLINE {
                         const Pack<Real> zero{};
                         if (is_real(k)) {
                           work[k] = {a.re, zero};
                         } else {
                           work[k] = a;
                           work[spec_.n - k] = {a.re, -a.im};
                         }
                       });
    read_complex<Real>(sheet(in, Side::in, second, 2), spec_.n / 2 + 1,
                       [&](std::int64_t k, const Column<Real>& b) WEFT_INLINE {
                         if (is_real(k)) {
                           work[k].im += b.re;
                         } else {
                           work[k] = {work[k].re - b.im, work[k].im + b.re};
                           Column<Real>& other = work[spec_.n - k];
                           other = {other.re + b.im, other.im + b.re};
                         }
                       });
    transform_.run(work);
    write_real<Real>(sheet(out, Side::out, first, 1), spec_.n,
                     [&](std::int64_t j) WEFT_INLINE { return work[transform_.position(j)].re; });
    write_real<Real>(sheet(out, Side::out, second, 1), spec_.n,
                     [&](std::int64_t j) WEFT_INLINE { return work[transform_.position(j)].im; });
  }

  BatchSpec spec_;
  ColumnTransform<Real> transform_;
};

class WeftEngine : public Engine {
 public:
  std::string_view name() const override { return "weft"; }
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

}  // namespace

const Engine& weft_engine() {
  static const WeftEngine engine;
  return engine;
}

}  // namespace weft
