// SharedWindow: memory of each rank of a node that all ranks of the node can read and write, with
// counters by which they tell each other how far they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "mpi/communicator.hpp"

namespace weft {

/// How far behind the beginning of its pages the data of a rank begins. Ranks whose data are alike
/// would else have what belongs to one pencil at the same places of their pages, where it competes
/// for lines of the caches (2 ranks of a Zen 4, shared arrays, axis 0: 256^3 r2c 8.0 -> 6.8 ms,
/// 128^3 c2c 1.91 -> 1.72; cheapest output, 256^3 c2c backward 19.1 -> 16.6).
std::int64_t displacement_bytes(int node_rank, int node_ranks);

/// What to call while waiting, if anything. Not a std::function, since executing a plan allocates
/// nothing.
struct WhileWaiting {
  void (*function)(void* context) = nullptr;
  void* context = nullptr;
};

/// Each rank contributes `bytes` (which may be 0 and may differ) and `counters` (the same on all).
///
/// The memory is a memfd that peers open through /proc where that works, since /dev/shm is often
/// limited to 64 MB, and else an MPI shared-memory window whose backing store is checked for room
/// first. Every page is reserved when the window is made, so that no access can fail later. Bases
/// are aligned to 64 bytes, and those of different ranks lie at different places of a page. The
/// environment variable WEFT_WINDOW=memfd|mpi names one of the two ways.
class SharedWindow {
 public:
  /// Collective over `node`. Throws the same Error on all its ranks: out_of_memory when the memory
  /// does not fit, unavailable when no way (or not the one named) works here, invalid_argument for
  /// another name in WEFT_WINDOW.
  SharedWindow(const Communicator& node, std::int64_t bytes, int counters);
  /// Collective over `node`.
  ~SharedWindow();
  SharedWindow(const SharedWindow&) = delete;
  SharedWindow& operator=(const SharedWindow&) = delete;

  int ranks() const noexcept;
  /// Where the data of `node_rank` lies in this process; zeroed when the window is made.
  std::byte* base(int node_rank) const noexcept;
  /// Bytes of memory of this rank's part, counters included.
  std::int64_t bytes() const noexcept;
  /// "memfd" or "MPI window".
  const char* kind() const noexcept;
  /// True when the ranks of the node may run on fewer processors, all together, than there are
  /// ranks.
  bool is_crowded() const noexcept;

  /// Sets counter `index` of this rank to `value` (release) and wakes who waits for it.
  void publish(int index, std::int64_t value) noexcept;
  /// Counter `index` of `node_rank` (acquire).
  std::int64_t value(int node_rank, int index) const noexcept;
  /// True when counter `index` of `node_rank` has reached `value` (acquire).
  bool reached(int node_rank, int index, std::int64_t value) const noexcept;
  /// Returns when it has: spins for some microseconds, then sleeps until woken or a short time has
  /// passed, calling `progress` in between. Allocates nothing.
  void wait(int node_rank, int index, std::int64_t value, WhileWaiting progress = {}) const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace weft
