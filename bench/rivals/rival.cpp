// serve(): the part that all C++ programs of the comparison share. It fills and checks the arrays
// and takes the times. Ranks that wait for a command sleep, so that they do not disturb the program
// that is measured.
#include "rival.hpp"

#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <numeric>
#include <sstream>

namespace bench {

std::int64_t Problem::points() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::string Problem::value(const std::string& name, const std::string& fallback) const {
  for (const std::string& option : options)
    if (option.rfind(name + "=", 0) == 0) return option.substr(name.size() + 1);
  return fallback;
}

void Problem::allow(const std::set<std::string>& known) const {
  for (const std::string& option : options)
    if (known.count(option.substr(0, option.find('='))) == 0)
      throw Unsupported("unknown option " + option);
}

Buffer allocate(std::int64_t bytes) {
  constexpr std::size_t kHugePage = std::size_t{1} << 21;
  const std::size_t rounded =
      (static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)) + kHugePage - 1) / kHugePage *
      kHugePage;
  void* memory = std::aligned_alloc(kHugePage, rounded);
  if (memory == nullptr) throw Unsupported("out of memory");
  madvise(memory, rounded, MADV_HUGEPAGE);  // advice: failing changes nothing but speed
  std::memset(memory, 0, rounded);
  return {memory, &std::free};
}

void visit_rows(const Rival::Visitor& visit, void* data, std::int64_t rows, std::int64_t length,
                std::int64_t pitch, std::int64_t scalar_bytes) {
  char* start = static_cast<char*>(data);
  if (length == pitch) return visit(start, rows * length);
  for (std::int64_t row = 0; row < rows; ++row) visit(start + row * pitch * scalar_bytes, length);
}

namespace {

constexpr const char* kReplyMark = "#bench ";

struct World {
  int rank = 0;
  int size = 1;
  MPI_Comm control = MPI_COMM_NULL;  // commands travel apart from the library's messages
};

// A number in [-0.5, 0.5) that only rank and position determine, so that no copy of the input must
// be kept.
double noise(std::uint64_t rank, std::uint64_t position) {
  std::uint64_t z = position * 0x9e3779b97f4a7c15U + (rank + 1) * 0xd1342543de82ef95U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53 - 0.5;
}

// Calls body(scalar, position) for each real scalar of the input.
template <class Real, class Body>
void for_each_scalar(Rival& rival, Body&& body) {
  std::uint64_t position = 0;
  rival.visit_input([&](void* first, std::int64_t scalars) {
    Real* scalar = static_cast<Real*>(first);
    for (std::int64_t i = 0; i < scalars; ++i) body(scalar[i], position++);
  });
}

// Also done by libraries that scale themselves (by 1), so that all find the same input in the same
// caches.
template <class Real>
void scale_input(Rival& rival, double factor) {
  const Real scale = static_cast<Real>(factor);
  rival.visit_input([&](void* first, std::int64_t scalars) {
    Real* scalar = static_cast<Real*>(first);
    for (std::int64_t i = 0; i < scalars; ++i) scalar[i] *= scale;
  });
}

double max_over_ranks(double value, const World& world) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, world.control);
  return value;
}

// Transforms noise forward and back. The zero mode must be the sum of the input, and the input must
// come back. Returns the larger of the two errors, relative to what rounding allows to be of order
// epsilon.
template <class Real>
double error_of(Rival& rival, const Problem& problem, const World& world, double scale) {
  const auto rank = static_cast<std::uint64_t>(world.rank);
  std::array<double, 2> sum{};
  for_each_scalar<Real>(rival, [&](Real& scalar, std::uint64_t position) {
    scalar = static_cast<Real>(noise(rank, position));
    sum[problem.real ? 0 : position % 2] += static_cast<double>(scalar);
  });
  MPI_Allreduce(MPI_IN_PLACE, sum.data(), 2, MPI_DOUBLE, MPI_SUM, world.control);
  rival.forward();
  double error = 0;
  if (world.rank == 0) {
    const Real* mode = static_cast<const Real*>(rival.zero_mode());
    const double distance =
        std::hypot(static_cast<double>(mode[0]) - sum[0], static_cast<double>(mode[1]) - sum[1]);
    error = distance / std::sqrt(static_cast<double>(problem.points()));
  }
  rival.backward();
  for_each_scalar<Real>(rival, [&](Real& scalar, std::uint64_t position) {
    scalar = static_cast<Real>(static_cast<double>(scalar) * scale);
    error = std::max(error, std::abs(static_cast<double>(scalar) - noise(rank, position)));
  });
  return max_over_ranks(error, world);
}

void reply(const World& world, const std::string& json) {
  if (world.rank == 0) std::cout << kReplyMark << json << std::endl;
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result + '"';
}

std::string to_json(const std::vector<double>& times) {
  std::ostringstream out;
  out.precision(9);
  for (std::size_t i = 0; i < times.size(); ++i) out << (i == 0 ? "[" : ", ") << times[i];
  out << "]";
  return out.str();
}

// N times forward and backward; a time is that of the slowest rank, which started after a barrier.
void measure(Rival& rival, const Problem& problem, const World& world, std::int64_t pairs) {
  const double scale =
      rival.scales() || rival.is_a_limit() ? 1.0 : 1.0 / static_cast<double>(problem.points());
  std::vector<double> forward, backward;
  const auto timed = [&](std::vector<double>& times, auto&& transform) {
    MPI_Barrier(world.control);
    const double start = MPI_Wtime();
    transform();
    times.push_back(MPI_Wtime() - start);
  };
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    timed(forward, [&] { rival.forward(); });
    timed(backward, [&] { rival.backward(); });
    if (problem.single_precision)
      scale_input<float>(rival, scale);
    else
      scale_input<double>(rival, scale);
  }
  for (std::vector<double>* times : {&forward, &backward})
    MPI_Reduce(world.rank == 0 ? MPI_IN_PLACE : times->data(), times->data(),
               static_cast<int>(times->size()), MPI_DOUBLE, MPI_MAX, 0, world.control);
  reply(world, "{\"forward\": " + to_json(forward) + ", \"backward\": " + to_json(backward) + "}");
}

void check(Rival& rival, const Problem& problem, const World& world) {
  if (rival.is_a_limit()) return reply(world, "{\"error\": 0}");
  const double scale = rival.scales() ? 1.0 : 1.0 / static_cast<double>(problem.points());
  const double error = problem.single_precision ? error_of<float>(rival, problem, world, scale)
                                                : error_of<double>(rival, problem, world, scale);
  std::ostringstream out;
  // Compared this way round, so that a NaN is wrong too.
  const bool good = error < (problem.single_precision ? 1e-4 : 1e-12);
  if (good)
    out << "{\"error\": " << error << "}";
  else
    out << "{\"failed\": \"the result is wrong by " << error << "\"}";
  reply(world, out.str());
}

// The next command on every rank: rank 0 sleeps in read(), the others look every millisecond.
std::array<std::int64_t, 2> next_command(const World& world) {
  std::array<std::int64_t, 2> command{'q', 0};
  std::string line;
  if (world.rank == 0 && std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string verb;
    words >> verb >> command[1];
    if (!verb.empty()) command[0] = verb[0];
  }
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibcast(command.data(), 2, MPI_INT64_T, 0, world.control, &request);
  for (int done = 0;;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done) return command;
    usleep(1000);
  }
}

void obey(Rival& rival, const Problem& problem, const World& world) {
  for (;;) {
    const auto [verb, count] = next_command(world);
    if (verb == 'q') return;
    if (verb == 'c')
      check(rival, problem, world);
    else
      measure(rival, problem, world, count);
  }
}

Problem parse(int argc, char** argv) {
  Problem problem;
  const auto pieces = [](const std::string& text, char separator) {
    std::vector<std::string> result;
    std::istringstream stream(text);
    for (std::string piece; std::getline(stream, piece, separator);) result.push_back(piece);
    return result;
  };
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    if (name == "--shape")
      for (const std::string& extent : pieces(value, 'x'))
        problem.shape.push_back(std::stoll(extent));
    else if (name == "--kind")
      problem.real = value == "r2c";
    else if (name == "--precision")
      problem.single_precision = value == "single";
    else if (name == "--threads")
      problem.threads = std::stoi(value);
    else if (name == "--options")
      for (const std::string& option : pieces(value, ',')) problem.options.insert(option);
    else if (name == "--wisdom")
      problem.wisdom = value;
    else
      throw Unsupported("unknown argument " + name);
  }
  if (problem.shape.empty()) throw Unsupported("--shape is missing");
  return problem;
}

// Plans; the message of the first rank that could not, or "" when all could.
std::string plan(std::unique_ptr<Rival>& rival, Problem& problem, const World& world, int argc,
                 char** argv, const MakeRival& make) {
  std::string failure;
  try {
    problem = parse(argc, argv);
    rival = make(problem);
  } catch (const std::exception& error) {
    failure = error.what();
    if (failure.empty()) failure = "unknown error";
  }
  int first = failure.empty() ? world.size : world.rank;
  MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, world.control);
  if (first == world.size) return "";
  failure.resize(300, ' ');
  MPI_Bcast(failure.data(), 300, MPI_CHAR, first, world.control);
  return failure.substr(0, failure.find_last_not_of(' ') + 1);
}

void say_ready(const Rival& rival, const World& world, double seconds) {
  std::vector<double> pids(static_cast<std::size_t>(world.size));
  const double pid = getpid();
  MPI_Gather(&pid, 1, MPI_DOUBLE, pids.data(), 1, MPI_DOUBLE, 0, world.control);
  const double bytes = max_over_ranks(static_cast<double>(rival.plan_bytes()), world);
  seconds = max_over_ranks(seconds, world);
  std::ostringstream out;
  out.precision(15);
  out << "{\"plan_s\": " << seconds << ", \"pids\": " << to_json(pids);
  if (bytes >= 0) out << ", \"plan_bytes\": " << bytes;
  reply(world, out.str() + "}");
}

}  // namespace

int serve(int argc, char** argv, const MakeRival& make) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  World world;
  MPI_Comm_dup(MPI_COMM_WORLD, &world.control);
  MPI_Comm_rank(world.control, &world.rank);
  MPI_Comm_size(world.control, &world.size);
  {
    std::unique_ptr<Rival> rival;
    Problem problem;
    const double start = MPI_Wtime();
    const std::string failure = plan(rival, problem, world, argc, argv, make);
    const double seconds = MPI_Wtime() - start;
    if (failure.empty()) {
      say_ready(*rival, world, rival->plan_seconds() < 0 ? seconds : rival->plan_seconds());
      obey(*rival, problem, world);
    } else {
      reply(world, "{\"failed\": " + quoted(failure) + "}");
    }
  }
  MPI_Comm_free(&world.control);
  MPI_Finalize();
  return 0;
}

}  // namespace bench
