// Parts that are taken from by their owners at one end and by others at the other one.
#include "plan/shares.hpp"

#include <algorithm>

namespace weft {
namespace {

/// Few enough for long runs, enough for threads of unlike speed to end together.
constexpr std::int64_t kRunsPerThread = 32;

std::uint64_t packed(ItemRange range) {
  return static_cast<std::uint64_t>(range.first) << 32 | static_cast<std::uint64_t>(range.last);
}

ItemRange unpacked(std::uint64_t range) {
  return {static_cast<std::int64_t>(range >> 32), static_cast<std::int64_t>(range & 0xffffffffU)};
}

}  // namespace

Shares::Shares(int threads) : parts_(static_cast<std::size_t>(threads)) {}

void Shares::deal(std::int64_t items) {
  const auto threads = static_cast<std::int64_t>(parts_.size());
  run_ = std::max<std::int64_t>(items / (threads * kRunsPerThread), 1);
  for (std::int64_t t = 0; t < threads; ++t)
    parts_[static_cast<std::size_t>(t)].left.store(
        packed({items * t / threads, items * (t + 1) / threads}), std::memory_order_relaxed);
}

// `take` says what of a range is taken; the rest of it must be at one end.
template <class Take>
ItemRange Shares::take_from(Part& part, Take take) {
  std::uint64_t left = part.left.load(std::memory_order_relaxed);
  for (;;) {
    const ItemRange range = unpacked(left);
    if (range.empty()) return {};
    const ItemRange taken = take(range);
    const ItemRange rest = taken.first == range.first ? ItemRange{taken.last, range.last}
                                                      : ItemRange{range.first, taken.first};
    if (part.left.compare_exchange_weak(left, packed(rest), std::memory_order_relaxed))
      return taken;
  }
}

ItemRange Shares::next(int thread) {
  const std::size_t threads = parts_.size();
  const auto own = static_cast<std::size_t>(thread);
  ItemRange taken = take_from(parts_[own], [&](ItemRange range) {
    return ItemRange{range.first, std::min(range.first + run_, range.last)};
  });
  for (std::size_t other = 1; taken.empty() && other < threads; ++other)
    taken = take_from(parts_[(own + other) % threads], [&](ItemRange range) {
      return ItemRange{std::max(range.last - run_, range.first), range.last};
    });
  return taken;
}

}  // namespace weft
