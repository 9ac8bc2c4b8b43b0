// Selection of peers and the traffic to them.
#include "exchange/peers.hpp"

namespace weft {

bool serves(Peers peers, const ExchangeProblem& problem, int peer) {
  if (peers == Peers::all) return true;
  const bool on_node = problem.node_rank_of[static_cast<std::size_t>(peer)] >= 0;
  return on_node == (peers == Peers::on_node);
}

ExchangeTraffic traffic_to(Peers peers, const ExchangeProblem& problem,
                           const std::vector<Block>& sends) {
  ExchangeTraffic traffic;
  for (const Block& block : sends) {
    if (block.peer == problem.comm->rank() || !serves(peers, problem, block.peer)) continue;
    const std::int64_t bytes = block.box.volume() * problem.element_bytes * problem.fields;
    traffic.bytes += bytes;
    if (!serves(Peers::on_node, problem, block.peer)) traffic.bytes_off_node += bytes;
    for (int chunk = 0; chunk < problem.chunks; ++chunk)
      if (!chunk_of(block.box, problem.cut_axis, problem.chunks, chunk).empty())
        traffic.messages += problem.fields;
  }
  return traffic;
}

}  // namespace weft
