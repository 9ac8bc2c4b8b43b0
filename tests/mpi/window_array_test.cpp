// How the array that a rank offers in its window lies there: rows on cache lines of their own, or
// one after another where a pass can join them.
#include <gtest/gtest.h>

#include "exchange/shared.hpp"
#include "exchange_rig.hpp"

namespace weft {
namespace {

using testing::grid_layout;
using testing::NodeMap;
using testing::Nodes;
using testing::world;

ExchangeProblem slabs_problem(const NodeMap& nodes, const Shape& shape, std::int64_t element_bytes,
                              int from_axis = 0, int to_axis = 1) {
  ExchangeProblem problem;
  problem.comm = &world();
  problem.node = &nodes.comm;
  problem.node_rank_of = nodes.rank_of;
  problem.from = grid_layout(shape, {from_axis}, world().size());
  problem.to = grid_layout(shape, {to_axis}, world().size());
  problem.order = {0, 1, 2};
  problem.element_bytes = element_bytes;
  return problem;
}

TEST(WindowArrays, StartRowsOnCacheLinesAndSpreadThemOverCacheSets) {
  const NodeMap nodes(Nodes::one);
  const int ranks = world().size();
  for (const std::int64_t n : {16, 64, 67, 128, 256}) {
    const ExchangeProblem problem = slabs_problem(nodes, {2, n, ranks * n}, 16, 1, 2);
    const WindowBlocks window = window_blocks_of(problem, Peers::all, world().rank());
    for (const WindowBlock& block : window.blocks) {
      EXPECT_EQ(1, block.strides[2]);
      EXPECT_EQ(0, block.offset % 64);
      for (const int axis : {0, 1}) {
        EXPECT_EQ(0, block.strides[axis] * 16 % 64) << n;
        EXPECT_NE(0, block.strides[axis] * 16 % 4096) << n;
      }
    }
    const std::int64_t bytes = problem.from.box(world().rank()).volume() * 16;
    EXPECT_GE(window.field_bytes, bytes);
    EXPECT_LE(window.field_bytes, bytes * 5 / 4 + 4096 * ranks);
  }
}

TEST(WindowArrays, HaveRowsOneAfterAnotherWhereAPassCanJoinThem) {
  const NodeMap nodes(Nodes::one);
  const int ranks = world().size();
  if (ranks == 1) GTEST_SKIP() << "one rank cuts no axis";
  for (const std::int64_t n : {33, 67, 129, 256}) {
    const ExchangeProblem problem = slabs_problem(nodes, {2 * ranks, 3 * ranks, n}, 16);
    const WindowBlocks window = window_blocks_of(problem, Peers::all, world().rank());
    for (const WindowBlock& block : window.blocks) {
      EXPECT_EQ(1, block.strides[2]);
      EXPECT_EQ(n == 256 ? n + 4 : n, block.strides[1]) << "but not in the same cache set";
      EXPECT_EQ(0, block.strides[0] * 16 % 64) << n;
    }
  }
}

TEST(WindowArrays, HaveNoPlaceForTheBlockThatStaysAtHome) {
  const NodeMap nodes(Nodes::one);
  const int ranks = world().size();
  ExchangeProblem problem = slabs_problem(nodes, {2 * ranks, 3 * ranks, 40}, 16);
  const WindowBlocks all = window_blocks_of(problem, Peers::all, world().rank());
  problem.home.emplace();
  const WindowBlocks others = window_blocks_of(problem, Peers::all, world().rank());
  EXPECT_EQ(static_cast<std::size_t>(ranks), all.blocks.size());
  EXPECT_EQ(static_cast<std::size_t>(ranks - 1), others.blocks.size());
  EXPECT_EQ(all.field_bytes / ranks * (ranks - 1), others.field_bytes);
  for (const WindowBlock& block : others.blocks) EXPECT_NE(world().rank(), block.block.peer);
}

TEST(WindowArrays, LeaveShortRowsDense) {
  const NodeMap nodes(Nodes::one);
  const ExchangeProblem problem =
      slabs_problem(nodes, {10 * world().size(), 104 * world().size(), 3}, 8);
  const WindowBlocks window = window_blocks_of(problem, Peers::all, world().rank());
  for (const WindowBlock& block : window.blocks) EXPECT_EQ((Extents{312, 3, 1}), block.strides);
}

}  // namespace
}  // namespace weft
