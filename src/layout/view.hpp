// View: where the points of a box lie, before any memory exists. A slot names a base pointer that
// is bound when a plan is executed (a user array, a buffer, the window of a peer), so that one
// program serves all arrays.
#pragma once

#include <vector>

#include "weft/extents.hpp"

namespace weft {

/// Element with global index g of `box` is at base(slot) + offset_bytes + sum_a (g[a] -
/// box.lower[a]) * strides[a] elements.
struct View {
  int slot = 0;
  std::int64_t offset_bytes = 0;
  Box box;
  Extents strides;

  friend bool operator==(const View&, const View&) = default;
};

/// Slots of a plan. Those of the ranks of this node follow from kSlotPeers on.
enum Slot : int {
  kSlotInput = 0,    ///< the array that the call reads
  kSlotOutput = 1,   ///< the array that the call writes
  kSlotWork = 2,     ///< between two local stages that cannot share another buffer
  kSlotSlice = 3,    ///< between two fused stages; private to a thread
  kSlotSend = 4,     ///< outboxes of messages
  kSlotReceive = 5,  ///< inboxes of messages
  kSlotOwn = 6,      ///< blocks that stay on their rank where messages carry the others
  kSlotPeers = 7,
};

/// What the rank with that number in this node has: its window, and with Options::shared_arrays the
/// arrays that its call reads and writes.
constexpr int slot_of_window(int node_rank) { return kSlotPeers + 3 * node_rank; }
constexpr int slot_of_input_at(int node_rank) { return kSlotPeers + 3 * node_rank + 1; }
constexpr int slot_of_output_at(int node_rank) { return kSlotPeers + 3 * node_rank + 2; }
constexpr int slots_with_peers(int node_ranks) { return slot_of_window(node_ranks); }
constexpr bool is_slot_of_peer(int slot) { return slot >= kSlotPeers; }
constexpr bool is_slot_of_array(int slot) {
  return slot <= kSlotOutput || (is_slot_of_peer(slot) && (slot - kSlotPeers) % 3 != 0);
}

/// The part of `view` that lies in `box`, which must be inside view.box.
View part_of(const View& view, const Box& box, std::int64_t element_bytes);

/// Strides of a dense array of `extents`, with the axes from slowest to fastest in `order`.
Extents dense_strides(const Extents& extents, const std::vector<int>& order);

/// How an array that Weft itself places lies in memory.
struct Arrangement {
  Extents strides;
  std::int64_t elements = 0;  ///< from one array to the next
};

/// With free elements between rows, planes and so on, so that pencils along any axis can be loaded
/// fast: neighbours start on cache lines of their own, and not all in the same cache set. Short
/// rows stay dense, so that this costs at most a quarter.
Arrangement spread_out(const Extents& extents, const std::vector<int>& order,
                       std::int64_t element_bytes);

/// The same, but that row follows row without a gap, unless they would start in the same cache set.
Arrangement spread_planes(const Extents& extents, const std::vector<int>& order,
                          std::int64_t element_bytes);

/// For what is sent: dense, but that neighbours which would start in the same cache set are a cache
/// line further apart.
Arrangement nearly_dense(const Extents& extents, const std::vector<int>& order,
                         std::int64_t element_bytes);

}  // namespace weft
