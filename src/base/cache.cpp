// Linux tells in /sys which processors share a cache, and how large it is; sysconf knows no
// sharing.
#include "base/cache.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#ifdef __linux__
#include <sched.h>
#endif

namespace weft {
namespace {

std::string text_of(const std::string& file) {
  std::ifstream stream(file);
  std::string text;
  std::getline(stream, text);
  return text;
}

std::optional<ThirdLevelCache> third_level_cache_of(int processor) {
  for (int index = 0;; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(processor) +
                               "/cache/index" + std::to_string(index) + "/";
    const std::string level = text_of(folder + "level");
    if (level.empty()) return std::nullopt;
    if (level != "3") continue;
    ThirdLevelCache cache{bytes_of_size(text_of(folder + "size")),
                          numbers_of_list(text_of(folder + "shared_cpu_list"))};
    if (cache.bytes == 0 || cache.processors.empty()) return std::nullopt;
    return cache;
  }
}

// Those on which the calling thread may run.
std::vector<int> processors_allowed() {
  std::vector<int> processors;
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int i = 0; i < CPU_SETSIZE; ++i)
      if (CPU_ISSET(i, &set)) processors.push_back(i);
#endif
  return processors;
}

}  // namespace

std::int64_t first_level_cache_bytes() {
  const long bytes = sysconf(_SC_LEVEL1_DCACHE_SIZE);
  return bytes > 0 ? bytes : 32 * 1024;
}

std::int64_t second_level_cache_bytes() {
  const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? bytes : 1024 * 1024;
}

bool has_large_second_level_cache() {
  return second_level_cache_bytes() >= std::int64_t{2} * 1024 * 1024;
}

std::optional<ThirdLevelCache> third_level_cache() {
  const std::vector<int> allowed = processors_allowed();
  if (allowed.empty()) return std::nullopt;
  std::optional<ThirdLevelCache> cache = third_level_cache_of(allowed.front());
  if (cache && !std::ranges::includes(cache->processors, allowed)) return std::nullopt;
  return cache;
}

std::int64_t bytes_of_size(const std::string& size) {
  std::istringstream stream(size);
  std::int64_t number = 0;
  char unit = 0;
  if (!(stream >> number) || number < 0) return 0;
  stream >> unit;
  return unit == 'K' ? number << 10 : unit == 'M' ? number << 20 : number;
}

std::vector<int> numbers_of_list(const std::string& list) {
  std::istringstream stream(list);
  std::vector<int> numbers;
  int first = 0;
  while (stream >> first) {
    int last = first;
    if (stream.peek() == '-' && !(stream.ignore() >> last)) return {};
    if (first < 0) return {};
    for (int number = first; number <= last; ++number) numbers.push_back(number);
    if (stream.peek() == ',') stream.ignore();
  }
  return stream.eof() ? numbers : std::vector<int>{};
}

}  // namespace weft
