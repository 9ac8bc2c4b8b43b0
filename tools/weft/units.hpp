// Numbers as people read them.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace weft::command {

/// "268 MB": three digits, powers of 1000.
inline std::string human_bytes(std::int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < std::size(kUnits); ++unit) value /= 1000;
  return fmt::format("{:.3g} {}", value, kUnits[unit]);
}

/// "3 ranks", "1 rank".
inline std::string counted(std::int64_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace weft::command
