// Shares: the items of a task are dealt out to the threads of a rank in parts, each of neighbouring
// items: neighbours share lines of the cache, or a core fetches some of the other's, which would
// then travel back and forth between cores (axis 0 of 64^3 r2c on 2 threads: in short runs as
// threads become free 0.24 ms, in parts 0.09).
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/cache.hpp"

namespace weft {

/// Items [first, last).
struct ItemRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
  bool empty() const noexcept { return first >= last; }
  std::int64_t count() const noexcept { return last - first; }
};

class Shares {
 public:
  explicit Shares(int threads);

  /// Deals out items [0, items), less than 2^32; before the threads begin.
  void deal(std::int64_t items);
  /// What `thread` does next: some items of its part, from the first to the last; when that is
  /// done, some that others have not begun, from their last. Empty when nothing is left.
  ItemRange next(int thread);

 private:
  // What is left of a part: first and last in one number, so that they change together.
  struct alignas(kLineBytes) Part {
    std::atomic<std::uint64_t> left = 0;
  };

  template <class Take>
  ItemRange take_from(Part& part, Take take);

  std::vector<Part> parts_;
  std::int64_t run_ = 1;  // items that are taken at once
};

}  // namespace weft
