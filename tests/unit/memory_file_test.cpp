// Files in memory: what a peer maps is what the owner has, until the owner gives it back. A process
// can be its own peer.
#include "mpi/memory_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>

#include "weft/error.hpp"

namespace weft {
namespace {

constexpr std::int64_t kBytes = std::int64_t{4} << 20;

bool is_all(const std::byte* memory, std::int64_t bytes, std::byte value) {
  return std::all_of(memory, memory + bytes, [&](std::byte byte) { return byte == value; });
}

TEST(MemoryFile, IsZeroedAndSeenByPeers) {
  for (const std::int64_t bytes : {kPageBytes, kBytes}) {
    const MemoryFile file(bytes);
    EXPECT_EQ(file.bytes(), bytes);
    EXPECT_TRUE(is_all(file.data(), bytes, std::byte{0}));
    const Mapping peer = map_file_of_peer(file.name());
    ASSERT_NE(peer.data(), file.data());
    std::fill_n(file.data(), bytes, std::byte{7});
    EXPECT_TRUE(is_all(peer.data(), bytes, std::byte{7}));
    peer.data()[bytes - 1] = std::byte{8};
    EXPECT_EQ(file.data()[bytes - 1], std::byte{8});
  }
}

TEST(MemoryFile, GoesWhenItIsDiscardedAlthoughPeersMapIt) {
  MemoryFile file(kBytes);
  std::fill_n(file.data(), kBytes, std::byte{7});
  const Mapping peer = map_file_of_peer(file.name());
  file.discard();
  EXPECT_TRUE(is_all(peer.data(), kBytes, std::byte{0}));
}

TEST(MemoryFile, IsNotFoundWhereItsNumberMeansAnother) {
  MemoryFile file(kPageBytes);
  MemoryFileName name = file.name();
  ++name.token;
  EXPECT_THROW(map_file_of_peer(name), Error);
  name = file.name();
  file.close();
  EXPECT_THROW(map_file_of_peer(name), Error);
}

}  // namespace
}  // namespace weft
