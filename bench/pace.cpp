// Not a rival but the pace of the cores: how long all of them take, at the same time, for a loop
// that stays in registers. It is longer when a core does something else too, also where nothing on
// this machine tells of it: two cores of a virtual machine may be the two threads of one core, or
// share theirs with other machines. Answers each line on standard input with one of times in
// seconds, and sleeps between.
#include <sched.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

namespace {

// As many sums as keep all units for multiplying and adding of a core busy.
constexpr int kSums = 64;
constexpr int kSteps = 50000;

double loop_seconds() {
  std::array<double, kSums> sums{};
  const auto start = std::chrono::steady_clock::now();
  for (int step = 0; step < kSteps; ++step)
    for (double& sum : sums) sum = sum * 0.999 + 1e-3;
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  volatile double result = 0;  // so that the loop is not left out
  for (double sum : sums) result = result + sum;
  return time.count();
}

std::vector<int> cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> result;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) result.push_back(core);
  return result;
}

void bind_to(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  sched_setaffinity(0, sizeof set, &set);  // where it may not, the system chooses
}

}  // namespace

int main() {
  const std::vector<int> all = cores();
  std::vector<double> times(all.size());
  std::barrier together(static_cast<std::ptrdiff_t>(all.size()) + 1);
  bool ends = false;
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < all.size(); ++i)
    threads.emplace_back([&, i] {
      bind_to(all[i]);
      while (true) {
        together.arrive_and_wait();
        if (ends) return;
        loop_seconds();  // until all are awake
        times[i] = std::min({loop_seconds(), loop_seconds(), loop_seconds()});
        together.arrive_and_wait();
      }
    });
  std::string line;
  while (std::getline(std::cin, line)) {
    together.arrive_and_wait();
    together.arrive_and_wait();
    std::printf("%.9f\n", *std::max_element(times.begin(), times.end()));
    std::fflush(stdout);
  }
  ends = true;
  together.arrive_and_wait();
}
