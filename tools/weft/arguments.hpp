// What the subcommands take from the command line in common, and its translation into
// weft::Options.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "weft/options.hpp"
#include "world.hpp"

namespace weft::command {

/// How many ranks to start; 0 leaves that to the launcher.
struct LaunchArguments {
  int ranks = 0;
  int threads = 0;                ///< 0: as OMP_NUM_THREADS says, else 1
  bool threads_call_mpi = false;  ///< MPI_THREAD_MULTIPLE is asked for

  void add_to(CLI::App& app);
};

/// One transform as the user describes it.
struct TransformArguments {
  std::string shape;
  std::string kind = "c2c";
  std::string precision = "double";
  std::string grid;         ///< "4x2"; empty: chosen by Weft
  std::string output_grid;  ///< "4x2", "natural" (as the input's); empty: the cheapest
  std::string exchange = "auto";
  std::string engine = "auto";
  int fields = 1;
  int chunks = 1;
  std::string progress = "poll";
  double timeout = 0;
  bool in_place = false;
  bool low_memory = false;  ///< and so in place
  bool shared_arrays = false;

  /// `launch` is told when MPI must serve several threads.
  void add_to(CLI::App& app, LaunchArguments& launch);

  Shape global_shape() const;
  bool is_real() const { return kind == "r2c"; }
  bool is_single() const { return precision == "single"; }
  /// Throws UsageError when the grids do not fit the shape and the number of ranks.
  Options options(const LaunchArguments& launch, int ranks) const;
};

/// Options --exchange and --engine, checked against the names that this build has.
void add_exchange_option(CLI::App& app, std::string& exchange);
void add_engine_option(CLI::App& app, std::string& engine);

/// "none", "poll" or "thread", and back. Throws UsageError.
Progress parse_progress(const std::string& text);
std::string name_of_progress(Progress progress);

/// "64x32" -> {64, 32}. Throws UsageError.
Extents parse_extents(const std::string& text);

/// "natural, shared" -> {"natural", "shared"}: what stands between commas, spaces dropped.
std::vector<std::string> split_list(const std::string& text);

/// "a, b or c".
std::string join_choices(const std::vector<std::string>& names);

}  // namespace weft::command
