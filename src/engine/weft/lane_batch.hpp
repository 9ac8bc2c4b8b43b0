// LaneBatch: what the engine "weft" does with lanes, signals next to each other, whose rows lie
// anywhere: packs of them go straight through the transform.
#pragma once

#include <algorithm>

#include "engine/engine.hpp"
#include "engine/weft/column_transform.hpp"
#include "engine/weft/trial.hpp"

namespace weft {

template <class Real>
class LaneBatch {
 public:
  static bool takes(const BatchSpec& spec) {
    return spec.kind == BatchKind::c2c && spec.in_distance == 1 && spec.out_distance == 1;
  }
  /// Of batches that it takes; `transform` is of their length, and outlives it.
  LaneBatch(const BatchSpec& spec, const ColumnTransform<Real>& transform)
      : n_(spec.n),
        count_(spec.count),
        amount_(spec.amount),
        transform_(&transform),
        ways_(kWays - (transform.wide_packs() > 0 ? 0 : kWideWays)) {}

  /// As Batch::scratch_bytes().
  std::int64_t scratch_bytes(bool streaming) const;
  /// As Batch::run_rows().
  void run(const RowsOfLanes& in, const RowsOfLanes& out, const Loading& loading,
           const Storing& storing, void* scratch) const;

 private:
  enum class Packs { usual, wide, fewest };
  /// How lanes of memory are taken: as if what the call before fetches of them had been displaced,
  /// and how many packs of them at once.
  struct Way {
    bool displaced;
    Packs packs;
  };
  /// The third one is for what has just left the core's own cache; the last ones are left out where
  /// there are no wide packs.
  static constexpr int kWays = 5;
  static constexpr int kWideWays = 2;
  static constexpr Way way(int number) {
    constexpr Way kAll[kWays] = {{false, Packs::usual},
                                 {true, Packs::usual},
                                 {true, Packs::fewest},
                                 {false, Packs::wide},
                                 {true, Packs::wide}};
    return kAll[number];
  }
  struct Rows;
  Rows arranged(const RowsOfLanes& in, const RowsOfLanes& out, const Storing& storing,
                void* memory) const;
  std::int64_t work_columns() const { return transform_->work_columns() * most_packs(); }
  /// Of a Seam's memory, which only stores past the cache need.
  std::int64_t seam_reals(bool streaming) const {
    return streaming && kHasSeams ? 2 * n_ * kLine<Real> : 0;
  }
  int few_packs() const { return std::min(kPacksOfLine, transform_->usual_packs()); }
  int most_packs() const {
    if (amount_ == Amount::in_cache && kHasSeams) return few_packs();
    return amount_ == Amount::large ? transform_->most_packs() : transform_->usual_packs();
  }
  /// How many of them at once.
  int packs_for(const LanesIn<Real>& from, const LanesOut<Real>& to, const Loading& loading,
                Packs packs) const;
  void run_packs(const RowsOfLanes& in, const Loading& loading, int packs, LanesIn<Real> from,
                 LanesOut<Real> to, Column<Real>* work) const;
  void run_last(const RowsOfLanes& in, std::int64_t first, const Fetch<Real>& fetch,
                Column<Real>* work) const;
  void store_last(const LanesOut<Real>& to, const Column<Real>* work, std::int64_t i) const;
  void close_seams(const LanesOut<Real>& to, const Column<Real>* work) const;

  std::int64_t n_;
  std::int64_t count_;
  Amount amount_;
  const ColumnTransform<Real>* transform_;
  mutable Trial ways_;  // numbers of way()
};

}  // namespace weft
