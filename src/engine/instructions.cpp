// The choice between the sets of instructions that the engine "weft" is compiled for. This file is
// compiled for any processor.
#include "engine/instructions.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>

#include "weft/error.hpp"
#include "weft/export.hpp"

// X(name) for each set that is compiled, widest first; CMake tells.
#ifndef WEFT_INSTRUCTION_SETS
#define WEFT_INSTRUCTION_SETS X(baseline)
#endif

namespace weft {

WEFT_API std::string instructions();  // for users in weft/plan.hpp, a layer above

#define X(set) extern "C" const Instructions weft_for_##set;
WEFT_INSTRUCTION_SETS
#undef X

namespace {

constexpr const Instructions* kSets[] = {
#define X(set) &weft_for_##set,
    WEFT_INSTRUCTION_SETS
#undef X
};

bool is_here([[maybe_unused]] std::string_view set) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool has_v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                      __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  if (set == "x86-64-v3") return has_v3;
  if (set == "x86-64-v4")
    return has_v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
#endif
  return true;
}

std::string_view told() {
  const char* const variable = std::getenv("WEFT_INSTRUCTIONS");
  return variable == nullptr ? "" : variable;
}

/// The set that is told, or null.
const Instructions* told_set() {
  const auto* const found =
      std::ranges::find_if(kSets, [](const Instructions* set) { return set->name == told(); });
  return found == std::end(kSets) ? nullptr : *found;
}

}  // namespace

const Instructions& chosen_instructions() {
  static const Instructions* const chosen = [] {
    if (const auto* set = told_set(); set != nullptr && is_here(set->name)) return set;
    return *std::ranges::find_if(kSets, [](const auto* set) { return is_here(set->name); });
  }();
  return *chosen;
}

void check_instructions() {
  if (told().empty()) return;
  const std::string told_so = "WEFT_INSTRUCTIONS is \"" + std::string(told()) + "\", ";
  if (const auto* set = told_set(); set != nullptr) {
    if (is_here(set->name)) return;
    throw Error(ErrorCode::unavailable, told_so + "which this processor does not have");
  }
  std::string names;
  for (const Instructions* set : kSets)
    names += (names.empty() ? "" : " or ") + std::string(set->name);
  throw Error(ErrorCode::invalid_argument, told_so + "expected " + names);
}

std::string instructions() {
  check_instructions();
  return chosen_instructions().name;
}

}  // namespace weft
