// src/base: arithmetic that throws where it would wrap, aligned memory, and what the system tells
// of caches.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/aligned_memory.hpp"
#include "base/cache.hpp"
#include "base/checked.hpp"
#include "weft/array.hpp"

namespace weft {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMostInt = std::numeric_limits<int>::max();
constexpr std::int64_t kLeastInt = std::numeric_limits<int>::min();

/// The error that `body` throws; its message must have the words.
template <class Body>
ErrorCode code_of(Body&& body, const std::string& words) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    return error.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorCode::internal;
}

TEST(Checked, IntsThatFitAreKept) {
  for (const std::int64_t value : {kLeastInt, std::int64_t{-1}, std::int64_t{0}, kMostInt})
    EXPECT_EQ(to_int(value, "it"), value);
}

TEST(Checked, IntsThatDoNotFitAreRefused) {
  for (const std::int64_t value : {kLeastInt - 1, kMostInt + 1, kMost, kLeast})
    EXPECT_EQ(code_of([&] { to_int(value, "the number of peers"); },
                      "the number of peers is " + std::to_string(value)),
              ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { to_int(kMost, "it", ErrorCode::internal); }, "32 bits"),
            ErrorCode::internal);
}

TEST(Checked, SizesAreNotNegative) {
  EXPECT_EQ(to_size(0, "it"), 0U);
  EXPECT_EQ(to_size(kMost, "it"), static_cast<std::size_t>(kMost));
  EXPECT_EQ(code_of([] { to_size(-1, "the size", ErrorCode::out_of_memory); }, "the size is -1"),
            ErrorCode::out_of_memory);
  EXPECT_EQ(code_of([] { to_size(kLeast, "it"); }, "0 or more"), ErrorCode::invalid_argument);
}

TEST(Checked, ProductsAndSumsThatFitAreExact) {
  EXPECT_EQ(checked_product(kMostInt, kMostInt, "it"), kMostInt * kMostInt);
  EXPECT_EQ(checked_product(kMost, 1, "it"), kMost);
  EXPECT_EQ(checked_product(kLeast, 0, "it"), 0);
  EXPECT_EQ(checked_sum(kMost - 5, 5, "it"), kMost);
  EXPECT_EQ(checked_sum(kMost, kLeast, "it"), -1);
}

TEST(Checked, ProductsAndSumsThatWrapAreRefused) {
  EXPECT_EQ(code_of([] { checked_product(std::int64_t{1} << 32, std::int64_t{1} << 31, "it"); },
                    "it is 4294967296 times 2147483648"),
            ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([] { checked_product(kLeast, -1, "it"); }, "64 bits"),
            ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([] { checked_sum(kMost, 1, "it", ErrorCode::out_of_memory); }, "plus 1"),
            ErrorCode::out_of_memory);
  EXPECT_EQ(code_of([] { checked_sum(kLeast, -1, "it"); }, "64 bits"), ErrorCode::invalid_argument);
}

// Small memory comes from the heap, large memory is mapped.
constexpr std::size_t kLarge = std::size_t{5} << 20;

TEST(AlignedMemory, IsAlignedAndAllOfItCanBeUsed) {
  for (const std::size_t bytes :
       {std::size_t{1}, std::size_t{64}, std::size_t{4097}, kLarge, kLarge + 1}) {
    const AlignedMemory memory(bytes);
    EXPECT_EQ(memory.bytes(), bytes);
    const std::size_t unit = memory.fresh() ? std::size_t{2} << 20 : kLineBytes;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % unit, 0U);
    if (memory.fresh()) {
      EXPECT_EQ(memory.data()[0], std::byte{0});
      EXPECT_EQ(memory.data()[bytes - 1], std::byte{0});
    }
    std::memset(memory.data(), 0xa5, bytes);
    EXPECT_EQ(memory.data()[bytes - 1], std::byte{0xa5});
  }
}

TEST(AlignedMemory, OfNoBytesHasNoAddress) {
  const AlignedMemory none;
  const AlignedMemory empty(0);
  EXPECT_EQ(none.data(), nullptr);
  EXPECT_EQ(empty.data(), nullptr);
  EXPECT_EQ(empty.bytes(), 0U);
}

TEST(AlignedMemory, IsMovedWithItsAddress) {
  for (const std::size_t bytes : {std::size_t{100}, kLarge}) {
    AlignedMemory first(bytes);
    std::byte* const data = first.data();
    AlignedMemory second(std::move(first));
    EXPECT_EQ(second.data(), data);
    EXPECT_EQ(first.data(), nullptr);  // NOLINT: what is left when it has been moved from
    EXPECT_EQ(first.bytes(), 0U);
    AlignedMemory third(10);
    third = std::move(second);
    EXPECT_EQ(third.data(), data);
    EXPECT_EQ(third.bytes(), bytes);
  }
}

TEST(AlignedMemory, ThatIsNotThereIsRefused) {
  for (const std::size_t bytes :
       {std::numeric_limits<std::size_t>::max(), std::numeric_limits<std::size_t>::max() / 2})
    EXPECT_EQ(code_of([&] { AlignedMemory memory(bytes); }, std::to_string(bytes) + " bytes"),
              ErrorCode::out_of_memory);
}

TEST(AllocateZeroed, IsZeroedAlsoWhenItWasUsedBefore) {
  for (const std::size_t bytes : {std::size_t{640}, kLarge}) {
    std::memset(allocate_zeroed(bytes).get(), 0xff, bytes);
    const auto memory = allocate_zeroed(bytes);
    const auto* data = static_cast<const unsigned char*>(memory.get());
    for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(data[i], 0) << i;
  }
}

TEST(AllocateZeroed, GivesEmptyArraysDistinctAddresses) {
  const auto first = allocate_zeroed(0);
  const auto second = allocate_zeroed(0);
  EXPECT_NE(first.get(), nullptr);
  EXPECT_NE(first.get(), second.get());
}

TEST(Caches, SizesAreRead) {
  EXPECT_EQ(bytes_of_size("32768K"), std::int64_t{32} << 20);
  EXPECT_EQ(bytes_of_size("4M"), std::int64_t{4} << 20);
  EXPECT_EQ(bytes_of_size("512"), 512);
  for (const char* const none : {"", "K", "-1K", "much"}) EXPECT_EQ(bytes_of_size(none), 0) << none;
}

TEST(Caches, ListsAreRead) {
  EXPECT_EQ(numbers_of_list("0"), std::vector<int>{0});
  EXPECT_EQ(numbers_of_list("0-3,8,16-17"), (std::vector<int>{0, 1, 2, 3, 8, 16, 17}));
  for (const char* const none : {"", "all", "3-", "4-2", "0;1"})
    EXPECT_TRUE(numbers_of_list(none).empty()) << none;
}

TEST(Caches, AreOfThisMachine) {
  EXPECT_GT(second_level_cache_bytes(), 0);
  const std::optional<ThirdLevelCache> third = third_level_cache();
  if (!third) GTEST_SKIP() << "the system tells of no third-level cache that is one for all";
  EXPECT_GT(third->bytes, 0);
  EXPECT_FALSE(third->processors.empty());
}

}  // namespace
}  // namespace weft
