// Engine: a library that does batches of 1-D transforms, behind one small interface.
// An engine is one file and one line in the table in engine.cpp. Engines know nothing of layouts,
// tiles or MPI.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "weft/kinds.hpp"

namespace weft {

enum class BatchKind : int { c2c = 0, r2c = 1, c2r = 2 };

/// How much is transformed one after another, batch by batch: all of it is in the cache before, or
/// that and what becomes of it may stay in a core's own cache, or not.
enum class Amount { in_cache, small, large };

/// `count` transforms of length `n`, both at least 1. Element j of transform i is at in[j *
/// in_stride + i * in_distance], in elements of the input's own type (reals for the real side of
/// r2c and c2r), and likewise for out. Not scaled. `n` is the length of the real side for r2c and
/// c2r.
struct BatchSpec {
  BatchKind kind = BatchKind::c2c;
  Direction direction =
      Direction::forward;  ///< sign of the exponent: forward is -1 (r2c is forward, c2r backward)
  Precision precision = Precision::double_;
  std::int64_t n = 1;
  std::int64_t count = 1;
  std::int64_t in_stride = 1;
  std::int64_t in_distance = 1;
  std::int64_t out_stride = 1;
  std::int64_t out_distance = 1;
  bool in_place = false;  ///< run() is called with in == out (c2c only)
  bool together = true;   ///< false: transforms are better done one by one than many at once
  Amount amount = Amount::small;

  friend auto operator<=>(const BatchSpec&, const BatchSpec&) = default;
};

/// Where the rows of a batch of lanes begin: element j of transform i is at rows[j], i elements on.
using RowsOfLanes = std::span<std::byte* const>;

/// Some elements of all transforms of a batch: element `begin` + j of transform i is at base + j *
/// stride + i * distance, in elements, for j < `count`.
struct Piece {
  std::byte* base = nullptr;
  std::int64_t begin = 0;
  std::int64_t count = 0;
  std::int64_t stride = 1;
  std::int64_t distance = 1;
};
/// All elements of one side of a batch, in pieces.
using Pieces = std::span<const Piece>;

/// What is loaded after batches whose own elements are in the cache, so that it is fetched from
/// memory meanwhile: `bytes` from the beginning of each of the rows.
struct Ahead {
  RowsOfLanes rows{};
  std::int64_t bytes = 0;

  bool empty() const noexcept { return rows.empty(); }
  /// What is fetched during [first, last) of `parts` equal parts of the work.
  Ahead during(std::int64_t first, std::int64_t last, std::int64_t parts) const {
    const auto count = static_cast<std::int64_t>(rows.size());
    const auto begin = static_cast<std::size_t>(count * first / parts);
    const auto end = static_cast<std::size_t>(count * std::min(last, parts) / parts);
    return {rows.subspan(begin, end - begin), bytes};
  }
};

/// What is known of rows that are loaded: those that are transformed after them, none where that is
/// not known; `in_cache`: they are in the cache.
struct Loading {
  RowsOfLanes next{};
  bool in_cache = false;
};

/// How results are stored: multiplied by `factor`, past the cache if `streaming`. With `twiddles`,
/// for run_rows() only, element k of each transform is also multiplied by the k-th of these complex
/// numbers, of the precision of the batch; with `in_cache`, likewise, element k of all transforms
/// goes to memory that is in the cache, where it stays, if the k-th of these is true. If the others
/// are `absent`, they are stored by way of the cache, but are not yet in it.
struct Storing {
  double factor = 1;
  bool streaming = false;
  const std::byte* twiddles = nullptr;
  const bool* in_cache = nullptr;
  bool absent = false;
};

/// A planned batch. Bases given to run() are aligned to the element only; out-of-place c2c and r2c
/// leave `in` unchanged, c2r may destroy it. run() may be called by several threads at once on
/// different data.
class Batch {
 public:
  virtual ~Batch() = default;
  /// Memory that run() and the others need besides, aligned to cache lines; less may do where they
  /// never store past the cache, not `streaming`.
  virtual std::int64_t scratch_bytes(bool /*streaming*/) const { return 0; }
  virtual void run(void* in, void* out, void* scratch) const = 0;
  /// Transforms that take as long as one, since they are done at once.
  virtual std::int64_t at_once() const { return 1; }

  /// True when run_rows() may be called too: for c2c of lanes, whose distances are 1.
  virtual bool takes_rows() const { return false; }
  /// run() with rows that lie anywhere. The rows of `out` may be those of `in`, but a lane may not
  /// lie where another one does.
  virtual void run_rows(const RowsOfLanes& /*in*/, const RowsOfLanes& /*out*/,
                        const Loading& /*loading*/, const Storing& /*storing*/,
                        void* /*scratch*/) const {}

  /// run() on pieces, instead of what the BatchSpec says of strides, if the engine takes_pieces();
  /// leaves `in` unchanged. What it fetches meanwhile is what is `ahead`, or else what lies behind
  /// the rows that it has loaded. A transform may lie in the same memory on both sides, and its
  /// result where those before it are loaded from: none is stored before all up to it have been
  /// loaded.
  virtual void run_pieces(Pieces /*in*/, Pieces /*out*/, const Ahead& /*ahead*/,
                          const Storing& /*storing*/, void* /*scratch*/) const {}
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual std::string_view name() const = 0;
  /// True when its batches do run_pieces().
  virtual bool takes_pieces() const { return false; }
  /// Why this engine cannot do `spec`; empty when it can.
  virtual std::string refusal(const BatchSpec& spec) const = 0;
  /// Plans a batch. Throws Error(engine_failure).
  virtual std::unique_ptr<Batch> make(const BatchSpec& spec) const = 0;
};

/// The engines of this build, in the order in which ties are broken.
std::span<const Engine* const> engine_table();

/// The engine of that name. Throws Error(unavailable) with the names that exist.
const Engine& engine_named(std::string_view name);

/// How many transforms a batch should have at least, for its `kind`, `precision`, `n` and strides.
std::int64_t fewest_together(const BatchSpec& spec);

/// Seconds of one run of a batch of `spec` on this rank: minimum of a few repetitions, about three
/// milliseconds in all for each engine; infinite where the engine refuses it. Rows are measured on
/// data that comes from memory when `cold`, lanes in cache: there a tile lies, whose copies in and
/// out are added for engines that need one. All engines are measured at once and their results are
/// remembered for the life of the process.
double measure_batch(const Engine& engine, const BatchSpec& spec, bool cold = false);

}  // namespace weft
