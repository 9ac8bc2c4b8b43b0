// Home behind what is sent: where messages wait in the array that the call writes, the end of that
// is free: a part of the block that stays on the rank waits there.
#pragma once

#include <vector>

#include "plan/home.hpp"

namespace weft {

/// The homes of planes of the block `own`, along the slowest axis, that the last redistribution
/// leaves on the rank, in ascending order; the first `send_bytes` of the array are taken. None
/// where what makes the result would store over what it has still to load.
std::vector<View> homes_behind_sends(const HomeProblem& problem, const Box& own,
                                     std::int64_t send_bytes);

/// `ports` with those planes of what stays on the rank at `homes` instead of in its outbox, where
/// the others are as if these were not there.
std::vector<Port> with_homes(const std::vector<View>& homes, const std::vector<Port>& ports,
                             int axis, std::int64_t element_bytes);

}  // namespace weft
