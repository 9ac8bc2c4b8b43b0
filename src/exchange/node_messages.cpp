// Carriers and places of the messages between nodes.
#include "exchange/node_messages.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace weft {

NodeMessages::NodeMessages(const ExchangeProblem& problem, std::vector<std::int64_t> taken) {
  find_nodes(problem);
  outgoing_ = messages(problem, true);
  incoming_ = messages(problem, false);
  set_areas(problem);
  for (std::vector<NodeMessage>* side : {&outgoing_, &incoming_})
    for (NodeMessage& message : *side) {
      std::int64_t& end = taken[static_cast<std::size_t>(message.carrier)];
      message.offset = end;
      end += message.area.field_bytes() * problem.fields;
    }
  window_bytes_ = taken[static_cast<std::size_t>(problem.node->rank())];
}

void NodeMessages::find_nodes(const ExchangeProblem& problem) {
  const std::int64_t leader = problem.node->min(std::int64_t{problem.comm->rank()});
  const std::vector<std::int64_t> all = problem.comm->gather({leader, problem.node->rank()});
  std::map<std::int64_t, std::map<std::int64_t, int>> nodes;  // by leader, by rank in the node
  for (int rank = 0; rank < problem.comm->size(); ++rank) {
    const auto at = 2 * static_cast<std::size_t>(rank);
    nodes[all[at]][all[at + 1]] = rank;
  }
  for (const auto& [first, ranks] : nodes) {
    if (first == leader) mine_ = static_cast<int>(ranks_of_node_.size());
    std::vector<int>& list = ranks_of_node_.emplace_back();
    for (const auto& [node_rank, rank] : ranks) list.push_back(rank);
  }
}

std::vector<NodeMessage> NodeMessages::messages(const ExchangeProblem& problem, bool out) const {
  std::vector<NodeMessage> result;
  for (int node = 0; node < static_cast<int>(ranks_of_node_.size()); ++node) {
    if (node == mine_) continue;
    NodeMessage message = message_with(problem, node, out);
    if (!message.blocks.empty()) result.push_back(std::move(message));
  }
  return result;
}

/// Going once around the circle of nodes, a node meets each other one once: its messages out are
/// carried by its first rank, its second and so on; those that come in by its last, and so on down.
/// Example: of two nodes with three ranks each, rank 0 sends and rank 2 receives.
NodeMessage NodeMessages::message_with(const ExchangeProblem& problem, int node, bool out) const {
  const int nodes = static_cast<int>(ranks_of_node_.size());
  const auto& senders = ranks_of_node_[static_cast<std::size_t>(out ? mine_ : node)];
  const auto& receivers = ranks_of_node_[static_cast<std::size_t>(out ? node : mine_)];
  const int steps = (out ? node - mine_ + nodes : mine_ - node + nodes) % nodes - 1;
  const std::size_t sender = static_cast<std::size_t>(steps) % senders.size();
  const std::size_t receiver =
      receivers.size() - 1 - static_cast<std::size_t>(steps) % receivers.size();
  NodeMessage message;
  message.carrier = static_cast<int>(out ? sender : receiver);
  message.peer = out ? receivers[receiver] : senders[sender];
  for (std::size_t s = 0; s < senders.size(); ++s) {
    const std::size_t before = message.blocks.size();
    for (const int to : receivers) {
      const Box block = intersect(problem.from.box(senders[s]), problem.to.box(to));
      if (!block.empty()) message.blocks.push_back({senders[s], to, block.volume()});
    }
    if (out && message.blocks.size() > before) message.from_node.push_back(static_cast<int>(s));
  }
  return message;
}

void NodeMessages::set_areas(const ExchangeProblem& problem) {
  const auto area_of = [&](const NodeMessage& message, std::int64_t granule) {
    std::vector<std::vector<std::int64_t>> sizes(static_cast<std::size_t>(problem.chunks));
    for (int chunk = 0; chunk < problem.chunks; ++chunk)
      for (const NodeMessage::Route& route : message.blocks) {
        const Box block = intersect(problem.from.box(route.from), problem.to.box(route.to));
        const Box part = chunk_of(block, problem.cut, problem.chunks, chunk);
        sizes[static_cast<std::size_t>(chunk)].push_back(part.volume() * problem.element_bytes);
      }
    return BlockArea(sizes, granule);
  };
  granule_bytes_ = granule_that_fits(*problem.comm, [&](std::int64_t granule) {
    bool fits = true;
    for (std::vector<NodeMessage>* side : {&outgoing_, &incoming_})
      for (NodeMessage& message : *side) {
        message.area = area_of(message, granule);
        fits = fits && message.area.most_granules() <= kMostGranules;
      }
    return fits;
  });
}

}  // namespace weft
