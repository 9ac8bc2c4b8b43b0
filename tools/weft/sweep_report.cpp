// The table and the JSON of `weft bench --sweep`.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sweep.hpp"
#include "transport.hpp"
#include "units.hpp"

#ifndef WEFT_VERSION
#define WEFT_VERSION "unknown"
#endif

namespace weft::command {
namespace {

using Json = nlohmann::ordered_json;

const Timing& timing_of(const SweepRow& row, Direction direction) {
  return direction == Direction::forward ? row.forward : row.backward;
}

/// What the plan made of "auto" stands behind it.
std::string shown(const SweepRow& row, const Setting& setting) {
  const auto& [name, value] = setting;
  if (value != "auto" || !row.reason.empty()) return value;
  return value + ": " + (name == "engine" ? row.options.engine : row.options.exchange);
}

Json settings_json(const SweepRow& row) {
  Json json = Json::object();
  for (const auto& [name, value] : row.settings) json[name] = value;
  return json;
}

Json options_json(const SweepRow& row) {
  const Options& options = row.options;
  return {{"chunks", options.chunks},         {"fields", options.fields},
          {"exchange", options.exchange},     {"engine", options.engine},
          {"grid", row.input_parts},          {"output_grid", row.output_parts},
          {"threads", options.threads},       {"progress", name_of_progress(options.progress)},
          {"timeout", options.timeout},       {"in_place", options.in_place},
          {"low_memory", options.low_memory}, {"shared_arrays", options.shared_arrays}};
}

/// Of one field.
double operations(const SweepResult& result) {
  const auto points = static_cast<double>(result.shape.product());
  return 5 * points * std::log2(points) * (result.arguments.is_real() ? 0.5 : 1.0);
}

Json direction_json(const SweepResult& result, const SweepRow& row, Direction direction) {
  const Timing& timing = timing_of(row, direction);
  return {{"min_s", timing.min()},
          {"median_s", timing.median()},
          {"max_s", timing.max()},
          {"gflops", row.options.fields * operations(result) / timing.median() * 1e-9},
          {"repetitions", timing.seconds.size()},
          {"best", &row == &result.rows[static_cast<std::size_t>(result.best(direction))]}};
}

std::vector<std::size_t> column_widths(const SweepResult& result) {
  std::vector<std::size_t> widths;
  for (const SweepRow& row : result.rows)
    for (std::size_t i = 0; i < row.settings.size(); ++i) {
      if (widths.size() <= i) widths.push_back(row.settings[i].first.size());
      widths[i] = std::max(widths[i], shown(row, row.settings[i]).size());
    }
  return widths;
}

std::string times(const SweepResult& result, std::size_t number) {
  const SweepRow& row = result.rows[number];
  std::string text;
  for (const Direction direction : {Direction::forward, Direction::backward}) {
    const Timing& timing = timing_of(row, direction);
    text += fmt::format("{:>11.3f}{:>10.3f} {}", 1e3 * timing.min(), 1e3 * timing.median(),
                        static_cast<int>(number) == result.best(direction) ? '*' : ' ');
  }
  return text;
}

bool fields_differ(const SweepResult& result) {
  return std::any_of(result.rows.begin(), result.rows.end(), [&](const SweepRow& row) {
    return row.reason.empty() &&
           row.options.fields !=
               result.rows[static_cast<std::size_t>(result.best(Direction::forward))]
                   .options.fields;
  });
}

}  // namespace

int SweepResult::best(Direction direction) const {
  int best = -1;
  double least = HUGE_VAL;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].reason.empty()) continue;
    const double seconds = timing_of(rows[i], direction).median() / rows[i].options.fields;
    if (seconds < least) best = static_cast<int>(i);
    least = std::min(least, seconds);
  }
  return best;
}

std::string sweep_table(const SweepResult& result) {
  std::string text =
      fmt::format("{} {} {}, {}, {}\n\n", to_string(result.shape), result.arguments.kind,
                  result.arguments.precision, counted(result.ranks, "rank"), transport());
  const std::vector<std::size_t> widths = column_widths(result);
  std::string head;
  for (std::size_t i = 0; i < widths.size(); ++i)
    head += fmt::format("{:<{}}", result.rows.front().settings[i].first, widths[i] + 2);
  const std::size_t indent = head.size();
  text += fmt::format("{:<{}}{:>21}  {:>21}\n", "", indent, "forward ms", "backward ms");
  text += fmt::format("{}{:>11}{:>10}  {:>11}{:>10}\n", head, "min", "median", "min", "median");
  for (std::size_t number = 0; number < result.rows.size(); ++number) {
    const SweepRow& row = result.rows[number];
    for (std::size_t i = 0; i < widths.size(); ++i)
      text += fmt::format("{:<{}}", shown(row, row.settings[i]), widths[i] + 2);
    text += (row.reason.empty() ? times(result, number) : "   cannot be: " + row.reason) + "\n";
  }
  if (result.best(Direction::forward) < 0) return text;
  return text +
         fmt::format(
             "\n* the least median{}; measured in turns, {} each\n",
             fields_differ(result) ? " per field" : "",
             counted(static_cast<std::int64_t>(
                         result.rows[static_cast<std::size_t>(result.best(Direction::forward))]
                             .forward.seconds.size()),
                     "call"));
}

Json sweep_json(const SweepResult& result) {
  Json rows = Json::array();
  Json refused = Json::array();
  Json swept = Json::array();
  for (const Setting& setting : result.rows.front().settings) swept.push_back(setting.first);
  for (const SweepRow& row : result.rows) {
    if (!row.reason.empty()) {
      refused.push_back({{"settings", settings_json(row)}, {"reason", row.reason}});
      continue;
    }
    rows.push_back({{"settings", settings_json(row)},
                    {"options", options_json(row)},
                    {"forward", direction_json(result, row, Direction::forward)},
                    {"backward", direction_json(result, row, Direction::backward)},
                    {"roundtrip_error", row.roundtrip_error},
                    {"reference_error", row.reference_error},
                    {"workspace_bytes", row.workspace_bytes}});
  }
  return {{"weft", WEFT_VERSION},
          {"shape", std::vector<std::int64_t>(result.shape.begin(), result.shape.end())},
          {"kind", result.arguments.kind},
          {"precision", result.arguments.precision},
          {"ranks", result.ranks},
          {"transport", transport()},
          {"swept", swept},
          {"sweep", rows},
          {"refused", refused}};
}

}  // namespace weft::command
