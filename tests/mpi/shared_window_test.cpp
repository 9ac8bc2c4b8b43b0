// Shared windows, got in both ways: data and counters seen by all ranks, sleeping and waking, and
// the errors and ways out when memory is short or a way is barred. System calls are replaced here,
// so that they can be made to fail.
#include "mpi/shared_window.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "support.hpp"

namespace {
std::atomic<int> memfd_error{0};
std::atomic<int> reserve_error{0};
std::atomic<bool> other_process_namespace{false};

int failed_with(int error) {
  errno = error;
  return -1;
}
}  // namespace

extern "C" {
int memfd_create(const char* name, unsigned int flags) noexcept {
  if (memfd_error != 0) return failed_with(memfd_error);
  return static_cast<int>(syscall(SYS_memfd_create, name, flags));
}
int fallocate(int descriptor, int mode, off_t offset, off_t length) {
  if (reserve_error != 0) return failed_with(reserve_error);
  return static_cast<int>(syscall(SYS_fallocate, descriptor, mode, offset, length));
}
ssize_t readlink(const char* __restrict path, char* __restrict target, size_t size) noexcept {
  if (other_process_namespace && std::strncmp(path, "/proc/", 6) == 0) path = "/proc/self/exe";
  return syscall(SYS_readlink, path, target, size);
}
}

namespace weft {
namespace {

using testing::error_of;
using testing::texts_of_all;
using testing::world;

/// Sets WEFT_WINDOW, and puts everything back at the end.
class Surroundings {
 public:
  explicit Surroundings(const char* way) { setenv("WEFT_WINDOW", way, 1); }
  ~Surroundings() {
    unsetenv("WEFT_WINDOW");
    unsetenv("OMPI_MCA_osc_sm_backing_directory");
    memfd_error = reserve_error = 0;
    other_process_namespace = false;
  }
};

std::string same_error(std::int64_t bytes) {
  const Communicator node = world().split_node();
  const std::string mine = error_of([&] { SharedWindow window(node, bytes, 1); });
  for (const std::string& other : texts_of_all(node, mine)) EXPECT_EQ(mine, other);
  return mine;
}

std::size_t open_files() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}

bool maps_a_window() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("memfd:weft-") != std::string::npos) return true;
  return false;
}

class Window : public ::testing::TestWithParam<const char*> {
 protected:
  static std::uintptr_t place_in_page(const SharedWindow& window, int rank) {
    return reinterpret_cast<std::uintptr_t>(window.base(rank)) % 4096;
  }

  Surroundings surroundings_{GetParam()};
  Communicator node_ = world().split_node();
};

TEST_P(Window, ShowsTheDataOfEveryRankToAll) {
  const auto size_of = [](int rank) {
    return std::int64_t{rank} * 3000 + (rank % 3 == 1 ? 0 : 5'000'000);
  };
  const int me = node_.rank();
  SharedWindow window(node_, size_of(me), 2);
  window.publish(1, me + 1);
  EXPECT_STREQ(std::string(GetParam()) == "mpi" ? "MPI window" : "memfd", window.kind());
  EXPECT_EQ(node_.size(), window.ranks());
  EXPECT_GE(window.bytes(), size_of(me) + 2 * 64);
  EXPECT_LE(window.bytes(), size_of(me) + 3 * 4096);
  for (std::int64_t i = 0; i < size_of(me); ++i) ASSERT_EQ(std::byte{0}, window.base(me)[i]) << i;
  node_.barrier();
  for (std::int64_t i = 0; i < size_of(me); ++i)
    window.base(me)[i] = static_cast<std::byte>(i * 7 + me);
  node_.barrier();
  for (int rank = 0; rank < node_.size(); ++rank) {
    EXPECT_EQ(0u, place_in_page(window, rank) % 64);
    for (int other = 0; other < rank && node_.size() <= 64; ++other) {
      if (size_of(rank) == 0 || size_of(other) == 0) continue;
      EXPECT_NE(place_in_page(window, rank), place_in_page(window, other));
    }
    EXPECT_TRUE(window.reached(rank, 1, rank + 1));
    EXPECT_FALSE(window.reached(rank, 1, rank + 2));
    for (std::int64_t i = 0; i < size_of(rank); ++i)
      ASSERT_EQ(static_cast<std::byte>(i * 7 + rank), window.base(rank)[i])
          << "byte " << i << " of rank " << rank;
  }
  node_.barrier();
}

TEST_P(Window, CountersStartAtZeroAndAreSeparate) {
  SharedWindow window(node_, 0, 5);
  for (int rank = 0; rank < node_.size(); ++rank)
    for (int index = 0; index < 5; ++index) {
      EXPECT_TRUE(window.reached(rank, index, 0));
      EXPECT_FALSE(window.reached(rank, index, 1));
    }
  node_.barrier();
  const std::int64_t beyond_32_bits = std::int64_t{1} << 33;
  for (int index = 0; index < 5; ++index)
    window.publish(index, beyond_32_bits + 10 * node_.rank() + index);
  node_.barrier();
  for (int rank = 0; rank < node_.size(); ++rank)
    for (int index = 0; index < 5; ++index) {
      EXPECT_TRUE(window.reached(rank, index, beyond_32_bits + 10 * rank + index));
      EXPECT_FALSE(window.reached(rank, index, beyond_32_bits + 10 * rank + index + 1));
    }
  node_.barrier();
}

// Data passes around the ring of ranks; a rank writes only after its neighbour's counter has told
// it to.
TEST_P(Window, CountersOrderTheData) {
  SharedWindow window(node_, 64, 1);
  const int me = node_.rank();
  const int before = (me + node_.size() - 1) % node_.size();
  const auto number = [&](int rank) {
    return reinterpret_cast<volatile std::int64_t*>(window.base(rank));
  };
  std::mt19937 random(static_cast<unsigned>(me));
  for (std::int64_t round = 1; round <= 200; ++round) {
    if (me != 0) window.wait(before, 0, round);
    if (round % 20 == 0) testing::random_delay(random, 3000);
    if (me == 0) {
      *number(me) = round;
    } else {
      ASSERT_EQ(round + me - 1, *number(before));
      *number(me) = *number(before) + 1;
    }
    window.publish(0, round);
    if (me == 0) window.wait(node_.size() - 1, 0, round);
  }
  node_.barrier();
}

TEST_P(Window, AWaiterThatSleepsIsWoken) {
  SharedWindow window(node_, 0, 1);
  for (std::int64_t round = 1; round <= 20; ++round) {
    if (node_.rank() == 0) {
      usleep(3000);  // the others are asleep by now
      window.publish(0, round);
    } else {
      window.wait(0, 0, round);
    }
    EXPECT_TRUE(window.reached(0, 0, round));
    node_.barrier();
  }
}

TEST_P(Window, AWaiterMakesProgress) {
  SharedWindow window(node_, 0, 1);
  struct State {
    SharedWindow* window;
    int calls;
  } state{&window, 0};
  const auto progress = [](void* context) {
    auto* now = static_cast<State*>(context);
    if (++now->calls == 3) now->window->publish(0, 1);  // nobody waits in vain
  };
  window.wait(node_.rank(), 0, 1, {progress, &state});
  EXPECT_EQ(3, state.calls);
  node_.barrier();
}

TEST_P(Window, WaitingAndPublishingAllocateNothing) {
  SharedWindow window(node_, 0, 1);
  const std::int64_t before = testing::allocations();
  for (std::int64_t round = 1; round <= 5; ++round) {
    window.publish(0, round);
    for (int rank = 0; rank < node_.size(); ++rank) window.wait(rank, 0, round);
  }
  EXPECT_EQ(before, testing::allocations());
  node_.barrier();
}

TEST_P(Window, LeavesNothingBehind) {
  { SharedWindow window(node_, 10'000'000, 3); }  // what MPI opens once is open now
  const std::size_t before = open_files();
  for (int i = 0; i < 3; ++i) {
    SharedWindow window(node_, 10'000'000, 3);
    const bool memfd = window.kind() == std::string("memfd");
    EXPECT_EQ(memfd, maps_a_window());
    EXPECT_TRUE(!memfd || open_files() == before);
  }
  EXPECT_EQ(before, open_files());
  EXPECT_FALSE(maps_a_window());
}

TEST_P(Window, RefusesMoreThanThereIsWithNumbers) {
  const std::int64_t petabyte = std::int64_t{1} << 50;
  const std::string error = same_error(petabyte);
  EXPECT_EQ(0u, error.find("out_of_memory: ")) << error;
  const std::string words = "the ranks of a node want ";
  const std::size_t number = error.find(words);
  ASSERT_NE(std::string::npos, number) << error;
  EXPECT_GE(std::stoll(error.substr(number + words.size())), node_.size() * petabyte);
  EXPECT_EQ(
      0u, same_error(std::numeric_limits<std::int64_t>::max() - 4096 * 8).find("out_of_memory: "));
  EXPECT_EQ("", same_error(4096));  // the next one works
}

INSTANTIATE_TEST_SUITE_P(, Window, ::testing::Values("memfd", "mpi"),
                         [](const auto& way) { return std::string(way.param); });

TEST(WindowChoice, RefusesAnUnknownWay) {
  const Surroundings surroundings("memfs");
  EXPECT_EQ("invalid_argument: WEFT_WINDOW is \"memfs\", expected memfd or mpi", same_error(4096));
}

TEST(WindowChoice, RefusesDifferentWaysOnTheRanksOfANode) {
  if (world().size() == 1) GTEST_SKIP() << "needs 2 ranks";
  const Surroundings surroundings(world().rank() == 0 ? "mpi" : "memfd");
  EXPECT_EQ(0u, same_error(4096).find("rank_mismatch: the values of WEFT_WINDOW differ"));
}

/// The way that is taken when `last` alone cannot make or open a memfd.
void expect_fallback(const std::function<void()>& bar) {
  const Surroundings surroundings("");
  const Communicator node = world().split_node();
  if (node.rank() == node.size() - 1) bar();
  const SharedWindow window(node, 100'000, 1);
  EXPECT_STREQ("MPI window", window.kind());
  EXPECT_FALSE(maps_a_window());
  node.barrier();
}

TEST(WindowChoice, TakesMpiWhereOneRankHasNoMemfd) {
  expect_fallback([] { memfd_error = ENOSYS; });
}

TEST(WindowChoice, TakesMpiWhereOneRankCannotReserve) {
  expect_fallback([] { reserve_error = EOPNOTSUPP; });
}

TEST(WindowChoice, TakesMpiWhereARankDoesNotSeeTheOthersProcesses) {
  if (world().size() == 1) GTEST_SKIP() << "needs 2 ranks";
  expect_fallback([] { other_process_namespace = true; });
}

TEST(WindowChoice, TellsWhyTheWayAskedForFails) {
  const Surroundings surroundings("memfd");
  memfd_error = ENOSYS;
  EXPECT_EQ(
      "unavailable: shared memory by memfd is not available: memfd_create: Function not "
      "implemented",
      same_error(4096));
}

TEST(WindowChoice, TellsWhenReservingRunsOutOfMemory) {
  const Surroundings surroundings("");
  const int last = world().size() - 1;
  if (world().rank() == last) reserve_error = ENOSPC;
  const std::string who = last == 0 ? "" : "rank " + std::to_string(last) + ": ";
  EXPECT_EQ("out_of_memory: " + who +
                "shared memory does not fit into memory: this rank wants 8192 bytes (0.0 "
                "MiB): No space left on "
                "device",
            same_error(4097));
}

TEST(WindowChoice, ChecksTheRoomOfTheDirectoryThatMpiUses) {
  const Surroundings surroundings("mpi");
  setenv("OMPI_MCA_osc_sm_backing_directory", "/proc", 1);  // a file system without any room
  const std::string error = same_error(4096);
  EXPECT_EQ(0u, error.find("out_of_memory: ")) << error;
  EXPECT_NE(std::string::npos, error.find("free in /proc are 0 bytes")) << error;
  EXPECT_NE(std::string::npos, error.find("pairwise")) << error;
}

TEST(WindowPages, LargePiecesAreAlignedToHugePages) {
  const Surroundings surroundings("memfd");
  const Communicator node = world().split_node();
  const SharedWindow window(node, 5'000'000, 1);
  for (int rank = 0; rank < node.size(); ++rank)
    EXPECT_LT(reinterpret_cast<std::uintptr_t>(window.base(rank)) % (2u << 20), 4096u);
}

}  // namespace
}  // namespace weft
