// How much memory there is room for, so that a request that cannot be met is refused with numbers
// instead of ending in a killed process. Estimates: other programs may take or give back memory at
// any time.
#pragma once

#include <cstdint>
#include <string>

#include "mpi/communicator.hpp"

namespace weft {

/// Bytes of memory that this process could still use, as /proc/meminfo and the limits of its
/// control group tell; the largest number when neither can be read.
std::int64_t available_memory_bytes();

/// Bytes free in the file system of `directory`; the largest number when it cannot be told.
std::int64_t free_bytes_in(const std::string& directory);

/// Sum over the ranks; numbers beyond any memory give one that is beyond it too. Collective over
/// `node`.
std::int64_t total_bytes(const Communicator& node, std::int64_t bytes);

/// "268435456 bytes (256.0 MiB)".
std::string bytes_text(std::int64_t bytes);

}  // namespace weft
