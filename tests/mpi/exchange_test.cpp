// Every exchange between many pairs of layouts: each element must arrive where it belongs, call
// after call, with ranks that are early and late. Also the geometry of buffers, traffic, choice
// and refusal.
#include "exchange/exchange.hpp"

#include <gtest/gtest.h>

#include <ostream>

#include "exchange/pairwise.hpp"
#include "exchange/shared.hpp"
#include "exchange_cases.hpp"
#include "weft/plan.hpp"

namespace {
std::int64_t messages_sent = 0;
}

extern "C" int MPI_Isend(const void* data, int count, MPI_Datatype type, int peer, int tag,
                         MPI_Comm comm, MPI_Request* request) {
  ++messages_sent;
  return PMPI_Isend(data, count, type, peer, tag, comm, request);
}

namespace weft {
namespace {

using testing::all_cases;
using testing::boxes;
using testing::Case;
using testing::error_of;
using testing::grid;
using testing::kVariants;
using testing::name_of_case;
using testing::NodeMap;
using testing::Nodes;
using testing::Pair;
using testing::pairs;
using testing::problem_of;
using testing::reversed;
using testing::Rig;
using testing::world;

testing::ExchangeMaker maker(const char* name) {
  return [name](ExchangeProblem problem) {
    world().agree([&] { EXPECT_EQ("", exchange_named(name).refusal(problem)); });
    return exchange_named(name).make(std::move(problem));
  };
}

/// Why `name` cannot do `problem`, by the first rank that says so; empty when it can. Collective.
std::string refusal_on_any_rank(const char* name, const ExchangeProblem& problem) {
  for (const std::string& refusal :
       testing::texts_of_all(world(), exchange_named(name).refusal(problem)))
    if (!refusal.empty()) return refusal;
  return "";
}

/// Only what a method may refuse at all: uneven blocks, or all problems on an MPI that lacks it.
bool may_refuse(const char* name) {
  return name == std::string("alltoall") || name == std::string("persistent");
}

/// A pretended node must lie on a real one, or its ranks could share no memory.
class EveryExchange : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const NodeMap real(Nodes::real);
    const NodeMap nodes(GetParam().nodes);
    std::int64_t apart = 0;
    for (std::size_t rank = 0; rank < nodes.rank_of.size(); ++rank)
      if (nodes.rank_of[rank] >= 0 && real.rank_of[rank] < 0) apart = 1;
    if (world().max(apart) > 0) GTEST_SKIP() << "pretends that there are fewer nodes";
    if (GetParam().nodes != Nodes::real) return;
    if (real.comm.size() == world().size()) GTEST_SKIP() << "needs several nodes";
    if (GetParam().exchange == std::string("shared")) GTEST_SKIP() << "needs one node";
  }
};

TEST_P(EveryExchange, BringsEachElementToItsPlace) {
  const NodeMap nodes(GetParam().nodes);
  const ExchangeProblem problem = problem_of(nodes, *GetParam().pair, GetParam().variant);
  if (may_refuse(GetParam().exchange))
    if (const std::string why = refusal_on_any_rank(GetParam().exchange, problem); !why.empty())
      GTEST_SKIP() << why;
  Rig rig(nodes, {problem}, maker(GetParam().exchange));
  for (int call = 0; call < 4; ++call) rig.call(0, call % 2 == 0, call == 3 ? 200 : 0);
}

INSTANTIATE_TEST_SUITE_P(, EveryExchange, ::testing::ValuesIn(all_cases()), name_of_case);

class ReturningExchange : public EveryExchange {};

TEST_P(ReturningExchange, StoresEachBlockWhereItWasLoadedFrom) {
  const NodeMap nodes(GetParam().nodes);
  const ExchangeProblem there = problem_of(nodes, *GetParam().pair, GetParam().variant);
  ExchangeProblem back = reversed(there);
  back.returns = true;
  Rig rig(nodes, {there, back}, maker(GetParam().exchange));
  const auto blocks = redistribution_between(there.from, there.to, world().rank()).receives;
  for (int block = 0; block < static_cast<int>(blocks.size()); ++block) {
    if (nodes.rank_of[static_cast<std::size_t>(blocks[static_cast<std::size_t>(block)].peer)] < 0)
      continue;
    EXPECT_EQ(rig.exchange(0).inbox(0, block), rig.exchange(1).outbox(0, block));
  }
  for (int call = 0; call < 6; ++call) rig.call(call % 3 == 0 ? 0 : 1, call % 2 == 0, 200);
}

std::vector<Case> returning_cases() {
  std::vector<Case> cases;
  for (const Case& c : all_cases())
    if (exchange_named(c.exchange).returns()) cases.push_back(c);
  return cases;
}

INSTANTIATE_TEST_SUITE_P(, ReturningExchange, ::testing::ValuesIn(returning_cases()), name_of_case);

class Synchronisation : public EveryExchange {};

// Ranks are early and late by far more than a call takes, in both directions of one window.
TEST_P(Synchronisation, HoldsWithEarlyAndLateRanks) {
  if (world().size() == 1) GTEST_SKIP() << "one rank waits for nobody";
  const NodeMap nodes(GetParam().nodes);
  const ExchangeProblem problem = problem_of(nodes, *GetParam().pair, GetParam().variant);
  if (may_refuse(GetParam().exchange))
    if (const std::string why = refusal_on_any_rank(GetParam().exchange, problem); !why.empty())
      GTEST_SKIP() << why;
  Rig rig(nodes, {problem, reversed(problem)}, maker(GetParam().exchange));
  std::mt19937 same_on_all_ranks(7);
  for (int call = 0; call < 20; ++call) {
    const auto choice = same_on_all_ranks();
    const auto late_rank =
        static_cast<int>(same_on_all_ranks() % static_cast<unsigned>(world().size()));
    const int delay = call % 3 == 0 ? 750 : (world().rank() == late_rank ? 3000 : 0);
    rig.call(choice % 2, choice % 4 < 2, delay);
  }
}

std::vector<Case> synchronisation_cases() {
  // Messages so long that MPI does not copy them before they are received.
  static const Pair long_one_way{"long_one_way", {48, 48, 40}, boxes(2), boxes(3)};
  static const Pair long_messages{"long_messages", {48, 48, 40}, grid({0}), grid({1})};
  std::vector<Case> cases;
  for (const Case& c : all_cases()) {
    const std::string pair = c.pair->name;
    if (c.variant.chunks != 2) continue;
    const std::string name = c.exchange;
    const bool by_windows = name == "shared" || name == "mixed" || name == "hierarchical";
    if (pair == "slabs_0_to_1") cases.push_back({c.exchange, c.nodes, &long_messages, c.variant});
    if (!by_windows && name != "pairwise") continue;
    if (pair == "slabs_2d") cases.push_back({c.exchange, c.nodes, &long_one_way, c.variant});
    if (pair == "pencils_01_to_02") cases.push_back(c);
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(, Synchronisation, ::testing::ValuesIn(synchronisation_cases()),
                         name_of_case);

TEST(Exchange, AllocatesNothingInACall) {
  const Pair cubes{"", {24, 24, 24}, grid({0}), grid({1})};
  const NodeMap nodes(Nodes::halves);
  for (const char* name : {"mixed", "pairwise", "alltoallv", "ialltoallv", "ring", "persistent",
                           "alltoall", "alltoallw", "scatter", "hierarchical", "rma"}) {
    const ExchangeProblem problem = problem_of(nodes, cubes, {16, 1, 2, 2, 0});
    if (may_refuse(name) && !refusal_on_any_rank(name, problem).empty()) continue;
    const auto exchange = maker(name)(problem);
    const ExchangeMemory memory = exchange->memory();
    std::vector<std::byte> send(static_cast<std::size_t>(memory.send_bytes));
    std::vector<std::byte> receive(static_cast<std::size_t>(memory.receive_bytes));
    SharedWindow window(nodes.comm, memory.window_bytes, kCountersOfPlan + memory.window_counters);
    exchange->attach(
        {.window = &window, .send_memory = send.data(), .receive_memory = receive.data()});
    std::vector<std::byte*> bases(kSlotPeers, nullptr);
    bases[kSlotSend] = send.data();
    bases[kSlotReceive] = receive.data();
    const std::int64_t before = testing::allocations();
    for (std::int64_t call = 1; call <= 3; ++call) {
      exchange->begin(call, bases);
      exchange->open();
      for (int unit = 0; unit < 2; ++unit) exchange->start(unit);
      exchange->progress();
      for (int unit = 0; unit < 2; ++unit) {
        exchange->ready(unit);
        exchange->wait(unit);
        exchange->release(unit);
      }
      window.publish(kFinishedCounter, call);
    }
    EXPECT_EQ(before, testing::allocations()) << name;
    nodes.comm.barrier();
  }
}

TEST(Exchange, SendsNoMessageButThoseItCounts) {
  const NodeMap nodes(Nodes::halves);
  for (const char* name : {"pairwise", "mixed", "ring", "hierarchical"}) {
    const ExchangeProblem problem = problem_of(nodes, pairs()[8], {8, 3, 7, 0, 0});
    Rig rig(nodes, {problem}, maker(name));
    const std::int64_t before = messages_sent;
    rig.call(0, false, 0);
    EXPECT_EQ(rig.exchange(0).traffic().messages, messages_sent - before) << name;
  }
}

TEST(Exchange, WorksWithGranulesGrownToFitSmallCounts) {
  const NodeMap nodes(Nodes::one);
  const ExchangeProblem problem = problem_of(nodes, pairs()[0], {16, 2, 2, 2, 0});
  for (const std::int64_t most : {1, 10, 40}) {
    const auto make = [most](ExchangeProblem p) {
      return std::make_unique<PairwiseExchange>(std::move(p), Peers::all, most);
    };
    const auto exchange = make(problem);
    const std::int64_t granule = exchange->granule_bytes();
    EXPECT_EQ(granule, world().max(granule));
    const std::int64_t blocks = world().size();  // each needs one granule at least
    EXPECT_LE(exchange->memory().send_bytes / 4 / granule, std::max(most, blocks));
    EXPECT_LE(exchange->memory().receive_bytes / 4 / granule, std::max(most, blocks));
    Rig rig(nodes, {problem}, make);
    for (int call = 0; call < 2; ++call) rig.call(0, call == 0, 0);
  }
}

TEST(Exchange, CountsItsTraffic) {
  const std::int64_t ranks = world().size();
  for (const Nodes split : {Nodes::one, Nodes::halves}) {
    const NodeMap nodes(split);
    // Each rank sends a block of n^3 / P^2 points to each of the others, for 3 fields in 2 chunks.
    const Pair cubes{"", {24, 24, 24}, grid({0}), grid({1})};
    const ExchangeProblem problem = problem_of(nodes, cubes, {16, 3, 2, 2, 0});
    const std::int64_t block_bytes = 24 * 24 * 24 / (ranks * ranks) * 16 * 3;
    const std::int64_t off_node = ranks - nodes.comm.size();
    for (const char* name : {"shared", "mixed", "pairwise", "alltoallv", "ialltoallv", "ring",
                             "persistent", "alltoall", "alltoallw", "scatter", "rma"}) {
      if (!exchange_named(name).refusal(problem).empty()) continue;
      const ExchangeTraffic traffic = exchange_named(name).make(problem)->traffic();
      const bool by_messages = name != std::string("shared") && name != std::string("mixed");
      EXPECT_EQ((by_messages ? ranks - 1 : off_node) * 3 * 2, traffic.messages) << name;
      EXPECT_EQ((ranks - 1) * block_bytes, traffic.bytes) << name;
      EXPECT_EQ(off_node * 3 * 2, traffic.messages_off_node) << name;
      EXPECT_EQ(off_node * block_bytes, traffic.bytes_off_node) << name;
    }
  }
}

TEST(Exchange, AlltoallCountsItsPaddingAndRefusesTooMuchOfIt) {
  if (world().size() == 1) GTEST_SKIP() << "needs 2 ranks";
  const NodeMap nodes(Nodes::one);
  const int ranks = world().size();
  // One rank has 3 points along axis 0 where the others have 2.
  const Pair nearly{"", {2 * ranks + 1, 4 * ranks, 6}, grid({0}), grid({1})};
  const ExchangeProblem problem = problem_of(nodes, nearly, {16, 1, 1, 2, 0});
  EXPECT_EQ("", refusal_on_any_rank("alltoall", problem));
  const ExchangeTraffic traffic = exchange_named("alltoall").make(problem)->traffic();
  EXPECT_EQ(ranks - 1, traffic.messages);
  EXPECT_EQ((ranks - 1) * 3 * 4 * 6 * 16, traffic.bytes);
  if (ranks < 4) return;
  // All points are on rank 0 at first: it alone sends, but the padding makes all send as much.
  const auto on_first = [](const Shape& shape, int count) {
    std::vector<Box> boxes(static_cast<std::size_t>(count), Box{{0, 0}, {0, 0}});
    boxes.front() = Box::whole(shape);
    return Layout::from_boxes(shape, boxes);
  };
  const Pair uneven{"", {2 * ranks, 6}, on_first, grid({0})};
  const std::string refusal =
      refusal_on_any_rank("alltoall", problem_of(nodes, uneven, {8, 1, 1, 0, 0}));
  const std::string expected = "with blocks padded to the largest, " + std::to_string(ranks) +
                               " ranks would send " + std::to_string(ranks * (ranks - 1) * 96) +
                               " bytes instead of " + std::to_string((ranks - 1) * 96) +
                               ", more than twice as many; these can do this: shared, ";
  EXPECT_EQ(0U, refusal.find(expected)) << refusal;
  EXPECT_EQ(std::string::npos, refusal.find("alltoall,")) << refusal;
}

// Of P ranks on N nodes, all of which have something for each other.
TEST(Exchange, FewerMessagesTravelBetweenNodes) {
  const int ranks = world().size();
  const Pair cubes{"", {24, 24, 24}, grid({0}), grid({1})};
  for (const Nodes split : {Nodes::halves, Nodes::alternating, Nodes::three}) {
    const NodeMap nodes(split);
    const ExchangeProblem problem = problem_of(nodes, cubes, {16, 3, 2, 2, 0});
    const auto all_ranks = [&](const char* name, auto member) {
      return world().sum(exchange_named(name).make(problem)->traffic().*member);
    };
    std::int64_t pairs_between_nodes = 0;
    for (int a = 0; a < ranks; ++a)
      for (int b = 0; b < ranks; ++b)
        pairs_between_nodes +=
            NodeMap::pretended_node(split, a) != NodeMap::pretended_node(split, b);
    const std::int64_t count = std::min(ranks, split == Nodes::three ? 3 : 2);
    const std::int64_t node_pairs = count * (count - 1);
    const auto messages = &ExchangeTraffic::messages;
    const auto off_node = &ExchangeTraffic::messages_off_node;
    EXPECT_EQ(ranks * (ranks - 1) * 6, all_ranks("pairwise", messages));
    EXPECT_EQ(pairs_between_nodes * 6, all_ranks("pairwise", off_node));
    EXPECT_EQ(pairs_between_nodes * 6, all_ranks("mixed", messages));
    EXPECT_EQ(pairs_between_nodes * 6, all_ranks("mixed", off_node));
    EXPECT_EQ(node_pairs * 6, all_ranks("hierarchical", messages));
    EXPECT_EQ(node_pairs * 6, all_ranks("hierarchical", off_node));
    for (const auto bytes : {&ExchangeTraffic::bytes, &ExchangeTraffic::bytes_off_node})
      EXPECT_EQ(all_ranks("pairwise", bytes), all_ranks("hierarchical", bytes));
  }
}

TEST(Exchange, MixedKeepsInTheWindowOnlyWhatItsNodeReads) {
  if (world().size() % 2 != 0) GTEST_SKIP() << "needs an even number of ranks";
  const NodeMap nodes(Nodes::halves);
  const Pair cubes{"", {24, 24, 24}, grid({0}), grid({1})};
  const auto exchange = exchange_named("mixed").make(problem_of(nodes, cubes, {16, 1, 1, 2, 0}));
  const std::int64_t local_bytes = 24 * 24 * 24 / world().size() * 16;
  EXPECT_EQ(local_bytes / 2, exchange->memory().send_bytes);
  EXPECT_GE(exchange->memory().window_bytes, local_bytes / 2);
  EXPECT_LE(exchange->memory().window_bytes, local_bytes / 2 * 5 / 4);
}

TEST(Exchange, OwnBlocksAreNotMoved) {
  const NodeMap nodes(Nodes::one);
  for (const ExchangeMethod* method : exchange_table()) {
    const auto exchange = method->make(problem_of(nodes, pairs()[11], {16, 2, 1, 0, 0}));
    exchange->attach({});
    EXPECT_EQ(0, exchange->memory().receive_bytes);
    EXPECT_EQ(0, exchange->traffic().messages);
    EXPECT_EQ(0, exchange->traffic().bytes);
    for (int unit = 0; unit < 2; ++unit)
      EXPECT_EQ(exchange->outbox(unit, 0), exchange->inbox(unit, 0));
  }
}

TEST(ExchangeTable, HasTheNamesThatUsersSee) {
  EXPECT_EQ((std::vector<std::string>{"shared", "mixed", "pairwise", "alltoallv", "ialltoallv",
                                      "ring", "persistent", "alltoall", "alltoallw", "scatter",
                                      "hierarchical", "rma"}),
            exchanges());
  for (const std::string& name : exchanges()) EXPECT_EQ(name, exchange_named(name).name());
  EXPECT_EQ(
      "unavailable: there is no exchange \"telepathy\"; this build has shared, mixed, pairwise, "
      "alltoallv, ialltoallv, ring, persistent, alltoall, alltoallw, scatter, hierarchical, rma",
      error_of([] { exchange_named("telepathy"); }));
}

TEST(ExchangeTable, ChoosesByTheRanksOfANode) {
  const auto choice = [](const NodeMap& nodes) {
    return default_exchange(problem_of(nodes, pairs()[0], kVariants[0])).name();
  };
  EXPECT_EQ("shared", choice(NodeMap(Nodes::one)));
  if (world().size() == 1) return;
  EXPECT_EQ(world().size() == 2 ? "pairwise" : "mixed", choice(NodeMap(Nodes::halves)));
}

TEST(ExchangeTable, SharedRefusesRanksOnSeveralNodes) {
  if (world().size() == 1) GTEST_SKIP() << "needs 2 ranks";
  const NodeMap nodes(Nodes::halves);
  const ExchangeProblem problem = problem_of(nodes, pairs()[0], kVariants[0]);
  const std::string expected =
      "it needs all ranks on one node; on the node of rank " + std::to_string(world().rank()) +
      " are " + std::to_string(nodes.comm.size()) + " of " + std::to_string(world().size()) +
      "; these can do this: mixed, pairwise, alltoallv, ialltoallv, ring";
  EXPECT_EQ(0U, exchange_named("shared").refusal(problem).find(expected));
}

TEST(ExchangeTable, RmaOfOpenMpi4RefusesPartsOfTheWorld) {
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION < 5
  if (world().size() < 3) GTEST_SKIP() << "needs 3 ranks";
  const NodeMap nodes(Nodes::one);
  ExchangeProblem problem = problem_of(nodes, pairs()[0], kVariants[0]);
  EXPECT_EQ("", exchange_named("rma").refusal(problem));
  const Communicator part = world().split(world().rank() == 0 ? 0 : 1);
  problem.comm = &part;
  if (part.size() > 1) {
    EXPECT_NE(std::string::npos,
              exchange_named("rma").obstacle(problem).find("safe only among all"));
  }
#else
  GTEST_SKIP() << "for Open MPI 4";
#endif
}

TEST(ExchangeTable, MessagesRefuseMoreTagsThanMpiHas) {
  const NodeMap nodes(Nodes::one);
  ExchangeProblem problem = problem_of(nodes, pairs()[0], kVariants[0]);
  problem.fields = 1 << 20;
  problem.chunks = 1 << 11;
  for (const char* name : {"pairwise", "mixed", "ring", "hierarchical"})
    EXPECT_NE(std::string::npos,
              exchange_named(name).refusal(problem).find("tags up to 2147483652"))
        << name;
}

}  // namespace
}  // namespace weft
