// Not a rival but the pace of the cores: how long all of them take, at the same time, for a loop
// that stays in registers, and to copy memory. It is longer when others use the same cores or the
// same memory, also where nothing on this machine tells of it: two cores of a virtual machine may
// be the two threads of one core, or share theirs, and the memory, with other machines. Answers
// each line on standard input with both times in seconds, and sleeps between.
#include <sched.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace {

template <class Work>
double best_of_three(Work&& work) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count());
  }
  return best;
}

// As many sums as keep all units for multiplying and adding of a core busy.
void compute() {
  constexpr int kSums = 64;
  constexpr int kSteps = 50000;
  std::array<double, kSums> sums{};
  for (int step = 0; step < kSteps; ++step)
    for (double& sum : sums) sum = sum * 0.999 + 1e-3;
  volatile double result = 0;  // so that the loop is not left out
  for (double sum : sums) result = result + sum;
}

// What a core copies, a piece each time: more in all than caches keep.
class Memory {
 public:
  Memory() : bytes_(kPieces * kPieceBytes, 1) {}
  void copy() {
    char* from = bytes_.data() + piece_ * kPieceBytes;
    std::memcpy(from + kPieceBytes / 2, from, kPieceBytes / 2);
    piece_ = (piece_ + 1) % kPieces;
  }

 private:
  static constexpr std::size_t kPieces = 8;
  static constexpr std::size_t kPieceBytes = std::size_t{8} << 20;
  std::vector<char> bytes_;
  std::size_t piece_ = 0;
};

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
  std::vector<double> computing(all.size());
  std::vector<double> copying(all.size());
  std::barrier together(static_cast<std::ptrdiff_t>(all.size()) + 1);
  bool ends = false;
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < all.size(); ++i)
    threads.emplace_back([&, i] {
      bind_to(all[i]);
      Memory memory;
      while (true) {
        together.arrive_and_wait();
        if (ends) return;
        compute();  // until all are awake
        computing[i] = best_of_three(compute);
        copying[i] = best_of_three([&] { memory.copy(); });
        together.arrive_and_wait();
      }
    });
  std::string line;
  while (std::getline(std::cin, line)) {
    together.arrive_and_wait();
    together.arrive_and_wait();
    std::printf("%.9f %.9f\n", *std::ranges::max_element(computing),
                *std::ranges::max_element(copying));
    std::fflush(stdout);
  }
  ends = true;
  together.arrive_and_wait();
}
