// The command `weft`: reads the command line, starts the ranks where asked, runs one subcommand and
// turns every failure into one line on stderr and an exit status (2: wrong usage, 1: failure).
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "launcher.hpp"
#include "subcommand.hpp"

#ifndef WEFT_VERSION
#define WEFT_VERSION "unknown"
#endif

namespace weft::command {
namespace {

/// Whether this process is the one that speaks, before MPI can tell.
bool speaks() { return launched_rank().value_or(0) == 0; }

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

/// What was wrong. CLI11 does not name the word that is no subcommand.
std::string complaint(const std::vector<Subcommand>& subcommands, const CLI::ParseError& error,
                      const std::string& first_word) {
  std::vector<std::string> names;
  for (const Subcommand& each : subcommands) names.push_back(each.app->get_name());
  const bool known = std::find(names.begin(), names.end(), first_word) != names.end();
  if (known || first_word.empty() || first_word.front() == '-') return one_line(error.what());
  return fmt::format("there is no subcommand '{}'; it may be {}", first_word, join_choices(names));
}

/// Help and version come as exceptions too, with exit code 0.
int end_of_parsing(const CLI::App& app, const std::vector<Subcommand>& subcommands,
                   const CLI::ParseError& error, const std::string& first_word) {
  // Launchers end the other ranks at once when one fails: a silent one that failed first would keep
  // the one that speaks from doing so.
  if (!speaks()) return kSuccess;
  if (error.get_exit_code() == 0) return app.exit(error);
  std::string name = "weft";
  for (const Subcommand& each : subcommands)
    if (each.app->parsed()) name += " " + each.app->get_name();
  fmt::print(stderr, "{}: {} ({} --help says more)\n", name,
             complaint(subcommands, error, first_word), name);
  return kUsage;
}

/// Exceptions that reach the top, on every rank or on this one only.
int status_of(const Error& error) {
  switch (error.code()) {
    case ErrorCode::invalid_argument:
    case ErrorCode::invalid_layout:
    case ErrorCode::rank_mismatch:
    case ErrorCode::unavailable:
      return kUsage;
    case ErrorCode::out_of_memory:
    case ErrorCode::mpi_failure:
    case ErrorCode::engine_failure:
    case ErrorCode::io_failure:
    case ErrorCode::timeout:
    case ErrorCode::internal:
      return kFailure;
  }
  return kFailure;
}

void check_ranks(const LaunchArguments& launch, const World& world) {
  if (launch.ranks > 0 && launch.ranks != world.size())
    throw UsageError(fmt::format(
        "-n {} was given, but the launcher started {} rank{}; leave one of the two away",
        launch.ranks, world.size(), world.size() == 1 ? "" : "s"));
}

int run_here(const Subcommand& chosen) {
  World world(chosen.threads_call_mpi || chosen.launch->threads_call_mpi ? MPI_THREAD_MULTIPLE
                                                                         : MPI_THREAD_FUNNELED);
  try {
    check_ranks(*chosen.launch, world);
    return chosen.run(world);
  } catch (const UsageError& error) {
    return world.fail(one_line(error.what()), kUsage);
  } catch (const Error& error) {
    return world.fail(one_line(error.what()), status_of(error));
  } catch (const std::exception& error) {
    return world.fail(one_line(error.what()), kFailure);
  }
}

int run(int argc, char** argv) {
  CLI::App app(
      "Distributed FFTs on MPI: measure them, look into them, check them, and take spectra of "
      "files.",
      "weft");
  app.set_version_flag("--version", "weft " WEFT_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  const std::vector<Subcommand> subcommands = {
      make_bench(app),    make_explain(app), make_spectrum(app), make_check(app),
      make_alltoall(app), make_overlap(app), make_info(app)};
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return end_of_parsing(app, subcommands, error, argc > 1 ? argv[1] : "");
  }
  const auto chosen = std::find_if(subcommands.begin(), subcommands.end(),
                                   [](const Subcommand& each) { return each.app->parsed(); });
  if (chosen->launch->ranks > 0 && !launched_rank())
    start_ranks(chosen->launch->ranks, chosen->launch->threads, argv);
  return run_here(*chosen);
}

}  // namespace
}  // namespace weft::command

int main(int argc, char** argv) {
  try {
    return weft::command::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "weft: {}\n", error.what());
    return weft::command::kFailure;
  }
}
