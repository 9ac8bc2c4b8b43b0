// The sets of vector instructions that the engine "weft" is compiled for, and which of them is used
// on this processor.
#pragma once

#include <cstdint>

#include "engine/engine.hpp"

namespace weft {

/// The engine "weft" as it is compiled for one set of instructions.
struct Instructions {
  const char* name;  ///< "x86-64-v4" or "x86-64-v3", as the psABI has it, or "baseline": anywhere
  std::int64_t register_bytes;
  const Engine& (*engine)();
};

/// Those that the variable WEFT_INSTRUCTIONS names, or else the widest that this processor has.
const Instructions& chosen_instructions();

/// Throws Error where that variable names what this build (invalid_argument) or this processor
/// (unavailable) does not have.
void check_instructions();

}  // namespace weft
