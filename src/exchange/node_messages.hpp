// NodeMessages: who carries what between nodes when all that goes from one node to another goes in
// one message. Geometry alone, computed alike by all ranks of a node: which rank carries the
// message of a pair of nodes on either side, and where each block lies in it, in the carrier's
// window. Sending and receiving are up to the exchange.
#pragma once

#include "exchange/message_exchange.hpp"

namespace weft {

/// The message between this node and another, in one direction.
struct NodeMessage {
  /// From a rank of one node to a rank of the other.
  struct Route {
    int from = 0;
    int to = 0;
    std::int64_t elements = 0;  ///< of the whole block, all chunks
  };

  int carrier = 0;             ///< rank in this node whose window holds the message
  int peer = 0;                ///< rank of the plan's communicator at the other end
  std::int64_t offset = 0;     ///< of the first field, from the start of the exchange's window
  std::vector<Route> blocks;   ///< in the order in which they lie in each unit
  BlockArea area;              ///< where they lie
  std::vector<int> from_node;  ///< ranks in this node that store into it; none if it comes in
};

class NodeMessages {
 public:
  /// Collective over problem.comm. Carriers keep their messages after the first `taken[node rank]`
  /// bytes of their windows.
  NodeMessages(const ExchangeProblem& problem, std::vector<std::int64_t> taken);

  const std::vector<NodeMessage>& outgoing() const { return outgoing_; }
  const std::vector<NodeMessage>& incoming() const { return incoming_; }
  /// Of this rank's window, what is taken included.
  std::int64_t window_bytes() const { return window_bytes_; }
  std::int64_t granule_bytes() const { return granule_bytes_; }

 private:
  void find_nodes(const ExchangeProblem& problem);
  std::vector<NodeMessage> messages(const ExchangeProblem& problem, bool out) const;
  NodeMessage message_with(const ExchangeProblem& problem, int node, bool out) const;
  void set_areas(const ExchangeProblem& problem);

  std::vector<std::vector<int>> ranks_of_node_;  // in the order of their ranks there
  int mine_ = 0;                                 // the node of this rank
  std::vector<NodeMessage> outgoing_;
  std::vector<NodeMessage> incoming_;
  std::int64_t window_bytes_ = 0;
  std::int64_t granule_bytes_ = 0;
};

}  // namespace weft
