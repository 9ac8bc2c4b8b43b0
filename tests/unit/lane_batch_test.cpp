// LaneBatch and its Trial: what is known of rows changes how they are loaded and stored, and
// nothing else: the same bits come out.
#include "engine/weft/lane_batch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/aligned_memory.hpp"
#include "engine/weft/trial.hpp"
#include "oracle.hpp"

namespace weft {
namespace {

/// How often each way is taken in so many calls, if the ways take so many seconds.
std::vector<int> calls_of_ways(Trial& trial, int calls, const std::vector<double>& seconds) {
  std::vector<int> taken(seconds.size());
  for (int call = 0; call < calls; ++call) {
    const int way = trial.next();
    trial.note(way, seconds.at(static_cast<std::size_t>(way)));
    ++taken.at(static_cast<std::size_t>(way));
  }
  return taken;
}

class Trials : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ways, Trials, ::testing::Range(1, Trial::kMostWays + 1));

TEST_P(Trials, TakeTheFastestWayAndTryTheOthers) {
  const int ways = GetParam();
  for (int fastest = 0; fastest < ways; ++fastest) {
    std::vector<double> seconds(static_cast<std::size_t>(ways), 2);
    seconds[static_cast<std::size_t>(fastest)] = 1;
    Trial trial(ways);
    const std::vector<int> taken = calls_of_ways(trial, 4096, seconds);
    for (int way = 0; way < ways; ++way) {
      const int calls = taken[static_cast<std::size_t>(way)];
      if (way == fastest) {
        EXPECT_GE(calls, 4096 - 32 * (ways - 1)) << "way " << way << " of " << ways;
      } else {
        EXPECT_GT(calls, 4) << "way " << way << " of " << ways;
      }
    }
  }
}

TEST(Trial, ChangesItsWayWhenTimesDo) {
  Trial trial(3);
  calls_of_ways(trial, 4096, {1, 2, 2.5});
  calls_of_ways(trial, 2 * 4096, {3, 2.5, 2});
  EXPECT_GT(calls_of_ways(trial, 1000, {3, 2.5, 2})[2], 900);
}

TEST(Trial, OneInterruptionDoesNotChangeItsWay) {
  Trial trial(2);
  calls_of_ways(trial, 100, {1, 2});
  trial.note(0, 1000);
  EXPECT_LT(calls_of_ways(trial, 20, {1, 2})[1], 3);
}

/// Rows of some lanes, so many bytes apart, each twice: where they are loaded and elsewhere.
template <class Real>
class Lanes {
 public:
  Lanes(std::int64_t n, std::int64_t count, std::int64_t pitch)
      : n_(n), pitch_(pitch), memory_(static_cast<std::size_t>(2 * n * pitch)) {
    std::memset(memory_.data(), 0, memory_.bytes());
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < count; ++i)
        for (int part = 0; part < 2; ++part)
          reinterpret_cast<Real*>(row(j))[2 * i + part] =
              static_cast<Real>(test::sample({j}, static_cast<int>(i), part));
  }
  std::byte* row(std::int64_t j, bool elsewhere = false) {
    return memory_.data() + (j + (elsewhere ? n_ : 0)) * pitch_;
  }
  std::vector<std::byte> bytes() const {
    return {memory_.data(), memory_.data() + memory_.bytes()};
  }

 private:
  std::int64_t n_;
  std::int64_t pitch_;
  AlignedMemory memory_;
};

struct LaneCase {
  std::int64_t n;
  std::int64_t count;
  std::int64_t pitch;  ///< bytes from row to row
  bool in_place;       ///< else every second row is stored elsewhere
};

template <class Real>
std::unique_ptr<Batch> batch_of(std::int64_t n, std::int64_t count, Amount amount = Amount::small) {
  return engine_named("weft").make(
      {.precision = sizeof(Real) == 4 ? Precision::single : Precision::double_,
       .n = n,
       .count = count,
       .in_stride = count,
       .out_stride = count,
       .amount = amount});
}

/// What a batch needs besides, and behind it what it has to leave alone.
class Scratch {
 public:
  Scratch(const Batch& batch, bool streaming)
      : bytes_(static_cast<std::size_t>(batch.scratch_bytes(streaming))), memory_(bytes_ + 4096) {
    std::memset(memory_.data(), kUntouched, memory_.bytes());
  }
  std::byte* data() { return memory_.data(); }
  bool suffices() const {
    return std::all_of(memory_.data() + bytes_, memory_.data() + memory_.bytes(),
                       [](std::byte b) { return b == std::byte{kUntouched}; });
  }

 private:
  static constexpr unsigned char kUntouched = 0xa5;
  std::size_t bytes_;
  AlignedMemory memory_;
};

/// The memory after each of `calls` calls of one batch, each on the same data.
template <class Real>
std::vector<std::vector<std::byte>> results(const LaneCase& c, int calls, const Loading& loading,
                                            Amount amount, bool absent) {
  const auto batch = batch_of<Real>(c.n, c.count, amount);
  Scratch scratch(*batch, false);
  std::vector<std::vector<std::byte>> all;
  for (int call = 0; call < calls; ++call) {
    Lanes<Real> lanes(c.n, c.count, c.pitch);
    std::vector<std::byte*> in;
    std::vector<std::byte*> out;
    for (std::int64_t j = 0; j < c.n; ++j) {
      in.push_back(lanes.row(j));
      out.push_back(lanes.row(j, !c.in_place && j % 2 == 1));
    }
    batch->run_rows(in, out, loading, {.factor = 0.5, .absent = absent}, scratch.data());
    all.push_back(lanes.bytes());
  }
  EXPECT_TRUE(scratch.suffices());
  return all;
}

template <class Real>
void expect_same_bits(const LaneCase& c, const Loading& loading, Amount amount, bool absent) {
  SCOPED_TRACE("n " + std::to_string(c.n) + ", count " + std::to_string(c.count) + ", rows " +
               std::to_string(c.pitch) + " bytes apart");
  const auto expected = results<Real>(c, 1, {}, Amount::small, false).front();
  for (const auto& bytes : results<Real>(c, 3 * Trial::kMostWays, loading, amount, absent))
    EXPECT_EQ(bytes, expected);
}

template <class Real>
class LaneBatches : public ::testing::Test {};
using Reals = ::testing::Types<float, double>;
TYPED_TEST_SUITE(LaneBatches, Reals);

TYPED_TEST(LaneBatches, RowsAreTheSameHoweverTheyAreTaken) {
  constexpr std::int64_t kLanes = kWidth<TypeParam>;
  for (const std::int64_t n : {16, 60, 256, 400})
    for (const std::int64_t count : {kLanes, 8 * kLanes, 17 * kLanes + 1})
      for (const std::int64_t pitch : {8192, 8192 + 64})
        for (const Amount amount : {Amount::in_cache, Amount::large})
          expect_same_bits<TypeParam>({n, count, pitch, true},
                                      {.in_cache = amount == Amount::in_cache}, amount, false);
}

TYPED_TEST(LaneBatches, RowsThatAreFetchedToBeStoredAreTheSame) {
  constexpr std::int64_t kLanes = kWidth<TypeParam>;
  for (const std::int64_t n : {1, 16, 60, 61, 67, 256})
    for (const std::int64_t count : {std::int64_t{1}, kLanes, 5 * kLanes + 3})
      for (const std::int64_t pitch : {4096, 1040 + 8 * 64})
        for (const bool in_place : {false, true})
          expect_same_bits<TypeParam>({n, count, pitch, in_place}, {}, Amount::small, true);
}

/// How lanes are stored: `gap` reals between rows, the first of which begins at real `offset`.
struct Places {
  std::int64_t n;
  std::int64_t count;
  std::int64_t offset;
  std::int64_t gap;
  bool some_in_cache;
};

/// The memory around what is stored, after that.
template <class Real>
std::vector<Real> memory_after(const Places& c, bool streaming) {
  const auto batch = batch_of<Real>(c.n, c.count);
  Scratch scratch(*batch, streaming);
  Lanes<Real> lanes(c.n, c.count, 2 * c.count * static_cast<std::int64_t>(sizeof(Real)));
  const std::int64_t reals = c.offset + c.n * (2 * c.count + c.gap) + 64;
  const AlignedMemory memory(static_cast<std::size_t>(reals) * sizeof(Real));
  auto* const first = reinterpret_cast<Real*>(memory.data());
  std::fill_n(first, reals, Real{7});
  std::vector<std::byte*> in;
  std::vector<std::byte*> out;
  const std::unique_ptr<bool[]> in_cache(new bool[static_cast<std::size_t>(c.n)]);
  for (std::int64_t j = 0; j < c.n; ++j) {
    in.push_back(lanes.row(j));
    out.push_back(reinterpret_cast<std::byte*>(first + c.offset + j * (2 * c.count + c.gap)));
    in_cache[static_cast<std::size_t>(j)] = j % 5 == 3;
  }
  batch->run_rows(in, out, {},
                  {.factor = 0.5,
                   .streaming = streaming,
                   .in_cache = c.some_in_cache ? in_cache.get() : nullptr},
                  scratch.data());
  EXPECT_TRUE(scratch.suffices());
  return {first, first + reals};
}

TYPED_TEST(LaneBatches, RowsStoredPastTheCacheAreTheSameAndNothingElseIsTouched) {
  constexpr std::int64_t kLanes = kWidth<TypeParam>;
  for (const std::int64_t n : {1, 7, 16, 60, 67, 256})
    for (const std::int64_t count : {kLanes - 1, kLanes, kLanes + 1, 3 * kLanes + kLanes / 2,
                                     5 * kLanes + kLanes - 1, 17 * kLanes + 2})
      for (const std::int64_t offset : {0, 1, 2, 6, 7})
        for (const std::int64_t gap : {0, 1, 2, 16})
          for (const bool some_in_cache : {false, true}) {
            const Places c{n, count, offset, gap, some_in_cache};
            EXPECT_EQ(memory_after<TypeParam>(c, true), memory_after<TypeParam>(c, false))
                << "n " << n << ", count " << count << ", offset " << offset << ", gap " << gap
                << (some_in_cache ? ", some in the cache" : "");
          }
}

}  // namespace
}  // namespace weft
