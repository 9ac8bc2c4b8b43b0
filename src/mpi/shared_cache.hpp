// The cache by way of which the ranks of a node may hand over what one writes and another reads.
#pragma once

#include <cstdint>

#include "mpi/communicator.hpp"

namespace weft {

struct SharedCache {
  /// A rank's part, in bytes, of the third-level cache that all ranks of the node share; 0 where
  /// they have several, may run on any of several, or the system does not tell.
  std::int64_t part_bytes = 0;
  /// False where lines go from one rank to another by way of several caches.
  bool is_near = true;
};

/// The same on all ranks but for part_bytes on nodes that differ. Collective over `node`.
SharedCache shared_cache_of(const Communicator& node);

}  // namespace weft
