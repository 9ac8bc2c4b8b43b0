// SharedWindow: data and counters in one piece of shared memory per rank, and waiting for counters
// by futex. How the memory is got is SharedMemory's.
#include "mpi/shared_window.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "base/cache.hpp"
#include "base/checked.hpp"
#include "base/rounding.hpp"
#include "mpi/shared_memory.hpp"

namespace weft {
namespace {

constexpr std::int64_t kCounterBytes = kLineBytes;
/// About what it takes to fall asleep and to be woken on a virtual machine, whose idle processors
/// are given back to the host.
constexpr std::chrono::nanoseconds kSpin{50'000};
constexpr std::chrono::nanoseconds kSpinWhenCrowded{500};
constexpr long kSleepNanoseconds = 1'000'000;
constexpr long kSleepNanosecondsWithProgress = 50'000;

/// A counter of one rank, on a cache line of its own. Only its owner changes `value`; zeroed memory
/// is a valid start.
struct alignas(kCounterBytes) Counter {
  std::atomic<std::int64_t> value;
  std::atomic<std::int32_t> sleepers;

  /// The half of `value` that changes at every step; a futex is 32 bits wide.
  std::int32_t* futex() noexcept {
    auto* halves = reinterpret_cast<std::int32_t*>(&value);
    return std::endian::native == std::endian::little ? halves : halves + 1;
  }
};
static_assert(sizeof(Counter) == kCounterBytes);
static_assert(std::atomic<std::int64_t>::is_always_lock_free &&
              std::atomic<std::int32_t>::is_always_lock_free);

// Without FUTEX_PRIVATE_FLAG, since sleeper and waker are different processes.
void sleep_on(Counter& counter, std::int64_t seen, long nanoseconds) noexcept {
  const timespec timeout{0, nanoseconds};
  syscall(SYS_futex, counter.futex(), FUTEX_WAIT, static_cast<std::int32_t>(seen), &timeout,
          nullptr, 0);
}

void wake_all(Counter& counter) noexcept {
  constexpr int kAll = 1 << 30;
  syscall(SYS_futex, counter.futex(), FUTEX_WAKE, kAll, nullptr, nullptr, 0);
}

void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// See SharedWindow::is_crowded. Collective.
bool more_ranks_than_processors(const Communicator& node) {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (sched_getaffinity(0, sizeof mine, &mine) != 0) CPU_ZERO(&mine);
  std::vector<std::int64_t> words(sizeof mine / sizeof(std::int64_t));
  std::memcpy(words.data(), &mine, sizeof mine);
  const std::vector<std::int64_t> all = node.gather(words);
  int processors = 0;
  for (std::size_t word = 0; word < words.size(); ++word) {
    std::uint64_t any = 0;
    for (std::size_t at = word; at < all.size(); at += words.size())
      any |= static_cast<std::uint64_t>(all[at]);
    processors += std::popcount(any);
  }
  return processors > 0 && node.size() > processors;
}

enum class Way { automatic, memfd, mpi };

Way way_asked_for() {
  const char* told = std::getenv("WEFT_WINDOW");
  const std::string way = told == nullptr ? "" : told;
  if (way.empty()) return Way::automatic;
  if (way == "memfd") return Way::memfd;
  if (way == "mpi") return Way::mpi;
  throw Error(ErrorCode::invalid_argument, "WEFT_WINDOW is \"" + way + "\", expected memfd or mpi");
}

std::unique_ptr<SharedMemory> make_memory(const Communicator& node, std::int64_t bytes) {
  Way way = Way::automatic;
  node.agree([&] { way = way_asked_for(); });
  node.require_same(std::to_string(static_cast<int>(way)), "the values of WEFT_WINDOW");
  if (way == Way::mpi) return make_mpi_window_memory(node, bytes);
  try {
    return make_memfd_memory(node, bytes);
  } catch (const Error& error) {  // the same on all ranks
    if (way == Way::memfd || error.code() != ErrorCode::unavailable) throw;
  }
  return make_mpi_window_memory(node, bytes);
}

}  // namespace

std::int64_t displacement_bytes(int node_rank, int node_ranks) {
  return kPageBytes * node_rank / node_ranks / kLineBytes * kLineBytes;
}

struct SharedWindow::Implementation {
  std::unique_ptr<SharedMemory> memory;
  std::vector<std::byte*> bases;   // of each rank's data
  std::vector<Counter*> counters;  // first one of each rank
  int rank = 0;
  bool crowded = false;

  Counter& counter(int node_rank, int index) const noexcept {
    return counters[static_cast<std::size_t>(node_rank)][index];
  }
};

// Data comes first; counters follow on lines of their own.
SharedWindow::SharedWindow(const Communicator& node, std::int64_t bytes, int counters)
    : implementation_(std::make_unique<Implementation>()) {
  node.agree([&] {
    if (bytes < 0 || counters < 0)
      throw Error(ErrorCode::internal, "a shared window of " + std::to_string(bytes) +
                                           " bytes with " + std::to_string(counters) +
                                           " counters was asked for");
    checked_sum(bytes, kCounterBytes * counters + 4 * kPageBytes, "the size of a shared window",
                ErrorCode::out_of_memory);
  });
  const std::int64_t before = bytes == 0 ? 0 : displacement_bytes(node.rank(), node.size());
  const std::int64_t data_bytes = round_up(before + bytes, kCounterBytes);
  const std::int64_t counter_bytes = kCounterBytes * std::max(1, counters);
  implementation_->memory = make_memory(node, whole_pages(data_bytes + counter_bytes));
  implementation_->rank = node.rank();
  implementation_->crowded = more_ranks_than_processors(node);
  const std::vector<std::int64_t> offsets = node.gather({before, data_bytes});
  for (int rank = 0; rank < node.size(); ++rank) {
    const std::int64_t* const offset = &offsets[2 * static_cast<std::size_t>(rank)];
    std::byte* const piece = implementation_->memory->base(rank);
    implementation_->bases.push_back(piece + offset[0]);
    implementation_->counters.push_back(reinterpret_cast<Counter*>(piece + offset[1]));
  }
}

SharedWindow::~SharedWindow() = default;

int SharedWindow::ranks() const noexcept {
  return static_cast<int>(implementation_->counters.size());
}
std::byte* SharedWindow::base(int node_rank) const noexcept {
  return implementation_->bases[static_cast<std::size_t>(node_rank)];
}
std::int64_t SharedWindow::bytes() const noexcept { return implementation_->memory->bytes(); }
const char* SharedWindow::kind() const noexcept { return implementation_->memory->kind(); }
bool SharedWindow::is_crowded() const noexcept { return implementation_->crowded; }

// Owner and sleeper each write one variable and then read the other's. The fences make sure that
// not both read the old values, so that nobody falls asleep unseen.
void SharedWindow::publish(int index, std::int64_t value) noexcept {
  Counter& counter = implementation_->counter(implementation_->rank, index);
  counter.value.store(value, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (counter.sleepers.load(std::memory_order_relaxed) != 0) wake_all(counter);
}

std::int64_t SharedWindow::value(int node_rank, int index) const noexcept {
  return implementation_->counter(node_rank, index).value.load(std::memory_order_acquire);
}

bool SharedWindow::reached(int node_rank, int index, std::int64_t value) const noexcept {
  return this->value(node_rank, index) >= value;
}

void SharedWindow::wait(int node_rank, int index, std::int64_t value, WhileWaiting progress) const {
  using Clock = std::chrono::steady_clock;
  if (reached(node_rank, index, value)) return;
  const bool crowded = implementation_->crowded;
  const auto end_of_spin = Clock::now() + (crowded ? kSpinWhenCrowded : kSpin);
  do {
    for (int i = 0; i < 8; ++i) {
      if (reached(node_rank, index, value)) return;
      relax();
    }
  } while (Clock::now() < end_of_spin);
  if (crowded) sched_yield();

  Counter& counter = implementation_->counter(node_rank, index);
  const long nap = progress.function == nullptr ? kSleepNanoseconds : kSleepNanosecondsWithProgress;
  while (!reached(node_rank, index, value)) {
    if (progress.function != nullptr) progress.function(progress.context);
    counter.sleepers.fetch_add(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const std::int64_t seen = counter.value.load(std::memory_order_acquire);
    if (seen < value) sleep_on(counter, seen, nap);
    counter.sleepers.fetch_sub(1, std::memory_order_relaxed);
  }
}

}  // namespace weft
