// The tasks of a pass: its items grouped by the chunks that they need and complete.
#pragma once

#include <vector>

#include "plan/program.hpp"

namespace weft {

/// In the order in which they are to be run; see Task.
std::vector<Task> tasks_of(const Pass& pass);

}  // namespace weft
