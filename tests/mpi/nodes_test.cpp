// Plans on the nodes that there really are: which exchange is chosen, what is refused, which bytes
// leave a node. On one node little can differ; tests/hosts/run makes several.
#include <gtest/gtest.h>

#include <complex>

#include "layout/redistribution.hpp"
#include "plan_case.hpp"
#include "support.hpp"

namespace weft {
namespace {

using testing::error_of;
using testing::world;
using Complex = std::complex<double>;

/// Of each rank: the lowest rank of the world on its node. Asks MPI, not Weft.
std::vector<std::int64_t> node_of_each_rank() {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  std::int64_t first = world().rank();
  MPI_Bcast(&first, 1, MPI_INT64_T, 0, node);
  MPI_Comm_free(&node);
  return world().gather({first});
}

bool on_one_node(const std::vector<std::int64_t>& nodes) {
  return std::all_of(nodes.begin(), nodes.end(), [](std::int64_t node) { return node == 0; });
}

Options slabs(const std::string& exchange) {
  Options options;
  options.exchange = exchange;
  options.input.grid = test::even_grid(3, 1, world().size());
  return options;
}

TEST(RealNodes, DecideWhichExchangeIsChosen) {
  const std::vector<std::int64_t> nodes = node_of_each_rank();
  bool shares = false;  // whether some node has two ranks
  for (std::size_t rank = 0; rank < nodes.size(); ++rank)
    shares = shares || nodes[rank] != static_cast<std::int64_t>(rank);
  const Plan<Complex> plan(MPI_COMM_WORLD, {12, 16, 10}, slabs("auto"));
  if (nodes.size() == 1)
    EXPECT_EQ("none", plan.options().exchange);
  else if (on_one_node(nodes))
    EXPECT_EQ("shared", plan.options().exchange);
  else
    EXPECT_EQ(shares ? "mixed" : "pairwise", plan.options().exchange);
}

TEST(RealNodes, AreToldWhenSharedMemoryDoesNotSpanThem) {
  const std::string error = error_of([] {
    Plan<Complex>(MPI_COMM_WORLD, {12, 16, 10}, slabs("shared"));
  });
  if (on_one_node(node_of_each_rank()))
    EXPECT_EQ("", error);
  else
    EXPECT_EQ(0U, error.find("unavailable: rank 0: exchange \"shared\": it needs all ranks on one "
                             "node; on the node of rank 0 are "))
        << error;
}

TEST(RealNodes, AreWhatLeavingBytesLeave) {
  const std::vector<std::int64_t> nodes = node_of_each_rank();
  // Those in which every rank sends its own blocks, as they are, and that work between nodes.
  for (const std::string exchange : {"mixed", "pairwise", "alltoallv", "ialltoallv", "ring"}) {
    const Plan<Complex> plan(MPI_COMM_WORLD, {12, 16, 10}, slabs(exchange));
    Layout layout = plan.input_layout();
    for (const Step& step : plan.program(Direction::forward)) {
      if (step.type == Step::Type::exchange) {
        std::int64_t leaving = 0;
        for (const Block& block : redistribution_between(layout, step.layout, world().rank()).sends)
          if (nodes[static_cast<std::size_t>(block.peer)] !=
              nodes[static_cast<std::size_t>(world().rank())])
            leaving += block.box.volume() * 16;
        EXPECT_EQ(leaving, step.bytes_off_node) << exchange;
      }
      layout = step.layout;
    }
  }
}

}  // namespace
}  // namespace weft
