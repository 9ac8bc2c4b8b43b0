// ColumnTransform: the transform of length n on columns, that is of as many signals at once as a
// vector register has lanes. By decimation in frequency, in place: the results come out of order,
// and position() says where each one is. Signals that lie next to each other are loaded by the
// first pass and stored by the last one, in order.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/weft/butterfly.hpp"
#include "engine/weft/chirp.hpp"
#include "engine/weft/fetch.hpp"
#include "engine/weft/seam.hpp"
#include "weft/kinds.hpp"

namespace weft {

/// Signals next to each other, as many as a pack has: a complex element of all of them at
/// row + first, or that of the second half of them `high` reals behind it. `rows` are in the order
/// in which they are loaded: first that of point_loaded(0).
template <class Real>
struct LanesIn {
  const Real* const* rows = nullptr;
  bool compete = false;            ///< the rows, for the same few lines of the cache
  bool displaced = false;          ///< before they are loaded, what the call before fetches of them
  bool ends_inside_lines = false;  ///< of the cache
  std::int64_t first = 0;          ///< reals
  std::int64_t high = kWidth<Real>;
  const Real* const* next_rows = nullptr;  ///< of what will be loaded next, by their points
  std::int64_t next = 0;                   ///< like `first`, in these
  std::int64_t next_reals = 0;             ///< so many of each row; 0 when they are not known
};

/// In which order a column has lanes: their own, which others read, or any.
enum class LaneOrder { natural, any };

/// How lanes are stored: `streamed`, past the cache, to beginnings of lines;
/// `seamed`, past the cache to any address, one call after another from the first lanes of the rows
/// to the last: what does not fill a cache line waits for the lanes that the next call stores.
enum class LaneStore : int { cached, streamed, seamed };

template <class Real>
struct LanesOut {
  Real* const* rows = nullptr;              ///< first that of frequency_stored(0)
  std::int64_t first = 0;                   ///< reals
  Real factor = 1;                          ///< multiplies what is stored
  const Twiddle<Real>* twiddles = nullptr;  ///< or these do, for each row
  LaneStore store = LaneStore::cached;
  bool compete = false;                 ///< as for what is loaded
  const bool* in_cache = nullptr;       ///< for each row: it is, and stays there; null: none
  const Real* const* absent = nullptr;  ///< rows that are stored by way of the cache, not yet in it
  std::int64_t absent_rows = 0;
  Seam<Real> seam{};  ///< for `seamed`
};

/// What is stored of `value`, at `position`.
template <class Real>
[[gnu::always_inline]] inline Column<Real> multiplied(const Column<Real>& value,
                                                      const LanesOut<Real>& out,
                                                      std::int64_t position) {
  if (out.twiddles != nullptr) return value * out.twiddles[position];
  return {value.re * out.factor, value.im * out.factor};
}

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

  /// The order in which run() loads the points of lanes, and stores their frequencies.
  std::int64_t point_loaded(std::int64_t i) const noexcept {
    return points_[static_cast<std::size_t>(i)];
  }
  std::int64_t frequency_stored(std::int64_t i) const noexcept {
    return frequencies_[static_cast<std::size_t>(i)];
  }

  /// Transforms work[0], ..., work[n - 1], without scaling. Meanwhile it goes on with `fetch`.
  void run(Column<Real>* work, Fetch<Real> fetch = {}) const { run(work, {}, fetch); }
  /// The same of what `in` has, if it has rows.
  void run(Column<Real>* work, const LanesIn<Real>& in, Fetch<Real> fetch) const {
    spread(fetch, in, 1);
    run({work, in, {}, 1, work_columns(), &fetch, 0});
  }
  /// The same from `in` to `out`, which may be the same memory, for several packs of lanes next to
  /// each other, each of which has work_columns() of `work`. Without rows of one of them the
  /// elements are in `work`, or stay there. Fetches what comes next meanwhile.
  void run(Column<Real>* work, const LanesIn<Real>& in, const LanesOut<Real>& out,
           int packs = 1) const;
  /// With how many packs at once memory is used best, usual_packs() at most; where wide_packs() is
  /// not 0, that may be better still.
  int packs_for(const LanesIn<Real>& in, const LanesOut<Real>& out) const noexcept;
  int usual_packs() const noexcept;
  int wide_packs() const noexcept { return wide_packs_; }
  int most_packs() const noexcept;
  /// True when rows are still in the cache when they are stored where they were loaded.
  bool keeps_rows() const noexcept { return fit(most_packs()); }

 private:
  struct Call {
    Column<Real>* work;
    LanesIn<Real> in;
    LanesOut<Real> out;
    int packs;
    std::int64_t pack_columns;  // from the work of a pack to that of the next
    Fetch<Real>* fetch;         // what a later call will load
    std::int64_t ahead;  // rows between the one that is loaded and the one that is fetched, or 0
  };
  struct Pass;
  using Run = void (*)(const Pass&, Column<Real>* data, std::int64_t blocks, const Call&);
  // One factor of n: blocks of `length` points become `radix` times as many of length / radix.
  struct Pass {
    int radix = 1;
    std::int64_t length = 1;
    std::vector<Twiddle<Real>> twiddles;  // radix - 1 for each but the first of length / radix
    std::vector<Twiddle<Real>> roots;     // of the radix, if it is not unrolled
    std::int64_t spare = 0;               // column from which on run_any() may keep sums
    Run run = nullptr;
    std::array<Run, 2> load{};  // as the first pass, where results stay in columns, or become lanes
    std::array<Run, 3> store{};  // as the last pass, for each LaneStore
  };

  template <int kRadix>
  static void run_unrolled(const Pass& pass, Column<Real>* data, std::int64_t blocks,
                           const Call& call);
  template <int kRadix, LaneOrder kOrder>
  static void load_unrolled(const Pass& pass, Column<Real>* data, std::int64_t blocks,
                            const Call& call);
  template <int kRadix, LaneStore kStore>
  static void store_unrolled(const Pass& pass, Column<Real>* data, std::int64_t blocks,
                             const Call& call);
  static void run_any(const Pass& pass, Column<Real>* data, std::int64_t blocks, const Call& call);
  template <int kRadix>
  static void choose_unrolled(Pass& pass);
  static Pass make_pass(int radix, std::int64_t length);
  void find_order(Direction direction);
  std::int64_t pack_bytes() const { return n_ * static_cast<std::int64_t>(sizeof(Column<Real>)); }
  bool fit(int packs) const noexcept;
  bool would_displace(bool in_competes) const;
  void spread(Fetch<Real>& fetch, const LanesIn<Real>& in, int packs) const;
  bool loads() const { return !passes_.empty() && passes_.front().load[0] != nullptr; }
  bool loads_and_stores() const { return loads() && passes_.size() > 1; }
  Run run_of(std::size_t pass, const Call& call) const;
  void run(const Call& call) const;
  void run_passes(std::size_t first, std::size_t last, Column<Real>* data, std::int64_t blocks,
                  const Call& call) const;
  void run_passes_of_packs(std::size_t first, std::size_t last, Column<Real>* data,
                           const Call& call) const;
  void store_all(const Column<Real>* work, const LanesOut<Real>& out) const;
  void descend(std::size_t first, Column<Real>* data, const Call& call) const;

  std::int64_t n_;
  std::unique_ptr<Chirp<Real>> chirp_;  // does all, where there are no passes
  std::int64_t spare_columns_ = 0;
  std::int64_t points_of_passes_ = 0;  // of those that are unrolled
  int wide_packs_ = 0;                 // more than the usual ones; 0: they do not suit
  std::vector<Pass> passes_;
  std::vector<std::int64_t> positions_;    // of each frequency
  std::vector<std::int64_t> frequencies_;  // of each position
  std::vector<std::int64_t> points_;       // in the order in which they are loaded
};

}  // namespace weft
