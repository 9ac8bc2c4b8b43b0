// SharedExchange: peers of one node read each other's memory, so that a datum is stored once and
// loaded once and never copied in between. The outbox of a rank is an array in its window; the
// inbox of a peer is a part of the peer's array. Counters in the window tell readers that a unit is
// complete. It does not serve peers on other nodes.
#pragma once

#include "exchange/peers.hpp"

namespace weft {

/// How one field lies in the window of a rank: the smallest box that holds all blocks to the peers
/// served.
struct WindowArray {
  Box box;
  Extents strides;
  std::int64_t bytes = 0;  ///< from one field to the next
};

/// Computed alike by the rank that stores and the ranks that load.
WindowArray window_array_of(const ExchangeProblem& problem, Peers peers, int rank);

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
  int node_rank_of(int rank) const { return problem_.node_rank_of[static_cast<std::size_t>(rank)]; }
  View view_of(int rank, const WindowArray& array, const Box& block, int unit) const;

  ExchangeProblem problem_;
  Peers peers_;
  Redistribution blocks_;
  WindowArray mine_;
  std::vector<WindowArray> theirs_;  // of blocks_.receives
  std::vector<int> sources_;  // ranks in the node that this one receives from, itself left out
  ExchangeBuffers buffers_;
  WhileWaiting progress_;
  std::int64_t call_ = 0;
};

}  // namespace weft
