// Finds mpiexec and becomes it. See launcher.hpp.
#include "launcher.hpp"

#include <fmt/format.h>
#include <omp.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "progress_line.hpp"
#include "weft/error.hpp"

namespace weft::command {
namespace {

/// Launchers in the order in which they are tried: the user's, the one of the MPI that weft was
/// built with, the PATH's.
std::vector<std::string> launchers() {
  std::vector<std::string> result;
  if (const char* chosen = std::getenv("WEFT_MPIEXEC"); chosen != nullptr && *chosen != '\0')
    return {chosen};
#ifdef WEFT_MPIEXEC
  result.emplace_back(WEFT_MPIEXEC);
#endif
  result.emplace_back("mpiexec");
  result.emplace_back("mpirun");
  return result;
}

void set_default(const char* variable, const char* value) { setenv(variable, value, 0); }

/// Open MPI refuses by default what a laptop or a container wants; what the user has set himself is
/// left alone. MPICH ignores these variables and needs none.
void prepare_environment(int threads) {
  set_default("OMPI_ALLOW_RUN_AS_ROOT", "1");
  set_default("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
  set_default("OMPI_MCA_rmaps_base_oversubscribe", "1");
  set_default("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe");
  // A failing rank has printed its own line; mpiexec would add ten.
  set_default("OMPI_MCA_orte_execute_quiet", "1");
  // By default each rank is bound to one core, on which all its threads would then queue.
  if (threads > 1) {
    set_default("OMPI_MCA_hwloc_base_binding_policy", "none");
    set_default("PRTE_MCA_hwloc_default_binding_policy", "none");
  }
  // The ranks' stderr is a pipe to mpiexec even when the user looks at a terminal.
  set_default(kTerminalVariable, isatty(STDERR_FILENO) != 0 ? "1" : "0");
}

/// OpenMP has bound this thread to its first place by now if the user wants threads bound, and
/// ranks would all inherit that: gives back the processors of all places.
void release_processors() {
  cpu_set_t processors;
  CPU_ZERO(&processors);
  for (int place = 0; place < omp_get_num_places(); ++place) {
    std::vector<int> of_place(static_cast<std::size_t>(omp_get_place_num_procs(place)));
    omp_get_place_proc_ids(place, of_place.data());
    for (const int processor : of_place) CPU_SET(processor, &processors);
  }
  // Where that fails, ranks are slower and no less right.
  if (CPU_COUNT(&processors) > 0) sched_setaffinity(0, sizeof(processors), &processors);
}

std::string own_path() {
  std::string path(4096, '\0');
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  if (length <= 0)
    throw Error(ErrorCode::io_failure, "cannot read /proc/self/exe to find the command's own path");
  path.resize(static_cast<std::size_t>(length));
  return path;
}

}  // namespace

std::optional<int> launched_rank() {
  for (const char* variable :
       {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK"})
    if (const char* value = std::getenv(variable); value != nullptr) return std::atoi(value);
  return std::nullopt;
}

void start_ranks(int ranks, int threads, char** arguments) {
  prepare_environment(threads);
  release_processors();
  const std::string self = own_path();
  const std::string count = std::to_string(ranks);
  std::string tried;
  for (const std::string& launcher : launchers()) {
    std::vector<const char*> line = {launcher.c_str(), "-n", count.c_str(), self.c_str()};
    for (char** argument = arguments + 1; *argument != nullptr; ++argument)
      line.push_back(*argument);
    line.push_back(nullptr);
    execvp(launcher.c_str(), const_cast<char* const*>(line.data()));
    tried += fmt::format("{}{} ({})", tried.empty() ? "" : ", ", launcher, std::strerror(errno));
  }
  throw Error(ErrorCode::unavailable,
              fmt::format("-n {} needs an MPI launcher, and none was found; tried {}. Install one "
                          "(tools/setup does) or "
                          "name it in WEFT_MPIEXEC",
                          ranks, tried));
}

}  // namespace weft::command
