// Home behind what is sent: where messages wait in the array that the call writes, the end of that
// is free: the last part of the block that stays on the rank waits there.
#pragma once

#include <optional>
#include <vector>

#include "plan/home.hpp"

namespace weft {

/// The home of the last planes of the block `own`, along the slowest axis, that the last
/// redistribution leaves on the rank; the first `send_bytes` of the array are taken. None where the
/// pass that makes the result would store over what it has still to load.
std::optional<View> home_behind_sends(const HomeProblem& problem, const Box& own,
                                      std::int64_t send_bytes);

/// `ports` with those planes of what stays on the rank at `last` instead of in its outbox.
std::vector<Port> with_last_part_at(const View& last, const std::vector<Port>& ports, int axis,
                                    std::int64_t element_bytes);

}  // namespace weft
