// ShortRows: what the engine "weft" does with rows whose columns are one butterfly. They stay in
// registers, or in what the compiler makes of these if there are enough. Two real rows are the
// parts of a complex one.
#pragma once

#include <utility>

#include "engine/engine.hpp"
#include "engine/row_transform.hpp"
#include "engine/rows_behind.hpp"
#include "engine/whole_rows.hpp"

namespace weft {

template <class Real>
class ShortRows {
 public:
  /// Whether there is a butterfly for rows of that length.
  static bool takes(const BatchSpec& spec);
  explicit ShortRows(const BatchSpec& spec);

  std::int64_t scratch_bytes() const;
  /// As Batch::run_pieces(), of rows.
  void run(Pieces in, Pieces out, const Ahead& ahead, const Storing& storing, void* scratch) const;

 private:
  static constexpr int kParts = RowTransform<Real>::kParts;
  static constexpr int kRows = RowTransform<Real>::kRows;
  /// As many as a real transform takes at once.
  static constexpr std::int64_t kTogether = 2 * kRows;

  /// How rows are stored: by way of the cache; likewise, while those before them are stored past
  /// it; or past it themselves, which is only for c2r, where streams_to() is true.
  enum class RowStore { cached, behind, streamed };
  /// `count` rows that are whole.
  struct Job {
    Piece in;
    Piece out;
    std::int64_t count;
    Real factor;
    RowStore store = RowStore::cached;
    RowsBehind<Real> behind;  // kTogether rows, to be stored meanwhile
    Ahead ahead;              // to be fetched meanwhile
  };
  /// kRows rows, each in its part of a pack: the second one lies `second` reals behind the first.
  struct Rows {
    Real* first;
    std::int64_t second;
  };
  /// Row `first` and following of `count`; the last one instead of those past it.
  static Rows rows_of(const Piece& piece, std::int64_t count, std::int64_t first, int parts);

  static Pack<Real> load_real(const Rows& rows, std::int64_t at);
  static Column<Real> load_complex(const Rows& rows, std::int64_t at);
  template <bool kStreamed>
  static void store_real(const Rows& rows, std::int64_t at, const Pack<Real>& values);
  static void store_complex(const Rows& rows, std::int64_t at, const Column<Real>& values);
  static Pack<Real> load_last(const Rows& rows, std::int64_t at);
  static void store_last(const Rows& rows, std::int64_t at, const Pack<Real>& values);

  /// Whether rows there can be stored past the cache as they are computed: by whole lines.
  bool streams_to(const Piece& piece) const;
  void run_job(const Job& job) const;
  template <int kColumns, bool kScaled>
  void run_columns(const Job& job) const;
  template <int kColumns, bool kScaled, Direction kDirection>
  void run_c2c(const Job& job) const;
  template <int kColumns>
  void run_r2c(const Job& job) const;
  template <int kColumns, bool kScaled, bool kPastCache>
  void run_c2r(const Job& job) const;

  BatchKind kind_;
  Direction direction_;
  std::int64_t count_;
  RowReals in_;
  RowReals out_;
  RowTransform<Real> transform_;
};

}  // namespace weft
