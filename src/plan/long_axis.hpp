// Long axis: where lanes are transformed along an axis that is too long for a tile of them to stay
// in the cache, each row is visited again and again for a short piece. Two passes of fewer rows
// each visit it in long pieces (Bailey, J. Supercomput. 4, 1990, the four-step transform).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "plan/stage.hpp"

namespace weft {

/// True when lanes of so many rows outgrow the cache.
bool is_long(std::int64_t rows);

/// The numbers of rows of the passes that do n rows best, if nothing prevents it: n, or two
/// factors.
std::vector<std::int64_t> rows_in_passes(std::int64_t n);

/// True when `stage` is better done in two passes, and can be: its blocks can be cut, and what the
/// first one stores spoils nothing. In place that takes a stage just before, null if there is none,
/// which can store its rows in another order.
bool prefers_two_passes(const Stage& stage, const Stage* before);

/// What `stage` does as two stages, one after the other, if it prefers that. The axis of n = a b
/// rows becomes two: the first stage transforms a rows that are b apart, the second b. Changes the
/// stage before if it has to store its rows in another order.
std::pair<Stage, Stage> in_two_passes(const Stage& stage, Stage* before);

}  // namespace weft
