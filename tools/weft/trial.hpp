// Trial: carries out one problem of `weft check` on all ranks and compares with the oracle.
#pragma once

#include <string>

#include "problem.hpp"
#include "world.hpp"

namespace weft::command {

enum class Verdict : int { passed = 0, skipped = 1, failed = 2 };

struct Outcome {
  Verdict verdict = Verdict::passed;
  std::string reason;  ///< why it was skipped or failed; the same on every rank
};

/// Forward values, backward values, untouched inputs and paddings, twice with other numbers: in
/// arrays from anywhere, and in those of the plan. A problem that the library refuses with
/// Error(unavailable) is skipped. Collective over `world`.
Outcome try_problem(const World& world, const Problem& problem, std::uint64_t seed);

}  // namespace weft::command
