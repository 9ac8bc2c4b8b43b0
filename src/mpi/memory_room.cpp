// Reads /proc/meminfo, the control group's files (version 2 and 1) and file system statistics.
#include "mpi/memory_room.hpp"

#include <sys/statvfs.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <limits>
#include <optional>

namespace weft {
namespace {

constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max();

/// The number in the line of `path` that begins with `key`; with an empty key the first number of
/// the file.
std::optional<std::int64_t> number_in(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  std::string word;
  while (key.empty() || file >> word) {
    std::int64_t value = 0;
    if (key.empty() || word == key) return file >> value ? std::optional(value) : std::nullopt;
  }
  return std::nullopt;
}

/// What a control group has left: its limit less what is used, file pages that can be dropped not
/// counted as used.
std::int64_t left_in_group(const std::string& limit, const std::string& used,
                           const std::string& statistics) {
  const auto most = number_in(limit, "");  // the word "max" is no number: no limit
  const auto now = number_in(used, "");
  if (!most || !now) return kUnknown;
  const std::int64_t droppable = number_in(statistics, "inactive_file").value_or(0) +
                                 number_in(statistics, "active_file").value_or(0);
  return std::max<std::int64_t>(0, *most - std::max<std::int64_t>(0, *now - droppable));
}

/// The path of this process's group in version 2, e.g. "/user.slice/job"; "" for the root.
std::string group_path() {
  std::ifstream file("/proc/self/cgroup");
  std::string line;
  while (std::getline(file, line))
    if (line.starts_with("0::")) return line.substr(3) == "/" ? "" : line.substr(3);
  return "";
}

}  // namespace

std::int64_t available_memory_bytes() {
  const auto kibibytes = number_in("/proc/meminfo", "MemAvailable:");
  std::int64_t result = kibibytes ? *kibibytes * 1024 : kUnknown;
  // A limit may be set on the group itself or on any that contains it.
  for (std::string path = group_path();; path.erase(path.rfind('/'))) {
    const std::string group = "/sys/fs/cgroup" + path;
    result = std::min(result, left_in_group(group + "/memory.max", group + "/memory.current",
                                            group + "/memory.stat"));
    if (path.rfind('/') == std::string::npos) break;
  }
  const std::string group = "/sys/fs/cgroup/memory";
  return std::min(result, left_in_group(group + "/memory.limit_in_bytes",
                                        group + "/memory.usage_in_bytes", group + "/memory.stat"));
}

std::int64_t free_bytes_in(const std::string& directory) {
  struct statvfs statistics {};
  if (statvfs(directory.c_str(), &statistics) != 0) return kUnknown;
  std::int64_t result = 0;
  const bool overflow = __builtin_mul_overflow(statistics.f_bavail, statistics.f_frsize, &result);
  return overflow ? kUnknown : result;
}

std::int64_t total_bytes(const Communicator& node, std::int64_t bytes) {
  return node.sum(std::min(bytes, std::numeric_limits<std::int64_t>::max() / node.size()));
}

std::string bytes_text(std::int64_t bytes) {
  char mebibytes[64];
  std::snprintf(mebibytes, sizeof mebibytes, " bytes (%.1f MiB)",
                static_cast<double>(bytes) / (1024.0 * 1024.0));
  return std::to_string(bytes) + mebibytes;
}

}  // namespace weft
