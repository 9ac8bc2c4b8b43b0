// How blocks are cut into chunks: along one axis and along two, whether or not the parts come out
// even.
#include <gtest/gtest.h>

#include "exchange/exchange.hpp"

namespace weft {
namespace {

TEST(Chunks, AreConsecutiveAndAsEvenAsPossible) {
  const Box block{{3, 10, 0}, {5, 17, 4}};
  for (const int chunks : {1, 2, 3, 7, 10}) {
    std::int64_t next = 10;
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const Box part = chunk_of(block, {.axis = 1, .late_axis = 0}, chunks, chunk);
      EXPECT_EQ(next, part.lower[1]);
      EXPECT_GE(part.extent(1), 7 / chunks);
      EXPECT_LE(part.extent(1), (7 + chunks - 1) / chunks);
      EXPECT_EQ(2, part.extent(0));
      EXPECT_EQ(4, part.extent(2));
      next = part.upper[1];
    }
    EXPECT_EQ(17, next);
  }
}

TEST(Chunks, OfTwoAxesBeginWithAllPartsOfTheFirstLatePart) {
  const Box block{{3, 10}, {5, 16}};
  const Cut cut{.axis = 1, .late_axis = 0, .late_parts = 2};
  const Box parts[] = {{{3, 10}, {4, 12}}, {{3, 12}, {4, 14}}, {{3, 14}, {4, 16}},
                       {{4, 10}, {5, 12}}, {{4, 12}, {5, 14}}, {{4, 14}, {5, 16}}};
  for (int chunk = 0; chunk < 6; ++chunk) EXPECT_EQ(chunk_of(block, cut, 6, chunk), parts[chunk]);
}

}  // namespace
}  // namespace weft
