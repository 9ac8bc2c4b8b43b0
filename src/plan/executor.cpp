// The one loop that runs every program.
#include "plan/executor.hpp"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>
#include <thread>

#include "base/thread_sanitizer.hpp"

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

// Gives the turn away, if there is any, until the end of its life.
class TurnAway {
 public:
  explicit TurnAway(std::mutex* turn) : turn_(turn) {
    if (turn_) turn_->unlock();
  }
  ~TurnAway() {
    if (turn_) turn_->lock();
  }
  TurnAway(const TurnAway&) = delete;
  TurnAway& operator=(const TurnAway&) = delete;

 private:
  std::mutex* turn_;
};

void run_slice(const Stage& stage, std::int64_t slice, const Call& call, std::byte* workspace,
               const Ahead& ahead) {
  const auto first = stage.tiling().first_of_slice.begin() + slice;
  const std::int64_t tiles = first[1] - first[0];
  for (std::int64_t tile = 0; tile < tiles; ++tile)
    stage.run(first[0] + tile, call, workspace, ahead.during(tile, tile + 1, tiles));
}

/// "nothing from ranks 1, 3" for `before` = "nothing from "; nothing for no ranks.
std::string list_of(const std::vector<int>& ranks, const char* before) {
  std::string list;
  for (const int rank : ranks) list += (list.empty() ? "" : ", ") + std::to_string(rank);
  if (list.empty()) return list;
  return before + std::string(ranks.size() == 1 ? "rank " : "ranks ") + list;
}

}  // namespace

Executor::Executor(int threads, int slots, const ThreadMemory& memory) : shares_(threads) {
  for (int t = 0; t < threads; ++t) {
    threads_.push_back(
        {AlignedMemory(static_cast<std::size_t>(memory.bytes)),
         AlignedMemory(static_cast<std::size_t>(memory.rows_ahead) * sizeof(std::byte*)),
         std::vector<std::byte*>(static_cast<std::size_t>(slots), nullptr)});
    threads_.back().bases[kSlotSlice] = threads_.back().memory.data();
  }
}

void Executor::bind(int slot, std::byte* memory) {
  for (Thread& thread : threads_) thread.bases[static_cast<std::size_t>(slot)] = memory;
}

std::int64_t Executor::bytes() const noexcept {
  std::size_t total = 0;
  for (const Thread& thread : threads_) total += thread.memory.bytes() + thread.rows_ahead.bytes();
  return static_cast<std::int64_t>(total);
}

void Executor::begin(const Course& course, const Terms& terms) {
  terms_ = terms;
  passed_gate_ = terms.gate == nullptr;
  at_ = {};
  vigil_ = {};
  pace_.restart();
  if (terms.recorder) terms.recorder->begin();
  take(course);
}

void Executor::take(const Course& course) {
  program_ = course.program;
  times_ = course.times;
  for (LinkTimes& link : *times_) {
    std::fill(link.passes.begin(), link.passes.end(), 0.0);
    link.exchange = 0;
  }
  for (Link& link : program_->links)
    if (link.exchange) link.exchange->begin(terms_.call, threads_.front().bases);
}

bool Executor::advance(bool wait) {
  while (at_.link < program_->links.size()) {
    if (!wait) progress();
    if (!step(wait)) return false;
  }
  if (terms_.recorder) terms_.recorder->end();
  return true;
}

// One task, or what lies between two; false when it has to wait and may not.
bool Executor::step(bool wait) {
  if (!at_.open && !open_link(wait)) return false;
  const std::vector<Pass>& passes = link().passes;
  if (at_.pass < passes.size() && at_.task < passes[at_.pass].tasks.size()) {
    const Pass& pass = passes[at_.pass];
    const Task& task = pass.tasks[at_.task];
    if (!arrive_up_to(task.last_source_chunk + 1, wait)) return false;
    {
      Stopwatch watch(times().passes[at_.pass]);
      const TurnAway turn_away(terms_.turn);
      run_task(pass, task);
    }
    ++at_.task;
    if (at_.pass + 1 == passes.size()) start_up_to(std::min(task.sinks_complete, terms_.chunks));
  } else if (at_.pass + 1 < passes.size()) {
    ++at_.pass;
    at_.task = 0;
  } else {
    if (!arrive_up_to(terms_.chunks, wait)) return false;
    start_up_to(terms_.chunks);
    if (!release_all(wait)) return false;
    finish_field();
  }
  return true;
}

bool Executor::pass_gate(bool wait, const Exchange& exchange) {
  Gate& gate = *terms_.gate;
  const auto ready = [&] { return gate.ready(); };
  const auto late = [&] { return list_of(gate.absent(), "the call has not begun on "); };
  if (!patient(wait, ready, late, exchange)) return false;
  gate.wait();
  passed_gate_ = true;
  if (!gate.pass()) take(terms_.otherwise);
  return true;
}

// A program that waits at a gate has an exchange after its first link, and so has the other one.
bool Executor::open_link(bool wait) {
  if (after()) {
    const double since = now();
    const double begin = recorded_time();
    if (!passed_gate_ && !pass_gate(wait, *after())) return false;
    Exchange& exchange = *after();
    const auto may_open = [&] { return exchange.may_open(); };
    const auto late = [&] {
      return "the call before is not over yet" + list_of(exchange.reading_peers(), " on ");
    };
    if (!patient(wait, may_open, late, exchange)) return false;
    exchange.open();
    note_exchange(link_number(), -1, begin);
    times().exchange += now() - since;
  }
  at_.open = true;
  return true;
}

// Time spent waiting counts for the exchange before this link.
bool Executor::arrive_up_to(int chunks, bool wait) {
  Exchange* exchange = before();
  if (!exchange || at_.arrived >= chunks) return true;
  Stopwatch watch((*times_)[at_.link - 1].exchange);
  for (; at_.arrived < chunks; ++at_.arrived) {
    const int unit = at_.field * terms_.chunks + at_.arrived;
    const double begin = recorded_time();
    const auto ready = [&] { return exchange->ready(unit); };
    const auto late = [&] {
      const std::string peers = list_of(exchange->silent_peers(unit), "nothing from ");
      return unit_name(unit) +
             " has not arrived: " + (peers.empty() ? "MPI does not tell from whom" : peers);
    };
    if (!patient(wait, ready, late, *exchange)) return false;
    exchange->wait(unit);
    note_exchange(link_number() - 1, at_.arrived, begin);
    if (terms_.recorder && terms_.recorder->next_on_wire(link_number() - 1) == unit)
      terms_.recorder->arrive(link_number() - 1);
  }
  return true;
}

void Executor::start_up_to(int chunks) {
  Exchange* exchange = after();
  if (!exchange || at_.started >= chunks) return;
  Stopwatch watch(times().exchange);
  for (; at_.started < chunks; ++at_.started) {
    const double begin = recorded_time();
    if (terms_.recorder) terms_.recorder->start(link_number());
    exchange->start(at_.field * terms_.chunks + at_.started);
    pace_.restart();
    note_exchange(link_number(), at_.started, begin);
  }
}

void Executor::progress() {
  if (Exchange* exchange = before()) {
    exchange->progress();
    if (terms_.recorder) note_arrivals(link_number() - 1, exchange);
  }
  if (Exchange* exchange = after()) {
    exchange->progress();
    if (terms_.recorder) note_arrivals(link_number(), exchange);
  }
}

// Between tiles. Who else has the turn lets MPI progress by that.
void Executor::poll() {
  if (!terms_.turn) return progress();
  const std::unique_lock turn(*terms_.turn, std::try_to_lock);
  if (turn) progress();
}

void Executor::note_exchange(int link, int chunk, double begin) {
  if (terms_.recorder)
    terms_.recorder->exchange({.link = link, .field = at_.field, .chunk = chunk}, begin);
}

// So that a timeline shows when units arrived, not only when somebody wanted them.
void Executor::note_arrivals(int link, Exchange* exchange) {
  Recorder& recorder = *terms_.recorder;
  for (int unit = recorder.next_on_wire(link); unit >= 0 && exchange->ready(unit);
       unit = recorder.next_on_wire(link))
    recorder.arrive(link);
}

Recorder::Mark Executor::mark_of_task(const Task& task) const {
  return {.link = link_number(),
          .pass = static_cast<int>(at_.pass),
          .field = at_.field,
          .chunk = task.last_source_chunk >= 0 ? task.last_source_chunk : task.first_sink_chunk,
          .task = static_cast<int>(at_.task)};
}

bool Executor::release_all(bool wait) {
  Exchange* exchange = before();
  if (!exchange) return true;
  Stopwatch watch((*times_)[at_.link - 1].exchange);
  for (; at_.released < terms_.chunks; ++at_.released) {
    const int unit = at_.field * terms_.chunks + at_.released;
    const auto may_release = [&] { return exchange->may_release(); };
    const auto late = [&] { return "what this rank carries for others has not left it"; };
    if (!patient(wait, may_release, late, *exchange)) return false;
    exchange->release(unit);
  }
  return true;
}

void Executor::finish_field() {
  Position next{.link = at_.link, .field = at_.field + 1, .open = true};
  if (next.field == terms_.fields) next = {.link = at_.link + 1};
  at_ = next;
}

std::string Executor::unit_name(int unit) const {
  return "field " + std::to_string(unit / terms_.chunks) + ", chunk " +
         std::to_string(unit % terms_.chunks);
}

// Whether the exchange may be asked to wait: it is ready, or it may block. With a timeout it never
// blocks, but is asked again and again; `describe` then says what has not come about.
template <class Ready, class Describe>
bool Executor::patient(bool wait, Ready ready, Describe describe, const Exchange& exchange) {
  if (wait && terms_.timeout == 0) return true;
  while (!ready()) {
    if (terms_.timeout > 0 && has_waited_too_long()) {
      std::string name;
      for (const Link& link : program_->links)
        if (link.exchange.get() == &exchange) name = link.exchange_name;
      throw Error(ErrorCode::timeout, "exchange \"" + name + "\": after " +
                                          std::to_string(terms_.timeout) + " s " + describe());
    }
    if (!wait) return false;
    std::this_thread::yield();
  }
  vigil_ = {};
  return true;
}

// To be called whenever something was not ready. Who asks seldom is given ten chances: MPI may move
// nothing on between two of a program's calls, however long the pause, and then nobody is late.
bool Executor::has_waited_too_long() {
  const double asked = now();
  if (vigil_.asked > 0) vigil_.seconds += std::min(asked - vigil_.asked, terms_.timeout / 10);
  vigil_.asked = asked;
  return vigil_.seconds > terms_.timeout;
}

WEFT_OPENS_TEAM void Executor::run_task(const Pass& pass, const Task& task) {
  shares_.deal(task.count());
  if (threads_.size() == 1) return run_items(pass, task, 0);
  std::exception_ptr failure;
  happens_before(this);
#pragma omp parallel num_threads(static_cast <int>(threads_.size()))
  {
    happens_after(this);
    try {
      run_items(pass, task, omp_get_thread_num());
    } catch (...) {
#pragma omp critical(weft_executor_failure)
      failure = std::current_exception();
    }
    happens_before(this);
  }
  happens_after(this);
  if (failure) std::rethrow_exception(failure);
}

// While the second stage of a fused pass takes a slice from the cache, memory has nothing to do but
// to bring the next one.
void Executor::run_item(const Pass& pass, std::int64_t item, const Call& call, Thread& mine) {
  const Stage& first = pass.stages.front();
  std::byte* const workspace = mine.memory.data() + pass.slice_bytes;
  if (pass.stages.size() == 1) return first.run(item, call, workspace);
  run_slice(first, item, call, workspace, {});
  const bool is_last = item + 1 == first.tiling().slices();
  const std::span<std::byte*> memory(reinterpret_cast<std::byte**>(mine.rows_ahead.data()),
                                     mine.rows_ahead.bytes() / sizeof(std::byte*));
  run_slice(pass.stages.back(), item, call, workspace,
            is_last ? Ahead{} : first.ahead_of(item + 1, call, memory));
}

void Executor::run_items(const Pass& pass, const Task& task, int thread) {
  Thread& mine = threads_[static_cast<std::size_t>(thread)];
  const Call call{mine.bases, at_.field};
  const double begin = recorded_time();
  for (ItemRange run = shares_.next(thread); !run.empty(); run = shares_.next(thread))
    task.for_each_item(run, [&](std::int64_t item) {
      run_item(pass, item, call, mine);
      if (thread != 0 || !terms_.polls || !pace_.due()) return;
      poll();
      pace_.done();
    });
  finish_streaming();
  if (terms_.recorder) terms_.recorder->task(thread, mark_of_task(task), begin);
}

}  // namespace weft
