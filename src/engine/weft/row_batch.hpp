// RowBatch: what the engine "weft" does with rows, signals that are contiguous, if their length
// suits a RowTransform. The even and the odd points of a real row are the parts of a complex one.
#pragma once

#include <utility>
#include <vector>

#include "engine/engine.hpp"
#include "engine/weft/row_transform.hpp"
#include "engine/weft/whole_rows.hpp"

namespace weft {

template <class Real>
class RowBatch {
 public:
  /// Whether it is made for rows of that length.
  static bool takes(const BatchSpec& spec);
  explicit RowBatch(const BatchSpec& spec);

  std::int64_t scratch_bytes() const;
  /// As Batch::run_pieces(), of rows.
  void run(Pieces in, Pieces out, const Ahead& ahead, const Storing& storing, void* scratch) const;

 private:
  static constexpr int kParts = RowTransform<Real>::kParts;
  static constexpr int kRows = RowTransform<Real>::kRows;

  /// The rows of one call of the transform, and the scratch memory.
  struct Job;
  /// Where a column lies in memory; the upper half of a pack of it is `high` reals behind the
  /// lower. Where there is no second row, both halves are the first.
  struct At {
    Real* low;
    std::int64_t high;
  };
  /// Where the rows of a job lie: column c is 2 kParts c reals behind `first`, or where they are in
  /// pieces, at columns[c].
  struct Rows {
    At first;
    const At* columns = nullptr;
    At column(std::int64_t c) const {
      return columns ? columns[c] : At{first.low + 2 * kParts * c, first.high};
    }
  };
  template <bool kStreamed, bool kInPieces>
  struct PutTo;
  static Rows rows_of(const Piece& piece, std::int64_t first, std::int64_t last, int parts);
  static Rows rows_of(const WholeRows<Real>& whole, const Job& job);
  static Rows rows_of(Pieces pieces, std::int64_t first, std::int64_t last, int parts, At* columns);

  Rows rows_in(const Job& job, Pieces in) const;
  template <class Put>
  void run_complex(const Job& job, const LanesIn<Real>& in, const Fetch<Real>& fetch,
                   const Rows& to, Put put) const;
  template <class Put>
  void run_r2c(const Job& job, const LanesIn<Real>& in, const Fetch<Real>& fetch, const Rows& to,
               Put put) const;
  void read_c2r(const Job& job, const Rows& in) const;
  /// The kParts points before column c, but for the first of them, and the first of column c.
  static std::pair<Pack<Real>, Pack<Real>> load_across(const Rows& in, std::int64_t c);
  template <class Fill>
  void store(const Job& job, Pieces out, Fill fill) const;

  BatchKind kind_;
  std::int64_t count_;
  RowReals in_;
  RowReals out_;
  RowTransform<Real> transform_;
  std::vector<Column<Real>> roots_;  // for real rows: w^k or its conjugate, kParts at a time
};

}  // namespace weft
