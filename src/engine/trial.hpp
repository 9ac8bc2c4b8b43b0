// Trial: of two ways to the same result, of which either may be the faster one by where memory
// lies, the one is taken that has been so lately; the other one is tried now and then, at first
// more often.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

namespace weft {

/// Several threads may use it at once.
class Trial {
 public:
  /// The way to take now: 0 or 1.
  int next() noexcept {
    const int faster = seconds(1) < seconds(0) ? 1 : 0;
    const std::uint64_t call = calls_.fetch_add(1, std::memory_order_relaxed);
    return std::has_single_bit(call) || call % kPeriod == 0 ? 1 - faster : faster;
  }

  /// Way `way` has taken so many seconds. What was interrupted counts for little, less than before
  /// at once: nothing else makes a call faster.
  void note(int way, double taken) noexcept {
    const double before = seconds(way);
    const double change = std::min(taken, 2 * before) - before;
    const double now = before == 0 ? taken : before + (change < 0 ? change : change / 4);
    seconds_[static_cast<std::size_t>(way)].store(now, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint64_t kPeriod = 256;

  double seconds(int way) const noexcept {
    return seconds_[static_cast<std::size_t>(way)].load(std::memory_order_relaxed);
  }

  std::atomic<std::uint64_t> calls_ = 0;
  std::array<std::atomic<double>, 2> seconds_{};  // 0: not yet known
};

}  // namespace weft
