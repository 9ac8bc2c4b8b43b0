// Long axis: where lanes are transformed along an axis that is too long for a tile of them to stay
// in the cache, each row is visited again and again for a short piece. Two passes of fewer rows
// each visit it in long pieces (Bailey, J. Supercomput. 4, 1990, the four-step transform).
#pragma once

#include <cstdint>
#include <vector>

#include "plan/stage.hpp"

namespace weft {

/// True when lanes of so many rows are transformed faster in two passes, from memory, by an engine
/// that takes rows of lanes. Tried once in the life of the process for each length, which takes a
/// tenth of a second; false at once for short ones, true for those of which not even the narrowest
/// tile, of one line of the cache, fits into the second-level cache.
bool is_faster_in_two_passes(std::int64_t rows, Precision precision);

/// The numbers of rows of the passes that do n rows best, if nothing prevents it: n, or two
/// factors.
std::vector<std::int64_t> rows_in_passes(std::int64_t n, Precision precision);

/// True when n rows are best done in two passes, and the second one, in place over rows that are
/// multiples of `step` bytes apart, would find more of them in the same lines of the cache than it
/// can go through fast (64 rows gain there, but 128 do not: 16384^2 r2c on 2 ranks of a Zen 4 399
/// -> 470 ms, backward on 1 rank with 2 threads 404 -> 476).
bool displaces_rows(std::int64_t n, std::int64_t step, Precision precision);

/// True when n rows can be divided among two passes, if these boxes are the blocks before and
/// after.
bool can_be_divided(std::int64_t n, const std::vector<Box>& before, const std::vector<Box>& after,
                    int axis);

/// The stage before another one, which may store its rows in another order.
struct Predecessor {
  Stage* stage = nullptr;         ///< null where there is none
  std::vector<Port> places = {};  ///< all memory that they may lie in, also in windows of peers
  /// Likewise, of blocks that stay on their ranks. A home is reached by its rank only; of what is
  /// stored to the block's places, other ranks store their rows into a room, which is in a window
  /// and holds no others: its view is as if it did.
  std::vector<Port> homes = {};
  std::vector<Port> rooms = {};  ///< of all ranks that have homes
  int home_parts = 1;            ///< they are for the first of so many parts of their blocks

  std::vector<Port> all() const;
};

/// True when `before` can store the rows that `stage` transforms in place, as far as they lie in
/// the places, as two passes need them: row j = b j1 + j2 where row j1 + a j2 of the result will
/// be.
bool can_reorder(const Predecessor& before, const Stage& stage);

/// True when `stage` can be done in two passes: its engine takes rows of lanes, and the blocks that
/// it stores can be cut. Where some of those that it loads lie in the same memory, they must lie
/// where the second pass makes its results of them, or a stage before it must be able to reorder
/// its rows, or there must be memory between the passes: that is always there for users' arrays,
/// and for windows of the plan, which are as large, with `much_memory`.
bool can_take_two_passes(const Stage& stage, const Predecessor& before, bool much_memory);

struct TwoPasses {
  Stage first;
  Stage second;
  std::int64_t work_bytes = 0;  ///< of kSlotWork that lie between them
};

/// What `stage` does as two stages, one after the other, if it can. The axis of n = a b rows
/// becomes two: the first stage transforms a rows that are b apart, the second b. Changes the stage
/// before if it can reorder the rows, also where this rank has none of them, or else the one
/// `after` it, if that can: in place both can where a = b, since rows then change places in pairs
/// (plan/row_exchange.hpp).
TwoPasses in_two_passes(const Stage& stage, const Predecessor& before, Stage* after = nullptr);

}  // namespace weft
