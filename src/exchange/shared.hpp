// SharedExchange: peers of one node read each other's memory, so that a datum is stored once and
// loaded once and never copied in between. The outbox of a rank is an array in its window; the
// inbox of a peer is that very place. Counters in the window tell readers that a unit is complete.
// An exchange that returns what an earlier one has brought stores it where it was loaded, in the
// array in the peer's window; then the arrays are those of the ranks that load. It does not serve
// peers on other nodes.
#pragma once

#include "exchange/peers.hpp"

namespace weft {

/// A block in the window of a rank.
struct WindowBlock {
  Block block;              ///< its peer is the one that it goes to
  Extents strides;          ///< elements
  std::int64_t offset = 0;  ///< bytes from where the exchange's part of the window begins
  int room_of_parts = 0;    ///< see BlockPlace
};

/// What one field of a rank takes in its window: a block for each peer served, each an array of its
/// own.
struct WindowBlocks {
  std::vector<WindowBlock> blocks;
  std::int64_t field_bytes = 0;
};

/// Computed alike by the rank that stores and the ranks that load.
WindowBlocks window_blocks_of(const ExchangeProblem& problem, Peers peers, int rank);

class SharedExchange final : public Exchange {
 public:
  /// `peers` is all or on_node; all must then be on this node.
  SharedExchange(ExchangeProblem problem, Peers peers);
  /// What to call while waiting for peers.
  void while_waiting(WhileWaiting progress) { progress_ = progress; }

  ExchangeMemory memory() const override;
  ExchangeTraffic traffic() const override;
  void attach(const ExchangeBuffers& buffers) override { buffers_ = buffers; }
  View outbox(int unit, int block) const override;
  View inbox(int unit, int block) const override;
  std::vector<BlockPlace> places(int unit) const override;
  void begin(std::int64_t call, std::span<std::byte* const> bases) override;
  void open() override;
  bool may_open() override;
  std::vector<int> reading_peers() const override;
  void start(int unit) override;
  void progress() override {}
  bool ready(int unit) override;
  void wait(int unit) override;
  std::vector<int> silent_peers(int unit) const override;
  void release(int /*unit*/) override {}  // the plan tells when the whole call is over

 private:
  /// Where a block lies: in a window, from where this exchange's part of it begins, or at home.
  struct Place {
    View view;
    std::int64_t field_bytes = 0;
    bool in_window = false;
  };

  int node_rank_of(int rank) const { return problem_.node_rank_of[static_cast<std::size_t>(rank)]; }
  WindowBlocks blocks_in_window_of(int rank) const;
  Place place_in(int host, const WindowBlocks& window, const WindowBlock& there) const;
  Place place_of(int from, int to) const;
  void find_places();
  View view_at(const Place& place, int unit) const;

  ExchangeProblem problem_;
  Peers peers_;
  Redistribution blocks_;
  std::int64_t field_bytes_ = 0;    // of this rank's own array
  std::vector<Place> sent_at_;      // of blocks_.sends
  std::vector<Place> received_at_;  // of blocks_.receives
  std::vector<int> sources_;  // ranks in the node that this one receives from, itself left out
  ExchangeBuffers buffers_;
  WhileWaiting progress_;
  std::int64_t call_ = 0;
};

}  // namespace weft
