// The timeline of one call over all ranks, as a trace that Perfetto and Chrome show, and as a
// picture.
#pragma once

#include <nlohmann/json.hpp>

#include <functional>
#include <string>

#include "weft/plan.hpp"
#include "world.hpp"

namespace weft::command {

/// Throws UsageError unless `file` is empty or ends in .json.
void check_timeline_name(const std::string& file);

/// Runs `call`, which executes `plan` once, and returns its trace on the first rank (JSON trace
/// events: a process for each rank, in it a thread for each thread and for each exchange's wire),
/// elsewhere null. Collective.
nlohmann::ordered_json trace_of(const World& world, AnyPlan& plan,
                                const std::function<void()>& call);

/// On the first rank, while the others wait: writes `trace` to `file` and draws it beside, as .png
/// and .svg. Collective; all ranks throw the same Error(io_failure).
void publish_timeline(const World& world, const std::string& file,
                      const nlohmann::ordered_json& trace);

}  // namespace weft::command
