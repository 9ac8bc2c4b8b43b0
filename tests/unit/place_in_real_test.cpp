// Where complex elements lie in a real array until they become what it holds.
#include "plan/place_in_real.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/cache.hpp"
#include "plan/overlap.hpp"

namespace weft {
namespace {

/// An array of 4 x 8 x 6 reals, with so many from one slice to the next.
std::vector<Port> real_array(std::int64_t pitch) {
  return {{View{1, 0, {{0, 0, 0}, {4, 8, 6}}, {pitch, 6, 1}}, 7, 2}};
}

TEST(PlaceInReal, LeavesOutRowsOfSlicesWithoutRoom) {
  // A slice has room for 24 complex numbers, which are 6 rows of 4.
  const Box box{{0, 0, 0}, {4, 8, 4}};
  const auto place = place_in_real(box, 16, real_array(50), {0, 1, 2});
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->room.view, (View{1, 0, {{0, 0, 0}, {4, 6, 4}}, {25, 4, 1}}));
  EXPECT_EQ(place->room.field_bytes, 7);
  EXPECT_EQ(place->room.chunk, -1);
  EXPECT_EQ(place->rest, (std::vector<Box>{{{0, 6, 0}, {4, 8, 4}}}));
}

TEST(PlaceInReal, DriftsWhereSlicesCutComplexNumbers) {
  // Each slice of 24 complex numbers begins 8 bytes nearer to that of the result; the last at it.
  const Box box{{0, 0, 0}, {4, 8, 4}};
  const auto place = place_in_real(box, 16, real_array(49), {0, 1, 2});
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->room.view, (View{1, 32, {{0, 0, 0}, {4, 5, 4}}, {24, 4, 1}}));
  EXPECT_EQ(place->rest, (std::vector<Box>{{{0, 5, 0}, {4, 8, 4}}}));
  EXPECT_TRUE(
      may_overwrite({place->room.view, 16}, {real_array(49)[0].view, 8}, {false, true, true}));
}

TEST(PlaceInReal, IsNoneWhereSlicesDoNotFit) {
  const Box box{{0, 0, 0}, {4, 8, 4}};
  EXPECT_FALSE(place_in_real({{0, 0, 0}, {50, 8, 4}}, 16, real_array(49), {0, 1, 2}));
  std::vector<Port> with_gaps = real_array(56);
  with_gaps[0].view.strides = {56, 7, 1};
  EXPECT_FALSE(place_in_real(box, 16, with_gaps, {0, 1, 2}));
  EXPECT_FALSE(place_in_real({{0, 0, 0}, {4, 8, 0}}, 16, real_array(50), {0, 1, 2}));
}

TEST(PlaceInReal, IsForTheLastEighthOfSlicesThatDoNotStayInTheCache) {
  const std::int64_t large = second_level_cache_bytes() / 4;
  EXPECT_FALSE(place_in_real({{0, 0, 0}, {4, 8, 4}}, large, real_array(50), {0, 1, 2}));
  std::vector<Port> longer = real_array(50);
  longer[0].view.box.upper[0] = 24;
  const auto place = place_in_real({{0, 0, 0}, {24, 8, 4}}, large, longer, {0, 1, 2});
  ASSERT_TRUE(place.has_value());
  const Box last{{21, 0, 0}, {24, 6, 4}};
  EXPECT_EQ(place->room.view, (View{1, 21 * 25 * large, last, {25, 4, 1}}));
  EXPECT_EQ(place->rest, (std::vector<Box>{{{0, 0, 0}, {21, 8, 4}}, {{21, 6, 0}, {24, 8, 4}}}));
}

/// An array of 5 rows of so many reals.
std::vector<Port> real_rows(std::int64_t reals, std::int64_t pitch) {
  return {{View{1, 0, {{0, 0}, {5, reals}}, {pitch, 1}}, 7, 2}};
}

TEST(PlaceInReal, LeavesOutTheLastColumnsOfRows) {
  for (const std::int64_t reals : {8, 9}) {
    const auto place = place_in_real({{0, 0}, {5, 5}}, 16, real_rows(reals, 10), {0, 1});
    ASSERT_TRUE(place.has_value());
    EXPECT_EQ(place->room.view, (View{1, 0, {{0, 0}, {5, 4}}, {5, 1}}));
    EXPECT_EQ(place->room.field_bytes, 7);
    EXPECT_EQ(place->room.chunk, -1);
    EXPECT_EQ(place->rest, (std::vector<Box>{{{0, 4}, {5, 5}}}));
    EXPECT_TRUE(
        may_overwrite({place->room.view, 16}, {real_rows(reals, 10)[0].view, 8}, {false, true}));
  }
}

TEST(PlaceInReal, IsNoneWhereRowsBeginInsideComplexNumbers) {
  EXPECT_FALSE(place_in_real({{0, 0}, {5, 5}}, 16, real_rows(9, 9), {0, 1}));
  EXPECT_FALSE(place_in_real({{0, 0}, {5, 1}}, 16, real_rows(1, 2), {0, 1}));
  EXPECT_FALSE(place_in_real({{0}, {5}}, 16, {{View{1, 0, {{0}, {8}}, {1}}, 0, 0}}, {0}));
}

}  // namespace
}  // namespace weft
