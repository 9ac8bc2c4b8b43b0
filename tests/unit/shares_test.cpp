// Shares deal out each item once, to whoever asks.
#include "plan/shares.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace weft {
namespace {

TEST(Shares, DealOutEachItemOnceToThreadsThatWorkAtOnce) {
  for (const int threads : {1, 2, 3, 7})
    for (const std::int64_t items : {0, 1, 2, 5, 64, 1000, 100003}) {
      Shares shares(threads);
      for (int round = 0; round < 3; ++round) {  // shares are dealt out again and again
        shares.deal(items);
        std::vector<int> done(static_cast<std::size_t>(items), 0);
        std::vector<std::thread> team;
        for (int thread = 0; thread < threads; ++thread)
          team.emplace_back([&, thread] {
            for (ItemRange run = shares.next(thread); !run.empty(); run = shares.next(thread))
              for (std::int64_t item = run.first; item < run.last; ++item)
                ++done[static_cast<std::size_t>(item)];
          });
        for (std::thread& one : team) one.join();
        EXPECT_EQ(std::ranges::count(done, 1), items) << threads << " threads";
      }
    }
}

TEST(Shares, AreNeighbouringItemsFromTheFirstToTheLast) {
  Shares shares(2);
  shares.deal(1000);
  std::int64_t last = 500;
  while (last < 1000) {
    const ItemRange run = shares.next(1);
    ASSERT_EQ(run.first, last);
    ASSERT_GT(run.last, run.first);
    last = run.last;
  }
  EXPECT_EQ(last, 1000);
}

TEST(Shares, OfAThreadThatIsLateAreTakenFromTheirEnd) {
  Shares shares(2);
  shares.deal(8);
  for (std::int64_t item = 0; item < 4; ++item) EXPECT_EQ(shares.next(0).first, item);
  EXPECT_EQ(shares.next(0).first, 7);
  EXPECT_EQ(shares.next(1).first, 4);
  EXPECT_EQ(shares.next(0).first, 6);
  EXPECT_EQ(shares.next(1).first, 5);
  EXPECT_TRUE(shares.next(0).empty());
  EXPECT_TRUE(shares.next(1).empty());
}

}  // namespace
}  // namespace weft
