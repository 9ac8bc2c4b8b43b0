// Selection of peers and the traffic to them.
#include "exchange/peers.hpp"

namespace weft {

bool serves(Peers peers, const ExchangeProblem& problem, int peer) {
  if (peers == Peers::all) return true;
  const bool on_node = problem.node_rank_of[static_cast<std::size_t>(peer)] >= 0;
  return on_node == (peers == Peers::on_node);
}

void count_message(ExchangeTraffic& traffic, const ExchangeProblem& problem, int peer,
                   std::int64_t bytes) {
  const bool off_node = serves(Peers::off_node, problem, peer);
  traffic.messages += problem.fields;
  traffic.bytes += bytes * problem.fields;
  traffic.messages_off_node += off_node ? problem.fields : 0;
  traffic.bytes_off_node += off_node ? bytes * problem.fields : 0;
}

ExchangeTraffic traffic_to(Peers peers, const ExchangeProblem& problem,
                           const std::vector<Block>& sends) {
  ExchangeTraffic traffic;
  for (const Block& block : sends) {
    if (block.peer == problem.comm->rank() || !serves(peers, problem, block.peer)) continue;
    for (int chunk = 0; chunk < problem.chunks; ++chunk) {
      const Box part = chunk_of(block.box, problem.cut, problem.chunks, chunk);
      if (!part.empty())
        count_message(traffic, problem, block.peer, part.volume() * problem.element_bytes);
    }
  }
  return traffic;
}

Box smallest_box_around(const Box& a, const Box& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  Box result = a;
  for (int axis = 0; axis < a.dimensions(); ++axis) {
    result.lower[axis] = std::min(a.lower[axis], b.lower[axis]);
    result.upper[axis] = std::max(a.upper[axis], b.upper[axis]);
  }
  return result;
}

}  // namespace weft
