// Integer arithmetic that throws where it would wrap: narrowing for interfaces that take int or
// size_t, and products of sizes that a user gave. Not for inner loops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "weft/error.hpp"

namespace weft {

/// `value` as an int. `what` names it in the message: "the number of peers".
inline int to_int(std::int64_t value, const char* what,
                  ErrorCode code = ErrorCode::invalid_argument) {
  if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max())
    throw Error(code, std::string(what) + " is " + std::to_string(value) +
                          ", which does not fit into 32 bits");
  return static_cast<int>(value);
}

/// `value` as a size_t.
inline std::size_t to_size(std::int64_t value, const char* what,
                           ErrorCode code = ErrorCode::invalid_argument) {
  if (value < 0)
    throw Error(code, std::string(what) + " is " + std::to_string(value) + ", expected 0 or more");
  return static_cast<std::size_t>(value);
}

/// a * b.
inline std::int64_t checked_product(std::int64_t a, std::int64_t b, const char* what,
                                    ErrorCode code = ErrorCode::invalid_argument) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result))
    throw Error(code, std::string(what) + " is " + std::to_string(a) + " times " +
                          std::to_string(b) + ", which does not fit into 64 bits");
  return result;
}

/// a + b.
inline std::int64_t checked_sum(std::int64_t a, std::int64_t b, const char* what,
                                ErrorCode code = ErrorCode::invalid_argument) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result))
    throw Error(code, std::string(what) + " is " + std::to_string(a) + " plus " +
                          std::to_string(b) + ", which does not fit into 64 bits");
  return result;
}

}  // namespace weft
