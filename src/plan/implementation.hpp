// What a plan is made of. assembly.cpp builds it, plan.cpp executes it. LowMemoryPlan is another
// one, made of several of these.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "mpi/progress_thread.hpp"
#include "plan/array_gate.hpp"
#include "plan/executor.hpp"
#include "plan/home.hpp"
#include "plan/request.hpp"
#include "weft/plan.hpp"

namespace weft {

/// The last call of a plan, as those see it who may wait for it.
struct Run::Flight {
  AnyPlan::Implementation* plan = nullptr;  ///< null when the plan is gone
  std::int64_t call = 0;                    ///< its number, from 1
  bool under_way = false;
};

struct AnyPlan::Implementation {
  /// Where the blocks of an exchange wait in users' arrays, if they do.
  struct Homes {
    std::optional<Home> own;                       ///< of the block that stays on this rank
    std::optional<SharedHomes> all;                ///< of all blocks
    bool returns = false;                          ///< see ExchangeProblem
    OwnInWindow in_window = OwnInWindow::nothing;  ///< likewise
    int parts = 1;                                 ///< likewise
    bool precedes_two_passes = false;
  };

  /// Of the arrays of a call.
  enum class Arrays {
    any,     ///< from anywhere: only their own rank reaches them
    shared,  ///< all ranks reach those of all
  };

  /// Bytes, from its beginning, that a call needs in each of its arrays.
  struct ArrayRoom {
    std::int64_t source = 0;
    std::int64_t sink = 0;
  };

  struct OneWay {
    OneWay(Direction its_direction, Arrays its_arrays, std::vector<Hop> its_hops)
        : direction(its_direction), arrays(its_arrays), hops(std::move(its_hops)) {}

    Direction direction;
    Arrays arrays;
    std::vector<Hop> hops;
    std::vector<std::unique_ptr<Exchange>> exchanges;  ///< until the program takes them
    std::vector<ExchangeBuffers> places;               ///< theirs
    std::int64_t window_bytes = 0;                     ///< that they use
    Program program;
    std::vector<LinkTimes> times;
    std::vector<ExchangeTraffic> traffic;
    bool sends_from_sink = false;  ///< messages are sent from the array that the call writes
    std::vector<std::optional<Host>> hosts;       ///< of the exchanges' blocks, see ProgramProblem
    std::vector<std::vector<View>> behind_sends;  ///< likewise
    ArrayRoom room;                               ///< that homes need in the arrays
    bool shares_arrays() const;                   ///< peers use the arrays of the call
    Course course() { return {&program, &times}; }
  };

  /// What the exchanges of a plan use, so far.
  struct Used {
    int exchanges = 0;
    int counters = kCountersOfPlan;
    ExchangeMemory memory;  ///< of the way that uses most
  };

  /// Collective over `user`; see Plan::Plan.
  Implementation(MPI_Comm user, Request asked);
  virtual ~Implementation() = default;
  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;

  /// The way that is taken with arrays from anywhere, or the only one there is.
  OneWay& way(Direction direction) { return ways[static_cast<std::size_t>(direction)]; }
  const OneWay& way(Direction direction) const { return ways[static_cast<std::size_t>(direction)]; }
  /// The one that is taken if all ranks reach the arrays of all; null if there is none.
  OneWay* way_with_shared_arrays(Direction direction) const {
    return shared_ways[static_cast<std::size_t>(direction)];
  }
  /// The one that the last call in that direction took, or, before any, the one with shared arrays,
  /// if there is one.
  const OneWay& last_way(Direction direction) const {
    return *last_ways[static_cast<std::size_t>(direction)];
  }

  virtual void start(Direction direction, const void* source, void* sink);
  /// Goes on with the call under way, with `wait` to its end. True at the end.
  virtual bool advance(bool wait);
  /// Ends the call under way. False when other ranks, or MPI, may still use what the plan has, so
  /// that it must be kept.
  virtual bool retire() noexcept;
  virtual std::vector<Step> steps(Direction direction, bool timed) const;
  virtual PlanMemory memory() const noexcept;
  virtual void record(bool on);
  virtual Timeline timeline() const;
  /// Memory of the user's array that is read in that direction, all fields; all ranks reach it if
  /// calls gain by that.
  std::shared_ptr<void> allocate_source(Direction direction) const;
  /// Of the last call, which was in that direction.
  Timeline timeline_of(const Recorder& call, Direction direction) const;
  /// Of the user's array that is read, or written, in that direction, all fields.
  std::int64_t source_bytes(Direction direction) const;
  std::int64_t sink_bytes(Direction direction) const;
  std::int64_t bytes_of_arrays() const;  ///< of both, which in place are one

  MPI_Comm user_comm;
  Communicator comm;
  Communicator node;
  std::vector<int> node_rank_of;  ///< of each rank of comm; -1 on other nodes
  SharedCache shared_cache;
  std::vector<std::int64_t> field_strides;  ///< elements, input and output, of each rank of comm
  Request request;
  ResolvedRequest resolved;
  std::unique_ptr<SharedWindow> window;
  std::int64_t board_offset = 0;  ///< in the window, of the gate's board
  AlignedMemory send;
  AlignedMemory receive;
  AlignedMemory own;
  AlignedMemory work;        ///< empty where it lies in the window
  std::vector<OneWay> ways;  ///< forward, backward, and then those with shared arrays, if any
  OneWay* shared_ways[2] = {nullptr, nullptr};      ///< see way_with_shared_arrays()
  const OneWay* last_ways[2] = {nullptr, nullptr};  ///< see last_way()
  std::unique_ptr<Executor> executor;
  std::unique_ptr<ArrayGate> gate;  ///< null: no call needs arrays of other ranks
  std::unique_ptr<ProgressThread> progress_thread;
  std::unique_ptr<Recorder> recorder;                 ///< null: calls are not recorded
  Direction recorded_direction = Direction::forward;  ///< of the last call
  bool failed = false;  ///< a call was given up, so peers may be anywhere in it
  std::unique_ptr<Implementation> next_kept;
  std::shared_ptr<Run::Flight> flight = std::make_shared<Run::Flight>();

 protected:
  /// Checks and resolves the request, and makes nothing.
  struct ResolveOnly {};
  Implementation(MPI_Comm user, Request asked, ResolveOnly);
  void check_idle() const;
  void check_arrays(Direction direction, const void* source, const void* sink) const;

 private:
  void finish_call();
  std::unique_lock<std::mutex> turn_to_call_mpi();
  void find_node();
  void choose_threads();
  ExchangeProblem problem_of(const Hop& hop, int number) const;
  /// What a call in that direction reads and what it writes.
  std::pair<UserSide, UserSide> sides(Direction direction) const;
  /// Likewise of another rank of the node, with options.shared_arrays.
  std::pair<UserSide, UserSide> sides_at(int rank, Direction direction) const;
  bool takes_slices_in_order() const {
    return request.options.threads == 1 && request.options.chunks == 1;
  }
  bool brings_long_axis(const OneWay& one, std::size_t number) const;
  bool precedes_two_passes(const OneWay& one, std::size_t number, bool in_windows) const;
  bool works_in_arrays(const OneWay& one, std::size_t number) const;
  bool may_work_in_window(const OneWay& one) const;
  bool may_leave_home(const Sequence& sequence, const std::vector<Hop>& hops,
                      std::size_t number) const;
  bool may_take_rows_home(const OneWay& one, const Sequence& sequence, std::size_t number) const;
  bool displaces_rows_of(const UserSide& sink, int axis) const;
  int home_parts(const Hop& hop, int axis) const;
  void leave_few_rows(Homes& homes, const Hop& hop, int axis) const;
  void settle(Homes& earlier, bool reads_input, Homes& later, bool stores_result) const;
  Homes homes_of(const OneWay& one, const Sequence& sequence, const ExchangeMethod& method,
                 const std::vector<Homes>& passed) const;
  std::vector<Homes> homes(const OneWay& one, const ExchangeMethod& method) const;
  HomeProblem home_problem(const Sequence& sequence, std::size_t hop, const UserSide& source,
                           const UserSide& sink, int rank) const;
  std::optional<SharedHomes> shared_homes(const OneWay& one, std::size_t number,
                                          bool is_before_two_passes) const;
  std::vector<View> behind_sends(const OneWay& one, bool is_before_two_passes,
                                 std::int64_t send_bytes) const;
  bool may_divide_axes() const;
  void try_two_passes() const;
  void choose_exchanges();
  bool gains_by_shared_arrays(const OneWay& one) const;
  void note_room_for(const std::optional<SharedHomes>& homes, std::int64_t element_bytes,
                     ArrayRoom& room) const;
  void make_exchanges(const ExchangeMethod& method);
  void make_exchanges_of(OneWay& one, const ExchangeMethod& method, Used& used);
  void attach_exchanges(OneWay& one);
  bool may_send_from_sink() const;
  bool sends_from_sink(Direction direction, const ExchangeMemory& memory) const;
  void reserve(const ExchangeMemory& memory, int counters);
  void make_programs();
  const Engine& fastest_engine();
  void choose_engine();
  void finish_programs();
  void make_executor();
  std::int64_t work_bytes() const;
  bool works_in_window() const;
  void make_gate();
  void make_progress_thread();
  Recorder::Room room_of_recorder() const;
};

}  // namespace weft
