// SharedWindow: memory of each rank of a node that all ranks of the node can read and write, with counters by which
// they tell each other how far they are.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mpi/communicator.hpp"

namespace weft {

/// Each rank contributes `bytes` (which may be 0 and may differ) and `counters` (the same on all).
///
/// The memory is a memfd that peers open through /proc where that works, since /dev/shm is often limited to 64 MB, and else
/// an MPI shared-memory window whose backing store is checked for room first. Every page is reserved when the window is
/// made, so that no access can fail later. Bases are aligned to 4096 bytes.
class SharedWindow {
 public:
  /// Collective over `node`. Throws the same Error(out_of_memory) on all its ranks when the memory does not fit.
  SharedWindow(const Communicator& node, std::int64_t bytes, int counters);
  ~SharedWindow();
  SharedWindow(const SharedWindow&) = delete;
  SharedWindow& operator=(const SharedWindow&) = delete;

  int ranks() const noexcept;
  std::byte* base(int node_rank) const noexcept;
  /// Bytes of memory of this rank's part, counters included.
  std::int64_t bytes() const noexcept;
  /// "memfd" or "MPI window".
  const char* kind() const noexcept;

  /// Sets counter `index` of this rank to `value` (release) and wakes who waits for it.
  void publish(int index, std::int64_t value) noexcept;
  /// True when counter `index` of `node_rank` has reached `value` (acquire).
  bool reached(int node_rank, int index, std::int64_t value) const noexcept;
  /// Returns when it has: spins for some microseconds, then sleeps until woken or a short time has passed, calling
  /// `progress` (may be null) in between.
  void wait(int node_rank, int index, std::int64_t value, const std::function<void()>& progress) const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace weft
