// ColumnTransform: the transform of length n on columns, that is of as many signals at once as a
// vector register has lanes. By decimation in frequency, in place: the results come out of order,
// and position() says where each one is. Signals that lie next to each other are loaded by the
// first pass and stored by the last one, in order.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/butterfly.hpp"
#include "weft/kinds.hpp"

namespace weft {

/// A pack's width of signals next to each other: complex element j of all of them at
/// rows[j] + first.
template <class Real>
struct LanesIn {
  const Real* const* rows = nullptr;
  std::int64_t first = 0;  ///< reals
};
template <class Real>
struct LanesOut {
  Real* const* rows = nullptr;
  std::int64_t first = 0;  ///< reals
  Real factor = 1;         ///< multiplies what is stored
  bool streaming = false;  ///< past the cache; addresses are then aligned to packs
};

template <class Real>
class ColumnTransform {
 public:
  ColumnTransform(std::int64_t n, Direction direction);

  std::int64_t n() const noexcept { return n_; }
  /// Columns that run() needs: the n of the signal, and more that it uses meanwhile.
  std::int64_t work_columns() const noexcept { return n_ + spare_columns_; }
  /// Where run() leaves frequency k.
  std::int64_t position(std::int64_t k) const noexcept {
    return positions_[static_cast<std::size_t>(k)];
  }

  /// Transforms work[0], ..., work[n - 1], without scaling.
  void run(Column<Real>* work) const { run(work, {}, {}); }
  /// The same from `in` to `out`, which may be the same memory. Without rows of one, the elements
  /// are in `work`, or stay there.
  void run(Column<Real>* work, const LanesIn<Real>& in, const LanesOut<Real>& out) const;

 private:
  struct Call {
    Column<Real>* work;
    LanesIn<Real> in;
    LanesOut<Real> out;
    std::int64_t ahead = 0;  // rows between the one that is loaded and the one that is fetched
  };
  struct Pass;
  using Run = void (*)(const Pass&, Column<Real>* data, std::int64_t blocks, const Call&);
  // One factor of n: blocks of `length` points become `radix` times as many of length / radix.
  struct Pass {
    int radix = 1;
    std::int64_t length = 1;
    std::vector<Twiddle<Real>> twiddles;  // radix - 1 for each but the first of length / radix
    std::vector<Twiddle<Real>> roots;     // of the radix, if it is not unrolled
    const std::int64_t* frequencies = nullptr;  // of each position, for the last pass
    std::int64_t spare = 0;                     // column from which on run_any() may keep sums
    Run run = nullptr;
    Run load = nullptr;   // as the first pass; null where there is no such
    Run store = nullptr;  // as the last pass
    Run stream = nullptr;
  };
  enum class Place { work, lanes, streamed };

  template <int kRadix, Place kFrom, Place kTo>
  static void run_unrolled(const Pass& pass, Column<Real>* data, std::int64_t blocks,
                           const Call& call);
  static void run_any(const Pass& pass, Column<Real>* data, std::int64_t blocks, const Call& call);
  template <int kRadix>
  static void choose_unrolled(Pass& pass);
  static Pass make_pass(int radix, std::int64_t length);
  void find_positions(Direction direction);
  bool loads_and_stores() const { return passes_.size() > 1 && passes_.front().load != nullptr; }
  Run run_of(std::size_t pass, const Call& call) const;
  void descend(std::size_t first, Column<Real>* data, const Call& call) const;
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
  std::vector<std::int64_t> positions_;    // of each frequency
  std::vector<std::int64_t> frequencies_;  // of each position
};

}  // namespace weft
