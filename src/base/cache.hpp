// The caches of this machine, as the system tells.
#pragma once

#include <unistd.h>

#include <cstdint>

namespace weft {

/// Bytes of a core's second-level cache; 1 MiB where the system does not tell.
inline std::int64_t second_level_cache_bytes() {
  const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? bytes : 1024 * 1024;
}

}  // namespace weft
