// Tilings: every element of a local box belongs to exactly one tile, and the addresses on both
// sides are those of the blocks that hold it, for random blocks, orders, lanes and slices.
#include "plan/tiling.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "random_geometry.hpp"

namespace weft {
namespace {

using test::Random;

using Address = std::tuple<int, std::int64_t>;  // slot, byte

/// One side of a stage: blocks that share out a box, each at its own place.
struct SideOfStage {
  Box box;
  std::int64_t bytes = 16;
  std::vector<Port> ports;
};

SideOfStage random_side(Random& random, const Box& box, std::int64_t bytes) {
  SideOfStage side{box, bytes, {}};
  const auto order = test::random_order(random, box.dimensions());
  std::int64_t offset = 0;
  int number = 0;
  for (const Box& part :
       test::shuffled(random, test::random_cuts(random, box, random.between(1, 6)))) {
    if (part.empty()) continue;
    const View view{2 + number % 2, offset, part, dense_strides(part.extents(), order)};
    side.ports.push_back({view, 1000 + number, random.between(-1, 3)});
    offset += part.volume() * bytes + 64 * random.between(0, 2);
    ++number;
  }
  return side;
}

/// Where each point of a side lies, and in which block.
struct Place {
  Index index;
  const Port* port;
};

std::map<Address, Place> places_of(const SideOfStage& side) {
  std::map<Address, Place> places;
  for (const Port& port : side.ports)
    for_each_index(port.view.box, [&](const Index& index) {
      std::int64_t at = port.view.offset_bytes;
      for (int axis = 0; axis < index.size(); ++axis)
        at += (index[axis] - port.view.box.lower[axis]) * port.view.strides[axis] * side.bytes;
      places.insert({{port.view.slot, at}, {index, &port}});
    });
  return places;
}

/// The points of one lane of a tile on one side, in the order of the axis.
std::vector<Place> pencil(std::span<const Segment> segments, int axis, const Index& origin,
                          std::int64_t bytes, const std::map<Address, Place>& places) {
  std::vector<Place> points;
  for (const Segment& segment : segments) {
    EXPECT_EQ(segment.begin, static_cast<std::int64_t>(points.size())) << "a gap in a pencil";
    std::int64_t at = segment.offset_bytes;
    for (int a = 0; a < origin.size(); ++a) at += origin[a] * segment.strides[a] * bytes;
    for (std::int64_t j = 0; j < segment.count; ++j) {
      const auto found = places.find({segment.slot, at + j * segment.strides[axis] * bytes});
      if (found == places.end()) {
        ADD_FAILURE() << "a segment leaves the blocks";
        return points;
      }
      EXPECT_EQ(segment.field_bytes, found->second.port->field_bytes);
      points.push_back(found->second);
    }
  }
  return points;
}

TilingProblem random_problem(Random& random, const SideOfStage& source, const SideOfStage& sink,
                             int axis) {
  TilingProblem problem;
  problem.axis = axis;
  problem.source_box = source.box;
  problem.sink_box = sink.box;
  problem.sources = source.ports;
  problem.sinks = sink.ports;
  problem.source_bytes = source.bytes;
  problem.sink_bytes = sink.bytes;
  problem.lanes = random.between(std::int64_t{1}, std::int64_t{20});
  const int dimensions = source.box.dimensions();
  const int lane = random.between(0, dimensions - 1);
  const int slice = random.between(0, dimensions - 1);
  if (lane != axis) problem.lane_axis = lane;
  if (slice != axis && slice != lane) problem.slice_axis = slice;
  return problem;
}

/// Follows every lane of every tile through both sides.
class Checker {
 public:
  Checker(const TilingProblem& problem, const SideOfStage& source, const SideOfStage& sink)
      : problem_(problem), source_(source), sink_(sink), tiling_(make_tiling(problem)) {}

  void check() {
    for (const Tile& tile : tiling_.tiles) check_tile(tile);
    EXPECT_EQ(static_cast<std::int64_t>(visited_.size()) * source_.box.extent(problem_.axis),
              source_.box.volume());
    check_slices();
  }

 private:
  void check_tile(const Tile& tile) {
    ASSERT_LT(tile.cell, tiling_.cells.size());
    EXPECT_GE(tile.lanes, 1);
    // Some more than asked for, rather than a short tile.
    EXPECT_LE(tile.lanes, problem_.lane_axis < 0 ? 1 : problem_.lanes + problem_.lanes / 8 + 8);
    EXPECT_EQ(tile.origin[problem_.axis], 0);
    for (std::int64_t lane = 0; lane < tile.lanes; ++lane) {
      Index origin = tile.origin;
      if (problem_.lane_axis >= 0) origin[problem_.lane_axis] += lane;
      check_pencil(tiling_.cells[tile.cell], origin, tile);
    }
  }

  void check_pencil(const Cell& cell, const Index& origin, const Tile& tile) {
    const std::span<const Segment> segments(tiling_.segments);
    const auto from =
        pencil(segments.subspan(cell.first_source, cell.last_source - cell.first_source),
               problem_.axis, origin, source_.bytes, source_places_);
    const auto to = pencil(segments.subspan(cell.first_sink, cell.last_sink - cell.first_sink),
                           problem_.axis, origin, sink_.bytes, sink_places_);
    ASSERT_EQ(static_cast<std::int64_t>(from.size()), source_.box.extent(problem_.axis));
    ASSERT_EQ(static_cast<std::int64_t>(to.size()), sink_.box.extent(problem_.axis));
    Index where = from.front().index;
    where[problem_.axis] = 0;
    EXPECT_TRUE(visited_.emplace(where.begin(), where.end()).second) << "a pencil comes twice";
    expect_chunks(from, cell.source_chunks);
    expect_chunks(to, cell.sink_chunks);
    for (const auto& [points, box] : {std::pair{&from, &source_.box}, std::pair{&to, &sink_.box}})
      for (std::size_t j = 0; j < points->size(); ++j) {
        const Place& point = (*points)[j];
        Index expected = where;
        expected[problem_.axis] = box->lower[problem_.axis] + static_cast<std::int64_t>(j);
        EXPECT_EQ(point.index, expected);
      }
    if (problem_.slice_axis >= 0)
      slice_of_tile_[&tile - tiling_.tiles.data()] =
          where[problem_.slice_axis] - source_.box.lower[problem_.slice_axis];
  }

  static void expect_chunks(const std::vector<Place>& points, const std::vector<int>& chunks) {
    std::set<int> expected;
    for (const Place& point : points)
      if (point.port->chunk >= 0) expected.insert(point.port->chunk);
    EXPECT_EQ(chunks, std::vector<int>(expected.begin(), expected.end()));
  }

  void check_slices() {
    const auto tiles = static_cast<std::int64_t>(tiling_.tiles.size());
    EXPECT_EQ(tiling_.first_of_slice.front(), 0);
    EXPECT_EQ(tiling_.first_of_slice.back(), tiles);
    if (problem_.slice_axis < 0) {
      EXPECT_EQ(tiling_.slices(), 1);
      return;
    }
    ASSERT_EQ(tiling_.slices(), source_.box.extent(problem_.slice_axis));
    for (std::int64_t slice = 0; slice < tiling_.slices(); ++slice) {
      const auto s = static_cast<std::size_t>(slice);
      for (std::int64_t t = tiling_.first_of_slice[s]; t < tiling_.first_of_slice[s + 1]; ++t)
        EXPECT_EQ(slice_of_tile_[t], slice);
    }
  }

  TilingProblem problem_;
  const SideOfStage& source_;
  const SideOfStage& sink_;
  Tiling tiling_;
  std::map<Address, Place> source_places_ = places_of(source_);
  std::map<Address, Place> sink_places_ = places_of(sink_);
  std::set<std::vector<std::int64_t>> visited_;
  std::map<std::ptrdiff_t, std::int64_t> slice_of_tile_;
};

TEST(Tiling, VisitsEveryElementOnceForRandomBlocks) {
  Random random(21);
  for (int round = 0; round < 150; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Box source_box;
    const int dimensions = random.between(1, 5);
    for (int axis = 0; axis < dimensions; ++axis) {
      source_box.lower.push_back(random.between(std::int64_t{0}, std::int64_t{50}));
      const std::int64_t most = random.one_in(6) ? 40 : 6;
      source_box.upper.push_back(source_box.lower[axis] + random.between(std::int64_t{1}, most));
    }
    const int axis = random.between(0, dimensions - 1);
    Box sink_box = source_box;
    source_box.lower[axis] = sink_box.lower[axis] = 0;
    if (random.one_in(2)) sink_box.upper[axis] = source_box.upper[axis] / 2 + 1;
    const SideOfStage source = random_side(random, source_box, random.one_in(2) ? 8 : 16);
    const SideOfStage sink = random_side(random, sink_box, 16);
    Checker(random_problem(random, source, sink, axis), source, sink).check();
  }
}

/// Blocks of a plane of 6 x 8 elements of 16 bytes, cut along axis 1 at 3 and 5.
std::vector<Port> blocks_of_a_plane() {
  const View plane{2, 64, {{0, 0}, {6, 8}}, dense_strides({6, 8}, {0, 1})};
  std::vector<Port> blocks;
  for (const auto& [lower, upper] : {std::pair{0, 3}, std::pair{3, 5}, std::pair{5, 8}})
    blocks.push_back({part_of(plane, {{0, lower}, {6, upper}}, 16), 7, 1});
  return blocks;
}

TEST(Blocks, AreJoinedWhereOneFollowsTheOtherInMemory) {
  const std::vector<Port> joined = with_joined_blocks(blocks_of_a_plane(), 16);
  ASSERT_EQ(joined.size(), 1U);
  EXPECT_EQ(joined[0].view, (View{2, 64, {{0, 0}, {6, 8}}, dense_strides({6, 8}, {0, 1})}));
  EXPECT_EQ(joined[0].field_bytes, 7);
  EXPECT_EQ(joined[0].chunk, 1);
}

TEST(Blocks, AreNotJoinedElsewhere) {
  const auto blocks_after = [](auto change) {
    std::vector<Port> blocks = blocks_of_a_plane();
    change(blocks[1]);
    return with_joined_blocks(blocks, 16).size();
  };
  EXPECT_EQ(blocks_after([](Port& port) { port.chunk = 2; }), 3U);
  EXPECT_EQ(blocks_after([](Port& port) { port.field_bytes = 8; }), 3U);
  EXPECT_EQ(blocks_after([](Port& port) { port.view.slot = 3; }), 3U);
  EXPECT_EQ(blocks_after([](Port& port) { port.view.offset_bytes += 16; }), 3U);
  EXPECT_EQ(blocks_after([](Port& port) { port.view.box.upper[0] = 5; }), 3U);
  EXPECT_EQ(blocks_after([](Port& port) { port.view.strides[0] = 9; }), 3U);
}

TEST(Tiling, EmptyBoxHasNoTiles) {
  TilingProblem problem;
  problem.source_box = problem.sink_box = Box{{0, 3}, {4, 3}};
  const Tiling tiling = make_tiling(problem);
  EXPECT_TRUE(tiling.tiles.empty());
  EXPECT_EQ(tiling.slices(), 1);
}

/// How many lanes the tiles of a row of `extent` have when they should have `lanes`; it begins at
/// byte `offset`, and the next one `pitch` elements behind.
std::vector<std::int64_t> lanes_of_tiles(std::int64_t extent, std::int64_t lanes,
                                         std::int64_t offset = 0, std::int64_t pitch = 160) {
  const Box box{{0, 0}, {4, extent}};
  const std::vector<Port> ports{{{0, offset, box, {pitch, 1}}, 0, -1}};
  const Tiling tiling = make_tiling({.axis = 0,
                                     .lane_axis = 1,
                                     .lanes = lanes,
                                     .source_box = box,
                                     .sink_box = box,
                                     .sources = ports,
                                     .sinks = ports});
  std::vector<std::int64_t> found;
  for (const Tile& tile : tiling.tiles) found.push_back(tile.lanes);
  return found;
}

TEST(Tiling, CutsLanesInWholeLinesAndLeavesNoShortTile) {
  using Lanes = std::vector<std::int64_t>;
  EXPECT_EQ(lanes_of_tiles(50, 32), (Lanes{32, 18}));
  EXPECT_EQ(lanes_of_tiles(80, 40), (Lanes{32, 32, 16}));
  EXPECT_EQ(lanes_of_tiles(129, 64), (Lanes{64, 65}));
  EXPECT_EQ(lanes_of_tiles(128, 64), (Lanes{64, 64}));
  EXPECT_EQ(lanes_of_tiles(30, 64), (Lanes{30}));
  EXPECT_EQ(lanes_of_tiles(10, 8), (Lanes{8, 2}));
  EXPECT_EQ(lanes_of_tiles(9, 8), (Lanes{9}));
  EXPECT_EQ(lanes_of_tiles(7, 3), (Lanes{3, 3, 1}));
  EXPECT_EQ(lanes_of_tiles(2, 1), (Lanes{1, 1}));
}

TEST(Tiling, BeginsTilesWithLinesWhereRowsDoNot) {
  using Lanes = std::vector<std::int64_t>;
  EXPECT_EQ(lanes_of_tiles(128, 64, 16), (Lanes{63, 65}));
  EXPECT_EQ(lanes_of_tiles(128, 64, 96), (Lanes{62, 66}));
  EXPECT_EQ(lanes_of_tiles(128, 32, 32), (Lanes{30, 32, 32, 34}));
  EXPECT_EQ(lanes_of_tiles(128, 64, 64), (Lanes{64, 64}));
  EXPECT_EQ(lanes_of_tiles(3, 64, 32), (Lanes{3}));
  EXPECT_EQ(lanes_of_tiles(128, 64, 32, 161), (Lanes{64, 64})) << "each row begins elsewhere";
}

}  // namespace
}  // namespace weft
