// Geometry of layouts: grids, boxes, memory order and padding, views, and who sends what to whom.
// Mostly properties of random layouts: every point is held once, sent once and received once.
#include "weft/layout.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "layout/redistribution.hpp"
#include "layout/view.hpp"
#include "random_geometry.hpp"
#include "weft/array.hpp"

namespace weft {
namespace {

using test::Random;

/// How many of `boxes` hold each point, in row-major order.
std::vector<int> times_held(const Shape& shape, const std::vector<Box>& boxes) {
  const test::Field positions(shape);
  std::vector<int> times(static_cast<std::size_t>(shape.product()));
  for (const Box& box : boxes)
    for_each_index(box, [&](const Index& index) { ++times[positions.position(index)]; });
  return times;
}

void expect_covers_once(const Layout& layout) {
  const std::vector<int> times = times_held(layout.shape(), layout.boxes());
  EXPECT_EQ(times, std::vector<int>(times.size(), 1)) << to_string(layout.shape());
}

template <class Body>
void expect_error(ErrorCode code, const std::string& text, Body&& body) {
  try {
    body();
    ADD_FAILURE() << "nothing was thrown; expected: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}

// ---- Extents and Box
// -----------------------------------------------------------------------------

TEST(Extents, HoldUpToSixNumbers) {
  const Extents six{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(six.size(), 6);
  EXPECT_EQ(six.product(), 720);
  EXPECT_EQ(to_string(six), "1x2x3x4x5x6");
  expect_error(ErrorCode::invalid_argument, "1 to 6 dimensions",
               [] { Extents{1, 2, 3, 4, 5, 6, 7}; });
}

TEST(Extents, DifferWhenTheirLengthsDo) {
  EXPECT_NE((Extents{2, 3}), (Extents{2, 3, 0}));
  EXPECT_NE((Extents{2, 3, 0}), (Extents{2, 3}));
  EXPECT_EQ(Extents{}.product(), 1);
}

TEST(Box, IntersectsAsSetsOfPoints) {
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    const Shape shape = test::random_shape(random, random.between(1, 4), 5);
    const auto boxes = test::random_boxes(random, shape, 3);
    const auto others = test::random_boxes(random, shape, 2);
    for (const Box& a : boxes)
      for (const Box& b : others) {
        std::set<std::vector<std::int64_t>> in_a;
        std::set<std::vector<std::int64_t>> common;
        std::set<std::vector<std::int64_t>> found;
        for_each_index(a, [&](const Index& i) { in_a.emplace(i.begin(), i.end()); });
        for_each_index(b, [&](const Index& i) {
          if (in_a.contains({i.begin(), i.end()})) common.emplace(i.begin(), i.end());
        });
        for_each_index(intersect(a, b), [&](const Index& i) { found.emplace(i.begin(), i.end()); });
        EXPECT_EQ(found, common) << to_string(a) << " and " << to_string(b);
      }
  }
  expect_error(ErrorCode::invalid_argument, "different dimensions", [] {
    intersect(Box::whole({2}), Box::whole({2, 2}));
  });
}

TEST(Box, IsEmptyWhenOneExtentIsNotPositive) {
  EXPECT_TRUE((Box{{0, 2}, {5, 2}}).empty());
  EXPECT_TRUE((Box{{0, 3}, {5, 2}}).empty());
  EXPECT_EQ((Box{{0, 3}, {5, 2}}).volume(), 0);
  EXPECT_EQ(to_string(Box{{0, 1}, {5, 2}}), "[0,5)x[1,2)");
}

// ---- ProcessGrid
// ---------------------------------------------------------------------------------

TEST(ProcessGrid, NumbersRanksRowMajor) {
  const ProcessGrid grid{{2, 3}, {0, 2}};
  EXPECT_EQ(grid.ranks(), 6);
  EXPECT_EQ(grid.parts(0), 2);
  EXPECT_EQ(grid.parts(1), 1);
  EXPECT_EQ(grid.parts(2), 3);
  for (int rank = 0; rank < 6; ++rank) {
    EXPECT_EQ(grid.part_of(rank, 0), rank / 3);
    EXPECT_EQ(grid.part_of(rank, 1), 0);
    EXPECT_EQ(grid.part_of(rank, 2), rank % 3);
  }
}

TEST(ProcessGrid, PutsSeveralDimensionsOnOneAxis) {
  const ProcessGrid grid{{2, 2, 3}, {0, 1, 0}};
  EXPECT_EQ(grid.parts(0), 6);
  EXPECT_EQ(grid.parts(1), 2);
  for (int a = 0; a < 2; ++a)
    for (int b = 0; b < 2; ++b)
      for (int c = 0; c < 3; ++c) {
        const int rank = (a * 2 + b) * 3 + c;
        EXPECT_EQ(grid.part_of(rank, 0), a * 3 + c) << rank;
        EXPECT_EQ(grid.part_of(rank, 1), b) << rank;
      }
}

TEST(ProcessGrid, ReassigningOneDimensionKeepsDataAmongRanksThatDifferInItAlone) {
  const Shape shape{12, 12, 12};
  const auto before = Layout::from_grid(shape, {{2, 3}, {0, 1}});
  const auto after = Layout::from_grid(shape, {{2, 3}, {0, 2}});
  EXPECT_EQ(exchange_groups(before, after), (std::vector<int>{0, 0, 0, 3, 3, 3}));
  const auto both_on_one = Layout::from_grid(shape, {{2, 3}, {0, 0}});
  EXPECT_EQ(exchange_groups(before, both_on_one), (std::vector<int>{0, 0, 0, 3, 3, 3}));
}

TEST(ProcessGrid, IdleDimensionLeavesDataAtItsCoordinateZero) {
  const auto layout = Layout::from_grid({8, 3}, {{2, 3}, {0, ProcessGrid::kIdle}});
  expect_covers_once(layout);
  for (int rank = 0; rank < 6; ++rank) EXPECT_EQ(layout.box(rank).empty(), rank % 3 != 0) << rank;
}

TEST(ProcessGrid, FromPartsLeavesOutAxesInOnePart) {
  EXPECT_EQ(ProcessGrid::from_parts({4, 1, 2}), (ProcessGrid{{4, 2}, {0, 2}}));
  EXPECT_EQ(ProcessGrid::from_parts({1, 1}).ranks(), 1);
}

// ---- Layout
// --------------------------------------------------------------------------------------

TEST(Layout, CutsEvenlyAndCoversOnce) {
  Random random(2);
  for (int round = 0; round < 300; ++round) {
    const Shape shape = test::random_shape(random, random.between(1, 6), 7);
    const ProcessGrid grid = test::random_grid(random, shape.size(), random.between(1, 24));
    const auto layout = Layout::from_grid(shape, grid);
    ASSERT_EQ(layout.ranks(), grid.ranks());
    expect_covers_once(layout);
    for (int rank = 0; rank < layout.ranks(); ++rank) {
      if (grid.part_of(rank, ProcessGrid::kIdle) != 0) continue;
      for (int axis = 0; axis < shape.size(); ++axis) {
        const std::int64_t extent = layout.box(rank).extent(axis);
        const std::int64_t parts = grid.parts(axis);
        EXPECT_GE(extent, shape[axis] / parts);
        EXPECT_LE(extent, (shape[axis] + parts - 1) / parts);
      }
    }
  }
}

TEST(Layout, CutsWhereItsFormulaSays) {
  const auto layout = Layout::from_grid({7}, ProcessGrid::from_parts({3}));
  EXPECT_EQ(layout.box(0), (Box{{0}, {2}}));
  EXPECT_EQ(layout.box(1), (Box{{2}, {4}}));
  EXPECT_EQ(layout.box(2), (Box{{4}, {7}}));
}

TEST(Layout, HasEmptyBoxesWhereRanksOutnumberPoints) {
  const auto layout = Layout::from_grid({3, 1}, ProcessGrid::from_parts({4, 2}));
  expect_covers_once(layout);
  int empty = 0;
  for (int rank = 0; rank < 8; ++rank) {
    if (!layout.box(rank).empty()) continue;
    ++empty;
    EXPECT_EQ(layout.with_padding({{1, 1}, {1, 1}}).allocated_elements(rank), 0);
  }
  EXPECT_EQ(empty, 5);
}

TEST(Layout, PlacesEveryPointAtItsOwnElementInsideTheAllocation) {
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    const Shape shape = test::random_shape(random, random.between(1, 5), 5);
    const int ranks = random.between(1, 8);
    const auto padding = test::random_padding(random, shape.size());
    const auto layout = test::random_layout(random, shape, ranks).with_padding(padding);
    for (int rank = 0; rank < ranks; ++rank) {
      const Box& box = layout.box(rank);
      const Extents strides = layout.strides(rank);
      std::set<std::int64_t> used;
      for_each_index(box, [&](const Index& index) {
        std::int64_t at = layout.offset(rank);
        for (int axis = 0; axis < shape.size(); ++axis)
          at += (index[axis] - box.lower[axis]) * strides[axis];
        EXPECT_GE(at, 0);
        EXPECT_LT(at, layout.allocated_elements(rank));
        EXPECT_TRUE(used.insert(at).second) << "two points share element " << at;
      });
      if (box.empty()) continue;
      EXPECT_EQ(strides[layout.order().back()], 1);
    }
  }
}

TEST(Layout, OrderNamesTheSlowestAxisFirst) {
  const auto layout = Layout::from_grid({2, 3, 5}, {}).with_order({2, 0, 1});
  EXPECT_EQ(layout.strides(0), (Extents{3, 1, 6}));
  EXPECT_EQ(layout.with_order({}).strides(0), (Extents{15, 5, 1}));
}

TEST(Layout, PaddingWidensStridesAndMovesTheFirstPoint) {
  const auto layout = Layout::from_grid({2, 3}, {}).with_padding({{1, 0}, {2, 4}});
  EXPECT_EQ(layout.strides(0), (Extents{9, 1}));
  EXPECT_EQ(layout.offset(0), 11);
  EXPECT_EQ(layout.allocated_elements(0), 27);
}

TEST(Layout, KnowsWhichAxesAreLocal) {
  const auto layout = Layout::from_grid({4, 5, 6}, ProcessGrid::from_parts({2, 1, 3}));
  EXPECT_FALSE(layout.is_local(0));
  EXPECT_TRUE(layout.is_local(1));
  EXPECT_FALSE(layout.is_local(2));
  const auto one_owner = Layout::from_boxes({4}, {Box{{0}, {4}}, Box{{4}, {4}}});
  EXPECT_TRUE(one_owner.is_local(0));
}

TEST(Layout, TakesAnyBoxesThatCoverOnce) {
  Random random(4);
  for (int round = 0; round < 300; ++round) {
    const Shape shape = test::random_shape(random, random.between(1, 4), 6);
    const auto boxes = test::random_boxes(random, shape, random.between(1, 9));
    EXPECT_EQ(Layout::from_boxes(shape, boxes).boxes(), boxes);
  }
}

TEST(Layout, RefusesBoxesThatDoNotCoverOnce) {
  Random random(5);
  int refused = 0;
  for (int round = 0; round < 300; ++round) {
    const Shape shape = test::random_shape(random, random.between(1, 3), 6);
    auto boxes = test::random_boxes(random, shape, random.between(2, 6));
    Box& box =
        boxes[static_cast<std::size_t>(random.between(0, static_cast<int>(boxes.size()) - 1))];
    const int axis = random.between(0, shape.size() - 1);
    (random.one_in(2) ? box.lower : box.upper)[axis] += random.one_in(2) ? 1 : -1;
    const bool inside = box.lower[axis] >= 0 && box.upper[axis] <= shape[axis];
    const bool upright = box.lower[axis] <= box.upper[axis];
    const std::vector<int> once(static_cast<std::size_t>(shape.product()), 1);
    if (inside && upright && times_held(shape, boxes) == once) continue;
    ++refused;
    expect_error(ErrorCode::invalid_layout, "box", [&] { Layout::from_boxes(shape, boxes); });
  }
  EXPECT_GT(refused, 100);
}

TEST(Layout, SaysWhatIsWrongWithBoxes) {
  const auto make = [](std::vector<Box> boxes) {
    return [boxes] { Layout::from_boxes({4, 4}, boxes); };
  };
  constexpr auto kCode = ErrorCode::invalid_layout;
  expect_error(kCode, "ranks 0, [0,3)x[0,4), and 1, [2,4)x[0,4), overlap",
               make({{{0, 0}, {3, 4}}, {{2, 0}, {4, 4}}}));
  expect_error(kCode, "hold 12 points", make({{{0, 0}, {2, 4}}, {{3, 0}, {4, 4}}}));
  expect_error(kCode, "the box of rank 1, [2,5)x[0,4), does not lie",
               make({{{0, 0}, {2, 4}}, {{2, 0}, {5, 4}}}));
  expect_error(kCode, "the box of rank 0", make({{{-1, 0}, {2, 4}}, {{2, 0}, {4, 4}}}));
  expect_error(kCode, "the box of rank 1 has 1 and 1 bounds", make({{{0, 0}, {4, 4}}, {{0}, {0}}}));
  expect_error(kCode, "hold 0 points", make({}));
}

TEST(Layout, RefusesBadOrdersAndPaddings) {
  const auto layout = Layout::from_grid({4, 4}, {});
  for (const std::vector<int>& order :
       std::vector<std::vector<int>>{{0}, {0, 0}, {1, 2}, {0, 1, 2}, {-1, 0}})
    expect_error(ErrorCode::invalid_argument, "memory order", [&] { layout.with_order(order); });
  expect_error(ErrorCode::invalid_argument, "padding is given for 3 axes", [&] {
    layout.with_padding({{}, {}, {}});
  });
  expect_error(ErrorCode::invalid_argument, "negative", [&] {
    layout.with_padding({{0, 0}, {-1, 0}});
  });
}

// ---- Array
// ---------------------------------------------------------------------------------------

TEST(Array, ReachesEveryElementByGlobalIndex) {
  const auto layout = Layout::from_grid({4, 6}, ProcessGrid::from_parts({2, 2}))
                          .with_order({1, 0})
                          .with_padding({{1, 1}, {0, 2}});
  const std::int64_t stride = layout.allocated_elements(3);
  const auto bytes = static_cast<std::size_t>(2 * stride) * sizeof(double);
  Array<double> array(layout, 3, 2, stride, allocate_zeroed(bytes));
  for (int field = 0; field < 2; ++field)
    array.fill([&](const Index& i) { return 100 * field + 10 * i[0] + i[1]; }, field);
  EXPECT_EQ(array(Index{2, 3}), 23);
  EXPECT_EQ(array(Index{3, 5}, 1), 135);
  // Axis 0 is the fastest, padded by one in front: (2,3) comes second in memory.
  EXPECT_EQ(array.data()[1], 23);
  EXPECT_EQ(array.data()[2], 33);
  EXPECT_EQ(array.data()[stride + 1], 123);
  int visited = 0;
  array.for_each([&](const Index& index, double& element) {
    EXPECT_EQ(element, static_cast<double>(10 * index[0] + index[1]));
    ++visited;
  });
  EXPECT_EQ(visited, 6);
}

// ---- Redistribution
// ------------------------------------------------------------------------------

TEST(Redistribution, SendsAndReceivesMatchAndCoverEveryBox) {
  Random random(6);
  for (int round = 0; round < 300; ++round) {
    const Shape shape = test::random_shape(random, random.between(1, 5), 5);
    const int ranks = random.between(1, 12);
    const Layout from = test::random_layout(random, shape, ranks);
    const Layout to = test::random_layout(random, shape, ranks);
    std::map<std::pair<int, int>, std::vector<Box>> sent;
    std::map<std::pair<int, int>, std::vector<Box>> received;
    for (int rank = 0; rank < ranks; ++rank) {
      const Redistribution mine = redistribution_between(from, to, rank);
      std::vector<Box> out;
      std::vector<Box> in;
      for (const Block& block : mine.sends) {
        EXPECT_FALSE(block.box.empty());
        sent[{rank, block.peer}].push_back(block.box);
        out.push_back(block.box);
      }
      for (const Block& block : mine.receives) {
        received[{block.peer, rank}].push_back(block.box);
        in.push_back(block.box);
      }
      EXPECT_EQ(times_held(shape, out), times_held(shape, {from.box(rank)}));
      EXPECT_EQ(times_held(shape, in), times_held(shape, {to.box(rank)}));
      const auto in_order = [](const Block& a, const Block& b) { return a.peer < b.peer; };
      EXPECT_TRUE(std::is_sorted(mine.sends.begin(), mine.sends.end(), in_order));
      EXPECT_TRUE(std::is_sorted(mine.receives.begin(), mine.receives.end(), in_order));
    }
    EXPECT_EQ(sent, received);
  }
}

TEST(Redistribution, GroupsAreTheSmallestThatNoMessageLeaves) {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    const Shape shape = test::random_shape(random, random.between(1, 4), 6);
    const int ranks = random.between(1, 10);
    const Layout from = test::random_layout(random, shape, ranks);
    const Layout to = test::random_layout(random, shape, ranks);
    // Spreads the smallest rank along messages until nothing changes.
    std::vector<int> expected(static_cast<std::size_t>(ranks));
    std::iota(expected.begin(), expected.end(), 0);
    for (bool changed = true; changed;) {
      changed = false;
      for (int rank = 0; rank < ranks; ++rank)
        for (const Block& block : redistribution_between(from, to, rank).sends) {
          int& a = expected[static_cast<std::size_t>(rank)];
          int& b = expected[static_cast<std::size_t>(block.peer)];
          changed = changed || a != b;
          a = b = std::min(a, b);
        }
    }
    EXPECT_EQ(exchange_groups(from, to), expected);
  }
}

// ---- View
// ----------------------------------------------------------------------------------------

TEST(View, PartKeepsTheAddressOfEveryPoint) {
  Random random(8);
  for (int round = 0; round < 100; ++round) {
    const Shape shape = test::random_shape(random, random.between(1, 4), 5);
    const auto order = test::random_order(random, shape.size());
    const View view{3, 40, Box::whole(shape), dense_strides(shape, order)};
    const auto address = [](const View& v, const Index& index) {
      std::int64_t bytes = v.offset_bytes;
      for (int axis = 0; axis < index.size(); ++axis)
        bytes += (index[axis] - v.box.lower[axis]) * v.strides[axis] * 8;
      return bytes;
    };
    for (const Box& box : test::random_boxes(random, shape, 3)) {
      const View part = part_of(view, box, 8);
      EXPECT_EQ(part.slot, 3);
      for_each_index(
          box, [&](const Index& index) { EXPECT_EQ(address(part, index), address(view, index)); });
    }
  }
}

TEST(View, DenseStridesLeaveNoGap) {
  EXPECT_EQ(dense_strides({2, 3, 5}, {0, 1, 2}), (Extents{15, 5, 1}));
  EXPECT_EQ(dense_strides({2, 3, 5}, {1, 2, 0}), (Extents{1, 10, 2}));
}

}  // namespace
}  // namespace weft
