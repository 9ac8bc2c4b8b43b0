// `weft info`: what this build has and where it runs.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "subcommand.hpp"
#include "transport.hpp"
#include "units.hpp"
#include "weft/plan.hpp"

#ifndef WEFT_VERSION
#define WEFT_VERSION "unknown"
#endif

namespace weft::command {
namespace {

#ifdef WEFT_HAVE_HDF5
constexpr const char* kFormats = ".npy, HDF5";
#else
constexpr const char* kFormats = ".npy (built without parallel HDF5)";
#endif

/// Nodes that run ranks. Collective.
std::int64_t count_nodes(const World& world) {
  MPI_Comm node = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(world.comm(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node),
            "MPI_Comm_split_type");
  int rank_on_node = 0;
  MPI_Comm_rank(node, &rank_on_node);
  MPI_Comm_free(&node);
  return world.sum(std::int64_t{rank_on_node == 0});
}

int run_info(const World& world) {
  const std::int64_t nodes = count_nodes(world);
  if (!world.is_first()) return kSuccess;
  const std::string processor = instructions();
  fmt::print("weft       {}\n", WEFT_VERSION);
  fmt::print("MPI        {}\n", mpi_version());
  const std::string chosen = transport_variables();
  fmt::print("transport  {}{}\n", transport(), chosen.empty() ? "" : "; chosen by " + chosen);
  fmt::print("ranks      {} on {}\n", world.size(), counted(nodes, "node"));
  fmt::print("engines    {}\n", fmt::join(engines(), ", "));
  fmt::print("processor  {} as the engine weft uses it\n", processor);
  fmt::print("exchanges  {}\n", fmt::join(exchanges(), ", "));
  fmt::print("files      {}\n", kFormats);
  return kSuccess;
}

}  // namespace

Subcommand make_info(CLI::App& parent) {
  auto launch = std::make_shared<LaunchArguments>();
  CLI::App* app = parent.add_subcommand(
      "info", "say what this build has: engines, exchanges, MPI, file formats");
  launch->add_to(*app);
  return {app, launch, [](World& world) { return run_info(world); }};
}

}  // namespace weft::command
