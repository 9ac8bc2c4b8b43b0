// `weft check`: random problems against an independent oracle. A failing case is printed as a
// command that repeats it.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "progress.hpp"
#include "pseudo_random.hpp"
#include "subcommand.hpp"
#include "trial.hpp"
#include "units.hpp"
#include "watchdog.hpp"
#include "weft/plan.hpp"

namespace weft::command {
namespace {

/// Longer than any case takes on a crowded machine.
constexpr unsigned kSecondsPerCase = 60;
/// Failures told in full; the rest are only counted.
constexpr int kFailuresShown = 10;

struct CheckArguments {
  std::int64_t cases = 100;
  std::uint64_t seed = 1;
  std::int64_t first = 0;
  std::string exchanges;
  std::string engines;
  bool verbose = false;
};

/// The names in `asked`, all of `known` and auto when it is empty. Throws UsageError for unknown
/// ones.
std::vector<std::string> allowed(const std::string& asked, std::vector<std::string> known,
                                 const std::string& what) {
  known.emplace_back("auto");
  if (asked.empty()) return known;
  std::vector<std::string> names = split_list(asked);
  for (const std::string& name : names)
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw UsageError(
          fmt::format("there is no {} '{}' here; it may be {}", what, name, join_choices(known)));
  if (names.empty())
    throw UsageError(fmt::format("--{} needs names, such as {}", what, known.front()));
  return names;
}

/// The command line that runs only this case, and exactly this one.
std::string repeat_line(const CheckArguments& arguments, std::int64_t number, int ranks) {
  std::string line =
      fmt::format("weft check -n {} --seed {} --first {} --cases 1", ranks, arguments.seed, number);
  if (!arguments.exchanges.empty()) line += " --exchange " + arguments.exchanges;
  if (!arguments.engines.empty()) line += " --engine " + arguments.engines;
  return line;
}

struct Counts {
  std::int64_t passed = 0;
  std::int64_t failed = 0;
  std::int64_t skipped = 0;
  std::map<std::string, std::int64_t> reasons;  ///< of skipping
};

void tell(const World& world, const std::string& heading, const std::string& line,
          const Problem& problem, const Outcome& outcome) {
  if (!world.is_first()) return;
  fmt::print("{:<8}{}\n        {}\n", heading, line, problem.description());
  if (!outcome.reason.empty()) fmt::print("        {}\n", outcome.reason);
  std::fflush(stdout);
}

void count(const World& world, const CheckArguments& arguments, const std::string& line,
           const Problem& problem, const Outcome& outcome, Counts& counts) {
  switch (outcome.verdict) {
    case Verdict::passed:
      ++counts.passed;
      if (arguments.verbose) tell(world, "passed", line, problem, outcome);
      return;
    case Verdict::skipped:
      ++counts.skipped;
      ++counts.reasons[outcome.reason];
      if (arguments.verbose) tell(world, "skipped", line, problem, outcome);
      return;
    case Verdict::failed:
      if (++counts.failed <= kFailuresShown) tell(world, "FAILED", line, problem, outcome);
      return;
  }
}

/// An exception here comes from executing a plan, after which the ranks may be out of step: it ends
/// the run, but says where it was.
Outcome try_case(const World& world, std::uint64_t seed, const std::string& line,
                 const Problem& problem) {
  watch(fmt::format("{}  ({})", line, problem.description()), kSecondsPerCase);
  try {
    const Outcome outcome = try_problem(world, problem, seed);
    stop_watching();
    return outcome;
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {}", line, error.what()));
  }
}

Counts try_all(const World& world, const CheckArguments& arguments, const Choosable& choosable) {
  Counts counts;
  Progress progress(world.is_first());
  for (std::int64_t i = 0; i < arguments.cases; ++i) {
    const std::int64_t number = arguments.first + i;
    const Problem problem = random_problem(arguments.seed, number, world.size(), choosable);
    const std::string line = repeat_line(arguments, number, world.size());
    const std::uint64_t seed = hash(arguments.seed) + static_cast<std::uint64_t>(number);
    const Outcome outcome = try_case(world, seed, line, problem);
    if (outcome.verdict == Verdict::failed || arguments.verbose) progress.clear();
    count(world, arguments, line, problem, outcome, counts);
    progress.update("checking", static_cast<double>(i + 1) / static_cast<double>(arguments.cases));
  }
  return counts;
}

int run_check(const World& world, const CheckArguments& arguments) {
  const Counts counts = try_all(world, arguments,
                                {allowed(arguments.exchanges, exchanges(), "exchange"),
                                 allowed(arguments.engines, engines(), "engine")});
  if (world.is_first()) {
    for (const auto& [reason, times] : counts.reasons)
      fmt::print("skipped {}: {}\n", times, reason);
    fmt::print("{} cases passed, {} failed, {} skipped on {}\n", counts.passed, counts.failed,
               counts.skipped, counted(world.size(), "rank"));
  }
  return counts.failed == 0 ? kSuccess : kFailure;
}

}  // namespace

Subcommand make_check(CLI::App& parent) {
  auto arguments = std::make_shared<CheckArguments>();
  auto launch = std::make_shared<LaunchArguments>();
  CLI::App* app =
      parent.add_subcommand("check", "compare random problems with an independent oracle");
  launch->add_to(*app);
  app->add_option("--cases", arguments->cases, "how many problems")
      ->check(CLI::Range(1, 100000000))
      ->capture_default_str();
  app->add_option("--seed", arguments->seed, "which problems: the same seed, the same problems")
      ->capture_default_str();
  app->add_option("--first", arguments->first, "number of the first problem of the seed")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app->add_option("--exchange", arguments->exchanges, "only these exchanges, such as shared,auto");
  app->add_option("--engine", arguments->engines, "only these engines, such as fftw");
  app->add_flag("--verbose", arguments->verbose, "name every problem");
  return {app, launch, [=](World& world) { return run_check(world, *arguments); }};
}

}  // namespace weft::command
