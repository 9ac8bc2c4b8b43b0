// What every engine has to know of a BatchSpec: whether it makes sense and how much memory its two
// sides span.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/engine.hpp"

namespace weft {

enum class Side : int { in = 0, out = 1 };

/// Why no engine can do `spec`; empty when it is sound.
std::string flaw_of(const BatchSpec& spec);

/// Bytes from the first element of a side to the end of its last one. `spec` is sound.
std::int64_t span_bytes(const BatchSpec& spec, Side side);

/// "double c2c forward n=64 count=8 strides 8,1 -> 8,1 in place", for messages.
std::string to_string(const BatchSpec& spec);

}  // namespace weft
