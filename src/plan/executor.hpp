// Executor: runs a program. Links in order, in each the fields in order, in each the tasks as their
// chunks arrive; while one chunk or field is on the wire, another is transformed. One chunk, one
// field and a blocking method are the same code.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "base/aligned_memory.hpp"
#include "mpi/pace.hpp"
#include "plan/program.hpp"
#include "trace/recorder.hpp"

namespace weft {

/// Seconds of the last call, by link.
struct LinkTimes {
  std::vector<double> passes;
  double exchange = 0;
};

/// What a call that has an exchange waits for before its first task.
class Gate {
 public:
  virtual ~Gate() = default;
  /// True when wait() would not wait.
  virtual bool ready() = 0;
  virtual void wait() = 0;
  /// The ranks that wait() waits for.
  virtual std::vector<int> absent() const = 0;
  /// Once it is ready: true for the program that waits here, false for the other one; throws where
  /// the call may not begin.
  virtual bool pass() = 0;
};

/// What a call does: a program, and where its times go.
struct Course {
  Program* program = nullptr;
  std::vector<LinkTimes>* times = nullptr;
};

/// What holds for all tasks of a call.
struct Terms {
  int fields = 1;
  int chunks = 1;
  bool polls = true;             ///< exchanges may progress between tiles
  std::mutex* turn = nullptr;    ///< held by who calls MPI; null: nobody else does
  double timeout = 0;            ///< seconds that a chunk may take to arrive; 0: any time
  std::int64_t call = 0;         ///< counts the executions of the plan from 1
  Recorder* recorder = nullptr;  ///< null: nothing is recorded
  Gate* gate = nullptr;          ///< null: the call may begin at once
  Course otherwise{};            ///< what is done where the gate says so
};

class Executor {
 public:
  /// Reserves memory for `threads` threads. `slots` is the number of slots that programs use.
  Executor(int threads, int slots, const ThreadMemory& memory);

  /// Sets the memory of a slot for the calls that follow.
  void bind(int slot, std::byte* memory);
  /// Begins a call, which no other call may do before advance() has returned true.
  void begin(const Course& course, const Terms& terms);
  /// Of the call that is under way, or of the last one.
  const Program* program() const noexcept { return program_; }
  /// Goes on with the call: with `wait` to its end, else only as far as chunks have arrived. True
  /// at the end of the call. Throws Error(timeout). Terms::turn is held before and after, and given
  /// away while tiles are computed.
  bool advance(bool wait);

  std::int64_t bytes() const noexcept;

 private:
  struct Thread {
    AlignedMemory memory;           // a slice, and behind it what stages need
    AlignedMemory rows_ahead;       // where they begin, see Stage::ahead_of()
    std::vector<std::byte*> bases;  // of all slots; the slice is the thread's own
  };

  // Where a call is: before which task, and how far the chunks of its field are.
  struct Position {
    std::size_t link = 0;
    int field = 0;
    std::size_t pass = 0;
    std::size_t task = 0;
    bool open = false;  // the outboxes of the link may be written
    int arrived = 0;    // chunks of the exchange before
    int released = 0;   // of the same
    int started = 0;    // of the exchange after
  };

  // How long the call has asked in vain for what it needs next.
  struct Vigil {
    double asked = 0;  // when, the last time; 0: not yet
    double seconds = 0;
  };

  Link& link() const { return program_->links[at_.link]; }
  Exchange* before() const {
    return at_.link == 0 ? nullptr : program_->links[at_.link - 1].exchange.get();
  }
  Exchange* after() const { return link().exchange.get(); }
  int link_number() const { return static_cast<int>(at_.link); }
  double recorded_time() const { return terms_.recorder ? terms_.recorder->now() : 0; }
  LinkTimes& times() const { return (*times_)[at_.link]; }

  bool step(bool wait);
  void take(const Course& course);
  bool pass_gate(bool wait, const Exchange& exchange);
  bool open_link(bool wait);
  bool arrive_up_to(int chunks, bool wait);
  void start_up_to(int chunks);
  void progress();
  void poll();
  void note_exchange(int link, int chunk, double begin);
  void note_arrivals(int link, Exchange* exchange);
  Recorder::Mark mark_of_task(const Task& task) const;
  bool release_all(bool wait);
  void finish_field();
  template <class Ready, class Describe>
  bool patient(bool wait, Ready ready, Describe describe, const Exchange& exchange);
  bool has_waited_too_long();
  std::string unit_name(int unit) const;
  void run_task(const Pass& pass, const Task& task);
  void run_items(const Pass& pass, const Task& task, int thread);
  static void run_item(const Pass& pass, std::int64_t item, const Call& call, Thread& mine);

  Program* program_ = nullptr;  // of the call that is under way
  std::vector<LinkTimes>* times_ = nullptr;
  Terms terms_;
  bool passed_gate_ = false;
  Position at_;
  Vigil vigil_;
  Pace pace_{Pace::kLongestGap};  // of the polls between tiles
  std::vector<Thread> threads_;
  Shares shares_;  // of the task that is under way
};

}  // namespace weft
