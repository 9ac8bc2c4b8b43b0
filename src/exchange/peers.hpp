// Which of its peers an exchange serves, so that two of them can share the work of one
// redistribution.
#pragma once

#include "exchange/exchange.hpp"

namespace weft {

enum class Peers {
  all,
  on_node,  ///< this rank itself included
  off_node,
};

bool serves(Peers peers, const ExchangeProblem& problem, int peer);

/// Adds what a message of `bytes` to `peer` adds in each field.
void count_message(ExchangeTraffic& traffic, const ExchangeProblem& problem, int peer,
                   std::int64_t bytes);

/// Payload and number of the non-empty blocks that leave this rank for those peers.
ExchangeTraffic traffic_to(Peers peers, const ExchangeProblem& problem,
                           const std::vector<Block>& sends);

/// An empty box does not count.
Box smallest_box_around(const Box& a, const Box& b);

}  // namespace weft
