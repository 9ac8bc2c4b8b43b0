// The caches of this machine, as the system tells.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/rounding.hpp"

namespace weft {

/// Bytes of a line of a cache.
inline constexpr std::int64_t kLineBytes = 64;

/// `bytes` and what makes whole lines of them.
constexpr std::int64_t whole_lines(std::int64_t bytes) { return round_up(bytes, kLineBytes); }

/// Bytes of a core's first-level cache for data; 32 KiB where the system does not tell.
std::int64_t first_level_cache_bytes();

/// What lies a multiple of so many bytes apart is kept in the same few lines of a first-level
/// cache: 64 sets of lines of 64 bytes.
inline constexpr std::int64_t kCompetingDistance = 4096;

/// Bytes of a core's second-level cache; 1 MiB where the system does not tell.
std::int64_t second_level_cache_bytes();

/// True for 2 MiB and more of it, as cores of newer Xeons have; what suits only these has not been
/// measured with less.
bool has_large_second_level_cache();

/// A third-level cache: its bytes, and the processors that share it.
struct ThirdLevelCache {
  std::int64_t bytes = 0;
  std::vector<int> processors;  ///< ascending
};
/// That of all processors on which the calling thread may run; none where they have several, or the
/// system does not tell.
std::optional<ThirdLevelCache> third_level_cache();

/// What /sys tells: bytes of a size, such as "32768K", and the numbers of a list, such as "0-3,8";
/// 0 and nothing of anything else.
std::int64_t bytes_of_size(const std::string& size);
std::vector<int> numbers_of_list(const std::string& list);

}  // namespace weft
