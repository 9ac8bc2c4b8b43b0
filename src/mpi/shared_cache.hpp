// The cache by way of which the ranks of a node may hand over what one writes and another reads.
#pragma once

#include <cstdint>

#include "mpi/communicator.hpp"

namespace weft {

/// This rank's part, in bytes, of the third-level cache that all ranks of the node share; 0 where
/// they are bound to processors with several, may run on any of several, or the system does not
/// tell. Collective.
std::int64_t part_of_shared_cache(const Communicator& node);

}  // namespace weft
