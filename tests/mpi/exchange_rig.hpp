// An exchange with all that a plan would give it: nodes, memory, a window, calls. Elements encode
// their own global index, their field and the call, so that every one of them is checked.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <optional>

#include "exchange/exchange.hpp"
#include "support.hpp"

namespace weft::testing {

/// Which ranks the test pretends to be on one node (three are of different sizes on 4 ranks, say);
/// real: those that are.
enum class Nodes { one, halves, alternating, three, real };

/// A communicator of each node, and its ranks as ExchangeProblem wants them.
struct NodeMap {
  explicit NodeMap(Nodes nodes)
      : comm(nodes == Nodes::real ? world().split_node()
                                  : world().split(pretended_node(nodes, world().rank()))),
        rank_of(static_cast<std::size_t>(world().size()), -1) {
    const std::vector<std::int64_t> ranks = comm.gather({world().rank()});
    for (std::size_t i = 0; i < ranks.size(); ++i)
      rank_of[static_cast<std::size_t>(ranks[i])] = static_cast<int>(i);
  }
  static int pretended_node(Nodes nodes, int rank) {
    if (nodes == Nodes::one) return 0;
    if (nodes == Nodes::halves) return (2 * rank) / world().size();
    return rank % (nodes == Nodes::alternating ? 2 : 3);
  }
  Communicator comm;
  std::vector<int> rank_of;  ///< [rank of the world]: the rank in comm, -1 on other nodes
};

using ExchangeMaker = std::function<std::unique_ptr<Exchange>(ExchangeProblem)>;

/// Exchanges that use the same window memory and the same buffers in turn, as the directions of a
/// plan do.
class Rig {
 public:
  Rig(const NodeMap& nodes, const std::vector<ExchangeProblem>& problems,
      const ExchangeMaker& make);

  /// One call of exchange `which`: stores, exchanges and checks every element. `in_turn`: each unit
  /// is started as soon as it is stored; else all are stored first. Two calls ask whether units are
  /// ready, the next two wait for them. Delays are up to `delay_microseconds`.
  void call(std::size_t which, bool in_turn, int delay_microseconds);

  Exchange& exchange(std::size_t which) { return *parts_[which].exchange; }
  std::int64_t calls() const { return call_; }

 private:
  struct Part {
    ExchangeProblem problem;
    std::unique_ptr<Exchange> exchange;
    ExchangeMemory memory;
    ExchangeBuffers buffers;
    Redistribution blocks;
  };
  using Visit = std::function<void(const Index&, std::byte*)>;

  int units(const Part& part) const { return part.problem.fields * part.problem.chunks; }
  void for_each_element(const Part& part, const View& view, const Visit& visit) const;
  void store(const Part& part, int unit);
  void spoil_sent(const Part& part, int unit);
  void check(const Part& part, int unit, bool sent);
  void expect_inside(const Part& part, const View& view) const;
  void expect_boxes(const Part& part) const;

  const NodeMap& nodes_;
  std::vector<Part> parts_;
  std::vector<std::byte> send_;
  std::vector<std::byte> receive_;
  std::vector<std::byte> own_;
  std::optional<SharedWindow> window_;
  std::vector<std::byte*> bases_;
  std::int64_t call_ = 0;
  std::mt19937 random_;
};

}  // namespace weft::testing
