// Redistribution: the geometry of going from one layout to another, for one rank. Integer
// arithmetic, no MPI.
#pragma once

#include <vector>

#include "weft/layout.hpp"

namespace weft {

/// The points that go from one rank to another, as a box of global indices.
struct Block {
  int peer = 0;  ///< the other rank
  Box box;       ///< never empty
};

/// What `rank` sends and receives, in the order of the peers; a block to itself is among both.
struct Redistribution {
  std::vector<Block> sends;
  std::vector<Block> receives;
};

Redistribution redistribution_between(const Layout& from, const Layout& to, int rank);

/// For each rank the smallest rank with which it exchanges data directly or through others: the
/// ranks with the same number form a group that no message leaves.
std::vector<int> exchange_groups(const Layout& from, const Layout& to);

}  // namespace weft
