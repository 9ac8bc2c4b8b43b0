// RowBatch: what the engine "weft" does with rows, signals that are contiguous, if their length
// suits a RowTransform. The even and the odd points of a real row are the parts of a complex one.
#pragma once

#include <vector>

#include "engine/engine.hpp"
#include "engine/row_transform.hpp"

namespace weft {

template <class Real>
class RowBatch {
 public:
  /// Whether it is made for rows of that length.
  static bool takes(const BatchSpec& spec);
  explicit RowBatch(const BatchSpec& spec);

  std::int64_t scratch_bytes() const;
  /// Whether it is made for what run() would do.
  bool takes(Pieces in, Pieces out, const Storing& storing) const;
  /// As Batch::run_pieces(), if all strides are 1.
  void run(Pieces in, Pieces out, const Storing& storing, void* scratch) const;

 private:
  static constexpr int kParts = RowTransform<Real>::kParts;
  static constexpr int kRows = RowTransform<Real>::kRows;

  /// The rows of one call of the transform, and the scratch memory.
  struct Job;
  /// Where the rows of a job lie: the upper half of a pack of them is `high` reals behind the
  /// lower.
  struct Rows {
    Real* low;
    std::int64_t high;
  };
  static Rows rows_of(const Piece& piece, std::int64_t first, std::int64_t last, int parts);
  static Rows whole_rows(Real* rows, std::int64_t reals);

  Rows rows_in(const Job& job, Pieces in) const;
  template <class Put>
  void run_complex(const Job& job, const LanesIn<Real>& in, const Fetch<Real>& fetch,
                   const Rows& to, Put put) const;
  template <class Put>
  void run_r2c(const Job& job, const LanesIn<Real>& in, const Fetch<Real>& fetch, const Rows& to,
               Put put) const;
  void read_c2r(const Job& job, const Rows& in) const;
  template <class Fill>
  void store(const Job& job, Pieces out, Fill fill) const;

  static bool is_long(const BatchSpec& spec);
  static bool is_short(BatchKind kind, std::int64_t n);
  bool runs_short(Pieces in, Pieces out, const Storing& storing) const;
  template <int kColumns, Direction kDirection>
  void run_short(const Piece& in, const Piece& out, const Storing& storing) const;

  BatchKind kind_;
  Direction direction_;
  std::int64_t count_;
  std::int64_t in_reals_;  // of a row
  std::int64_t out_reals_;
  bool is_long_;
  RowTransform<Real> transform_;
  std::vector<Column<Real>> roots_;  // for real rows: w^k or its conjugate, kParts at a time
};

}  // namespace weft
