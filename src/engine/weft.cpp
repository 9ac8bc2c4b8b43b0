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
  explicit WeftBatch(const BatchSpec& spec) : spec_(spec), transform_(spec.n) {}

  std::int64_t scratch_bytes() const override {
    return transform_.work_columns() * static_cast<std::int64_t>(sizeof(Column<Real>));
  }

  void run(void* in, void* out, void* scratch) const override {
    const auto* from = static_cast<const Real*>(in);
    auto* to = static_cast<Real*>(out);
    auto* work = static_cast<Column<Real>*>(scratch);
    const std::int64_t together =
        spec_.kind == BatchKind::c2c ? kWidth<Real> : 2 * std::int64_t{kWidth<Real>};
    for (std::int64_t first = 0; first < spec_.count; first += together) switch (spec_.kind) {
        case BatchKind::c2c:
          run_c2c(from, to, first, work);
          break;
        case BatchKind::r2c:
          run_r2c(from, to, first, work);
          break;
        case BatchKind::c2r:
          run_c2r(from, to, first, work);
          break;
      }
  }

 private:
  /// Signals `first` and following; `parts` is the number of reals of an element. May be empty.
  template <class Value>
  Sheet<Value> sheet(Value* base, Side side, std::int64_t first, int parts) const {
    const std::int64_t distance = side == Side::in ? spec_.in_distance : spec_.out_distance;
    return {base + first * distance * parts, side == Side::in ? spec_.in_stride : spec_.out_stride,
            distance, std::clamp<std::int64_t>(spec_.count - first, 0, kWidth<Real>)};
  }

  void run_c2c(const Real* in, Real* out, std::int64_t first, Column<Real>* work) const {
    const bool backward = spec_.direction == Direction::backward;
    const auto oriented = [&](const Column<Real>& column) WEFT_INLINE {
      return backward ? Column<Real>{column.im, column.re} : column;
    };
    const auto from = sheet(in, Side::in, first, 2);
    const auto to = sheet(out, Side::out, first, 2);
    const bool from_lanes = is_lanes(from, kWidth<Real>);
    const bool to_lanes = is_lanes(to, kWidth<Real>);
    if (!from_lanes)
      read_complex<Real>(from, spec_.n,
                         [&](std::int64_t j, const Column<Real>& column)
                             WEFT_INLINE { work[j] = oriented(column); });
    transform_.run(work,
                   from_lanes ? Lanes<const Real>{from.base, from.stride} : Lanes<const Real>{},
                   to_lanes ? Lanes<Real>{to.base, to.stride} : Lanes<Real>{}, backward);
    if (!to_lanes)
      write_complex<Real>(to, spec_.n, [&](std::int64_t k) WEFT_INLINE {
        return oriented(work[transform_.position(k)]);
      });
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
  // are not there at k = 0 and k = n / 2. Parts are exchanged, as for c2c backward.
  void run_c2r(const Real* in, Real* out, std::int64_t first, Column<Real>* work) const {
    const std::int64_t second = first + kWidth<Real>;
    const auto is_real = [&](std::int64_t k) WEFT_INLINE { return k == 0 || 2 * k == spec_.n; };
    read_complex<Real>(sheet(in, Side::in, first, 2), spec_.n / 2 + 1,
                       [&](std::int64_t k, const Column<Real>& a) WEFT_INLINE {
                         const Pack<Real> zero{};
                         if (is_real(k)) {
                           work[k] = {zero, a.re};
                         } else {
                           work[k] = {a.im, a.re};
                           work[spec_.n - k] = {-a.im, a.re};
                         }
                       });
    read_complex<Real>(sheet(in, Side::in, second, 2), spec_.n / 2 + 1,
                       [&](std::int64_t k, const Column<Real>& b) WEFT_INLINE {
                         if (is_real(k)) {
                           work[k].re += b.re;
                         } else {
                           work[k] = {work[k].re + b.re, work[k].im - b.im};
                           Column<Real>& other = work[spec_.n - k];
                           other = {other.re + b.re, other.im + b.im};
                         }
                       });
    transform_.run(work);
    write_real<Real>(sheet(out, Side::out, first, 1), spec_.n,
                     [&](std::int64_t j) WEFT_INLINE { return work[transform_.position(j)].im; });
    write_real<Real>(sheet(out, Side::out, second, 1), spec_.n,
                     [&](std::int64_t j) WEFT_INLINE { return work[transform_.position(j)].re; });
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
