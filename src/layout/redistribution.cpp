// Who sends which box to whom: intersections of the boxes of two layouts.
#include "layout/redistribution.hpp"

#include <numeric>

namespace weft {

namespace {

std::vector<Block> blocks_with(const Box& mine, const std::vector<Box>& theirs) {
  std::vector<Block> blocks;
  if (mine.empty()) return blocks;
  for (std::size_t peer = 0; peer < theirs.size(); ++peer) {
    const Box common = intersect(mine, theirs[peer]);
    if (!common.empty()) blocks.push_back({static_cast<int>(peer), common});
  }
  return blocks;
}

int root_of(std::vector<int>& parent, int rank) {
  while (parent[static_cast<std::size_t>(rank)] != rank) {
    int& up = parent[static_cast<std::size_t>(rank)];
    up = parent[static_cast<std::size_t>(up)];
    rank = up;
  }
  return rank;
}

}  // namespace

Redistribution redistribution_between(const Layout& from, const Layout& to, int rank) {
  return {blocks_with(from.box(rank), to.boxes()), blocks_with(to.box(rank), from.boxes())};
}

std::vector<int> exchange_groups(const Layout& from, const Layout& to) {
  std::vector<int> parent(static_cast<std::size_t>(from.ranks()));
  std::iota(parent.begin(), parent.end(), 0);
  for (int rank = 0; rank < from.ranks(); ++rank)
    for (const Block& block : blocks_with(from.box(rank), to.boxes())) {
      const int a = root_of(parent, rank);
      const int b = root_of(parent, block.peer);
      parent[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
    }
  for (int rank = 0; rank < from.ranks(); ++rank)
    parent[static_cast<std::size_t>(rank)] = root_of(parent, rank);
  return parent;
}

}  // namespace weft
