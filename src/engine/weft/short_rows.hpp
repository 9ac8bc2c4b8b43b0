// ShortRows: what the engine "weft" does with rows whose columns are one butterfly. They stay in
// registers, or in what the compiler makes of these if there are enough. Two real rows are the
// parts of a complex one. (Compilers take long for so long a butterfly, so complex rows and real
// ones are each a file.)
#pragma once

#include <algorithm>
#include <utility>

#include "engine/engine.hpp"
#include "engine/weft/row_transform.hpp"
#include "engine/weft/rows_behind.hpp"
#include "engine/weft/whole_rows.hpp"

namespace weft {

/// Calls body(integral_constant) if there is a butterfly of that many columns: of rows of 64, 96,
/// 128, 192, 256, 320, 384 and 512 points, real ones only in whole squares. Processors without
/// AVX-512 have too few registers.
template <class Body>
bool with_columns(std::int64_t columns, Body body) {
  const auto is = [&](auto constant) {
    if (columns != constant) return false;
    body(constant);
    return true;
  };
  const auto is_any = [&]<int... kColumns>(std::integer_sequence<int, kColumns...>) {
    return (is(std::integral_constant<int, kColumns>{}) || ...);
  };
  if constexpr (kPackBytes == 64)
    return is_any(std::integer_sequence<int, 8, 12, 16, 24, 32, 40, 48, 64>{});
  else
    return false;
}

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
  /// `count` rows that are whole, to be transformed without scaling.
  struct Job {
    Piece in;
    Piece out;
    std::int64_t count;
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
  void run_job(const Job& job) const { kind_ == BatchKind::c2c ? run_complex(job) : run_real(job); }
  void run_complex(const Job& job) const;
  template <int kColumns, Direction kDirection>
  void run_c2c(const Job& job) const;
  void run_real(const Job& job) const;
  template <int kColumns>
  void run_r2c(const Job& job) const;
  template <int kColumns, bool kPastCache>
  void run_c2r(const Job& job) const;

  BatchKind kind_;
  Direction direction_;
  std::int64_t count_;
  RowReals in_;
  RowReals out_;
  RowTransform<Real> transform_;
};

template <class Real>
auto ShortRows<Real>::rows_of(const Piece& piece, std::int64_t count, std::int64_t first, int parts)
    -> Rows {
  const std::int64_t last = std::min(first + kRows, count) - 1;
  first = std::min(first, last);
  const std::int64_t pitch = piece.distance * parts;
  return {reinterpret_cast<Real*>(piece.base) + first * pitch, (last - first) * pitch};
}

// Of kParts complex numbers, the first and the second half, or those of one row and of another.
template <class Real>
[[gnu::always_inline]] inline Column<Real> ShortRows<Real>::load_complex(const Rows& rows,
                                                                         std::int64_t at) {
  const std::int64_t apart = kRows == 1 ? kWidth<Real> : rows.second;
  return split<Real>(load_pack(rows.first + 2 * at), load_pack(rows.first + 2 * at + apart));
}

template <class Real>
[[gnu::always_inline]] inline void ShortRows<Real>::store_complex(const Rows& rows, std::int64_t at,
                                                                  const Column<Real>& values) {
  const std::int64_t apart = kRows == 1 ? kWidth<Real> : rows.second;
  const auto [low, high] = joined<Real>(values);
  store_pack(rows.first + 2 * at, low);
  store_pack(rows.first + 2 * at + apart, high);
}

}  // namespace weft
