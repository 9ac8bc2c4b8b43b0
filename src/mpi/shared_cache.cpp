// By the processors on which each rank may run.
#include "mpi/shared_cache.hpp"

#include <cstddef>
#include <vector>

#include "base/cache.hpp"

namespace weft {

std::int64_t part_of_shared_cache(const Communicator& node) {
  const ThirdLevelCache mine = third_level_cache().value_or(ThirdLevelCache{0, {-1}});
  const std::vector<std::int64_t> all = node.gather({mine.bytes, mine.processors.front()});
  for (std::size_t at = 2; at < all.size(); at += 2)
    if (all[at] != all[0] || all[at + 1] != all[1]) return 0;
  return mine.bytes / node.size();
}

}  // namespace weft
