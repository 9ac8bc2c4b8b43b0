// ProgressThread: a thread that lets MPI move messages on while others compute. It only asks MPI
// for a message that nobody sends; any call does, since MPI progresses all that is under way.
// Between two calls it sleeps (Pace), so that it takes little of the time of those who compute. It
// never calls MPI at the same time as the plan: who calls holds the turn. MPIs allow both at once,
// but few programs try theirs (docs/design.md tells what came of it).
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "mpi/communicator.hpp"

namespace weft {

class ProgressThread {
 public:
  /// Collective over `comm`. Throws Error(unavailable) unless MPI provides MPI_THREAD_MULTIPLE.
  explicit ProgressThread(const Communicator& comm);
  /// Collective over `comm`.
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  /// Between the two the thread calls MPI every now and then, first at short intervals.
  void resume();
  void pause();
  /// Held by who calls MPI: the plan, but for the time in which it computes, or this thread.
  std::mutex& turn() { return turn_; }
  /// Ends the thread.
  void stop();

 private:
  void work();
  bool ask_mpi();

  Communicator comm_;
  std::mutex turn_;
  std::atomic<bool> active_{false};  // becomes false only while the thread has not got the turn
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  long resumed_ = 0;  ///< how often
  std::thread thread_;
};

}  // namespace weft
