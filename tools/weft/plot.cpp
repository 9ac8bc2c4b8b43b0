// Looks for a helper and for a Python with Matplotlib, and runs one with the other. See plot.hpp.
#include "plot.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

namespace weft::command {
namespace {

namespace fs = std::filesystem;

/// Exit statuses of the helper, and of a shell that finds no program.
constexpr int kNoMatplotlib = 3;
constexpr int kNoProgram = 127;

/// Beside an installed command, in the source tree that it was built from, or above its build
/// folder.
fs::path find_helper(const std::string& name) {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  std::vector<fs::path> candidates = {folder / "../share/weft" / name};
#ifdef WEFT_SOURCE_DIR
  candidates.emplace_back(fs::path(WEFT_SOURCE_DIR) / "tools/plot" / name);
#endif
  candidates.push_back(folder / "../../tools/plot" / name);
  for (const fs::path& candidate : candidates)
    if (fs::exists(candidate, error)) return fs::weakly_canonical(candidate, error);
  return {};
}

std::vector<std::string> pythons(const fs::path& helper) {
  if (const char* chosen = std::getenv("WEFT_PYTHON"); chosen != nullptr && *chosen != '\0')
    return {chosen};
  std::vector<std::string> result;
  std::error_code error;
  const fs::path venv = helper.parent_path() / "../../.venv/bin/python";
  if (fs::exists(venv, error)) result.push_back(fs::absolute(venv, error).lexically_normal());
  result.emplace_back("python3");
  return result;
}

/// The exit status of `line`, kNoProgram when it cannot be started.
int run(const std::vector<std::string>& line) {
  std::vector<char*> arguments;
  for (const std::string& word : line) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  if (posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), environ) != 0)
    return kNoProgram;
  int status = 0;
  if (waitpid(child, &status, 0) < 0 || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

}  // namespace

std::string run_helper(const std::string& name, const std::vector<std::string>& arguments) {
  const fs::path helper = find_helper(name);
  if (helper.empty())
    return fmt::format("no plot: the helper tools/plot/{} was not found beside the command", name);
  std::string tried;
  for (const std::string& python : pythons(helper)) {
    std::vector<std::string> line = {python, helper.string()};
    line.insert(line.end(), arguments.begin(), arguments.end());
    const int status = run(line);
    if (status == 0) return {};
    if (status != kNoMatplotlib && status != kNoProgram)
      return fmt::format("no plot: {} failed", helper.string());
    tried += (tried.empty() ? "" : ", ") + python +
             (status == kNoProgram ? " (not found)" : " (no Matplotlib)");
  }
  return fmt::format(
      "no plot: it needs Python with Matplotlib; tried {}. Install it, or name a Python in "
      "WEFT_PYTHON",
      tried);
}

std::string draw_spectrum(const SpectrumPlot& plot) {
  return run_helper("spectrum.py", {plot.csv, plot.image, "--title", plot.title, "--complete",
                                    fmt::format("{}", plot.complete_up_to)});
}

}  // namespace weft::command
