// The sets of vector instructions that the engine "weft" is compiled for, and which of them is used
// on this processor.
#pragma once

#include <cstdint>

#include "engine/engine.hpp"

namespace weft {

/// The engine "weft" as it is compiled for one set of instructions.
struct Instructions {
  const char* name;  ///< of the levels of x86-64 as the psABI has it, or "baseline"
  std::int64_t register_bytes;
  const Engine& (*engine)();
};

/// The widest set that this processor has, or the one that the variable WEFT_INSTRUCTIONS names.
/// Throws Error where this build or this processor lacks that.
const Instructions& chosen_instructions();

}  // namespace weft
