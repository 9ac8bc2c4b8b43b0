// By the processors on which each rank may run, and by asking these how far from each other they
// are: a virtual machine tells of caches that its host may not give.
#include "mpi/shared_cache.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include "base/cache.hpp"
#include "mpi/shared_window.hpp"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

/// For a line to go to a processor and back, with what it takes to read the clock: 110 ns within a
/// third-level cache and 540 between two (Zen 5).
constexpr std::chrono::nanoseconds kNear{300};
constexpr std::chrono::milliseconds kPatience{1};
constexpr std::int64_t kTrips = 64;
constexpr std::int64_t kEnd = kTrips + 1;

// As SharedWindow::wait, which first looks at the clock and pauses.
void meet(const SharedWindow& window, int node_rank, int index, std::int64_t trip) {
  constexpr int kSpins = 1000;
  for (int spin = 0; spin < kSpins; ++spin)
    if (window.reached(node_rank, index, trip)) return;
  window.wait(node_rank, index, trip);
}

// Asks `peer`, which answers. The first trip waits for it to come.
bool is_near(SharedWindow& window, int peer) {
  const auto travel = [&](std::int64_t trip) {
    const auto start = Clock::now();
    window.publish(peer, trip);
    meet(window, peer, 0, trip);
    return Clock::now() - start;
  };
  Clock::duration shortest = travel(1);
  const auto end = Clock::now() + kPatience;
  for (std::int64_t trip = 2; trip <= kTrips && shortest > kNear && Clock::now() < end; ++trip)
    shortest = std::min(shortest, travel(trip));
  window.publish(peer, kEnd);
  return shortest <= kNear;
}

void answer(SharedWindow& window, int node_rank) {
  for (std::int64_t trip = 1;; ++trip) {
    meet(window, 0, node_rank, trip);
    if (window.value(0, node_rank) >= kEnd) return;
    window.publish(0, trip);
  }
}

// True unless a rank's processor turns out to be far from that of rank 0. Not asked where ranks
// share processors, nor where there is no window, which the plan may not need.
bool are_near(const Communicator& node) {
  std::int64_t near = 1;
  try {
    SharedWindow window(node, 0, node.size());
    if (window.is_crowded()) return true;
    if (node.rank() != 0) answer(window, node.rank());
    for (int peer = 1; node.rank() == 0 && peer < node.size(); ++peer)
      near &= is_near(window, peer) ? 1 : 0;
  } catch (const Error&) {  // the same on all ranks
    return true;
  }
  return node.min(near) == 1;
}

}  // namespace

SharedCache shared_cache_of(const Communicator& node) {
  const ThirdLevelCache mine = third_level_cache().value_or(ThirdLevelCache{0, {-1}});
  if (node.size() == 1) return {mine.bytes, true};
  const bool near = are_near(node);
  const std::vector<std::int64_t> all = node.gather({mine.bytes, mine.processors.front()});
  bool is_one = near;
  for (std::size_t at = 2; at < all.size(); at += 2)
    is_one &= all[at] == all[0] && all[at + 1] == all[1];
  return {is_one ? mine.bytes / node.size() : 0, near};
}

}  // namespace weft
