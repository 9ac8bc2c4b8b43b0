// `weft overlap`: how much of an exchange MPI hides behind computing, by each of its non-blocking
// ways and each way to let it make progress, and what the computing loses by it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "bench.hpp"
#include "gemm.hpp"
#include "mpi/pace.hpp"
#include "nonblocking.hpp"
#include "progress_thread.hpp"
#include "publish.hpp"
#include "subcommand.hpp"
#include "transport.hpp"
#include "units.hpp"

namespace weft::command {
namespace {

using Json = nlohmann::ordered_json;

/// Send and receive buffers of one rank together are kept below this.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 29;
constexpr int kMostRepetitions = 1000;

/// Who lets MPI work on an exchange between its start and the wait for it.
enum class Drive { none, poll, thread };
constexpr Drive kDrives[] = {Drive::none, Drive::poll, Drive::thread};

const char* name_of(Drive drive) {
  switch (drive) {
    case Drive::none:
      return "none";
    case Drive::poll:
      return "poll";
    case Drive::thread:
      return "thread";
  }
  return "unknown";
}

struct OverlapArguments {
  std::string bytes = "4k,64k,1M";
  std::vector<std::string> methods;  ///< empty: all
  double seconds = 0.2;
  PublishArguments publish;
};

/// All times are the slowest rank's, from a barrier on.
struct Row {
  std::string method;
  Drive drive = Drive::none;
  std::int64_t bytes = 0;  ///< for each pair
  std::string refusal;     ///< why there are no numbers
  std::int64_t slices = 0;
  Timing exchange;  ///< alone
  Timing compute;   ///< alone
  Timing total;     ///< both
  Timing beside;    ///< the computing's part of the total

  /// What the exchange costs beside the computing. Each repetition is compared with its own
  /// computing alone, since machines change their speed.
  double exposed() const {
    Timing exposed;
    for (std::size_t i = 0; i < total.seconds.size(); ++i)
      exposed.seconds.push_back(total.seconds[i] - compute.seconds[i]);
    return exposed.median();
  }
  /// As OSU's benchmarks of non-blocking collectives have it; noise could make it more than all.
  double hidden() const { return std::clamp(1 - exposed() / exchange.median(), 0.0, 1.0); }
  double gflops(const Timing& timing) const {
    return static_cast<double>(slices) * Gemm::kFlopsOfSlice / timing.median() * 1e-9;
  }
};

class Meter {
 public:
  Meter(const World& world, double budget) : world_(world), budget_(budget) {}

  /// Computing that takes as long as the exchange does alone: the same number of slices everywhere.
  std::int64_t slices_for(double seconds) {
    constexpr int kSample = 200;
    double best = HUGE_VAL;
    for (int repetition = 0; repetition < 3; ++repetition)
      best = std::min(best, timed([&] { compute(kSample); }));
    return std::max<std::int64_t>(1, std::llround(seconds / best * kSample));
  }

  Timing exchange_alone(Nonblocking& exchange) {
    Timing timing;
    const auto once = [&] {
      exchange.start();
      exchange.wait();
    };
    timed(once);
    check(exchange);
    repeat([&] { return timing.seconds.emplace_back(timed(once)); });
    return timing;
  }

  /// Fills in the row's compute, total and beside; alone and together take turns.
  void together(Nonblocking& exchange, Row& row) {
    std::optional<ProgressThread> helper;
    if (row.drive == Drive::thread) helper.emplace(exchange);
    repeat([&] {
      row.compute.seconds.push_back(timed([&] { compute(row.slices); }));
      double beside = 0;
      row.total.seconds.push_back(timed([&] {
        exchange.start();
        const double start = MPI_Wtime();
        if (helper) helper->begin();
        compute(row.slices, row.drive == Drive::poll ? &exchange : nullptr);
        beside = MPI_Wtime() - start;
        helper ? helper->finish() : exchange.wait();
      }));
      row.beside.seconds.push_back(world_.max(beside));
      return row.compute.seconds.back() + row.total.seconds.back();
    });
    helper.reset();
    check(exchange);
  }

 private:
  /// A finished exchange is not asked again.
  void compute(std::int64_t slices, Nonblocking* polled = nullptr) {
    Pace pace(Pace::kLongestGap);
    for (std::int64_t i = 0; i < slices; ++i) {
      gemm_.slice();
      if (polled == nullptr || !pace.due()) continue;
      if (polled->test()) polled = nullptr;
      pace.done();
    }
    if (gemm_.any_element() < 0) throw Error(ErrorCode::internal, "a sum of products is negative");
  }

  template <class Work>
  double timed(Work&& work) {
    check_mpi(MPI_Barrier(world_.comm()), "MPI_Barrier");
    const double start = MPI_Wtime();
    work();
    return world_.max(MPI_Wtime() - start);
  }

  /// Until the budget is spent, but at least three times; `once` returns the same on all ranks.
  template <class Once>
  void repeat(Once&& once) {
    double spent = 0;
    for (int i = 0; i < kMostRepetitions && (spent <= budget_ || i < 3); ++i) spent += once();
  }

  void check(Nonblocking& exchange) {
    const std::int64_t wrong = exchange.received_rightly() ? 0 : 1;
    if (world_.max(wrong) > 0)
      throw Error(ErrorCode::mpi_failure, "MPI brought data to the wrong place");
  }

  const World& world_;
  double budget_;
  Gemm gemm_;
};

std::string thread_refusal() {
  int level = MPI_THREAD_SINGLE;
  check_mpi(MPI_Query_thread(&level), "MPI_Query_thread");
  return level == MPI_THREAD_MULTIPLE ? "" : "this MPI does not give MPI_THREAD_MULTIPLE";
}

void measure_method(const World& world, const NonblockingMethod& method, std::int64_t bytes,
                    double seconds, std::vector<Row>& rows) {
  const std::string threads = thread_refusal();
  const std::string refusal = method.refusal;
  std::unique_ptr<Nonblocking> exchange;
  Meter meter(world, seconds);
  Timing alone;
  std::int64_t slices = 0;
  if (refusal.empty()) {
    exchange = method.make(world.comm(), static_cast<int>(bytes));
    alone = meter.exchange_alone(*exchange);
    slices = meter.slices_for(alone.median());
  }
  for (const Drive drive : kDrives) {
    Row row{method.name, drive, bytes, refusal, slices, alone, {}, {}, {}};
    if (row.refusal.empty() && drive == Drive::thread) row.refusal = threads;
    if (row.refusal.empty()) meter.together(*exchange, row);
    rows.push_back(std::move(row));
  }
}

std::vector<Row> measure_all(const World& world, const OverlapArguments& arguments) {
  std::vector<Row> rows;
  const std::vector<std::int64_t> sizes = parse_byte_list(arguments.bytes);
  if (2 * sizes.back() * world.size() > kMostBytes)
    throw UsageError(fmt::format("--bytes {}: the largest needs more than {} on each rank",
                                 arguments.bytes, human_bytes(kMostBytes)));
  const auto is_wanted = [&](const NonblockingMethod& method) {
    const std::vector<std::string>& wanted = arguments.methods;
    return wanted.empty() || std::find(wanted.begin(), wanted.end(), method.name) != wanted.end();
  };
  for (const NonblockingMethod& method : nonblocking_methods())
    if (is_wanted(method))
      for (const std::int64_t bytes : sizes)
        measure_method(world, method, bytes, arguments.seconds, rows);
  return rows;
}

std::string table_of(const World& world, const std::vector<Row>& rows) {
  std::string text = fmt::format(
      "MPI beside a matrix product, {}, {}, {}\n\n{:<12}{:>11} {:<8}{:>12}{:>12}{:>12}{:>9}"
      "{:>9}{:>9}\n",
      counted(world.size(), "rank"), mpi_version(), transport(), "method", "bytes/pair", "progress",
      "exchange us", "compute us", "both us", "hidden", "GFlop/s", "of alone");
  for (const Row& row : rows) {
    text += fmt::format("{:<12}{:>11} {:<8}", row.method, row.bytes, name_of(row.drive));
    if (!row.refusal.empty()) {
      text += fmt::format("    refused: {}\n", row.refusal);
      continue;
    }
    text += fmt::format("{:>12.1f}{:>12.1f}{:>12.1f}{:>8.0f}%{:>9.2f}{:>8.0f}%\n",
                        1e6 * row.exchange.median(), 1e6 * row.compute.median(),
                        1e6 * row.total.median(), 100 * row.hidden(), row.gflops(row.beside),
                        100 * row.gflops(row.beside) / row.gflops(row.compute));
  }
  return text +
         "\nhidden = max(0, 1 - (both - compute) / exchange), pair by pair. GFlop/s of one rank, "
         "the slowest, "
         "while it communicates.\nMedians of the slowest rank.\n";
}

Json json_of(const World& world, const std::vector<Row>& rows) {
  Json list = Json::array();
  for (const Row& row : rows) {
    Json each = {{"method", row.method}, {"progress", name_of(row.drive)}, {"bytes", row.bytes}};
    if (!row.refusal.empty()) {
      each["refused"] = row.refusal;
    } else {
      each.update({{"exchange_s", row.exchange.median()},
                   {"exchange_min_s", row.exchange.min()},
                   {"compute_s", row.compute.median()},
                   {"total_s", row.total.median()},
                   {"exposed_s", row.exposed()},
                   {"hidden", row.hidden()},
                   {"gflops", row.gflops(row.beside)},
                   {"gflops_alone", row.gflops(row.compute)},
                   {"repetitions", row.total.seconds.size()}});
    }
    list.push_back(each);
  }
  return {
      {"ranks", world.size()}, {"mpi", mpi_version()}, {"transport", transport()}, {"rows", list}};
}

int run_overlap(const World& world, const OverlapArguments& arguments) {
  const std::vector<Row> rows = measure_all(world, arguments);
  publish(world, arguments.publish, table_of(world, rows), json_of(world, rows), "overlap.py");
  return kSuccess;
}

}  // namespace

Subcommand make_overlap(CLI::App& parent) {
  auto arguments = std::make_shared<OverlapArguments>();
  auto launch = std::make_shared<LaunchArguments>();
  CLI::App* app = parent.add_subcommand(
      "overlap", "how much of an exchange MPI hides behind computing, by every way to do it");
  launch->add_to(*app);
  app->add_option("--bytes", arguments->bytes, "bytes for each pair of ranks; k and M are 1024s")
      ->capture_default_str();
  std::vector<std::string> names;
  for (const NonblockingMethod& method : nonblocking_methods()) names.emplace_back(method.name);
  app->add_option("--methods", arguments->methods, "only these, such as pairwise,ialltoallv")
      ->delimiter(',')
      ->check(CLI::IsMember(names));
  app->add_option("--seconds", arguments->seconds, "time for each line of the table, about")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  arguments->publish.add_to(*app);
  return {app, launch, [=](World& world) { return run_overlap(world, *arguments); }, true};
}

}  // namespace weft::command
