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

/// Which ranks the test pretends to be on one node. Three are of different sizes on 4 ranks, say.
enum class Nodes { one, halves, alternating, three };

/// A communicator of each pretended node, and its ranks as ExchangeProblem wants them.
struct NodeMap {
  explicit NodeMap(Nodes nodes) : comm(world().split(node_of(nodes, world().rank()))) {
    int next = 0;
    for (int rank = 0; rank < world().size(); ++rank)
      rank_of.push_back(node_of(nodes, rank) == node_of(nodes, world().rank()) ? next++ : -1);
  }
  static int node_of(Nodes nodes, int rank) {
    if (nodes == Nodes::one) return 0;
    if (nodes == Nodes::halves) return (2 * rank) / world().size();
    return rank % (nodes == Nodes::alternating ? 2 : 3);
  }
  Communicator comm;
  std::vector<int> rank_of;
};

using ExchangeMaker = std::function<std::unique_ptr<Exchange>(ExchangeProblem)>;

/// Exchanges that use the same window memory and the same buffers in turn, as the directions of a
/// plan do.
class Rig {
 public:
  Rig(const NodeMap& nodes, const std::vector<ExchangeProblem>& problems,
      const ExchangeMaker& make);

  /// One call of exchange `which`: stores, exchanges and checks every element. `in_turn`: each unit
  /// is started as soon as it is stored, and taken when it is ready; else all are started first and
  /// waited for in order. Delays are up to `delay_microseconds`.
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
