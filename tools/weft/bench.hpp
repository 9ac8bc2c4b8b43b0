// What `weft bench` measures, apart from how it is measured (bench.cpp) and shown
// (bench_report.cpp).
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "weft/plan.hpp"

namespace weft::command {

/// Seconds of each repetition of one direction: the slowest rank's.
struct Timing {
  std::vector<double> seconds;

  double min() const;
  double median() const;
  double max() const;
};

/// One step of the program: the median over repetitions of the slowest rank's seconds; bytes of all
/// ranks.
struct StepTiming {
  Step step;
  double seconds = 0;
  std::int64_t bytes = 0;
};

struct DirectionResult {
  Timing timing;
  std::vector<StepTiming> steps;
};

struct BenchResult {
  TransformArguments arguments;
  Shape shape;
  int ranks = 1;
  Options options;               ///< as the plan resolved them
  bool elsewhere = false;        ///< arrays are not those that the plan makes
  std::vector<int> input_parts;  ///< parts of each axis; empty for explicit boxes
  std::vector<int> output_parts;
  DirectionResult forward;
  DirectionResult backward;
  double roundtrip_error = 0;  ///< max |x' - x| / max |x|
  double reference_error = 0;  ///< max |X - X_direct| / rms of X, over the sampled modes
  std::int64_t sampled_modes = 0;
  std::int64_t workspace_bytes = 0;  ///< all ranks
  int passes = 0;                    ///< of the forward program
  std::int64_t pass_bytes = 0;       ///< that they read and write: all fields, all ranks
  double stream_bytes_per_second = 0;
  nlohmann::ordered_json trace;  ///< of one call, on the first rank, when asked for

  /// Operations of one direction by the field's convention: 5 N log2 N per field, half of it for
  /// r2c.
  double operations() const;
  double floor_seconds() const { return static_cast<double>(pass_bytes) / stream_bytes_per_second; }
};

std::string bench_table(const BenchResult& result);
nlohmann::ordered_json bench_json(const BenchResult& result);

}  // namespace weft::command
