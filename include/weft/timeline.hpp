// Timeline: what one call of a plan did when, on one rank. See AnyPlan::record and
// AnyPlan::timeline.
#pragma once

#include <string>
#include <vector>

#include "weft/kinds.hpp"

namespace weft {

/// A span of a call: a task (load, transform and store of a part of a pass) on one thread, a unit
/// on the wire, or time that the rank itself spent in an exchange.
struct TimelineEvent {
  enum class Type : int {
    compute = 0,  ///< a thread worked on a task
    wire = 1,     ///< from when a unit was started until the rank first saw that all of it is here
    exchange = 2  ///< the rank handed messages over or waited for them
  };
  Type type = Type::compute;
  std::string name;  ///< of the step
  int step = 0;      ///< index into AnyPlan::program(direction)
  int field = 0;
  int chunk = -1;  ///< compute: the last one that is loaded, in the first pass of a call the first
                   ///< one that is stored; -1 where there is neither
  int task = -1;   ///< compute: its number in the step
  int thread = 0;  ///< compute: of the rank
  double begin = 0;  ///< seconds since the call began on this rank
  double end = 0;
};

/// Ordered by begin.
struct Timeline {
  Direction direction = Direction::forward;
  double seconds = 0;  ///< of the whole call
  std::vector<TimelineEvent> events;
};

}  // namespace weft
