// Trial: of several ways to the same result, of which any may be the fastest one by the machine and
// by where memory lies, the one is taken that has been so lately; the others are tried now and
// then, at first more often.
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
  static constexpr int kMostWays = 5;

  /// Of ways 0 to `ways` - 1.
  explicit Trial(int ways) : ways_(ways) {}

  /// The way to take now.
  int next() noexcept {
    const int fastest = this->fastest();
    const std::uint64_t call = calls_.fetch_add(1, std::memory_order_relaxed);
    const auto others = static_cast<std::uint64_t>(ways_ - 1);
    const bool tries =
        others > 0 && (std::has_single_bit(call / others) || call % kPeriod < others);
    if (!tries || seconds(fastest) == 0) return fastest;
    const int other = static_cast<int>(call % others);
    return other < fastest ? other : other + 1;
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
  int fastest() const noexcept {
    int result = 0;
    for (int way = 1; way < ways_; ++way)
      if (seconds(way) < seconds(result)) result = way;
    return result;
  }

  int ways_;
  std::atomic<std::uint64_t> calls_ = 0;
  std::array<std::atomic<double>, kMostWays> seconds_{};  // 0: not yet known, so taken first
};

}  // namespace weft
