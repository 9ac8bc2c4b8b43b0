// The one loop that runs every program.
#include "plan/executor.hpp"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <exception>

namespace weft {

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Adds the time of its life to `total`.
class Stopwatch {
 public:
  explicit Stopwatch(double& total) : total_(total), start_(now()) {}
  ~Stopwatch() { total_ += now() - start_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& total_;
  double start_;
};

void run_item(const Pass& pass, std::int64_t item, const Call& call, std::byte* workspace) {
  if (pass.stages.size() == 1) {
    pass.stages.front().run(item, call, workspace);
    return;
  }
  for (const Stage& stage : pass.stages) {
    const auto& first = stage.tiling().first_of_slice;
    const auto slice = static_cast<std::size_t>(item);
    for (std::int64_t tile = first[slice]; tile < first[slice + 1]; ++tile)
      stage.run(tile, call, workspace);
  }
}

}  // namespace

Executor::Executor(int threads, int slots, std::int64_t tile_bytes, std::int64_t slice_bytes) {
  for (int t = 0; t < threads; ++t) {
    threads_.push_back({AlignedMemory(static_cast<std::size_t>(tile_bytes)),
                        AlignedMemory(static_cast<std::size_t>(slice_bytes)),
                        std::vector<std::byte*>(static_cast<std::size_t>(slots), nullptr)});
    threads_.back().bases[kSlotSlice] = threads_.back().slice.data();
  }
}

void Executor::bind(int slot, std::byte* memory) {
  for (Thread& thread : threads_) thread.bases[static_cast<std::size_t>(slot)] = memory;
}

std::int64_t Executor::bytes() const noexcept {
  std::size_t total = 0;
  for (const Thread& thread : threads_) total += thread.tile.bytes() + thread.slice.bytes();
  return static_cast<std::int64_t>(total);
}

void Executor::run(Program& program, int fields, int chunks, std::int64_t call,
                   std::vector<LinkTimes>& times) {
  for (LinkTimes& link : times) {
    std::fill(link.passes.begin(), link.passes.end(), 0.0);
    link.exchange = 0;
  }
  for (Link& link : program.links)
    if (link.exchange) link.exchange->begin(call, threads_.front().bases);
  Exchange* before = nullptr;
  double* waited = nullptr;
  for (std::size_t l = 0; l < program.links.size(); ++l) {
    run_link(program.links[l], before, fields, chunks, times[l], waited);
    before = program.links[l].exchange.get();
    waited = &times[l].exchange;
  }
}

// `waited` counts the time spent waiting for the exchange before this link.
void Executor::run_link(Link& link, Exchange* before, int fields, int chunks, LinkTimes& times,
                        double* waited) {
  Exchange* after = link.exchange.get();
  if (after) {
    Stopwatch watch(times.exchange);
    after->open();
  }
  for (int field = 0; field < fields; ++field) {
    int arrived = 0;
    int started = 0;
    const auto wait_up_to = [&](int end) {
      if (!before || arrived >= end) return;
      Stopwatch watch(*waited);
      while (arrived < end) before->wait(field * chunks + arrived++);
    };
    const auto start_up_to = [&](int end) {
      if (!after || started >= end) return;
      Stopwatch watch(times.exchange);
      while (started < end) after->start(field * chunks + started++);
    };
    for (std::size_t p = 0; p < link.passes.size(); ++p) {
      const Pass& pass = link.passes[p];
      for (const Task& task : pass.tasks) {
        wait_up_to(task.last_source_chunk + 1);
        {
          Stopwatch watch(times.passes[p]);
          run_task(pass, task, field, before, after);
        }
        if (p + 1 == link.passes.size()) start_up_to(std::min(task.sinks_complete, chunks));
      }
    }
    wait_up_to(chunks);
    if (before)
      for (int chunk = 0; chunk < chunks; ++chunk) before->release(field * chunks + chunk);
    start_up_to(chunks);
  }
}

void Executor::run_task(const Pass& pass, const Task& task, int field, Exchange* before,
                        Exchange* after) {
  if (threads_.size() == 1) return run_items(pass, task, field, 0, before, after);
  std::exception_ptr failure;
#pragma omp parallel num_threads(static_cast <int>(threads_.size()))
  {
    try {
      run_items(pass, task, field, omp_get_thread_num(), before, after);
    } catch (...) {
#pragma omp critical(weft_executor_failure)
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

// The items of a task are shared out among the threads of the team as these become free.
void Executor::run_items(const Pass& pass, const Task& task, int field, int thread,
                         Exchange* before, Exchange* after) {
  Thread& mine = threads_[static_cast<std::size_t>(thread)];
  const Call call{mine.bases, field};
  for (const auto& [first, last] : task.items) {
#pragma omp for schedule(dynamic) nowait
    for (std::int64_t item = first; item < last; ++item) {
      run_item(pass, item, call, mine.tile.data());
      if (thread != 0) continue;
      if (before) before->progress();
      if (after) after->progress();
    }
  }
  finish_streaming();
}

}  // namespace weft
