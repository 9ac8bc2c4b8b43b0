// `weft check`: random problems against an independent oracle. A failing case is printed as a
// command that repeats it.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>

#include "progress_line.hpp"
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
  std::string chunks;
  std::string fields;
  std::string progress;
  bool low_memory = false;
  bool verbose = false;
};

/// The names in `asked`, all of `known` and auto when it is empty or "all". Throws UsageError for
/// unknown ones.
std::vector<std::string> allowed(const std::string& asked, std::vector<std::string> known,
                                 const std::string& what) {
  known.emplace_back("auto");
  if (asked.empty() || asked == "all") return known;
  std::vector<std::string> names = split_list(asked);
  for (const std::string& name : names)
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw UsageError(
          fmt::format("there is no {} '{}' here; it may be {}", what, name, join_choices(known)));
  if (names.empty())
    throw UsageError(fmt::format("--{} needs names, such as {}", what, known.front()));
  return names;
}

/// The numbers in `asked`, at least 1; `usual` when it is empty.
std::vector<int> numbers(const std::string& asked, std::vector<int> usual,
                         const std::string& what) {
  if (asked.empty()) return usual;
  std::vector<int> result;
  for (const std::string& text : split_list(asked)) {
    int number = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc{} || end != text.data() + text.size() || number < 1 || number > 4096)
      throw UsageError(
          fmt::format("--{} takes numbers from 1 to 4096, such as 1,3; got '{}'", what, text));
    result.push_back(number);
  }
  if (result.empty()) throw UsageError(fmt::format("--{} needs numbers, such as 1,3", what));
  return result;
}

std::vector<Progress> ways_of_progress(const std::string& asked) {
  if (asked.empty()) return {Progress::poll, Progress::none};
  if (asked == "all") return {Progress::none, Progress::poll, Progress::thread};
  std::vector<Progress> result;
  for (const std::string& name : split_list(asked)) result.push_back(parse_progress(name));
  if (result.empty()) throw UsageError("--progress needs names, such as poll");
  return result;
}

/// The command line that runs only this case, and exactly this one.
std::string repeat_line(const CheckArguments& arguments, std::int64_t number, int ranks) {
  std::string line =
      fmt::format("weft check -n {} --seed {} --first {} --cases 1", ranks, arguments.seed, number);
  if (!arguments.exchanges.empty()) line += " --exchange " + arguments.exchanges;
  if (!arguments.engines.empty()) line += " --engine " + arguments.engines;
  if (!arguments.chunks.empty()) line += " --chunks " + arguments.chunks;
  if (!arguments.fields.empty()) line += " --fields " + arguments.fields;
  if (!arguments.progress.empty()) line += " --progress " + arguments.progress;
  if (arguments.low_memory) line += " --low-memory";
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
  ProgressLine progress(world.is_first());
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
                                 allowed(arguments.engines, engines(), "engine"),
                                 numbers(arguments.chunks, {1, 1, 2, 3, 7}, "chunks"),
                                 numbers(arguments.fields, {1, 1, 1, 2, 3}, "fields"),
                                 ways_of_progress(arguments.progress), arguments.low_memory});
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
  app->add_option("--chunks", arguments->chunks, "only these numbers of chunks, such as 1,2,7");
  app->add_option("--fields", arguments->fields, "only these numbers of fields, such as 1,3");
  app->add_option("--progress", arguments->progress, "none, poll, thread or all")
      ->each([launch](const std::string& asked) {
        launch->threads_call_mpi = asked == "all" || asked.find("thread") != std::string::npos;
      });
  app->add_flag("--low-memory", arguments->low_memory,
                "only plans in place with low memory, where arrays have two axes or more");
  app->add_flag("--verbose", arguments->verbose, "name every problem");
  return {app, launch, [=](World& world) { return run_check(world, *arguments); }};
}

}  // namespace weft::command
