// `weft alltoall`: the bandwidth of MPI's all-to-all over message sizes, for all ranks together and
// for all rows, or all columns, of a process grid at once: what slabs and pencils have to live
// with.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "bench.hpp"
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

struct AllToAllArguments {
  std::string grid;
  std::string bytes = "64,256,1k,4k,16k,64k,256k,1M,4M";
  double seconds = 0.1;
  PublishArguments publish;
};

/// Ranks that exchange with each other: all, or each row or column of a grid, at the same time.
struct Group {
  std::string name;  ///< "all", "rows of 2x4", "columns of 2x4"
  MPI_Comm comm = MPI_COMM_NULL;
  int ranks = 1;

  Group(std::string label, MPI_Comm parent, int color) : name(std::move(label)) {
    check_mpi(MPI_Comm_split(parent, color, 0, &comm), "MPI_Comm_split");
    check_mpi(MPI_Comm_size(comm, &ranks), "MPI_Comm_size");
  }
  ~Group() {
    if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
};
using Groups = std::vector<std::unique_ptr<Group>>;

struct Row {
  std::string group;
  int ranks = 1;
  std::int64_t bytes = 0;  ///< for each pair
  Timing timing;

  /// What a half of the ranks sends to the other half, and gets from it, per second: of the n^2
  /// messages a quarter goes each way.
  double bisection() const {
    return static_cast<double>(bytes) * ranks * ranks / (4 * timing.median());
  }
  /// What one rank sends to others per second.
  double insertion() const { return static_cast<double>(bytes) * (ranks - 1) / timing.median(); }
  /// Short messages cost their latency, long ones their bandwidth.
  const char* regime() const {
    if (bytes < 1 << 10) return "below 1 kB";
    return bytes <= 128 << 10 ? "to 128 kB" : "above";
  }
};

/// Rows and columns of every AxB with A, B > 1, or of the one asked for. Collective.
Groups groups_of(const World& world, const std::string& grid) {
  const int ranks = world.size();
  int rows = 0;
  if (!grid.empty()) {
    const Extents extents = parse_extents(grid);
    if (extents.size() != 2 || extents[0] > ranks || extents[1] > ranks ||
        extents[0] * extents[1] != ranks)
      throw UsageError(
          fmt::format("--grid {} does not fit {}; give two numbers whose product is {}", grid,
                      counted(ranks, "rank"), ranks));
    rows = static_cast<int>(extents[0]);
  }
  Groups groups;
  groups.push_back(std::make_unique<Group>("all", world.comm(), 0));
  for (int a = 1; a <= ranks; ++a) {
    if (ranks % a != 0 || (rows == 0 ? a == 1 || a == ranks : a != rows)) continue;
    const int b = ranks / a;
    const std::string name = fmt::format("{}x{}", a, b);
    groups.push_back(std::make_unique<Group>("rows of " + name, world.comm(), world.rank() / b));
    groups.push_back(std::make_unique<Group>("columns of " + name, world.comm(), world.rank() % b));
  }
  return groups;
}

/// Every time is that of the slowest rank, from a barrier of all ranks on. The first call warms up.
Row measure(const World& world, const Group& group, std::int64_t bytes, double budget) {
  Row row{group.name, group.ranks, bytes, {}};
  const auto length = static_cast<std::size_t>(bytes * group.ranks);
  const std::vector<char> send(length, 1);
  std::vector<char> receive(length, 2);
  double spent = 0;
  for (int repetition = -1; repetition < kMostRepetitions; ++repetition) {
    if (spent > budget && repetition >= 3) break;
    check_mpi(MPI_Barrier(world.comm()), "MPI_Barrier");
    const double start = MPI_Wtime();
    check_mpi(MPI_Alltoall(send.data(), static_cast<int>(bytes), MPI_CHAR, receive.data(),
                           static_cast<int>(bytes), MPI_CHAR, group.comm),
              "MPI_Alltoall");
    const double seconds = world.max(MPI_Wtime() - start);
    if (repetition >= 0) row.timing.seconds.push_back(seconds);
    spent += seconds;
  }
  return row;
}

std::vector<Row> measure_all(const World& world, const AllToAllArguments& arguments) {
  const std::vector<std::int64_t> sizes = parse_byte_list(arguments.bytes);
  const Groups groups = groups_of(world, arguments.grid);
  std::vector<Row> rows;
  for (const auto& group : groups)
    for (const std::int64_t bytes : sizes)
      if (2 * bytes * group->ranks <= kMostBytes)
        rows.push_back(measure(world, *group, bytes, arguments.seconds));
  if (rows.empty())
    throw UsageError(fmt::format("--bytes {}: even the smallest needs more than {} on each rank",
                                 arguments.bytes, human_bytes(kMostBytes)));
  return rows;
}

std::string table_of(const World& world, const std::vector<Row>& rows) {
  std::string text = fmt::format("MPI_Alltoall, {}, {}, {}\n", counted(world.size(), "rank"),
                                 mpi_version(), transport());
  std::string group;
  for (const Row& row : rows) {
    if (row.group != group)
      text += fmt::format("\n{:<20}{:>12}{:>12}{:>12}{:>14}{:>14}\n",
                          fmt::format("{}: {}", row.group, row.ranks), "bytes/pair", "min us",
                          "median us", "B_eff MB/s", "I MB/s");
    group = row.group;
    text += fmt::format("  {:<18}{:>12}{:>12.1f}{:>12.1f}{:>14.1f}{:>14.1f}\n", row.regime(),
                        row.bytes, 1e6 * row.timing.min(), 1e6 * row.timing.median(),
                        1e-6 * row.bisection(), 1e-6 * row.insertion());
  }
  return text +
         "\nB_eff = m n^2 / (4 t): across the middle of n ranks, each way. I = m (n - 1) / t: "
         "out of one rank.\nm bytes per pair, t the median of the slowest rank.\n";
}

Json json_of(const World& world, const std::vector<Row>& rows) {
  Json list = Json::array();
  for (const Row& row : rows)
    list.push_back({{"group", row.group},
                    {"ranks", row.ranks},
                    {"bytes", row.bytes},
                    {"regime", row.regime()},
                    {"min_s", row.timing.min()},
                    {"median_s", row.timing.median()},
                    {"repetitions", row.timing.seconds.size()},
                    {"bisection_bytes_per_s", row.bisection()},
                    {"insertion_bytes_per_s", row.insertion()}});
  return {
      {"ranks", world.size()}, {"mpi", mpi_version()}, {"transport", transport()}, {"rows", list}};
}

int run_alltoall(const World& world, const AllToAllArguments& arguments) {
  const std::vector<Row> rows = measure_all(world, arguments);
  publish(world, arguments.publish, table_of(world, rows), json_of(world, rows), "alltoall.py");
  return kSuccess;
}

}  // namespace

Subcommand make_alltoall(CLI::App& parent) {
  auto arguments = std::make_shared<AllToAllArguments>();
  auto launch = std::make_shared<LaunchArguments>();
  CLI::App* app = parent.add_subcommand(
      "alltoall", "bandwidth of MPI's all-to-all over message sizes, for all ranks and for grids");
  launch->add_to(*app);
  app->add_option("--grid", arguments->grid,
                  "rows and columns of this grid, such as 2x4 (without it: of every grid)");
  app->add_option("--bytes", arguments->bytes, "bytes for each pair of ranks; k and M are 1024s")
      ->capture_default_str();
  app->add_option("--seconds", arguments->seconds, "time for each line of the table, about")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  arguments->publish.add_to(*app);
  return {app, launch, [=](World& world) { return run_alltoall(world, *arguments); }};
}

}  // namespace weft::command
