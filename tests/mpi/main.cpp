// Runs the tests on all ranks at once. Failures are printed by the rank that has them, with its
// number; the exit status is that of all ranks together.
#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <optional>

#include "support.hpp"

namespace {
std::atomic<std::int64_t> allocation_count{0};

void* counted(std::size_t bytes, std::size_t alignment) {
  allocation_count.fetch_add(1, std::memory_order_relaxed);
  void* memory = std::aligned_alloc(
      alignment, (std::max(bytes, alignment) + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
}  // namespace

// Not inlined: GCC would then warn that free() gets what some operator new has returned.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  return counted(bytes, alignof(std::max_align_t));
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace weft::testing {

namespace {
std::optional<Communicator> the_world;  // lives on after MPI_Finalize, on purpose
}

const Communicator& world() {
  if (!the_world) the_world = Communicator::duplicate(MPI_COMM_WORLD);
  return *the_world;
}

std::int64_t allocations() { return allocation_count.load(std::memory_order_relaxed); }

std::vector<std::string> texts_of_all(const Communicator& comm, const std::string& text) {
  const auto length = static_cast<std::size_t>(comm.max(static_cast<std::int64_t>(text.size())));
  std::vector<std::int64_t> characters(length, 0);
  std::copy(text.begin(), text.end(), characters.begin());
  const std::vector<std::int64_t> all = comm.gather(characters);
  std::vector<std::string> texts(static_cast<std::size_t>(comm.size()));
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i] != 0) texts[i / length].push_back(static_cast<char>(all[i]));
  return texts;
}

Layout grid_layout(const Shape& shape, const std::vector<int>& axes, int ranks) {
  std::vector<int> parts(static_cast<std::size_t>(shape.size()), 1);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int axes_left = static_cast<int>(axes.size() - i);
    int factor = 1;
    for (int f = 1; f <= ranks; ++f) {
      int power = 1;
      for (int k = 0; k < axes_left; ++k) power *= f;
      if (ranks % f == 0 && power <= ranks) factor = f;
    }
    parts[static_cast<std::size_t>(axes[i])] = axes_left == 1 ? ranks : factor;
    ranks /= factor;
  }
  return Layout::from_grid(shape, ProcessGrid::from_parts(parts));
}

Layout uneven_layout(const Shape& shape, int ranks, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Box> boxes{Box::whole(shape)};
  while (static_cast<int>(boxes.size()) < ranks) {
    Box& largest = *std::max_element(boxes.begin(), boxes.end(), [](const Box& a, const Box& b) {
      return a.volume() < b.volume();
    });
    const int axis = static_cast<int>(random() % static_cast<unsigned>(shape.size()));
    const std::int64_t cut =
        largest.lower[axis] + random() % static_cast<unsigned>(largest.extent(axis) + 1);
    Box rest = largest;
    largest.upper[axis] = rest.lower[axis] = cut;
    boxes.push_back(rest);
  }
  return Layout::from_boxes(shape, boxes);
}

void random_delay(std::mt19937& random, int most_microseconds) {
  usleep(static_cast<useconds_t>(random() % static_cast<unsigned>(most_microseconds + 1)));
}

}  // namespace weft::testing

namespace {

class RankPrinter final : public testing::EmptyTestEventListener {
 public:
  explicit RankPrinter(int rank) : rank_(rank) {}

  void OnTestStart(const testing::TestInfo& test) override {
    name_ = std::string(test.test_suite_name()) + "." + test.name();
    printed_ = 0;
    if (rank_ != 0 || GTEST_FLAG_GET(brief)) return;
    std::printf("[ RUN      ] %s\n", name_.c_str());
    std::fflush(stdout);  // so that the last name is that of a test that ends the program
  }

  // GoogleTest holds a lock here that asking it for the current test would take again.
  void OnTestPartResult(const testing::TestPartResult& part) override {
    if (!part.failed() || ++printed_ > kMostPrinted) return;
    std::printf("[rank %d] %s, %s:%d: %s\n", rank_, name_.c_str(),
                part.file_name() ? part.file_name() : "", part.line_number(), part.message());
    std::fflush(stdout);
  }

  // No rank starts the next test while another is still in this one.
  void OnTestEnd(const testing::TestInfo& test) override {
    int failed = test.result()->Failed() ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (failed != 0) ++failed_tests_;
    if (rank_ != 0) return;
    if (failed != 0) std::printf("[  FAILED  ] %s on %d ranks\n", name_.c_str(), failed);
    std::fflush(stdout);
  }

  void OnTestProgramEnd(const testing::UnitTest& all) override {
    if (rank_ != 0) return;
    std::printf("%d tests on %d ranks: %d failed, %d skipped\n", all.test_to_run_count(),
                weft::testing::world().size(), failed_tests_, all.skipped_test_count());
  }

 private:
  static constexpr int kMostPrinted = 10;  // of one test on one rank

  int rank_;
  std::string name_;
  int printed_ = 0;
  int failed_tests_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  testing::InitGoogleTest(&argc, argv);
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new RankPrinter(weft::testing::world().rank()));
  int status = RUN_ALL_TESTS();
  MPI_Allreduce(MPI_IN_PLACE, &status, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return status;
}
