// Options shared by the subcommands. See arguments.hpp.
#include "arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "units.hpp"
#include "weft/plan.hpp"

namespace weft::command {
namespace {

/// Accepts the names of `known` and "auto".
CLI::Validator one_of(std::vector<std::string> known, const std::string& what) {
  known.insert(known.begin(), "auto");
  return CLI::Validator(
      [known, what](std::string& name) -> std::string {
        if (std::find(known.begin(), known.end(), name) != known.end()) return {};
        return fmt::format("there is no {} '{}' here; it may be {}", what, name,
                           join_choices(known));
      },
      "NAME");
}

/// Accepts "64x64x64", and the word `other` where there is one.
CLI::Validator extents_text(const std::string& other = {}) {
  return CLI::Validator(
      [other](std::string& text) -> std::string {
        if (!other.empty() && text == other) return {};
        try {
          parse_extents(text);
        } catch (const UsageError& error) {
          return error.what();
        }
        return {};
      },
      "AxBxC");
}

std::vector<int> parse_grid(const std::string& text, const std::string& what, const Shape& shape,
                            int ranks) {
  const Extents numbers = parse_extents(text);
  if (numbers.size() > shape.size())
    throw UsageError(
        fmt::format("{} {} has more numbers than the shape {} has axes; give at most {}", what,
                    text, to_string(shape), shape.size()));
  std::vector<int> parts(static_cast<std::size_t>(shape.size()), 1);
  std::int64_t product = 1;
  for (int axis = 0; axis < numbers.size() && product <= ranks; ++axis) {
    product *= std::min<std::int64_t>(numbers[axis], ranks + 1);
    parts[static_cast<std::size_t>(axis)] = static_cast<int>(product <= ranks ? numbers[axis] : 1);
  }
  if (product != ranks)
    throw UsageError(fmt::format("{} {} does not fit {}; give numbers whose product is {}", what,
                                 text, counted(ranks, "rank"), ranks));
  return parts;
}

}  // namespace

std::string join_choices(const std::vector<std::string>& names) {
  std::string result;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) result += i + 1 == names.size() ? " or " : ", ";
    result += names[i];
  }
  return result;
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> result;
  std::string word;
  for (char c : text + ",") {
    if (c == ',') {
      if (!word.empty()) result.push_back(word);
      word.clear();
    } else if (c != ' ') {
      word += c;
    }
  }
  return result;
}

Extents parse_extents(const std::string& text) {
  const auto fail = [&]() -> UsageError {
    return UsageError(
        fmt::format("'{}' is not 1 to {} positive numbers joined by x, such as 64x64x64", text,
                    kMaxDimensions));
  };
  Extents result;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (;;) {
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(at, end, value);
    if (error != std::errc() || value < 1 || result.size() == kMaxDimensions) throw fail();
    result.push_back(value);
    if (stop == end) return result;
    if (*stop != 'x') throw fail();
    at = stop + 1;
  }
}

void add_exchange_option(CLI::App& app, std::string& exchange) {
  app.add_option("--exchange", exchange,
                 fmt::format("how data travels: {} or auto", fmt::join(exchanges(), ", ")))
      ->check(one_of(exchanges(), "exchange"))
      ->capture_default_str();
}

void add_engine_option(CLI::App& app, std::string& engine) {
  app.add_option("--engine", engine,
                 fmt::format("who computes the 1-D transforms: {} or auto (the faster)",
                             fmt::join(engines(), ", ")))
      ->check(one_of(engines(), "engine"))
      ->capture_default_str();
}

void LaunchArguments::add_to(CLI::App& app) {
  app.add_option("-n,--ranks", ranks,
                 "start this many ranks (without it: those that mpirun started, else one)")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--threads", threads, "threads of each rank (without it: OMP_NUM_THREADS, else 1)")
      ->check(CLI::Range(1, 4096));
}

Progress parse_progress(const std::string& text) {
  for (const Progress progress : {Progress::none, Progress::poll, Progress::thread})
    if (text == name_of_progress(progress)) return progress;
  throw UsageError(fmt::format("there is no progress '{}'; it may be none, poll or thread", text));
}

std::string name_of_progress(Progress progress) {
  switch (progress) {
    case Progress::none:
      return "none";
    case Progress::poll:
      return "poll";
    case Progress::thread:
      return "thread";
  }
  return "?";
}

void TransformArguments::add_to(CLI::App& app, LaunchArguments& launch) {
  app.add_option("SHAPE", shape, "global size of the (real or complex) input, such as 256x256x256")
      ->required()
      ->check(extents_text());
  app.add_option("--kind", kind, "c2c: complex to complex; r2c: real to complex (last axis halved)")
      ->check(CLI::IsMember({"c2c", "r2c"}))
      ->capture_default_str();
  app.add_option("--precision", precision, "double or single")
      ->check(CLI::IsMember({"double", "single"}))
      ->capture_default_str();
  app.add_option("--grid", grid,
                 "parts of each axis of the input, such as 2x2 for pencils; missing numbers are 1")
      ->check(extents_text());
  app.add_option(
         "--output-grid", output_grid,
         "parts of each axis of the output, or natural: as the input (without it: the cheapest)")
      ->check(extents_text("natural"));
  add_exchange_option(app, exchange);
  add_engine_option(app, engine);
  app.add_option("--fields", fields, "arrays transformed by one call")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--chunks", chunks, "pieces that each exchange sends one after another")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  app.add_option("--progress", progress,
                 "what moves messages on meanwhile: none, poll (between tiles), thread")
      ->check(CLI::IsMember({"none", "poll", "thread"}))
      ->each([&launch](const std::string& chosen) { launch.threads_call_mpi = chosen == "thread"; })
      ->capture_default_str();
  app.add_option("--timeout", timeout, "seconds that a chunk may take to arrive; 0: any time")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("--in-place", in_place, "one array for input and output");
  app.add_flag("--low-memory", low_memory,
               "in place with exchanges of an eighth of the array at a time: less memory, slower");
  app.add_flag("--shared-arrays", shared_arrays,
               "promise that only arrays of the plan come, which all ranks reach: less memory");
}

Shape TransformArguments::global_shape() const { return parse_extents(shape); }

Options TransformArguments::options(const LaunchArguments& launch, int ranks) const {
  const Shape extents = global_shape();
  Options result;
  result.fields = fields;
  result.chunks = chunks;
  result.progress = parse_progress(progress);
  result.timeout = timeout;
  result.in_place = in_place || low_memory;
  result.low_memory = low_memory;
  result.shared_arrays = shared_arrays;
  result.exchange = exchange;
  result.engine = engine;
  result.threads = launch.threads;
  if (!grid.empty()) result.input.grid = parse_grid(grid, "--grid", extents, ranks);
  if (output_grid == "natural") {
    if (grid.empty()) throw UsageError("--output-grid natural needs --grid, such as --grid 4x2");
    result.output.grid = result.input.grid;
  } else if (!output_grid.empty()) {
    result.output.grid = parse_grid(output_grid, "--output-grid", extents, ranks);
  }
  return result;
}

}  // namespace weft::command
