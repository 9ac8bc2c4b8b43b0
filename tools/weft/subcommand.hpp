// Subcommand: what main() knows about each of the command's verbs. Every file with a verb offers
// one maker.
#pragma once

#include <functional>
#include <memory>

#include "arguments.hpp"
#include "world.hpp"

namespace weft::command {

struct Subcommand {
  CLI::App* app = nullptr;                  ///< parsed() when the user chose this one
  std::shared_ptr<LaunchArguments> launch;  ///< filled by parsing
  std::function<int(World&)> run;           ///< on every rank; returns the exit status
  bool threads_call_mpi = false;            ///< whether MPI_THREAD_MULTIPLE is asked for
};

Subcommand make_bench(CLI::App& parent);
Subcommand make_explain(CLI::App& parent);
Subcommand make_spectrum(CLI::App& parent);
Subcommand make_check(CLI::App& parent);
Subcommand make_alltoall(CLI::App& parent);
Subcommand make_overlap(CLI::App& parent);
Subcommand make_info(CLI::App& parent);

}  // namespace weft::command
