// ColumnTransform: the transform of length n on columns, that is of as many signals at once as a
// vector register has lanes. By decimation in frequency, in place: the results come out of order,
// and position() says where each one is. Signals that lie next to each other are loaded by the
// first pass and stored by the last one, in order.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/butterfly.hpp"

namespace weft {

/// A pack's width of signals next to each other: complex element j of all of them at
/// base + 2 * j * stride.
template <class Value>
struct Lanes {
  Value* base = nullptr;
  std::int64_t stride = 1;
};

template <class Real>
class ColumnTransform {
 public:
  explicit ColumnTransform(std::int64_t n);

  std::int64_t n() const noexcept { return n_; }
  /// Columns that run() needs: the n of the signal, and more that it uses meanwhile.
  std::int64_t work_columns() const noexcept { return n_ + spare_columns_; }
  /// Where run() leaves frequency k.
  std::int64_t position(std::int64_t k) const noexcept {
    return positions_[static_cast<std::size_t>(k)];
  }

  /// Transforms work[0], ..., work[n - 1] with sign -1, without scaling.
  void run(Column<Real>* work) const { run(work, {}, {}, false); }
  /// The same from `in` to `out`, which may be the same memory. Either may be null: the elements
  /// are in `work`, or stay there. `exchanged`: real and imaginary parts change places on both
  /// sides, which makes the sign +1.
  void run(Column<Real>* work, Lanes<const Real> in, Lanes<Real> out, bool exchanged) const;

 private:
  struct Call {
    Column<Real>* work;
    Lanes<const Real> in;
    Lanes<Real> out;
    bool exchanged;
  };
  struct Pass;
  using Run = void (*)(const Pass&, Column<Real>* data, std::int64_t blocks, const Call&);
  // One factor of n: blocks of `length` points become `radix` times as many of length / radix.
  struct Pass {
    int radix = 1;
    std::int64_t length = 1;
    std::vector<Twiddle<Real>> twiddles;    // radix - 1 for each but the first of length / radix
    std::vector<Twiddle<Real>> roots;       // of the radix, if it is not unrolled
    std::vector<std::int64_t> frequencies;  // of the first point of each block, in the last pass
    std::int64_t frequency_step = 0;        // between its points there
    std::int64_t spare = 0;                 // column from which on run_any() may keep sums
    Run run = nullptr;
    Run load[2] = {};   // in the first pass, with parts as they are and exchanged; or null
    Run store[2] = {};  // in the last pass
  };
  enum class Place { work, lanes, exchanged };

  template <int kRadix, Place kFrom, Place kTo>
  static void run_unrolled(const Pass& pass, Column<Real>* data, std::int64_t blocks,
                           const Call& call);
  static void run_any(const Pass& pass, Column<Real>* data, std::int64_t blocks, const Call& call);
  template <int kRadix>
  static void choose_unrolled(Pass& pass);
  static Pass make_pass(int radix, std::int64_t length);
  void find_positions();
  Run run_of(std::size_t pass, const Call& call) const;
  void descend(std::size_t first, Column<Real>* data, const Call& call) const;
  void copy_in(const Call& call) const;
  void copy_out(const Call& call) const;
  void make_chirp();
  void run_chirp(Column<Real>* work) const;

  // x convolved with a chirp, on a length that is easy to transform (Bluestein, IEEE Trans. Audio
  // Electroacoust. 18, 1970, equation 5).
  struct Chirp {
    std::unique_ptr<ColumnTransform> transform;
    std::vector<Twiddle<Real>> factors;  // exp(-pi i j^2 / n)
    std::vector<Twiddle<Real>> filter;   // transform of the inverse factors, divided by its length
  };

  std::int64_t n_;
  Chirp chirp_;
  std::int64_t spare_columns_ = 0;
  std::vector<Pass> passes_;
  std::vector<std::int64_t> positions_;
};

}  // namespace weft
