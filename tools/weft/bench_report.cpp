// The table and the JSON of `weft bench`.
#include "bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "units.hpp"

#ifndef WEFT_VERSION
#define WEFT_VERSION "unknown"
#endif

namespace weft::command {
namespace {

using Json = nlohmann::ordered_json;

std::string grid_text(const std::vector<int>& parts) {
  return parts.empty() ? std::string("boxes") : fmt::format("{}", fmt::join(parts, "x"));
}

std::string title(const BenchResult& result) {
  const TransformArguments& asked = result.arguments;
  std::string text =
      fmt::format("{} {} {}, {} x {}", to_string(result.shape), asked.kind, asked.precision,
                  counted(result.ranks, "rank"), counted(result.options.threads, "thread"));
  if (result.options.fields > 1) text += fmt::format(", {} fields", result.options.fields);
  if (result.options.in_place) text += ", in place";
  if (result.options.low_memory) text += ", low memory";
  if (result.options.shared_arrays) text += ", shared arrays";
  if (result.elsewhere) text += ", arrays from elsewhere";
  return text + fmt::format("\ngrid {} -> {}, exchange {}, engine {}, workspace {}\n",
                            grid_text(result.input_parts), grid_text(result.output_parts),
                            result.options.exchange, result.options.engine,
                            human_bytes(result.workspace_bytes));
}

std::string direction_row(const char* name, const BenchResult& result, const Timing& timing) {
  return fmt::format("{:<28}{:>10.3f}{:>10.3f}{:>10.3f}{:>10.2f}\n", name, 1e3 * timing.min(),
                     1e3 * timing.median(), 1e3 * timing.max(),
                     result.operations() / timing.median() * 1e-9);
}

std::string step_rows(const std::vector<StepTiming>& steps) {
  std::string text;
  for (const StepTiming& each : steps) {
    // Where nothing had to be waited for, a rate says nothing.
    const double rate =
        each.seconds > 0 ? static_cast<double>(each.bytes) / each.seconds * 1e-9 : 0;
    text += fmt::format("  {:<26}{:>10.3f}{:>10.3f}{:>10}\n", each.step.name, 1e3 * each.seconds,
                        static_cast<double>(each.bytes) * 1e-9,
                        each.seconds > 1e-6 ? fmt::format("{:.2f}", rate) : std::string("-"));
  }
  return text;
}

std::string floor_text(const BenchResult& result) {
  const double floor = result.floor_seconds();
  return fmt::format(
      "floor {:.3f} ms: {} read and written in {} at {:.1f} GB/s, the bandwidth that all ranks\n"
      "copying together get now; at best forward takes {:.2f} x, backward {:.2f} x the floor\n",
      1e3 * floor, human_bytes(result.pass_bytes),
      result.passes == 1 ? "1 pass" : fmt::format("{} passes", result.passes),
      result.stream_bytes_per_second * 1e-9, result.forward.timing.min() / floor,
      result.backward.timing.min() / floor);
}

Json direction_json(const BenchResult& result, const DirectionResult& direction) {
  const Timing& timing = direction.timing;
  return {{"min_s", timing.min()},
          {"median_s", timing.median()},
          {"max_s", timing.max()},
          {"gflops", result.operations() / timing.median() * 1e-9},
          {"repetitions", timing.seconds.size()}};
}

void append_steps(Json& stages, const char* direction, const std::vector<StepTiming>& steps) {
  for (const StepTiming& each : steps)
    stages.push_back({{"name", each.step.name},
                      {"direction", direction},
                      {"type", each.step.type == Step::Type::compute ? "compute" : "exchange"},
                      {"seconds", each.seconds},
                      {"bytes", each.bytes}});
}

Json options_json(const BenchResult& result) {
  const Options& options = result.options;
  return {{"grid", result.input_parts},
          {"output_grid", result.output_parts},
          {"exchange", options.exchange},
          {"engine", options.engine},
          {"chunks", options.chunks},
          {"progress", name_of_progress(options.progress)},
          {"in_place", options.in_place},
          {"low_memory", options.low_memory},
          {"shared_arrays", options.shared_arrays},
          {"arrays_elsewhere", result.elsewhere},
          {"normalization", "backward"}};
}

}  // namespace

double Timing::min() const { return *std::min_element(seconds.begin(), seconds.end()); }
double Timing::max() const { return *std::max_element(seconds.begin(), seconds.end()); }

double Timing::median() const {
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

double BenchResult::operations() const {
  const auto points = static_cast<double>(shape.product());
  return options.fields * 5 * points * std::log2(points) * (arguments.is_real() ? 0.5 : 1.0);
}

std::string bench_table(const BenchResult& result) {
  std::string text = title(result);
  text += fmt::format("\n{:<28}{:>10}{:>10}{:>10}{:>10}\n", "", "min ms", "median ms", "max ms",
                      "GFlop/s");
  text += direction_row("forward", result, result.forward.timing);
  text += direction_row("backward", result, result.backward.timing);
  text += fmt::format("\n{:<28}{:>10}{:>10}{:>10}\n", "steps", "ms", "GB", "GB/s");
  text += "forward\n" + step_rows(result.forward.steps);
  text += "backward\n" + step_rows(result.backward.steps);
  text += "\n" + floor_text(result);
  text += fmt::format("errors: round trip {:.2g}; against a long-double direct sum at {} {:.2g}\n",
                      result.roundtrip_error, counted(result.sampled_modes, "mode"),
                      result.reference_error);
  return text;
}

Json bench_json(const BenchResult& result) {
  Json stages = Json::array();
  append_steps(stages, "forward", result.forward.steps);
  append_steps(stages, "backward", result.backward.steps);
  const double both = result.forward.timing.median() + result.backward.timing.median();
  return {{"weft", WEFT_VERSION},
          {"shape", std::vector<std::int64_t>(result.shape.begin(), result.shape.end())},
          {"kind", result.arguments.kind},
          {"precision", result.arguments.precision},
          {"ranks", result.ranks},
          {"threads", result.options.threads},
          {"fields", result.options.fields},
          {"options", options_json(result)},
          {"forward", direction_json(result, result.forward)},
          {"backward", direction_json(result, result.backward)},
          {"gflops", 2 * result.operations() / both * 1e-9},
          {"roundtrip_error", result.roundtrip_error},
          {"reference_error", result.reference_error},
          {"reference_modes", result.sampled_modes},
          {"workspace_bytes", result.workspace_bytes},
          {"stages", stages},
          {"stream_bytes_per_s", result.stream_bytes_per_second},
          {"passes", result.passes},
          {"pass_bytes", result.pass_bytes},
          {"floor_s", result.floor_seconds()}};
}

}  // namespace weft::command
