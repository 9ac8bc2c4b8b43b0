// LaneBatch: what the engine "weft" does with lanes, signals next to each other, whose rows lie
// anywhere: packs of them go straight through the transform.
#pragma once

#include "engine/column_transform.hpp"
#include "engine/engine.hpp"
#include "engine/trial.hpp"

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
        transform_(&transform),
        ways_(transform.wide_packs() > 0 ? 5 : 3) {}

  std::int64_t scratch_bytes() const;
  /// As Batch::run_rows().
  void run(const RowsOfLanes& in, const RowsOfLanes& out, const Loading& loading,
           const Storing& storing, void* scratch) const;

 private:
  enum class Packs { usual, wide, fewest };
  /// How lanes of memory are taken: as if what the call before fetches of them had been displaced,
  /// and how many packs of them at once.
  struct Way {
    bool displaced = false;
    Packs packs = Packs::usual;
  };
  /// The last one of ways_ is for what has just left the core's own cache.
  Way way_of(int number) const {
    if (number + 1 == ways_.ways()) return {true, Packs::fewest};
    return {number % 2 == 1, number / 2 == 1 ? Packs::wide : Packs::usual};
  }
  struct Rows;
  Rows arranged(const RowsOfLanes& in, const RowsOfLanes& out, const Storing& storing,
                void* memory) const;
  std::int64_t work_columns() const {
    return transform_->work_columns() * transform_->most_packs();
  }
  /// How many of them at once.
  int packs_for(const LanesIn<Real>& from, const LanesOut<Real>& to, const Loading& loading,
                const Way& way) const;
  void run_packs(const RowsOfLanes& in, const Loading& loading, int packs, LanesIn<Real> from,
                 LanesOut<Real> to, Column<Real>* work) const;
  void run_last(const RowsOfLanes& in, std::int64_t first, const Fetch<Real>& fetch,
                Column<Real>* work) const;
  void store_last(const LanesOut<Real>& to, const Column<Real>* work, std::int64_t i) const;
  void close_seams(const LanesOut<Real>& to, const Column<Real>* work) const;

  std::int64_t n_;
  std::int64_t count_;
  const ColumnTransform<Real>* transform_;
  mutable Trial ways_;
};

}  // namespace weft
