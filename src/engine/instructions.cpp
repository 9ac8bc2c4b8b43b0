// The choice between the sets of instructions that the engine "weft" is compiled for. This file is
// compiled for any processor.
#include "engine/instructions.hpp"

#include <cstdlib>
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

const Instructions& choose() {
  const char* const variable = std::getenv("WEFT_INSTRUCTIONS");
  const std::string_view told = variable == nullptr ? "" : variable;
  std::string names;
  for (const Instructions* set : kSets) {
    if (told.empty() ? is_here(set->name) : told == set->name) {
      if (is_here(set->name)) return *set;
      throw Error(ErrorCode::unavailable, "WEFT_INSTRUCTIONS is \"" + std::string(told) +
                                              "\", which this processor does not have");
    }
    names += (names.empty() ? "" : ", ") + std::string(set->name);
  }
  throw Error(told.empty() ? ErrorCode::unavailable : ErrorCode::invalid_argument,
              "WEFT_INSTRUCTIONS is \"" + std::string(told) + "\"; this build has " + names);
}

}  // namespace

const Instructions& chosen_instructions() {
  static const Instructions& chosen = choose();
  return chosen;
}

std::string instructions() { return chosen_instructions().name; }

}  // namespace weft
