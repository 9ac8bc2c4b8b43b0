// `weft bench --sweep`: one transform with every combination of some values of its options,
// measured in turns so that what disturbs the machine disturbs all of them alike.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "bench.hpp"
#include "publish.hpp"
#include "world.hpp"

namespace weft::command {

/// What is measured, as the user said.
struct SweepArguments {
  TransformArguments transform;  ///< what is not swept
  LaunchArguments launch;
  std::vector<std::string> sweeps;  ///< "chunks=1,2,4"
  int repeat = 0;                   ///< rounds; 0: as many as take about two seconds each
};

/// An option and a value of it, as texts.
using Setting = std::pair<std::string, std::string>;

/// One combination, as asked for.
struct Combination {
  std::vector<Setting> settings;
  TransformArguments transform;
  LaunchArguments launch;
};

/// All combinations, the last sweep's values varying fastest. Throws UsageError for what cannot be
/// swept, and for values that the option does not take.
std::vector<Combination> combinations_of(const SweepArguments& arguments);

/// Whether a sweep has a value for which MPI must serve several threads.
bool sweeps_to_thread(const std::string& sweep);

/// What came of a combination.
struct SweepRow {
  std::vector<Setting> settings;
  std::string reason;  ///< why it cannot be planned; empty for the others
  Options options;     ///< as the plan resolved them
  std::vector<int> input_parts;
  std::vector<int> output_parts;
  Timing forward;
  Timing backward;
  double roundtrip_error = 0;  ///< as in BenchResult
  double reference_error = 0;
  std::int64_t workspace_bytes = 0;  ///< all ranks
};

struct SweepResult {
  TransformArguments arguments;
  Shape shape;
  int ranks = 1;
  std::vector<SweepRow> rows;

  /// The row with the least median per field; -1 without any.
  int best(Direction direction) const;
};

std::string sweep_table(const SweepResult& result);
nlohmann::ordered_json sweep_json(const SweepResult& result);

/// Measures and publishes. Collective.
int run_sweep(const World& world, const SweepArguments& arguments, const PublishArguments& publish);

}  // namespace weft::command
