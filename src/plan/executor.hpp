// Executor: runs a program. Links in order, in each the fields in order, in each the tasks as their
// chunks arrive; while one chunk or field is on the wire, another is transformed. One chunk, one
// field and a blocking method are the same code.
#pragma once

#include <vector>

#include "base/aligned_memory.hpp"
#include "plan/program.hpp"

namespace weft {

/// Seconds of the last call, by link.
struct LinkTimes {
  std::vector<double> passes;
  double exchange = 0;
};

class Executor {
 public:
  /// Reserves cache memory for `threads` threads. `slots` is the number of slots that programs use.
  Executor(int threads, int slots, std::int64_t tile_bytes, std::int64_t slice_bytes);

  /// Sets the memory of a slot for the calls that follow.
  void bind(int slot, std::byte* memory);
  /// Runs `program` for all fields. `call` counts the executions of the plan from 1.
  void run(Program& program, int fields, int chunks, std::int64_t call,
           std::vector<LinkTimes>& times);

  std::int64_t bytes() const noexcept;

 private:
  struct Thread {
    AlignedMemory tile;
    AlignedMemory slice;
    std::vector<std::byte*> bases;  // of all slots; the slice is the thread's own
  };

  void run_link(Link& link, Exchange* before, int fields, int chunks, LinkTimes& times,
                double* waited);
  void run_task(const Pass& pass, const Task& task, int field, Exchange* before, Exchange* after);
  void run_items(const Pass& pass, const Task& task, int field, int thread, Exchange* before,
                 Exchange* after);

  std::vector<Thread> threads_;
};

}  // namespace weft
