// World: MPI for the subcommands. See world.hpp.
#include "world.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <limits>
#include <thread>

namespace weft::command {
namespace {

/// How long a failing rank waits for the others to fail too before it ends the job.
constexpr double kPatienceSeconds = 3.0;

bool completes_in_time(MPI_Request& request, double seconds) {
  using namespace std::chrono_literals;
  const double start = MPI_Wtime();
  int done = 0;
  for (;;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return true;
    if (MPI_Wtime() - start > seconds) return false;
    std::this_thread::sleep_for(1ms);
  }
}

template <class T>
T all_reduce(T value, MPI_Datatype type, MPI_Op operation) {
  T result{};
  check_mpi(MPI_Allreduce(&value, &result, 1, type, operation, MPI_COMM_WORLD), "MPI_Allreduce");
  return result;
}

}  // namespace

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(
      ErrorCode::mpi_failure,
      fmt::format("{} failed: {}", call, std::string(text, static_cast<std::size_t>(length))));
}

World::Library::Library(int thread_level) {
  int provided = 0;
  check_mpi(MPI_Init_thread(nullptr, nullptr, thread_level, &provided), "MPI_Init_thread");
}

World::Library::~Library() { MPI_Finalize(); }

World::World(int thread_level) : library_(thread_level) {
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &failures_), "MPI_Comm_dup");
}

World::~World() { MPI_Comm_free(&failures_); }

double World::max(double value) const { return all_reduce(value, MPI_DOUBLE, MPI_MAX); }
std::int64_t World::max(std::int64_t value) const {
  return all_reduce(value, MPI_INT64_T, MPI_MAX);
}
double World::sum(double value) const { return all_reduce(value, MPI_DOUBLE, MPI_SUM); }
std::int64_t World::sum(std::int64_t value) const {
  return all_reduce(value, MPI_INT64_T, MPI_SUM);
}

std::string World::broadcast(std::string text, int root) const {
  std::int64_t length = static_cast<std::int64_t>(text.size());
  check_mpi(MPI_Bcast(&length, 1, MPI_INT64_T, root, comm()), "MPI_Bcast");
  text.resize(static_cast<std::size_t>(length));
  check_mpi(MPI_Bcast(text.data(), static_cast<int>(length), MPI_CHAR, root, comm()), "MPI_Bcast");
  return text;
}

std::string World::first_text(const std::string& text) const {
  const std::int64_t mine = text.empty() ? std::numeric_limits<std::int64_t>::min() : -rank();
  const std::int64_t first = max(mine);
  if (first == std::numeric_limits<std::int64_t>::min()) return {};
  return broadcast(text, static_cast<int>(-first));
}

void World::wait_politely() const {
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibarrier(failures_, &request), "MPI_Ibarrier");
  while (!completes_in_time(request, kPatienceSeconds)) {
  }
}

int World::fail(const std::string& message, int status) const {
  if (is_first()) {
    std::fflush(stdout);
    fmt::print(stderr, "weft: {}\n", message);
  }
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(failures_, &request);
  if (completes_in_time(request, kPatienceSeconds)) return status;
  if (!is_first()) fmt::print(stderr, "weft: rank {}: {}\n", rank(), message);
  std::fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, status);
  return status;
}

}  // namespace weft::command
