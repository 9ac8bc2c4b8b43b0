// Passes that store where they load: what is said to be safe overwrites no byte that has still to
// be loaded, byte by byte, for random views of the same memory.
#include "plan/overlap.hpp"

#include <gtest/gtest.h>

#include <map>

#include "random_geometry.hpp"

namespace weft {
namespace {

using test::Random;

/// The index of the axes that are not inside, and 0 for those that are.
Index part_of(const Index& index, const std::vector<bool>& inside) {
  Index part = index;
  for (int axis = 0; axis < part.size(); ++axis)
    if (inside[static_cast<std::size_t>(axis)]) part[axis] = 0;
  return part;
}

template <class Body>
void for_each_byte(const Area& area, Body body) {
  for_each_index(area.view.box, [&](const Index& index) {
    std::int64_t at = area.view.offset_bytes;
    for (int axis = 0; axis < index.size(); ++axis)
      at +=
          (index[axis] - area.view.box.lower[axis]) * area.view.strides[axis] * area.element_bytes;
    for (std::int64_t byte = 0; byte < area.element_bytes; ++byte) body(at + byte, index);
  });
}

/// True when no byte of one part of `to` is a byte of another part of `from`, but for those parts
/// that come before it in the order of the axes `ordered`, slowest first.
bool is_safe(const Area& from, const Area& to, const std::vector<bool>& inside,
             const std::vector<int>& ordered = {}) {
  const auto has_been_loaded = [&](Index source, const Index& sink) {
    std::vector<std::int64_t> position, now;
    for (const int axis : ordered) {
      position.push_back(source[axis]);
      now.push_back(sink[axis]);
      source[axis] = sink[axis];
    }
    return source == sink && position <= now;
  };
  std::map<std::int64_t, Index> loaded;
  for_each_byte(from, [&](std::int64_t byte, const Index& index) {
    loaded.emplace(byte, part_of(index, inside));
  });
  bool safe = true;
  for_each_byte(to, [&](std::int64_t byte, const Index& index) {
    const auto found = loaded.find(byte);
    safe =
        safe && (found == loaded.end() || has_been_loaded(found->second, part_of(index, inside)));
  });
  return safe;
}

Box random_part(Random& random, const Extents& extents) {
  Box box{extents, extents};
  for (int axis = 0; axis < extents.size(); ++axis) {
    box.lower[axis] = random.between(0, static_cast<int>(extents[axis]) - 1);
    box.upper[axis] =
        random.between(static_cast<int>(box.lower[axis]) + 1, static_cast<int>(extents[axis]));
  }
  return box;
}

/// A part of a dense array with padding after its rows, or something a little different.
Area random_area(Random& random, const Extents& extents) {
  const std::int64_t bytes = random.between(0, 2) == 0 ? 8 : 16;
  Extents padded = extents;
  padded[extents.size() - 1] += random.between(0, 2);
  const View whole{
      0, 0, {Extents::filled(extents.size(), 0), extents}, dense_strides(padded, {0, 1, 2})};
  View view = part_of(whole, random_part(random, extents), bytes);
  if (random.between(0, 3) == 0) view.offset_bytes += 8 * random.between(0, 4);
  if (random.between(0, 3) == 0) view.strides[0] += random.between(0, 2);
  if (random.between(0, 3) == 0) view.strides[0] *= 2;
  return {view, bytes};
}

TEST(Overlap, WhatMayBeOverwrittenHasBeenLoaded) {
  Random random(5);
  int may = 0;
  int may_not = 0;
  for (int round = 0; round < 20000; ++round) {
    const Extents extents{random.between(1, 4), random.between(1, 4), random.between(1, 5)};
    const Area from = random_area(random, extents);
    const Area to = random_area(random, extents);
    std::vector<bool> inside;
    for (int axis = 0; axis < 3; ++axis) inside.push_back(random.between(0, 1) == 0);
    if (!may_overwrite(from, to, inside)) {
      may_not += is_safe(from, to, inside) ? 0 : 1;
      continue;
    }
    ++may;
    ASSERT_TRUE(is_safe(from, to, inside)) << "round " << round;
  }
  EXPECT_GT(may, 1000);
  EXPECT_GT(may_not, 1000);
}

TEST(Overlap, WhatMayBeOverwrittenInOrderHasBeenLoaded) {
  Random random(6);
  int only_in_order = 0;
  int only_in_both = 0;
  for (int round = 0; round < 40000; ++round) {
    const Extents extents{random.between(1, 3), random.between(1, 5), random.between(1, 5)};
    const Area from = random_area(random, extents);
    const Area to = random_area(random, extents);
    const int axis = random.between(0, 2);
    std::vector<bool> inside{false, false, false};
    inside[static_cast<std::size_t>((axis + random.between(1, 2)) % 3)] = true;
    std::vector<int> ordered{axis};
    for (int other = 0; other < 3; ++other)
      if (other != axis && !inside[static_cast<std::size_t>(other)] && random.between(0, 1) == 0)
        ordered.push_back(other);
    if (!may_overwrite_in_order(from, to, inside, ordered)) {
      ASSERT_FALSE(may_overwrite_in_order(from, to, inside, {axis})) << "round " << round;
      ASSERT_FALSE(may_overwrite(from, to, inside)) << "round " << round;
      continue;
    }
    only_in_order += may_overwrite(from, to, inside) ? 0 : 1;
    only_in_both += may_overwrite_in_order(from, to, inside, {axis}) ? 0 : 1;
    ASSERT_TRUE(is_safe(from, to, inside, ordered)) << "round " << round;
  }
  EXPECT_GT(only_in_order, 100);
  EXPECT_GT(only_in_both, 20);
}

TEST(Overlap, PencilsMayTakeEverySecondOfTheirRows) {
  // 6 rows of 4 columns, and rows 1, 3 and 5 of columns 1 to 3.
  const Area pencils{{0, 0, {{0, 0}, {6, 4}}, {4, 1}}, 16};
  const Area rows{{0, 5 * 16, {{0, 1}, {3, 4}}, {8, 1}}, 16};
  const std::vector<bool> inside{true, false};
  EXPECT_TRUE(may_overwrite(rows, pencils, inside));
  EXPECT_TRUE(may_overwrite(pencils, rows, inside));
  Area later = rows;
  later.view.offset_bytes += 16;  // column 2 in the place of column 1
  EXPECT_FALSE(may_overwrite(later, pencils, inside));
  Area longer = rows;
  longer.view.box.upper[0] = 4;  // up to row 7
  EXPECT_FALSE(may_overwrite(longer, pencils, inside));
}

TEST(Overlap, ShorterRowsMayTakeThePlaceOfLongerOnesInOrder) {
  // Three slices of 8 rows of 6 reals, 48 reals apart, which 6 rows of 4 complex numbers fill.
  const Box rows{{0, 0, 0}, {3, 6, 4}};
  const Area complex{{0, 0, rows, {24, 4, 1}}, 16};
  const Area real{{0, 0, {{0, 0, 0}, {3, 8, 6}}, {48, 6, 1}}, 8};
  const std::vector<bool> inside{false, false, true};
  EXPECT_TRUE(may_overwrite_in_order(complex, real, inside, {1}));
  EXPECT_FALSE(may_overwrite(complex, real, inside));
  EXPECT_FALSE(may_overwrite_in_order(complex, real, inside, {0}));  // rows in any order
  EXPECT_FALSE(may_overwrite_in_order(real, complex, inside, {1}));
}

TEST(Overlap, ShorterSlicesMayTakeThePlaceOfLongerOnesInOrder) {
  // Slices of 8 rows of 6 reals come from slices of 8 rows of 4 complex numbers, one after another.
  const Area complex{{0, 0, {{0, 0, 0}, {3, 8, 4}}, {32, 4, 1}}, 16};
  const Area real{{0, 0, {{0, 0, 0}, {3, 8, 6}}, {48, 6, 1}}, 8};
  EXPECT_TRUE(may_overwrite_in_order(complex, real, {false, true, true}, {0}));
  EXPECT_TRUE(may_overwrite_in_order(complex, real, {false, false, true}, {0, 1}));
  EXPECT_FALSE(may_overwrite_in_order(complex, real, {false, false, true}, {1}));
  EXPECT_FALSE(may_overwrite_in_order(complex, real, {false, false, true}, {1, 0}));
  EXPECT_FALSE(may_overwrite(complex, real, {false, true, true}));
}

TEST(Overlap, ARowOfAnotherLengthMayTakeThePlaceOfARow) {
  const Box box{{0, 0}, {7, 5}};
  const Area real{{0, 0, {{0, 0}, {7, 8}}, {10, 1}}, 8};
  const Area complex{{0, 0, box, {5, 1}}, 16};
  const Area longer{{0, 0, box, {6, 1}}, 16};
  EXPECT_TRUE(may_overwrite(real, complex, {false, true}));
  EXPECT_TRUE(may_overwrite(complex, real, {false, true}));
  EXPECT_FALSE(may_overwrite(complex, real, {true, false}));
  EXPECT_FALSE(may_overwrite(real, longer, {false, true}));
}

TEST(Overlap, IsNoneBetweenPartsOfMemoryOfTheirOwn) {
  const Box box{{0, 0}, {3, 4}};
  const Area first{{0, 0, box, {4, 1}}, 16};
  EXPECT_TRUE(may_overwrite(first, {{0, 12 * 16, box, {1, 3}}, 16}, {false, false}));
  EXPECT_FALSE(may_overwrite(first, {{0, 11 * 16, box, {1, 3}}, 16}, {false, false}));
  EXPECT_TRUE(may_overwrite(first, {{1, 0, box, {1, 3}}, 16}, {false, false}));
}

}  // namespace
}  // namespace weft
