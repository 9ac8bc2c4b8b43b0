// Slices between fused stages: which may lie in the array itself, and which of them stay in the
// cache.
#include "plan/slices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/cache.hpp"
#include "engine/instructions.hpp"

namespace weft {
namespace {

/// An array of 4 x 8 rows of 32 complex doubles, `gap` elements apart.
std::vector<Port> array_with_gaps(std::int64_t gap) {
  const std::int64_t row = 32 + gap;
  return {{View{0, 0, {{0, 0, 0}, {4, 8, 32}}, {8 * row, row, 1}}}};
}

TEST(Slices, SuitTheArrayWhereTheyStayInTheCache) {
  const std::int64_t cache = second_level_cache_bytes();
  EXPECT_TRUE(suit_slices(array_with_gaps(0), 16, cache / 8));
  EXPECT_TRUE(suit_slices(array_with_gaps(4), 16, cache / 2));
  EXPECT_FALSE(suit_slices(array_with_gaps(0), 16, cache));
}

TEST(Slices, OfRowsThatBeginWithinLinesSuitTheArrayIfSmallOrLarge) {
  const std::int64_t cache = second_level_cache_bytes();
  EXPECT_TRUE(suit_slices(array_with_gaps(1), 16, 4096));
  EXPECT_TRUE(suit_slices(array_with_gaps(1), 16, cache / 2));
  EXPECT_FALSE(suit_slices(array_with_gaps(1), 16, cache));
  if (cache / 4 > 96 * 1024) {
    EXPECT_FALSE(suit_slices(array_with_gaps(1), 16, cache / 4));
  }
}

TEST(Slices, OfRealRowsAreCutBetweenGroupsOfThem) {
  const Box box{{0, 5, 0}, {4, 69, 9}};
  const auto cut_at = [&](int axis, std::int64_t at) {
    Port before{View{0, 0, box, {}}};
    Port after = before;
    before.view.box.upper[axis] = after.view.box.lower[axis] = at;
    return std::vector<Port>{before, after};
  };
  EXPECT_FALSE(cut_groups(cut_at(1, 5 + 32), box, 2, 0));
  EXPECT_TRUE(cut_groups(cut_at(1, 32), box, 2, 0));
  EXPECT_FALSE(cut_groups(cut_at(0, 3), box, 2, 0));  // between slices
  EXPECT_FALSE(cut_groups(cut_at(2, 4), box, 2, 0));  // rows in pieces
}

// Slices of 8 x 62 reals, and at the same place of 8 x 32 complex numbers, which are longer.
TEST(Slices, AreStoredWhereTheyWereLoadedAsLongAsThatStaysInTheCache) {
  constexpr int kSlot = kSlotOutput;
  const Box box{{0, 0, 0}, {4, 8, 32}};
  const auto loaded = [&](int slot, std::int64_t first_row, std::int64_t last_row) {
    Box rows = box;
    rows.lower[1] = first_row;
    rows.upper[1] = last_row;
    return Area{{slot, first_row * 32 * 16, rows, {8 * 32, 32, 1}}, 16};
  };
  const auto in_cache_from = [&](const std::vector<Area>& sources, std::int64_t slice_bytes) {
    const Port result{View{kSlot, 0, {{0, 0, 0}, {4, 8, 62}}, {8 * 62, 62, 1}}};
    return with_what_is_in_cache({result}, 8, sources, 0, slice_bytes).front().in_cache;
  };
  constexpr std::int64_t kFew = 4096;
  EXPECT_TRUE(in_cache_from({loaded(kSlot, 0, 8)}, kFew));
  EXPECT_TRUE(in_cache_from({loaded(kSlot, 0, 4), loaded(kSlot, 4, 8)}, kFew));
  EXPECT_FALSE(in_cache_from({loaded(kSlot, 0, 4), loaded(kSlotInput, 4, 8)}, kFew));
  EXPECT_FALSE(in_cache_from({loaded(kSlotInput, 0, 8)}, kFew));
  // The end of the last slice is loaded 4 * (8 * 32 * 16 - 8 * 62 * 8) bytes behind it.
  const std::int64_t room = second_level_cache_bytes() * 5 / 8;
  EXPECT_TRUE(in_cache_from({loaded(kSlot, 0, 8)}, (room - 4 * 128) / 2));
  EXPECT_FALSE(in_cache_from({loaded(kSlot, 0, 8)}, (room - 4 * 128) / 2 + 1));
  // Slices of half the size are used up before results reach their place.
  Area half = loaded(kSlot, 0, 4);
  half.view.strides[0] /= 2;
  EXPECT_FALSE(in_cache_from({half}, (room - kFew) / 2));
}

TEST(Slices, OfTheirOwnHaveRowsAnOddNumberOfLinesApart) {
  const Layout whole = Layout::from_boxes({4, 8, 32}, {{{0, 0, 0}, {4, 8, 32}}});
  const auto [ports, bytes] = own_slices({whole, Element{}}, 0, {0, 1, 2}, 0);
  ASSERT_EQ(ports.size(), 1U);
  EXPECT_EQ(ports[0].view.slot, kSlotSlice);
  EXPECT_EQ(ports[0].view.strides, (Extents{0, 36, 1}));
  EXPECT_EQ(bytes, 8 * 36 * 16);
}

TEST(Slices, HaveRowsAnOddNumberOfLinesApartUnlessColumnsAloneFitIntoTheFirstLevelCache) {
  const std::int64_t column_bytes = 256 * 2 * chosen_instructions().register_bytes;
  EXPECT_EQ(lines_to_next_row(64, 256, column_bytes * 2), 65);  // what is loaded fits too
  EXPECT_EQ(lines_to_next_row(64, 256, column_bytes * 3 / 2), 64);
  EXPECT_EQ(lines_to_next_row(65, 256, column_bytes * 3 / 2), 72);
  EXPECT_EQ(lines_to_next_row(64, 256, column_bytes), 65);  // too long a column
}

TEST(Slices, AndResultsStayInACacheThatHoldsThem) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  const std::int64_t own = second_level_cache_bytes();
  EXPECT_TRUE(stay_in_cache(1 << 22, Reader::own, {kHuge, 0}));
  EXPECT_FALSE(stay_in_cache((1 << 22) + 1, Reader::own, {kHuge, 0}));
  for (const std::int64_t shared : {std::int64_t{0}, own}) {
    EXPECT_TRUE(stay_in_cache(own, Reader::peer, {kHuge, shared}));
    EXPECT_FALSE(stay_in_cache(own + 1, Reader::peer, {kHuge, shared}));
  }
  EXPECT_FALSE(
      stay_in_cache(std::max(own, std::int64_t{1} << 22) + 1, Reader::peer, {kHuge, kHuge}));
}

TEST(Slices, AndResultsForPeersWhoseCacheIsFarDoNotStayInOne) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  const SharedCache far{.part_bytes = 0, .is_near = false};
  const std::int64_t first = first_level_cache_bytes();
  EXPECT_TRUE(stay_in_cache(first, Reader::peer, {kHuge, far}));
  EXPECT_FALSE(stay_in_cache(first + 1, Reader::peer, {kHuge, far}));
  EXPECT_TRUE(stay_in_cache(1 << 22, Reader::own, {kHuge, far}));
}

TEST(Slices, AndResultsOfCallsThatACacheHoldsStayInIt) {
  constexpr std::int64_t kCache = std::int64_t{1} << 30;
  for (const Reader reader : {Reader::own, Reader::peer}) {
    EXPECT_TRUE(stay_in_cache(kCache / 16, reader, {kCache / 16 * 3, kCache}));
    EXPECT_FALSE(stay_in_cache(kCache / 16, reader, {kCache / 16 * 3 + 1, kCache}));
  }
}

}  // namespace
}  // namespace weft
